"""Exporting a dialect as IRDL text, generated from the definitions of its ops and types.

Native MLIR that has loaded the text parses and verifies modules in the form of `native_form.py`. A
constraint that IRDL cannot express becomes `irdl.any`, and an optional attribute is left out, since
IRDL requires all attributes that are listed. The values of an IRDL variadic all have the same type,
so our variadics become a fixed number of optional values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Attribute, Data, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyOf,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    ParamAttrConstraint,
    RangeLengthConstraint,
    RangeOf,
    SingleBlockRegionDef,
    VariadicDef,
)

from riselang.dialects.native_form import native_name, operand_slots, parameter_name

ANY = "irdl.any"
Definition = type[Attribute]


def irdl_text(dialect: Dialect) -> str:
    """The dialect as an `irdl.dialect`."""
    types = [kind for kind in dialect.attributes if issubclass(kind, TypeAttribute)]
    used_names = {kind.name for kind in types}
    # An attribute with the name of a type is another spelling of it, only in the custom form.
    attributes = [
        kind
        for kind in dialect.attributes
        if not issubclass(kind, TypeAttribute) and kind.name not in used_names
    ]
    exporter = _Exporter(dialect.name, [*types, *attributes])
    lines = [f"irdl.dialect @{dialect.name} {{"]
    for kind in exporter.kinds:
        lines += exporter.export_attribute(kind)
    for op in dialect.operations:
        lines += exporter.export_operation(op)
    return "\n".join([*lines, "}"]) + "\n"


class _Body:
    """The lines of one definition; every constraint is a separate value.

    In IRDL, two uses of the same value mean that the two attributes must be equal.
    """

    def __init__(self, keyword: str, name: str):
        self.lines = [f"  irdl.{keyword} @{name} {{"]
        self.count = 0

    def add_value(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"    %{self.count - 1} = {text}")
        return f"%{self.count - 1}"

    def add(self, name: str, parts: Sequence[str]) -> None:
        if parts:
            self.lines.append(f"    irdl.{name}({', '.join(parts)})")

    def to_lines(self) -> list[str]:
        return [*self.lines, "  }"]


class _Exporter:
    def __init__(self, dialect: str, kinds: Sequence[Definition]):
        self.dialect = dialect
        self.kinds = kinds

    def export_attribute(self, kind: Definition) -> list[str]:
        """The definition of a type or an attribute, with its parameters."""
        keyword = "type" if issubclass(kind, TypeAttribute) else "attribute"
        body = _Body(keyword, self._local_name(kind.name))
        if issubclass(kind, Data):
            body.add("parameters", [f"text: {body.add_value(_builtin_base('#', 'string'))}"])
        elif issubclass(kind, ParametrizedAttribute):
            body.add(
                "parameters",
                [
                    f"{parameter_name(name)}: {self._export_constraint(definition.constr, body)}"
                    for name, definition in kind.get_irdl_definition().parameters
                ],
            )
        return body.to_lines()

    def export_operation(self, op: type[Operation]) -> list[str]:
        assert issubclass(op, IRDLOperation)
        definition = op.get_irdl_definition()
        body = _Body("operation", self._local_name(native_name(op.name)))
        body.add("operands", list(self._export_values(definition.operands, body)))
        body.add("results", list(self._export_values(definition.results, body)))
        required = [
            f'"{name}" = {self._export_constraint(attribute.constr, body)}'
            for name, attribute in (definition.properties | definition.attributes).items()
            if not isinstance(attribute, OptionalDef)
        ]
        if required:
            body.lines.append(f"    irdl.attributes {{{', '.join(required)}}}")
        body.add(
            "regions", [_export_region(name, region, body) for name, region in definition.regions]
        )
        return body.to_lines()

    def _export_values(
        self, definitions: Sequence[tuple[str, object]], body: _Body
    ) -> Iterator[str]:
        for name, definition in definitions:
            name = parameter_name(name)
            constraint = element_constraint(getattr(definition, "constr", None))
            if isinstance(definition, VariadicDef):
                for position in range(operand_slots(definition)):
                    yield f"{name}_{position}: optional {self._export_constraint(constraint, body)}"
            else:
                yield f"{name}: {self._export_constraint(constraint, body)}"

    def _export_constraint(self, constraint: object, body: _Body) -> str:
        match constraint:
            case BaseAttr():
                return self._export_base(constraint.attr, body)
            case ParamAttrConstraint():
                return self._export_base(constraint.base_attr, body)
            case EqAttrConstraint():
                return self._export_base(constraint.attr.__class__, body)
            case AnyOf():
                parts = [self._export_constraint(part, body) for part in constraint.attr_constrs]
                return body.add_value(f"irdl.any_of({', '.join(parts)})")
            case _:
                return body.add_value(ANY)

    def _export_base(self, base: Definition, body: _Body) -> str:
        """The constraint for the Python class `base`: one definition, or any of several."""
        members = [kind for kind in self.kinds if issubclass(kind, base)]
        if base in (Attribute, TypeAttribute):
            return body.add_value(ANY)
        if members:
            parts = [
                body.add_value(f"irdl.base @{self.dialect}::@{self._local_name(kind.name)}")
                for kind in members
            ]
            return (
                parts[0] if len(parts) == 1 else body.add_value(f"irdl.any_of({', '.join(parts)})")
            )
        if base.__module__ == "xdsl.dialects.builtin" and "." not in base.name:
            return body.add_value(_builtin_base(_sigil(base), base.name))
        return body.add_value(ANY)

    def _local_name(self, name: str) -> str:
        return name.removeprefix(f"{self.dialect}.")


def element_constraint(constraint: object) -> object:
    """The constraint on each value of a range, or on a single value."""
    while isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    return constraint.constr if isinstance(constraint, RangeOf) else constraint


def _export_region(name: str, region: object, body: _Body) -> str:
    size = " with size 1" if isinstance(region, SingleBlockRegionDef) else ""
    return f"{parameter_name(name)}: {body.add_value(f'irdl.region{size}')}"


def _sigil(kind: Definition) -> str:
    return "!" if issubclass(kind, TypeAttribute) else "#"


def _builtin_base(sigil: str, name: str) -> str:
    return f'irdl.base "{sigil}builtin.{name}"'
