"""Formatting types in functional notation."""

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

MOST_SHOWN = 10_000
"""A type with more parts than this is abbreviated."""


def show(type: RiseType) -> str:
    """Format a type in functional notation: `N.K.f32`, `(f32 x i32)`, `f32 -> f32`."""
    return _show(type, 3 if type.written_size > MOST_SHOWN else None)


def _show(type: RiseType, levels: int | None) -> str:
    """Format a type; parts that are nested more than `levels` deep become `...`."""
    if levels is not None:
        if levels == 0:
            return "..."
        levels -= 1
    match type:
        case ScalarType():
            return SCALAR_NAMES[type]
        case TypeVariable():
            return type.label.data
        case ArrayType():
            length = str(type.length)
            if not length.lstrip("?").replace("_", "").isalnum():
                length = f"({length})"
            return f"{length}.{_show_atom(element_of(type), levels)}"
        case IdxType():
            return f"idx[{type.bound}]"
        case VectorType():
            return f"vec[{type.length}, {_show(type.element, levels)}]"
        case TupleType():
            first, second = components(type)
            return f"({_show_atom(first, levels)} x {_show_atom(second, levels)})"
        case FunType():
            return f"{_show_atom(type.input, levels)} -> {_show(type.output, levels)}"
        case DepFunType():
            name, body = named_binder(type)
            return f"({name} : {type.kind.data}) -> {_show(body, levels)}"
        case _:
            raise TypeError(f"{type} is not a RISE type")


def _show_atom(type: RiseType, levels: int | None) -> str:
    shown = _show(type, levels)
    return f"({shown})" if isinstance(type, FunType | DepFunType) else shown
