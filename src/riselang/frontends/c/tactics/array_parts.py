"""Parts of arrays: the elements that a statement accesses, if these are not whole arrays.

A program takes its sizes from its arguments. In `double a[1000][1100]` with loops to n and m, they
are not the lengths of the array but those of a part of it, and the program takes that part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.tactics.array_views import is_fixed
from riselang.frontends.c.tactics.boxes import LoopRange
from riselang.frontends.c.tactics.structures import IndexAxis, Operand, Structure

Part = tuple[LoopRange | None, ...]
"""The indices of each dimension that a program takes; None for all."""


@dataclass(frozen=True)
class PartialStructure:
    """A statement as an operation on parts of its arrays, whose indices begin at zero."""

    structure: Structure
    parts: Mapping[Variable, Part]


def cut_arrays(structure: Structure) -> PartialStructure:
    """Return a statement as an operation on the parts of arrays that it accesses."""
    operands: dict[Variable, list[Operand]] = {}
    for operand in (structure.target, *structure.reads):
        operands.setdefault(operand.array, []).append(operand)
    parts = {array: _find_part(structure, array, found) for array, found in operands.items()}

    def cut(operand: Operand) -> Operand:
        axes = zip(operand.axes, parts[operand.array], strict=True)
        return replace(operand, axes=tuple(_cut_axis(axis, part) for axis, part in axes))

    extents = {
        array: tuple(
            extent if part is None else part.length
            for extent, part in zip(structure.extents[array], found, strict=True)
        )
        for array, found in parts.items()
    }
    partial = replace(
        structure,
        target=cut(structure.target),
        reads=tuple(map(cut, structure.reads)),
        extents=extents,
    )
    return PartialStructure(partial, {array: found for array, found in parts.items() if any(found)})


def _cut_axis(axis: IndexAxis, part: LoopRange | None) -> IndexAxis:
    return axis if part is None else replace(axis, offset=axis.offset - part.first)


def _find_part(structure: Structure, array: Variable, operands: Sequence[Operand]) -> Part:
    dimensions = zip(*(each.axes for each in operands), strict=True)
    return tuple(
        _find_range(structure, axes, extent)
        for axes, extent in zip(dimensions, structure.extents[array], strict=True)
    )


def _find_range(
    structure: Structure, axes: Sequence[IndexAxis], extent: Linear | None
) -> LoopRange | None:
    """Return the indices of one dimension that are accessed; None for all, or if they are not one
    range for all sizes."""
    if any(is_fixed(axis, structure) for axis in axes):
        return None
    firsts, ends = zip(*(_axis_bounds(structure, axis) for axis in axes), strict=True)
    first, end = _extremum(firsts, -1), _extremum(ends, 1)
    if first is None or end is None or (first == Linear() and end == extent):
        return None
    return LoopRange(first, end - first)


def _axis_bounds(structure: Structure, axis: IndexAxis) -> tuple[Linear, Linear]:
    """Return the lowest index, and the one after the highest."""
    first = last = axis.offset
    for loop, factor in axis.loops:
        range_ = structure.ranges[loop]
        one, other = range_.first, range_.first + range_.length - Linear(1)
        low, high = (one, other) if factor > 0 else (other, one)
        first, last = first + low.times(factor), last + high.times(factor)
    return first, last + Linear(1)


def _extremum(values: Sequence[Linear], sign: int) -> Linear | None:
    """Return the largest value times `sign`, if values differ by constants only."""
    distances = [each - values[0] for each in values]
    if not all(each.is_constant for each in distances):
        return None
    best = max(distances, key=lambda each: sign * each.constant)
    return values[0] + best
