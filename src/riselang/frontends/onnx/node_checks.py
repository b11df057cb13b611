"""Whether nodes are valid: their inputs, outputs and attributes, by the schema of their op."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from riselang.frontends.onnx.element_types import onnx_package, type_name, type_of_element
from riselang.frontends.onnx.primitives.graph import Value
from riselang.frontends.onnx.registry import Input
from riselang.support.counts import format_count
from riselang.support.errors import UserError


@lru_cache(maxsize=4096)
def schema_of(op: str, version: int, domain: str) -> Any:
    """Return the schema of an op, or None if ONNX does not define it."""
    defs = onnx_package().defs
    try:
        return defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None


@lru_cache(maxsize=4096)
def _allowed_types(op: str, version: int, domain: str) -> dict[str, frozenset[str]]:
    """Return the types that each type variable of an op stands for."""
    schema = schema_of(op, version, domain)
    return {
        each.type_param_str: frozenset(each.allowed_type_strs) for each in schema.type_constraints
    }


def type_text(value: Input) -> str | None:
    """Return the type of a value as schemas spell it, or None if it is not known."""
    if isinstance(value, Value):
        return f"tensor({type_name(type_of_element(value.element, value.small_type)).lower()})"
    if isinstance(value, list) and value:
        parts: list[Input] = value
        inner = type_text(parts[0])
        return None if inner is None else f"seq({inner})"
    return None


def check_node(proto: Any, domain: str, version: int, inputs: Sequence[Input]) -> None:
    """Raise an error for a node that is not valid."""
    schema = schema_of(proto.op_type, version, domain)
    if schema is None:
        return
    _check_counts(proto, schema)
    _check_attributes(proto, schema)
    _check_types(proto, schema, _allowed_types(proto.op_type, version, domain), inputs)


def _invalid(proto: Any, problem: str) -> UserError:
    name = proto.name or next(filter(None, proto.output), "")
    output = next(filter(None, proto.output), "")
    return UserError(
        f"the model is not valid: the op {proto.op_type} of the node {name!r} (output {output!r}) "
        f"{problem}"
    )


def _check_counts(proto: Any, schema: Any) -> None:
    for kind, found, least, most in (
        ("input", proto.input, schema.min_input, schema.max_input),
        ("output", proto.output, schema.min_output, schema.max_output),
    ):
        count = len(found)
        if count < least or count > most:
            bound = f"at least {least}" if count < least else f"at most {most}"
            raise _invalid(proto, f"has {format_count(count, kind)}, but {bound} are expected")


def _check_attributes(proto: Any, schema: Any) -> None:
    known = schema.attributes
    given = {each.name: each for each in proto.attribute}
    if len(given) < len(proto.attribute):
        raise _invalid(proto, "has two attributes of one name")
    kinds = onnx_package().AttributeProto.AttributeType
    for name, each in given.items():
        if name not in known:
            raise _invalid(proto, f"has no attribute {name!r}")
        if each.ref_attr_name:
            continue
        expected = int(known[name].type.value)
        if int(each.type) != expected:
            found = kinds.Name(each.type).lower()
            raise _invalid(
                proto,
                f"has an attribute {name!r} of the type {found}, but {kinds.Name(expected).lower()}"
                " is expected",
            )
    for name, each in known.items():
        if each.required and name not in given:
            raise _invalid(proto, f"lacks the attribute {name!r}")


def _check_types(
    proto: Any, schema: Any, allowed: dict[str, frozenset[str]], inputs: Sequence[Input]
) -> None:
    bound: dict[str, str] = {}
    formals = list(schema.inputs)
    for position, value in enumerate(inputs):
        formal = formals[min(position, len(formals) - 1)]
        if value is None:
            if formal.option == onnx_package().defs.OpSchema.FormalParameterOption.Single:
                if _takes_optionals(formal, allowed):
                    continue
                raise _invalid(proto, f"lacks the input {formal.name!r}")
            continue
        found = type_text(value)
        if found is None:
            continue
        variable = formal.type_str
        types = allowed.get(variable, frozenset([variable]))
        if found not in types and f"optional({found})" not in types:
            raise _invalid(proto, f"is not defined for {found}, the type of its input {position}")
        if formal.is_homogeneous and bound.setdefault(variable, found) != found:
            raise _invalid(
                proto,
                f"has inputs of the types {bound[variable]} and {found}, which must be the same",
            )


def _takes_optionals(formal: Any, allowed: dict[str, frozenset[str]]) -> bool:
    types = allowed.get(formal.type_str, frozenset([formal.type_str]))
    return any(each.startswith("optional") for each in types)
