"""Products of several matrices."""

from __future__ import annotations

from collections.abc import Iterable

from riselang.dsl.arrays.shapes import shape_of
from riselang.dsl.diagnostics import refuse
from riselang.dsl.symbolic_values import Value
from riselang.numpy.linalg.householder import stored
from riselang.numpy.manipulation import matmul


def multiply_chain(arrays: Iterable[Value]) -> Value:
    """Multiply matrices, of which the first and the last one may be vectors."""
    parts = list(arrays)
    if len(parts) < 2:
        refuse("multi_dot: expected at least two arrays")
    sizes = [shape_of(each)[0] for each in parts] + [shape_of(parts[-1])[-1]]
    lengths = [each.constant if each.is_constant else 1 for each in sizes]
    if len(shape_of(parts[0])) == 1:
        lengths[0] = 1
    if len(shape_of(parts[-1])) == 1:
        lengths[-1] = 1
    costs: dict[tuple[int, int], tuple[int, int]] = {}
    count = len(parts)
    for length in range(2, count + 1):
        for first in range(count - length + 1):
            last = first + length
            costs[first, last] = min(
                (
                    costs.get((first, middle), (0, 0))[0]
                    + costs.get((middle, last), (0, 0))[0]
                    + lengths[first] * lengths[middle] * lengths[last],
                    middle,
                )
                for middle in range(first + 1, last)
            )

    def multiply(first: int, last: int) -> Value:
        if last - first == 1:
            return parts[first]
        middle = costs[first, last][1]
        return stored(matmul(multiply(first, middle), multiply(middle, last)))

    return multiply(0, count)
