"""Arrays as views with a dimension for each loop.

`a[i + 1]` is `a |> drop(1) |> take(n)`; `a[2 * i + k]` is `a |> slide(3, 2)`, with a dimension for
i and one for k. If an array is read at several nearby indices, as in `a[i - 1] + a[i + 1]`, there
is one view with a window for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from riselang.dialects.rise.types import i32
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Access
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.structures import IndexAxis, Operand, Structure
from riselang.frontends.term_builder import Builder, UnaryFunction, length_of
from riselang.term.build import Node

MAX_WINDOW_WIDTH = 16
"""The largest distance between indices in one window."""
ONE = Linear(1)


@dataclass(frozen=True)
class ArrayView:
    """An array or a part of it, and the loops or windows that its dimensions correspond to."""

    make: Callable[[], Node]
    """Builds it where it is used, so that it is never stored."""
    loops: tuple[str, ...]
    windows: tuple[tuple[int, int], ...] = ()
    """The window dimensions, which follow all loops: dimension and width."""

    def without(self, loop: str, part: Node) -> ArrayView:
        loops = tuple(each for each in self.loops if each != loop)
        return replace(self, make=lambda: part, loops=loops)


def group_reads(structure: Structure, operands: Sequence[Operand]) -> list[list[Operand]]:
    """Group reads of one array at nearby indices."""
    groups: list[list[Operand]] = []
    for operand in operands:
        near = (group for group in groups if _is_near(structure, [*group, operand]))
        group = next(near, None)
        if group is None:
            groups.append([operand])
        else:
            group.append(operand)
    return groups


def _is_near(structure: Structure, group: Sequence[Operand]) -> bool:
    """Whether indices differ by small constants only, along loops that are alone in their index."""
    first = group[0]
    if any(each.array is not first.array for each in group):
        return False
    for axes in zip(*(each.axes for each in group), strict=True):
        gaps = [axis.offset - axes[0].offset for axis in axes]
        is_same = all(axis == axes[0] for axis in axes)
        is_plain = all(axis.loops == axes[0].loops and _is_alone(axis) for axis in axes)
        if not is_same and not (is_plain and all(gap.is_constant for gap in gaps)):
            return False
        numbers = [gap.constant for gap in gaps]
        if max(numbers) - min(numbers) >= MAX_WINDOW_WIDTH:
            return False
    return True


def _is_alone(axis: IndexAxis) -> bool:
    return len(axis.loops) == 1 and axis.loops[0][1] == 1


def is_fixed(axis: IndexAxis, structure: Structure) -> bool:
    """Whether an index has only remaining loops: then the part of the array is passed to the
    program."""
    return not axis.loops and any(name in structure.outer_loops for name in axis.offset.names())


def element_at(builder: Builder, position: int, xs: Node) -> Node:
    """Return the element at a constant position."""
    return builder.at(builder.clamp_idx(length_of(xs), builder.literal(position, i32)), xs)


class ViewBuilder:
    """Builds the views of a structure."""

    def __init__(self, builder: Builder, structure: Structure):
        self._builder = builder
        self._structure = structure

    def build_view(self, array: Node, group: Sequence[Operand]) -> ArrayView:
        """Build the view that a group of reads needs."""
        steps: list[tuple[int, UnaryFunction]] = []
        loops: list[str] = []
        windows: list[tuple[int, int]] = []
        extents = self._structure.extents[group[0].array]
        for position, axes in enumerate(zip(*(each.axes for each in group), strict=True)):
            if is_fixed(axes[0], self._structure):
                continue
            if extents[position] is None:
                raise NotLifted(f"the length of {group[0].array.name} is not declared")
            ordered = sorted(axes, key=lambda axis: axis.offset.constant)
            width = 1 + (ordered[-1].offset - ordered[0].offset).constant
            step, found = self._split_axis(ordered[0], width)
            steps.append((len(loops), step))
            loops += [each if each else f"window{position}" for each in found]
            windows += [(position, width)] if width > 1 else []

        def make() -> Node:
            node = array
            with self._builder.at_location(group[0].access.location):
                for depth, step in steps:
                    node = self._builder.map_at(depth, step, node)
            return node

        return ArrayView(make, tuple(loops), tuple(windows))

    def _split_axis(self, axis: IndexAxis, width: int) -> tuple[UnaryFunction, list[str]]:
        """Return the function that splits one dimension into those of its loops; a window has no
        name."""
        for name in axis.offset.names():
            if name in self._structure.outer_loops:
                raise NotLifted("a subscript combines loops that remain sequential with others")
        if not axis.loops:
            builder, first = self._builder, axis.offset.to_nat()
            return lambda xs: element_at(builder, 0, builder.drop(first, xs)), []
        if len(axis.loops) == 1:
            return self._single_loop_axis(axis, width)
        if len(axis.loops) == 2:
            return self._window_axis(axis)
        raise NotLifted("a subscript is a sum of more than two loops")

    def _single_loop_axis(self, axis: IndexAxis, width: int) -> tuple[UnaryFunction, list[str]]:
        builder = self._builder
        ((loop, factor),) = axis.loops
        first, length = self._structure.ranges[loop].first, self._structure.ranges[loop].length
        if factor == 1 and width > 1:
            part = self._slice_function(axis.offset + first, length + Linear(width - 1))
            return lambda xs: builder.slide(length.to_nat(), width, 1, part(xs)), [loop, ""]
        if factor == 1:
            return self._slice_function(axis.offset + first, length), [loop]
        if factor == -1:
            part = self._slice_function(axis.offset - first - length + ONE, length)
            return lambda xs: builder.reverse(part(xs)), [loop]
        if factor < 0:
            raise NotLifted("a subscript has a step below -1")
        span = (length - ONE).times(factor) + ONE
        part = self._slice_function(axis.offset + first.times(factor), span)
        return lambda xs: builder.map(
            lambda window: element_at(builder, 0, window),
            builder.slide(length.to_nat(), 1, factor, part(xs)),
        ), [loop]

    def _window_axis(self, axis: IndexAxis) -> tuple[UnaryFunction, list[str]]:
        """Return a sliding window: one loop moves it, the other one iterates inside it."""
        out, builder = self._structure.target.loops, self._builder
        ordered = sorted(axis.loops, key=lambda each: (abs(each[1]) != 1, each[0] in out, each[1]))
        (along, sign), (moving, step) = ordered
        if abs(sign) != 1 or step < 1:
            raise NotLifted("a subscript has no loop with step one inside a window")
        ranges = self._structure.ranges
        width, count = ranges[along].length, ranges[moving].length
        low = ranges[along].first if sign == 1 else ONE - ranges[along].first - width
        lowest = axis.offset + low + ranges[moving].first.times(step)
        part = self._slice_function(lowest, (count - ONE).times(step) + width)

        def windows(xs: Node) -> Node:
            found = builder.slide(count.to_nat(), width.to_nat(), step, part(xs))
            return found if sign == 1 else builder.map(builder.reverse, found)

        return windows, [moving, along]

    def _slice_function(self, first: Linear, length: Linear) -> UnaryFunction:
        """Return a function that slices `length` elements from `first`."""
        builder = self._builder
        return lambda xs: builder.take(length.to_nat(), builder.drop(first.to_nat(), xs))

    def move_to_front(self, view: ArrayView, loop: str) -> Node:
        """Return a view with the dimension of a loop as the outermost."""
        node = view.make()
        for position in reversed(range(view.loops.index(loop))):
            node = self._builder.map_at(position, self._builder.transpose, node)
        return node

    def element_in_window(self, view: ArrayView, offsets: Sequence[int]) -> Node:
        """Return the element of a view without loops at an index in its windows."""
        node = view.make()
        for offset in offsets:
            node = element_at(self._builder, offset, node)
        return node


def window_offsets(
    group: Sequence[Operand], view: ArrayView
) -> Iterator[tuple[Access, tuple[int, ...]]]:
    """Yield the index of each read in its windows."""
    for operand in group:
        found: list[int] = []
        for position, _ in view.windows:
            offsets = [each.axes[position].offset - operand.axes[position].offset for each in group]
            found.append(-min(offset.constant for offset in offsets))
        yield operand.access, tuple(found)
