"""Arguments of the functions of linear algebra: matrices of floats whose lengths are known."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.types import ScalarType, bf16, f16, f32
from riselang.dsl.arrays.shapes import as_array, format_shape, rank_of, shape_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value
from riselang.numpy.promotion import as_value, float_type, promote_to_floats


def as_matrices(name: str, *operands: Any, ranks: tuple[int, ...] = ()) -> list[Value]:
    """Return arrays of matrices of one type, f32, f64, complex64 or complex128."""
    arrays = [
        as_array(name, each, rank)
        for each, rank in zip(operands, ranks or (2,) * len(operands), strict=True)
    ]
    wanted = computation_type(float_type(*arrays))
    promoted = [as_value(each, wanted) for each in promote_to_floats(*arrays)]
    for each in promoted:
        _check_lengths(name, each)
    return promoted


def computation_type(type: ScalarType) -> ScalarType:
    return f32 if type in (f16, bf16) else type


def as_square(name: str, *operands: Any) -> list[Value]:
    arrays = as_matrices(name, *operands)
    check_square(name, arrays[0])
    return arrays


def check_square(name: str, x: Value) -> None:
    rows, columns = shape_of(x)[-2:]
    if rows != columns:
        refuse(f"{name}: expected square matrices, but found {format_shape(shape_of(x))}")


def _check_lengths(name: str, x: Value) -> None:
    for axis, length in enumerate(shape_of(x)):
        is_outer = axis < rank_of(x) - 2
        if not is_outer and not length.is_constant:
            refuse(f"{name}: the length of axis {axis} must be known, but is {length}")
        if not is_outer and length.constant == 0:
            refuse(f"{name}: the matrices must not be empty, but axis {axis} has length 0")
