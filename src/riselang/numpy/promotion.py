"""Type promotion as in NumPy and the Python array API standard.

Python numbers adapt to the arrays that they are combined with: an integer to any type of numbers,
a float to any float or complex type, and a complex number to any complex type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TypeVariable,
    f64,
    i1,
    i64,
    is_float,
    is_unsigned,
    u64,
)
from riselang.dialects.rise.types import index as index_type
from riselang.dsl.arrays.shapes import element_type, literal_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value, as_node, capture_arrays, convert
from riselang.dsl.tracing import current_trace, type_text, value_text
from riselang.dsl.type_promotion import common_type, scalar_types
from riselang.interpreter.scalar_semantics import numpy_dtype


def as_type(dtype: Any) -> ScalarType:
    """Return a scalar type that users pass as such, or as a NumPy type."""
    if isinstance(dtype, ScalarType):
        return dtype
    try:
        return scalar_types()[np.dtype(dtype)]
    except (TypeError, ValueError, KeyError):
        refuse(f"expected a type such as rl.f32 or numpy.float32, but found {value_text(dtype)}")


def type_of(value: Any) -> RiseType:
    """Return the type of the elements of a value."""
    type = element_type(value)
    return i64 if type == index_type else type


def result_type(*operands: Any) -> ScalarType:
    """Return the type to which values, types and Python numbers are promoted."""
    dtypes = _promotable_types(operands)
    if not dtypes:
        for operand in operands:
            current_trace().settle_number(element_type(operand))
        dtypes = _promotable_types(operands)
    if not dtypes:
        refuse("expected numbers or arrays of numbers; the types of these are not known")
    return common_type(dtypes)


def _promotable_types(operands: Sequence[Any]) -> list[Any]:
    return [dtype for operand in operands if (dtype := _promotable(operand)) is not None]


def _promotable(operand: Any) -> Any:
    """Return what NumPy promotes: a type or a Python number; None if the type is not known."""
    if isinstance(operand, Value):
        operand = type_of(operand)
        if isinstance(operand, TypeVariable):
            return None
    if isinstance(operand, ScalarType):
        return numpy_dtype(operand)
    if isinstance(operand, bool | int | float | complex):
        return operand
    if isinstance(operand, np.generic | np.ndarray):
        return operand.dtype
    if not isinstance(operand, np.dtype | type):
        refuse(f"expected numbers or arrays of numbers, but found {_describe(operand)}")
    return numpy_dtype(as_type(operand))


def _describe(operand: Any) -> str:
    return type_text(operand) if isinstance(operand, RiseType) else value_text(operand)


def promote(*operands: Any) -> list[Value]:
    """Convert values and numbers to their common type."""
    type = result_type(*operands)
    return [as_value(operand, type) for operand in operands]


def promote_to_floats(*operands: Any) -> list[Value]:
    """Convert values and numbers to their common type, which is f64 for integers and Booleans."""
    type = float_type(*operands)
    return [as_value(operand, type) for operand in operands]


def float_type(*operands: Any) -> ScalarType:
    type = result_type(*operands)
    return type if is_float(type) or type.is_complex else f64


def sum_type(value: Any) -> ScalarType:
    """Return the type of a sum: i64 or u64 for integers and Booleans, so that few overflow."""
    type = result_type(value)
    if is_float(type) or type.is_complex:
        return type
    return u64 if is_unsigned(type) else i64


def as_value(operand: Any, type: ScalarType | None = None) -> Value:
    """Return a value of this type; the default type of a number is that in NumPy."""
    (operand,) = capture_arrays([operand])
    if isinstance(operand, Value):
        if type is None or element_type(operand) == type:
            return operand
        return convert(operand, type)
    if isinstance(operand, np.generic):
        operand = operand.item()
    if not isinstance(operand, bool | int | float | complex):
        refuse(f"expected a number or an array of numbers, but found {value_text(operand)}")
    wanted = type or result_type(operand)
    if wanted == i1:
        return Value(as_node(bool(operand)))
    if isinstance(operand, bool):
        operand = int(operand)
    if wanted.is_complex:
        return Value(as_node(complex(operand), wanted))
    if isinstance(operand, complex):
        refuse(f"expected a number of type {type_text(wanted)}, but found {operand}")
    return literal_of(float(operand) if is_float(wanted) else operand, wanted)
