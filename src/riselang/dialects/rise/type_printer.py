"""Formatting types in functional notation."""

from __future__ import annotations

from riselang.dialects.rise.type_binding import open_type_binder
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

MAX_PRINTED_PARTS = 10_000
"""A type with more parts than this is abbreviated."""


def format_type(type: RiseType) -> str:
    """Format a type in functional notation: `N.K.f32`, `(f32 x i32)`, `f32 -> f32`."""
    return _format_levels(type, 3 if type.expanded_size > MAX_PRINTED_PARTS else None)


def _format_levels(type: RiseType, levels: int | None) -> str:
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
            return f"{length}.{_format_operand(element_of(type), levels)}"
        case IdxType():
            return f"idx[{type.bound}]"
        case VectorType():
            return f"vec[{type.length}, {_format_levels(type.element, levels)}]"
        case TupleType():
            first, second = components(type)
            return f"({_format_operand(first, levels)} x {_format_operand(second, levels)})"
        case FunType():
            return f"{_format_operand(type.input, levels)} -> {_format_levels(type.output, levels)}"
        case DepFunType():
            name, body = open_type_binder(type)
            return f"({name} : {type.kind.data}) -> {_format_levels(body, levels)}"
        case _:
            raise TypeError(f"{type} is not a RISE type")


def _format_operand(type: RiseType, levels: int | None) -> str:
    shown = _format_levels(type, levels)
    return f"({shown})" if isinstance(type, FunType | DepFunType) else shown
