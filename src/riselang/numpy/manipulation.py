"""Constructors, layout, selection and products under NumPy's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riselang.dialects.rise.types import f64, i64
from riselang.dsl import array_prelude, patterns
from riselang.dsl.arrays import constructors, contractions, layout, products, selections
from riselang.dsl.arrays.broadcasting import broadcast_shapes, map_elements
from riselang.dsl.arrays.broadcasting import broadcast_to as repeat_to
from riselang.dsl.arrays.shapes import (
    as_array,
    as_shape,
    element_type,
    literal_of,
    map_at,
    normalize_axes,
    normalize_axis,
    rank_of,
    shape_of,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, convert
from riselang.dsl.tracing import value_text
from riselang.numpy.promotion import as_type, as_value, promote, result_type

pad, take_along_axis, sort, argsort = (
    selections.pad,
    selections.take_along,
    selections.sort,
    selections.argsort,
)
roll, flip, squeeze, expand_dims = layout.roll, layout.flip, layout.squeeze, layout.expand_dims


def top_k(x: Any, k: int) -> tuple[Value, Value]:
    """Return the k greatest elements in descending order, and their indices; NaN is greatest."""
    values, indices = array_prelude.top_k(k, x)
    return values, indices


def astype(x: Any, dtype: Any) -> Value:
    """Convert the elements to a type."""
    return as_value(x, as_type(dtype))


def asarray(x: Any, dtype: Any = None) -> Value:
    """Return a value or a captured array, perhaps converted; a number becomes a scalar."""
    return as_value(x, None if dtype is None else as_type(dtype))


def zeros(shape: Any, dtype: Any = None) -> Value:
    """Return an array of zeros, by default of type f64."""
    return full(shape, 0, f64 if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None) -> Value:
    """Return an array of ones, by default of type f64."""
    return full(shape, 1, f64 if dtype is None else dtype)


empty = zeros


def full(shape: Any, value: Any, dtype: Any = None) -> Value:
    """Return an array whose elements are all this value."""
    type = result_type(value) if dtype is None else as_type(dtype)
    return repeat_to("full", as_value(value, type), as_shape("full", shape))


def zeros_like(x: Any, dtype: Any = None) -> Value:
    """Return zeros in the shape and, by default, of the type of an array."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None) -> Value:
    """Return ones in the shape and, by default, of the type of an array."""
    return full_like(x, 1, dtype)


empty_like = zeros_like


def full_like(x: Any, value: Any, dtype: Any = None) -> Value:
    """Return a constant array in the shape and, by default, of the type of an array."""
    return full(shape_of(x), value, result_type(x) if dtype is None else dtype)


def eye(rows: Any, columns: Any = None, k: int = 0, dtype: Any = None) -> Value:
    """Return a matrix with ones on a diagonal, by default of type f64."""
    return constructors.eye(rows, columns, k, f64 if dtype is None else as_type(dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Value:
    """Return the numbers from `start`, by default 0, to `stop`, which is not included."""
    return constructors.arange(start, stop, step, None if dtype is None else as_type(dtype))


def linspace(
    start: float, stop: float, num: int, dtype: Any = None, endpoint: bool = True
) -> Value:
    """Return `num` numbers at equal distances from `start` to `stop`."""
    type = f64 if dtype is None else as_type(dtype)
    step = (stop - start) / max(1, num - 1 if endpoint else num)

    def number(i: Value) -> Value:
        position = convert(patterns.from_idx(i), i64)
        value = convert(position, f64) * step + start
        if endpoint and num > 1:
            value = select(position == num - 1, literal_of(float(stop), f64), value)
        return value if type == f64 else convert(value, type)

    return patterns.generate(number, n=num)


def tril(x: Any, k: int = 0) -> Value:
    """Replace the elements of matrices above a diagonal by zero."""
    return _triangle("tril", x, lambda i, j: j <= i + k)


def triu(x: Any, k: int = 0) -> Value:
    """Replace the elements of matrices below a diagonal by zero."""
    return _triangle("triu", x, lambda i, j: j >= i + k)


def _triangle(name: str, x: Any, is_kept: Any) -> Value:
    x = as_array(name, x, 2)
    rows, columns = shape_of(x)[-2:]
    mask = constructors.arange(rows)[:, None], constructors.arange(columns)
    return select(is_kept(*mask), x, literal_of(0, element_type(x)))


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Value]:
    """Return the coordinates of a grid, one array for each dimension."""
    rank = len(arrays)
    shape = tuple(shape_of(as_array("meshgrid", array))[0] for array in arrays)
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        shape, axes = (shape[1], shape[0], *shape[2:]), [1, 0, *axes[2:]]
    expanded = (
        layout.expand_dims(array, tuple(number for number in range(rank) if number != axis))
        if rank > 1
        else array
        for array, axis in zip(arrays, axes, strict=True)
    )
    return [repeat_to("meshgrid", array, shape) for array in expanded]


def reshape(x: Any, shape: Any) -> Value:
    """Return the elements in another shape; a size of -1 is the one that remains."""
    return layout.reshape(x, tuple(shape) if isinstance(shape, tuple | list) else (shape,))


def ravel(x: Any) -> Value:
    """Return all elements as an array of one dimension."""
    return layout.flatten(x)


def transpose(x: Any, axes: Any = None) -> Value:
    """Return an array with its axes reversed, or in this order."""
    return layout.transpose(x, axes)


permute_dims = transpose


def matrix_transpose(x: Any) -> Value:
    """Swap the last two axes."""
    x = as_array("matrix_transpose", x, 2)
    return map_at(rank_of(x) - 2, patterns.transpose, x)


def moveaxis(x: Any, source: Any, destination: Any) -> Value:
    """Move axes to new positions; the others remain in their order."""
    rank = rank_of(x)
    old = normalize_axes("moveaxis", source, rank)
    new = normalize_axes("moveaxis", destination, rank)
    order = [axis for axis in range(rank) if axis not in old]
    for position, axis in sorted(zip(new, old, strict=True)):
        order.insert(position, axis)
    return layout.permute_axes(x, order)


def broadcast_to(x: Any, shape: Any) -> Value:
    """Repeat an array along the axes that it lacks, or whose length is 1."""
    return repeat_to("broadcast_to", x, as_shape("broadcast_to", shape))


def broadcast_arrays(*arrays: Any) -> list[Value]:
    """Broadcast arrays to one shape."""
    shape = broadcast_shapes("broadcast_arrays", arrays)
    return [repeat_to("broadcast_arrays", array, shape) for array in arrays]


def _check_sequence(name: str, arrays: Any) -> Sequence[Any]:
    if not isinstance(arrays, tuple | list | Value):
        refuse(f"{name}: expected a sequence of arrays, but found {value_text(arrays)}")
    return arrays  # type: ignore[return-value]


def concatenate(arrays: Any, axis: Any = 0) -> Value:
    """Return the elements of several arrays one after the other along an axis."""
    return layout.concatenate(promote(*_check_sequence("concatenate", arrays)), axis)


concat = concatenate


def stack(arrays: Any, axis: int = 0) -> Value:
    """Return the array of these arrays."""
    return layout.stack(promote(*_check_sequence("stack", arrays)), axis)


def unstack(x: Any, axis: int = 0) -> tuple[Value, ...]:
    """Return the arrays along an axis, whose length must be known."""
    number = normalize_axis("unstack", axis, rank_of(x))
    first = layout.move_axis(x, number, 0)
    return tuple(first[position] for position in range(len(first)))


def tile(x: Any, repetitions: Any) -> Value:
    """Repeat an array a number of times along each axis."""
    counts = repetitions if isinstance(repetitions, tuple | list) else (repetitions,)
    rank = max(rank_of(x), len(counts))
    counts = (*(1,) * (rank - len(counts)), *counts)
    for _ in range(rank - rank_of(x)):
        x = layout.add_axis(x)
    for axis, count in enumerate(counts):
        if count != 1:
            x = map_at(axis, lambda row, n=count: _repeat_rows(row, n), x)
    return x


def _repeat_rows(row: Value, count: int) -> Value:
    return patterns.join(patterns.generate(lambda _: row, n=count))


def repeat(x: Any, repeats: Any, axis: Any = None) -> Value:
    """Repeat each element along an axis."""
    if axis is None:
        x, axis = layout.flatten(x), 0
    number = normalize_axis("repeat", axis, rank_of(x))
    return map_at(
        number,
        lambda row: patterns.join(
            patterns.map(lambda element: patterns.generate(lambda _: element, n=repeats), row)
        ),
        x,
    )


def take(x: Any, indices: Any, axis: int = 0) -> Value:
    """Select elements along an axis by positions."""
    x = as_value(x)
    number = normalize_axis("take", axis, rank_of(x))
    return x[(*(slice(None),) * number, indices)]


def matmul(x: Any, y: Any) -> Value:
    """Multiply vectors, matrices, or arrays of matrices."""
    return products.matmul(*promote(x, y))


def dot(x: Any, y: Any) -> Value:
    """Contract the last axis of `x` with the last axis of `y`, or its last but one."""
    return contractions.dot(*promote(x, y))


def tensordot(x: Any, y: Any, axes: Any = 2) -> Value:
    """Return the tensor contraction of two arrays over these axes."""
    x, y = promote(x, y)
    return contractions.tensordot(x, y, axes)


def einsum(subscripts: str, *arrays: Any) -> Value:
    """Return a tensor contraction in Einstein's notation."""
    return contractions.einsum(subscripts, *promote(*arrays))


def vecdot(x: Any, y: Any, axis: int = -1) -> Value:
    """Return the dot products along an axis."""
    x, y = promote(x, y)
    x, y = (
        layout.move_axis(each, normalize_axis("vecdot", axis, rank_of(each)), rank_of(each) - 1)
        for each in (x, y)
    )
    return map_elements("vecdot", products.dot_product, (x, y), (1, 1))


def outer(x: Any, y: Any) -> Value:
    """Return the products of each element of `x` with each element of `y`."""
    x, y = promote(x, y)
    return layout.flatten(x)[:, None] * layout.flatten(y)


def inner(x: Any, y: Any) -> Value:
    """Contract the last axes of two arrays."""
    x, y = promote(x, y)
    return (
        x * y
        if rank_of(x) == 0 or rank_of(y) == 0
        else contractions.tensordot(x, y, ((-1,), (-1,)))
    )


def diagonal(x: Any, offset: int = 0) -> Value:
    """Return the diagonals of matrices; a positive offset is to the right of the main one."""
    x = as_array("diagonal", x, 2)
    return map_at(rank_of(x) - 2, lambda matrix: _diagonal(matrix, offset), x)


def _diagonal(matrix: Value, offset: int) -> Value:
    matrix = matrix[:, offset:] if offset >= 0 else matrix[-offset:]
    rows, columns = shape_of(matrix)
    if not (rows.is_constant and columns.is_constant):
        refuse("diagonal: the lengths of the matrix must be known")
    count = min(rows.constant, columns.constant)
    square = matrix[:count, :count]
    return patterns.generate(lambda i: square[i][i], n=count)


def trace(x: Any, offset: int = 0) -> Value:
    """Return the sums of the diagonals of matrices."""
    from riselang.numpy.reductions import sum as add_elements

    return add_elements(diagonal(x, offset), -1)


def searchsorted(x: Any, values: Any, side: str = "left", sorter: Any = None) -> Value:
    """Return the positions at which values are inserted into a sorted array to keep it sorted.

    The sorter is an array of positions that sort `x`.
    """
    x = as_array("searchsorted", x)
    x, values = promote(x if sorter is None else x[sorter], values)
    if side not in ("left", "right"):
        refuse(f"searchsorted: the side must be 'left' or 'right', but is {side!r}")

    def count_before(value: Value) -> Value:
        is_before = x < value if side == "left" else x <= value
        return convert(is_before, i64).sum()

    return map_elements("searchsorted", count_before, (values,))


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Value:
    """Return whether elements are equal within a tolerance."""
    x, y = promote(x, y)
    return abs(x - y) <= abs(y) * rtol + atol
