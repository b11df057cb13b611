"""Argument types as Python annotations: `rl.Array["N", "K", rl.f32]`."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, get_args, get_origin

import numpy as np

from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import RiseType, ScalarType, TypeVariable, array, variable
from riselang.dsl.size_arguments import as_size
from riselang.dsl.user_locations import user_location
from riselang.support.errors import SourceLocation, UserError
from riselang.support.structures import STATIC, Structure


@dataclass(frozen=True)
class ArraySpec:
    """The type of an argument; lengths may be names, which the shapes of a call bind."""

    type: RiseType

    def __repr__(self) -> str:
        return f"rl.Array[{format_type(self.type)}]"


if TYPE_CHECKING:
    # In the body of a traced function, a parameter is a symbolic value.
    from riselang.dsl.symbolic_values import Value as Array
else:

    class Array:
        """`Array["N", 4, f32]` is the type of arrays of shape (N, 4).

        Type checkers also accept `Annotated[Array, "N", 4, f32]`.
        """

        def __class_getitem__(cls, parameters: Any) -> ArraySpec:
            return read_array_type(parameters if isinstance(parameters, tuple) else (parameters,))


def read_array_type(parameters: Sequence[Any]) -> ArraySpec:
    """Return the type of an array, given its lengths and the type of its elements."""
    *lengths, element = parameters
    if isinstance(element, ArraySpec):
        type: RiseType = element.type
    elif isinstance(element, ScalarType | TypeVariable):
        type = element
    else:
        hint = "; the lengths come first" if any(isinstance(x, ScalarType) for x in lengths) else ""
        raise UserError(
            f"Array[...] must end in a scalar type such as rl.f32, or in rl.T, but found "
            f"{element!r}{hint}",
            user_location(),
        )
    for length in reversed(lengths):
        type = array(as_size(length, "Array[...]"), type)
    return ArraySpec(type)


@dataclass(frozen=True)
class StructureSpec:
    """The types of the parts of a structure, by name or position; others are unconstrained."""

    parts: Mapping[Any, Spec]

    def part(self, name: Any) -> Spec:
        return self.parts.get(name)


Spec = RiseType | StructureSpec | None
"""What an annotation requires of an argument: a type, parts of a structure, or nothing."""
UNCONSTRAINED: tuple[Any, ...] = (
    Array, inspect.Parameter.empty, Any, object, int, float, bool, tuple, list, dict, np.ndarray,
    None,
)  # fmt: skip
"""Annotations that document a parameter; the type of the argument is that of the call."""


def annotation_spec(
    annotation: Any, name: str, function: str, location: SourceLocation | None
) -> Spec:
    """Return what the annotation of a parameter requires."""
    if isinstance(annotation, ArraySpec):
        return annotation.type
    if isinstance(annotation, ScalarType | TypeVariable):
        return annotation
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        kind, *metadata = arguments
        described = read_array_type(metadata) if kind is Array else kind
        return annotation_spec(described, name, function, location)
    if origin is tuple and Ellipsis not in arguments:
        specs = [annotation_spec(each, name, function, location) for each in arguments]
        return StructureSpec(dict(enumerate(specs)))
    if annotation in UNCONSTRAINED or origin in (tuple, list, dict, np.ndarray, Mapping, Sequence):
        return None
    if isinstance(annotation, type) and _is_record(annotation):
        return _record_spec(annotation, name, function, location)
    raise UserError(
        f"parameter {name} of {function} needs a type such as "
        f'rl.Array["N", rl.f32] or rl.f32, a structure of these, or no annotation, but has '
        f"{annotation!r}; add it to static= if it is not an array",
        location,
    )


def _is_record(annotation: type) -> bool:
    return dataclasses.is_dataclass(annotation) or hasattr(annotation, "__annotations__")


def _record_spec(
    annotation: type, name: str, function: str, location: SourceLocation | None
) -> StructureSpec:
    """Return the types of the fields of a dataclass, a named tuple or a typed dictionary."""
    try:
        hints = {
            field: _evaluate_hint(hint, annotation)
            for field, hint in inspect.get_annotations(annotation, eval_str=True).items()
        }
    except NameError as error:
        raise UserError(
            f"the annotations of {annotation.__name__} cannot be read: {error}", location
        ) from None
    static = (
        {each.name for each in dataclasses.fields(annotation) if each.metadata.get(STATIC)}
        if dataclasses.is_dataclass(annotation)
        else set[str]()
    )
    return StructureSpec(
        {
            field: annotation_spec(hint, f"{name}.{field}", function, location)
            for field, hint in hints.items()
            if field not in static
        }
    )


def _evaluate_hint(hint: Any, record: type) -> Any:
    """Return the annotation of a field; a named tuple keeps those that are text as references."""
    if not isinstance(hint, ForwardRef):
        return hint
    return eval(hint.__forward_arg__, vars(sys.modules[record.__module__]))


def is_concrete(spec: Spec) -> bool:
    """Return whether a specification is a type without type variables."""
    return isinstance(spec, RiseType) and not type_variables(spec)


def leaf_specs(spec: Spec, structure: Structure, name: str) -> list[RiseType | None]:
    """Return what a specification requires of each leaf of an argument."""
    if structure.is_leaf:
        if isinstance(spec, StructureSpec):
            parts = ", ".join(map(str, spec.parts))
            raise UserError(
                f"argument {name}: expected a structure with the parts {parts}, but found one array"
                " or number",
                user_location(),
            )
        return [spec]
    if isinstance(spec, RiseType):
        kind: Any = structure.kind
        raise UserError(
            f"argument {name}: expected {format_type(spec)}, but found "
            f"{'None' if kind is None else kind.__name__}",
            user_location(),
        )
    specs: list[RiseType | None] = []
    for label, part in zip(structure.names, structure.parts, strict=True):
        inner = None if spec is None else spec.part(label)
        specs += leaf_specs(inner, part, f"{name}.{label}")
    return specs


def dtype_variable(name: str) -> TypeVariable:
    """Return a variable for a dtype: all arguments whose annotations contain it have one dtype.

    `rl.T` is `rl.dtype_variable("T")`.
    """
    if not name.isidentifier():
        raise UserError(f"expected an identifier, but found {name!r}", user_location())
    return variable(name)


T = dtype_variable("T")


def array_spec(lengths: Sequence[int | str], dtype: str) -> ArraySpec:
    """Return the type of arrays of these lengths, whose elements have the NumPy dtype `dtype`."""
    if dtype not in DTYPES:
        raise UserError(f"arrays of {dtype} cannot be passed")
    return read_array_type((*lengths, DTYPES[dtype]))
