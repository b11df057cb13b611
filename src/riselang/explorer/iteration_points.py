"""Slices of the iteration domains of C statements, for small sizes: points, dependences and tiles.

A slice is a plane (or a line) through a domain: two iterators vary, and the others have the values
for which it has the most points. Everything is enumerated by isl.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, pairwise
from typing import Any

from riselang.frontends.c.model.dependences import Dependences, dependences
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.scop import ModelStatement, Scop

Point = tuple[int, ...]
DEFAULT_SIZES = (8, 20, 40)
"""The values of parameters: the first, unless the schedule has tiles that only larger ones show."""
MAX_POINTS = 12_000
"""The limit on the points of a domain, beyond the first of the sizes."""
MAX_OPERATIONS = 4_000_000
"""The limit on isl operations to find the dependences in a slice."""
KINDS = ("flow", "anti", "output")


@dataclass(frozen=True)
class Arrow:
    """A dependence between two points of a slice."""

    kind: str
    source: Point
    target: Point


@dataclass(frozen=True)
class Slice:
    """A part of a statement's domain in which at most two iterators vary."""

    statement: ModelStatement
    axes: tuple[int, ...]
    """The positions of the iterators that vary, from the outermost to the innermost."""
    order: Mapping[Point, int]
    """The points, and the position of each in the order of the schedule."""
    arrows: tuple[Arrow, ...] | None
    """The dependences within the slice that no two others imply; None if isl takes too long."""
    tiles: tuple[tuple[tuple[Point, ...], ...], ...]
    """The tiles of each level, from the outermost to the innermost."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.statement.iterators)

    @property
    def fixed(self) -> dict[str, int]:
        """The iterators that do not vary, and their values."""
        point = next(iter(self.order))
        return {
            name: point[position]
            for position, name in enumerate(self.names)
            if position not in self.axes
        }


def choose_sizes(scop: Scop, tree: Any, given: Mapping[str, int]) -> dict[str, int]:
    """Return values of the parameters: those given, and small ones for which there are tiles, if
    the schedule has any, and instances of all statements, if possible."""
    chosen = _sizes_with_points(scop, DEFAULT_SIZES[0], given)
    if not any(word in str(tree) for word in ("floor", "mod")):
        return chosen
    for size in DEFAULT_SIZES:
        sizes = _sizes_with_points(scop, size, given)
        counts = [_count(each, scop, sizes) for each in scop.statements]
        if size > DEFAULT_SIZES[0] and max(counts) > MAX_POINTS:
            break
        times = _times(scop, tree, sizes)
        chosen = sizes
        if any(len(set(level.values())) > 1 for each in times.values() for level in _tiles(each)):
            break
    return chosen


def _sizes_with_points(scop: Scop, size: int, given: Mapping[str, int]) -> dict[str, int]:
    names = [each.name for each in scop.parameters]
    candidates = [
        dict.fromkeys(names, size),
        *({**dict.fromkeys(names, size), n: 2} for n in names),
    ]
    candidates = [{**each, **{k: v for k, v in given.items() if k in each}} for each in candidates]

    def worth(sizes: Mapping[str, int]) -> tuple[bool, int]:
        if not _is_promised(scop, sizes):
            return False, 0
        return True, min((_count(each, scop, sizes) for each in scop.statements), default=0)

    # The first of the best: all sizes the same, if that gives every statement an instance.
    if worth(candidates[0]) > (True, 0):
        return candidates[0]
    return max(candidates, key=worth)


def _is_promised(scop: Scop, sizes: Mapping[str, int]) -> bool:
    return not scop.context_set.intersect(_parameter_set(scop, sizes)).is_empty()


def _parameter_set(scop: Scop, sizes: Mapping[str, int]) -> Any:
    conditions = " and ".join(f"{name} = {value}" for name, value in sizes.items())
    return isl().Set(f"{scop.prefix}{{ : {conditions} }}")


def _count(statement: ModelStatement, scop: Scop, sizes: Mapping[str, int]) -> int:
    found = statement.domain.intersect_params(_parameter_set(scop, sizes))
    return found.project_out_all_params().count_val().to_python()


def find_slices(scop: Scop, tree: Any, sizes: Mapping[str, int]) -> list[Slice]:
    """Return the slices of all statements with loops, for some values of the parameters."""
    pairs = within_limits(lambda: _direct_dependences(scop, sizes), MAX_OPERATIONS)
    found: list[Slice] = []
    for name, times in _times(scop, tree, sizes).items():
        statement = scop.find_statement(name)
        depth = len(statement.iterators)
        for axes in combinations(range(depth), min(2, depth)):
            if axes:
                found.append(_slice(scop, statement, axes, times, pairs))
    return found


def _slice(
    scop: Scop,
    statement: ModelStatement,
    axes: tuple[int, ...],
    times: Mapping[Point, Point],
    pairs: Mapping[str, Any] | None,
) -> Slice:
    fixed = [position for position in range(len(statement.iterators)) if position not in axes]

    def values_of(point: Point) -> Point:
        return tuple(point[each] for each in fixed)

    planes = {
        values: list(points)
        for values, points in groupby(sorted(times, key=lambda p: (values_of(p), p)), values_of)
    }
    most = max(map(len, planes.values()))
    largest = sorted(values for values, points in planes.items() if len(points) == most)
    values = largest[len(largest) // 2]
    points = sorted(planes[values], key=lambda point: times[point])
    inside = _plane(scop, statement, dict(zip(fixed, values, strict=True)))
    arrows = None if pairs is None else tuple(sorted(_arrows(pairs, inside), key=_drawing_order))
    tiles = [_groups(points, level) for level in _tiles(times)]
    order = {point: number for number, point in enumerate(points)}
    return Slice(statement, axes, order, arrows, tuple(tiles))


def _drawing_order(arrow: Arrow) -> tuple[Point, Point]:
    return arrow.source, arrow.target


def _plane(scop: Scop, statement: ModelStatement, fixed: Mapping[int, int]) -> Any:
    names = [name for _, name in statement.iterators]
    conditions = " and ".join(f"{names[position]} = {value}" for position, value in fixed.items())
    space = f"{statement.name}[{', '.join(names)}]"
    return isl().UnionSet(f"{scop.prefix}{{ {space} : {conditions or 'true'} }}")


def _direct_dependences(scop: Scop, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the dependences of each kind, without those that are a sequence of two others."""
    found: Dependences | None = dependences(scop)
    if found is None:
        return {}
    values = _parameter_set(scop, sizes)
    every = found.all.intersect_params(values)
    direct = every.subtract(every.apply_range(every))
    return {kind: getattr(found, kind).intersect(direct) for kind in KINDS}


def _arrows(pairs: Mapping[str, Any], plane: Any) -> Iterator[Arrow]:
    """Yield the dependences between points of a plane, each as the first of its kinds."""
    seen: set[tuple[Point, Point]] = set()
    for kind, relation in pairs.items():
        inside = relation.intersect_domain(plane).intersect_range(plane)
        for point in _points(inside.wrap()):
            pair = (point[: len(point) // 2], point[len(point) // 2 :])
            if pair not in seen:
                seen.add(pair)
                yield Arrow(kind, *pair)


def _points(union: Any) -> list[Point]:
    """Return the points of a union of sets whose parameters have values."""
    found: list[Point] = []
    kind = isl().dim_type.set

    def add(point: Any) -> None:
        count = point.get_space().dim(kind)
        found.append(tuple(point.get_coordinate_val(kind, at).to_python() for at in range(count)))

    union.foreach_point(add)
    return found


def _times(scop: Scop, tree: Any, sizes: Mapping[str, int]) -> dict[str, dict[Point, Point]]:
    """Return the time of each instance of each statement that has any."""
    times = tree.get_map().intersect_params(_parameter_set(scop, sizes))
    found: dict[str, dict[Point, Point]] = {}
    for statement in scop.statements:
        depth = len(statement.iterators)
        domain = isl().UnionSet.from_set(statement.domain)
        own = {p[:depth]: p[depth:] for p in _points(times.intersect_domain(domain).wrap())}
        if own:
            found[statement.name] = own
    return found


def _tiles(times: Mapping[Point, Point]) -> list[dict[Point, Point]]:
    """Return for each level of tiles the tile of each point.

    A position of the times is that of a tile if it changes along a line of points, but is the same
    for adjacent points on it. A level ends where the next position is of another sort.
    """
    length = len(next(iter(times.values())))
    moving = [at for at in range(length) if len({time[at] for time in times.values()}) > 1]
    lines = list(_lines(times))
    are_tiles = {at: _has_steps([[times[p][at] for p in line] for line in lines]) for at in moving}
    ends = [
        at
        for at, following in zip(moving, [*moving[1:], None], strict=True)
        if are_tiles[at] and (following is None or not are_tiles[following])
    ]
    return [{point: time[: end + 1] for point, time in times.items()} for end in ends]


def _lines(points: Iterable[Point]) -> Iterator[list[Point]]:
    """Yield the points on each line along an iterator, in order."""
    ordered = list(points)
    for axis in range(len(ordered[0])):

        def rest(point: Point, axis: int = axis) -> Point:
            return (*point[:axis], *point[axis + 1 :])

        for _, line in groupby(sorted(ordered, key=lambda p: (rest(p), p)), rest):
            yield list(line)


def _has_steps(lines: Sequence[Sequence[int]]) -> bool:
    return any(len(set(line)) > 1 and any(a == b for a, b in pairwise(line)) for line in lines)


def _groups(points: Sequence[Point], tiles: Mapping[Point, Point]) -> tuple[tuple[Point, ...], ...]:
    found: dict[Point, list[Point]] = {}
    for point in points:
        found.setdefault(tiles[point], []).append(point)
    return tuple(map(tuple, found.values()))
