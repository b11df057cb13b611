"""Arrays as loops see them, in RISE's notation: views with a dimension for each loop.

`a[i + 1]` is `a |> drop(1) |> take(n)`; `a[2 * i + k]` is `a |> slide(3, 2)`, with a dimension for
i and one for k. Where an array is read at several places near each other, as in
`a[i - 1] + a[i + 1]`, there is one view with a window for each element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from riselang.frontends.c.linear import Linear
from riselang.frontends.c.syntax import Access
from riselang.frontends.c.tactics.structures import Axis, NotLifted, Operand, Range, Structure

WIDEST = 16
"""How far places in one window may be from each other."""
ONE = Linear(1)


@dataclass(frozen=True)
class View:
    """An array or a part of it, as text, and the loops or windows that its dimensions are."""

    text: str
    loops: tuple[str, ...]
    windows: tuple[tuple[int, int], ...] = ()
    """The dimensions that are windows, as they follow behind all loops: dimension and width."""

    def without(self, loop: str, text: str) -> View:
        return View(text, tuple(each for each in self.loops if each != loop), self.windows)


def size_text(size: Linear) -> str:
    """A size in notation."""
    text = ""
    terms = sorted(size.terms, key=lambda term: term[1] < 0)
    for atom, factor in (*terms, ("", size.constant)):
        if not factor or (not atom and text and not size.constant):
            continue
        part = str(abs(factor)) if not atom else f"{abs(factor)} * {atom}"
        part = str(atom) if atom and abs(factor) == 1 else part
        sign = "-" if factor < 0 else "+"
        text = f"{text} {sign} {part}" if text else part if factor > 0 else f"-{part}"
    return text or "0"


def groups_of(structure: Structure, operands: Sequence[Operand]) -> list[list[Operand]]:
    """Reads of one array at places near each other stand together."""
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
    """Whether places differ by small numbers only, along loops that are alone in their index."""
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
        if max(numbers) - min(numbers) >= WIDEST:
            return False
    return True


def _is_alone(axis: Axis) -> bool:
    return len(axis.loops) == 1 and axis.loops[0][1] == 1


def is_fixed(axis: Axis, structure: Structure) -> bool:
    """Whether an index is that of loops that stay: then the program gets the part of the array."""
    return not axis.loops and any(name in structure.around for name in axis.offset.names())


def view_of(structure: Structure, name: str, group: Sequence[Operand]) -> View:
    """The view that a group of reads needs."""
    text, depth = name, 0
    loops: list[str] = []
    windows: list[tuple[int, int]] = []
    extents = structure.extents[group[0].array]
    for at, axes in enumerate(zip(*(each.axes for each in group), strict=True)):
        if is_fixed(axes[0], structure):
            continue
        extent = extents[at]
        if extent is None:
            raise NotLifted(f"the length of {group[0].array.name} is not declared")
        ordered = sorted(axes, key=lambda axis: axis.offset.constant)
        width = 1 + (ordered[-1].offset - ordered[0].offset).constant
        steps, found = _steps(structure, ordered[0], extent, width)
        text += _applied(steps, depth)
        depth += len(found)
        loops += [each if each else f"window{at}" for each in found]
        windows += [(at, width)] if width > 1 else []
    return View(text, tuple(loops), tuple(windows))


def _steps(
    structure: Structure, axis: Axis, extent: Linear, width: int
) -> tuple[list[str], list[str]]:
    """What makes of one dimension those of its loops; a window has no name."""
    for name in axis.offset.names():
        if name in structure.around:
            raise NotLifted("a subscript has loops that stay and others")
    ranges = structure.ranges
    if not axis.loops:
        rest = size_text(extent - axis.offset)
        return [*_from(axis.offset), f"at(clampIdx({rest}, 0_i32))"], []
    if len(axis.loops) == 1:
        return _one_loop(ranges, axis, extent, width)
    if len(axis.loops) == 2:
        return _two_loops(structure, axis, extent)
    raise NotLifted("a subscript is a sum of more than two loops")


def _one_loop(
    ranges: Mapping[str, Range], axis: Axis, extent: Linear, width: int
) -> tuple[list[str], list[str]]:
    ((loop, factor),) = axis.loops
    first, length = ranges[loop].first, ranges[loop].length
    if factor == 1 and width > 1:
        span = length + Linear(width - 1)
        windows = _part(axis.offset + first, span, extent)
        return [*windows, f"slide({width}, 1)"], [loop, ""]
    if factor == 1:
        return _part(axis.offset + first, length, extent), [loop]
    if factor == -1:
        lowest = axis.offset - first - length + ONE
        return [*_part(lowest, length, extent), "reverse"], [loop]
    if factor < 0:
        raise NotLifted("a subscript runs downwards by more than one")
    lowest, span = axis.offset + first.times(factor), (length - ONE).times(factor) + ONE
    steps = _part(lowest, span, extent)
    return [*steps, f"slide(1, {factor})", "map(at(clampIdx(1, 0_i32)))"], [loop]


def _two_loops(structure: Structure, axis: Axis, extent: Linear) -> tuple[list[str], list[str]]:
    """A window that moves: one loop moves it, the other one runs along it."""
    out = structure.target.loops
    ordered = sorted(axis.loops, key=lambda each: (abs(each[1]) != 1, each[0] in out, each[1]))
    (along, sign), (moving, step) = ordered
    if abs(sign) != 1 or step < 1:
        raise NotLifted("a subscript has no loop that steps by one along a window")
    ranges = structure.ranges
    width, first = ranges[along].length, ranges[along].first
    low = first if sign == 1 else ONE - first - width
    lowest = axis.offset + low + ranges[moving].first.times(step)
    span = (ranges[moving].length - ONE).times(step) + width
    steps = [*_part(lowest, span, extent), f"slide({size_text(width)}, {step})"]
    return [*steps, *(["map(reverse)"] if sign < 0 else [])], [moving, along]


def _from(first: Linear) -> list[str]:
    return [] if first == Linear() else [f"drop({size_text(first)})"]


def _part(first: Linear, length: Linear, extent: Linear) -> list[str]:
    """So many elements from a place on."""
    taken = [] if extent - first == length else [f"take({size_text(length)})"]
    return [*_from(first), *taken]


def _applied(steps: Sequence[str], depth: int) -> str:
    """Steps for a dimension, under so many others."""
    if not steps:
        return ""
    if not depth:
        return "".join(f" |> {step}" for step in steps)
    inner = steps[0] if len(steps) == 1 else f"fun(r, r{_applied(steps, 0)})"
    return f" |> {'map(' * depth}{inner}{')' * depth}"


def places(group: Sequence[Operand], view: View) -> Iterator[tuple[Access, tuple[int, ...]]]:
    """Where in its windows each read is."""
    for operand in group:
        found: list[int] = []
        for at, _ in view.windows:
            offsets = [each.axes[at].offset - operand.axes[at].offset for each in group]
            found.append(-min(offset.constant for offset in offsets))
        yield operand.access, tuple(found)


def fronted(view: View, loop: str) -> str:
    """A view with the dimension of a loop as the outermost."""
    text = view.text
    for position in reversed(range(view.loops.index(loop))):
        swap = "transpose"
        for _ in range(position):
            swap = f"map({swap})"
        text = f"({text} |> {swap})"
    return text
