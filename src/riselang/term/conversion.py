"""The ops that convert one scalar type to another."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, IndexType, IntegerType

from riselang.dialects.rise.types import ScalarType, f32, i1, i64, is_float, is_small_float


def bit_width(type: ScalarType) -> int:
    if isinstance(type.element, IndexType):
        return 64
    if isinstance(type.element, IntegerType):
        return type.element.width.data
    return type.element.bitwidth  # type: ignore[attr-defined,no-any-return]


def conversion_ops(source: ScalarType, target: ScalarType) -> list[tuple[str, ScalarType]]:
    """The ops that convert `source` to `target`, each with its result type; none if both are equal.

    A conversion to i1 is not supported here: it is a comparison with zero.
    """
    if source == target:
        return []
    if is_float(source) and is_float(target):
        return _float_to_float(source, target)
    if is_small_float(source) or is_small_float(target):
        # Floats of 8 bits have no conversions of their own to integers.
        return [*conversion_ops(source, f32), *conversion_ops(f32, target)]
    if is_float(source):
        return _float_to_integer(target)
    if is_float(target):
        return _integer_to_float(source, target)
    return _integer_to_integer(source, target)


def _float_to_float(source: ScalarType, target: ScalarType) -> list[tuple[str, ScalarType]]:
    if is_small_float(source) or is_small_float(target):
        first = [] if source == f32 else [_between_floats(source, f32)]
        return first if target == f32 else [*first, _between_floats(f32, target)]
    halves = (Float16Type, BFloat16Type)
    if isinstance(source.element, halves) and isinstance(target.element, halves):
        return [("arith.extf", f32), ("arith.truncf", target)]
    return [_between_floats(source, target)]


def _between_floats(source: ScalarType, target: ScalarType) -> tuple[str, ScalarType]:
    widens = bit_width(source) < bit_width(target)
    return "arith.extf" if widens else "arith.truncf", target


def _float_to_integer(target: ScalarType) -> list[tuple[str, ScalarType]]:
    if isinstance(target.element, IndexType):
        return [("arith.fptosi", i64), ("arith.index_cast", target)]
    return [("arith.fptoui" if target.is_unsigned else "arith.fptosi", target)]


def _integer_to_float(source: ScalarType, target: ScalarType) -> list[tuple[str, ScalarType]]:
    if isinstance(source.element, IndexType):
        return [("arith.index_cast", i64), ("arith.sitofp", target)]
    return [("arith.uitofp" if _extends_with_zeros(source) else "arith.sitofp", target)]


def _integer_to_integer(source: ScalarType, target: ScalarType) -> list[tuple[str, ScalarType]]:
    if isinstance(source.element, IndexType) or isinstance(target.element, IndexType):
        if _extends_with_zeros(source) and bit_width(source) < bit_width(target):
            return [("arith.extui", i64), ("arith.index_cast", target)]
        return [("arith.index_cast", target)]
    if bit_width(source) > bit_width(target):
        return [("arith.trunci", target)]
    if bit_width(source) == bit_width(target):
        return [("arith.bitcast", target)]
    return [("arith.extui" if _extends_with_zeros(source) else "arith.extsi", target)]


def _extends_with_zeros(type: ScalarType) -> bool:
    return type == i1 or type.is_unsigned


def can_bitcast(source: ScalarType, target: ScalarType) -> bool:
    """Whether the bits of a type can be reinterpreted as another type."""
    is_fixed = not any(isinstance(type.element, IndexType) for type in (source, target))
    return source == target or (is_fixed and bit_width(source) == bit_width(target))
