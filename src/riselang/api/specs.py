"""Types of arguments as Python annotations: `rl.Array["N", "K", rl.f32]`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.dialects.rise.types import RiseType, ScalarType, array, show
from riselang.errors import SourceLocation, UserError
from riselang.nat import NatError, as_nat


@dataclass(frozen=True)
class ArraySpec:
    """The type of an argument; lengths may be names, bound by the arrays of a call."""

    type: RiseType

    def __repr__(self) -> str:
        return f"rl.Array[{show(self.type)}]"


if TYPE_CHECKING:
    # In the body of a traced function a parameter is a symbolic value.
    from riselang.dsl.values import Value as _Parameter
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
                f"Array[...] ends in a scalar type such as rl.f32, but found {element!r}"
            )
        for length in reversed(lengths):
            try:
                type = array(as_nat(length), type)
            except (NatError, TypeError) as error:
                raise UserError(f"Array[...]: {length!r} is no length: {error}") from None
        return ArraySpec(type)


def as_type(annotation: Any, name: str, function: str, location: SourceLocation | None) -> RiseType:
    if isinstance(annotation, ArraySpec):
        return annotation.type
    if isinstance(annotation, ScalarType):
        return annotation
    found = "none" if annotation is inspect.Parameter.empty else repr(annotation)
    raise UserError(
        f"parameter {name} of {function} needs a type such as "
        f'rl.Array["N", rl.f32] or rl.f32, but has {found}',
        location,
    )
