"""Argument types as Python annotations: `rl.Array["N", "K", rl.f32]`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    array,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from riselang.dsl.size_arguments import as_size
from riselang.dsl.user_locations import user_location
from riselang.support.errors import SourceLocation, UserError


@dataclass(frozen=True)
class ArraySpec:
    """The type of an argument; lengths may be names, which the shapes of a call bind."""

    type: RiseType

    def __repr__(self) -> str:
        return f"rl.Array[{format_type(self.type)}]"


if TYPE_CHECKING:
    # In the body of a traced function a parameter is a symbolic value.
    from riselang.dsl.symbolic_values import Value as _Parameter
else:
    _Parameter = object


class Array(_Parameter):
    """`Array["N", 4, f32]` is the type of arrays of shape (N, 4)."""

    def __class_getitem__(cls, parameters: Any) -> ArraySpec:
        parts = parameters if isinstance(parameters, tuple) else (parameters,)
        *lengths, element = parts
        if isinstance(element, ArraySpec):
            type: RiseType = element.type
        elif isinstance(element, ScalarType):
            type = element
        else:
            raise UserError(
                f"Array[...] must end in a scalar type such as rl.f32, but found {element!r}",
                user_location(),
            )
        for length in reversed(lengths):
            type = array(as_size(length, "Array[...]"), type)
        return ArraySpec(type)


def annotation_type(
    annotation: Any, name: str, function: str, location: SourceLocation | None
) -> RiseType:
    if isinstance(annotation, ArraySpec):
        return annotation.type
    if isinstance(annotation, ScalarType):
        return annotation
    actual = "none" if annotation is inspect.Parameter.empty else repr(annotation)
    raise UserError(
        f"parameter {name} of {function} needs a type such as "
        f'rl.Array["N", rl.f32] or rl.f32, but has {actual}',
        location,
    )


def array_spec(lengths: Sequence[int | str], dtype: str) -> ArraySpec:
    """Return the type of arrays of these lengths, whose elements have the NumPy dtype `dtype`."""
    names = {"bool": i1, "bfloat16": bf16}
    names |= {f"float{width}": type for width, type in ((16, f16), (32, f32), (64, f64))}
    names |= {f"int{width}": type for width, type in ((8, i8), (16, i16), (32, i32), (64, i64))}
    names |= {f"uint{width}": type for width, type in ((8, u8), (16, u16), (32, u32), (64, u64))}
    if dtype not in names:
        raise UserError(f"arrays of {dtype} cannot be passed")
    return Array.__class_getitem__((*lengths, names[dtype]))
