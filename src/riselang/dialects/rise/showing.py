"""Types in functional notation."""

from __future__ import annotations

from riselang.dialects.rise.binding import named_binder
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    DepFunType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    components,
    element_of,
)


def show(type: RiseType) -> str:
    """The type in functional notation: `N.K.f32`, `(f32 x i32)`, `f32 -> f32`."""
    match type:
        case ScalarType():
            return SCALAR_NAMES[type]
        case TypeVariable():
            return type.label.data
        case ArrayType():
            length = str(type.length)
            if not length.lstrip("?").replace("_", "").isalnum():
                length = f"({length})"
            return f"{length}.{_show_atom(element_of(type))}"
        case IdxType():
            return f"idx[{type.bound}]"
        case VectorType():
            return f"vec[{type.length}, {show(type.element)}]"
        case TupleType():
            first, second = components(type)
            return f"({_show_atom(first)} x {_show_atom(second)})"
        case FunType():
            return f"{_show_atom(type.input)} -> {show(type.output)}"
        case DepFunType():
            name, body = named_binder(type)
            return f"({name} : {type.kind.data}) -> {show(body)}"
        case _:
            raise TypeError(f"{type} is no RISE type")


def _show_atom(type: RiseType) -> str:
    return f"({show(type)})" if isinstance(type, FunType | DepFunType) else show(type)
