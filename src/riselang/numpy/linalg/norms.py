"""Norms of vectors and matrices."""

from __future__ import annotations

from math import inf
from typing import Any

from riselang.dsl.arrays.layout import flatten, move_axis
from riselang.dsl.arrays.shapes import as_array, literal_of, normalize_axes, rank_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value, build_operation
from riselang.numpy import reductions
from riselang.numpy.linalg.arguments import as_matrices
from riselang.numpy.linalg.decompositions import singular_values
from riselang.numpy.linalg.householder import real_type, scalar_of, stored
from riselang.numpy.promotion import promote_to_floats


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Value:
    """Return the norm of an array, or of the vectors along one axis or the matrices along two.

    `ord` is None (the 2-norm of all elements), a number, or for matrices "fro" or "nuc".
    """
    x = as_array("norm", x, 0)
    if axis is None:
        if ord is None:
            return _all_elements(x, keepdims)
        if rank_of(x) not in (1, 2):
            refuse("norm: an array with more than two axes needs the argument axis")
        axis = tuple(range(rank_of(x)))
    axes = normalize_axes("norm", axis, rank_of(x))
    if len(axes) == 1:
        return vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        refuse(f"norm: axis has one or two axes, but found {axis!r}")
    rank = rank_of(x)
    first, second = axes
    moved = move_axis(x, first, rank - 1)
    moved = move_axis(moved, second - (second > first), rank - 1)
    found = matrix_norm(moved, ord="fro" if ord is None else ord)
    if not keepdims:
        return found
    for each in sorted(axes):
        found = found[(*(slice(None),) * each, None)]
    return found


def _all_elements(x: Value, keepdims: bool) -> Value:
    found = vector_norm(flatten(x) if rank_of(x) else x)
    return found.reshape(*(1,) * rank_of(x)) if keepdims else found


def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Value:
    """Return the norm of all elements, or of those along axes."""
    (x,) = promote_to_floats(as_array("vector_norm", x, 0))
    sizes = abs(x)
    type = real_type(x)
    if ord == inf:
        return reductions.max(sizes, axis, keepdims=keepdims)
    if ord == -inf:
        return reductions.min(sizes, axis, keepdims=keepdims)
    if ord == 0:
        return reductions.sum(reductions.as_value(x != 0, type), axis, keepdims=keepdims)
    if isinstance(ord, bool) or not isinstance(ord, int | float):
        refuse(f"vector_norm: ord is a number, but found {ord!r}")
    if ord == 1:
        return reductions.sum(sizes, axis, keepdims=keepdims)
    if ord == 2:
        squares = x.real * x.real + x.imag * x.imag if scalar_of(x).is_complex else x * x
        return build_operation("sqrt", reductions.sum(squares, axis, keepdims=keepdims))
    powers = reductions.sum(sizes ** float(ord), axis, keepdims=keepdims)
    return powers ** literal_of(1 / ord, type)


def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Value:
    """Return the norms of matrices: "fro", "nuc", or the numbers 1, 2 and inf, perhaps negative."""
    if ord == "fro":
        return vector_norm(as_array("matrix_norm", x, 2), axis=(-2, -1), keepdims=keepdims)
    (x,) = as_matrices("matrix_norm", x)
    if ord in (1, -1, inf, -inf):
        sums = reductions.sum(abs(x), -2 if abs(ord) == 1 else -1)
        found = reductions.max(sums, -1) if ord > 0 else reductions.min(sums, -1)
    elif ord in ("nuc", 2, -2):
        values = stored(singular_values("matrix_norm", x))
        found = reductions.sum(values, -1) if ord == "nuc" else values[..., 0 if ord == 2 else -1]
    else:
        refuse(f"matrix_norm: ord is 'fro', 'nuc', 1, 2 or inf, perhaps negative, not {ord!r}")
    return (
        found[..., None, None]
        if keepdims and rank_of(found)
        else (found.reshape(1, 1) if keepdims else found)
    )
