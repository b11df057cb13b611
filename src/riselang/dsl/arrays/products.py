"""Dot products and matrix multiplications."""

from __future__ import annotations

from typing import Any

from riselang.dialects.rise.types import i1
from riselang.dsl import patterns
from riselang.dsl.arrays.broadcasting import map_elements, promote_arrays
from riselang.dsl.arrays.shapes import (
    as_array,
    element_type,
    literal_of,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_functions import scalar_function
from riselang.dsl.symbolic_values import Value, capture_arrays
from riselang.dsl.tracing import type_text

ADD, MULT = scalar_function("add"), scalar_function("mult")
OR, AND = scalar_function("bitor"), scalar_function("bitand")


def dot_product(x: Value, y: Value) -> Value:
    """Multiply two arrays of scalars element by element, and add the products."""
    type = element_type(x)
    if type == i1:
        return patterns.zip(x, y) | patterns.map(AND) | patterns.reduce(OR, False)
    return patterns.zip(x, y) | patterns.map(MULT) | patterns.reduce(ADD, literal_of(0, type))


def multiply_matrices(a: Value, b: Value) -> Value:
    return a | patterns.map(
        lambda row: b | patterns.transpose | patterns.map(lambda column: dot_product(row, column))
    )


def matmul(a: Any, b: Any) -> Value:
    """Multiply vectors, matrices, or arrays of matrices: `a @ b`."""
    a, b = capture_arrays((a, b))
    a, b = as_array("'@'", a), as_array("'@'", b)
    a, b = promote_arrays((a, b))
    ranks = min(rank_of(a), 2), min(rank_of(b), 2)
    columns, rows = shape_of(a)[-1], shape_of(b)[-ranks[1]]
    if columns != rows:
        refuse(
            f"'@': the rows of {type_text(a.type)} have length {columns}, but the columns of "
            f"{type_text(b.type)} have length {rows}"
        )
    multiply = {
        (1, 1): dot_product,
        (1, 2): lambda x, y: (
            y | patterns.transpose | patterns.map(lambda column: dot_product(x, column))
        ),
        (2, 1): lambda x, y: x | patterns.map(lambda row: dot_product(row, y)),
        (2, 2): multiply_matrices,
    }[ranks]
    return map_elements("@", multiply, (a, b), ranks)
