"""Strategies that distribute a program to ranks.

Lengths that the number of ranks does not divide are padded, so all ranks run the same kernel; the
results for the padding are dropped. The elements of a reduction that are left are reduced at the
end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType
from riselang.rewrite.combinators import choice, try_
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import pad_map, peel_reduce
from riselang.rewrite.rules.functions import map_fission
from riselang.rewrite.rules.movement import slide_before_map
from riselang.rewrite.rules.ranks import (
    blocked_reduce_over_ranks,
    map_into_ranks,
    pad_windows,
    pad_windows_2d,
    partial_reduce_over_ranks,
    product_of_panels_over_ranks,
    product_of_parts_over_ranks,
    split_over_ranks,
    tile_over_ranks,
    windows_over_ranks,
    windows_over_ranks_2d,
)
from riselang.rewrite.rules.tails import pad_both_with_zeros
from riselang.rewrite.selectors import outermost
from riselang.rewrite.strategies.reduction_schedules import expose_sums
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import argument, function, run_at
from riselang.term.nodes import Apply, Lambda, Term, has_pattern

RANK_LOOPS = ("mapRank", "reduceRank")


@schedule
def ranks(count: int, axis: int = 0) -> Strategy:
    """Distributes a map or a reduction to the ranks of a mesh axis, in blocks.

    Windows at the borders of blocks share elements. The partial results of a reduction are combined
    in the order of the ranks, if its function may be regrouped; otherwise, each rank continues from
    the result of the rank before."""
    require_positive("ranks", count=count)
    return _SizedStrategy(
        f"ranks({count}, {axis})", lambda term: _map_ranks(term, count, axis)
    ) | _SizedStrategy(
        f"ranks({count}, {axis})", lambda term: _reduce_ranks(term, count, axis)
    )  # fmt: skip


@schedule
def ranks_2d(rows: int, columns: int) -> Strategy:
    """Distributes two nested maps, such as those of a matrix multiplication or of a stencil, to the
    ranks of a mesh with this many rows and columns, in tiles."""
    require_positive("ranks_2d", rows=rows, columns=columns)
    return _SizedStrategy(
        f"ranks_2d({rows}, {columns})", lambda term: _tile_ranks(term, rows, columns)
    )


@schedule
def summa(rows: int, columns: int, panel: int) -> Strategy:
    """Distributes a matrix multiplication to the ranks of a mesh, which add the products of panels
    of at most this many columns and rows to their tiles, in the order of the source."""
    require_positive("summa", rows=rows, columns=columns, panel=panel)
    return _SizedStrategy(
        f"summa({rows}, {columns}, {panel})", lambda term: _summa(term, rows, columns, panel)
    )


@schedule
def product_parts(count: int, axis: int = 0) -> Strategy:
    """Distributes the sums of a matrix multiplication: each rank multiplies some columns of the
    first matrix with rows of the second one, and the products are added in the order of the ranks.

    The number of ranks must divide the length of the sums."""
    require_positive("product_parts", count=count)
    return _SizedStrategy(
        f"product_parts({count}, {axis})", lambda term: _product_parts(term, count, axis)
    )


@schedule
def on_ranks(*mesh: int) -> Strategy:
    """Distributes all outermost maps and reductions of a program to the ranks of a mesh."""
    require_positive("on_ranks", **{f"mesh[{at}]": size for at, size in enumerate(mesh)})
    return _OnRanks(mesh)


@dataclass(frozen=True, repr=False)
class _SizedStrategy(Strategy):
    """A strategy whose parameters depend on the sizes of the term."""

    name: str
    choose: Callable[[Term], Strategy | str]
    """Returns a strategy, or the reason why there is none."""

    def run(self, term: Term, setting: Setting) -> Result:
        chosen = self.choose(term)
        if isinstance(chosen, str):
            return Failure(self, chosen, term, closeness=CONDITION)
        return chosen.run(term, setting)

    def __str__(self) -> str:
        return self.name


def _length(array: Term) -> int | None:
    """Return the length of an array; None if it is not known, or 0."""
    type = array.type
    if isinstance(type, ArrayType) and type.length.is_constant and type.length.constant:
        return type.length.constant
    return None


_UNKNOWN = "the lengths of the arrays must be known and not 0"


def _map_ranks(term: Term, count: int, axis: int) -> Strategy | str:
    arguments = pattern_arguments(term, "map")
    length = None if arguments is None else _length(arguments[1])
    if arguments is None or length is None:
        return _UNKNOWN if arguments else "expected a map"
    size = -(-length // count)
    padding = size * -(-length // size) - length
    if pattern_arguments(arguments[1], "slide") is None:
        strategy, pad = split_over_ranks(axis, size), pad_map
    else:
        # The views of rows in the windows become part of the kernels.
        views = try_(argument(slide_before_map) >> map_into_ranks)
        strategy, pad = windows_over_ranks(axis, size) >> argument(views), pad_windows
    return pad(padding) >> argument(strategy) if padding else strategy


def _reduce_ranks(term: Term, count: int, axis: int) -> Strategy | str:
    arguments = pattern_arguments(term, "reduce")
    length = None if arguments is None else _length(arguments[2])
    if length is None:
        return _UNKNOWN if arguments else "expected a map or a reduction"
    size = length // count
    if size == 0:
        return f"the length {length} is less than the number of ranks {count}"
    partial = partial_reduce_over_ranks(axis, size)
    strategy = choice(partial, expose_sums >> partial, blocked_reduce_over_ranks(axis, size))
    if size * count != length:
        return peel_reduce(size * count) >> function(argument(strategy))
    return strategy


def _nested_maps(term: Term) -> tuple[int, int] | None:
    """Return the lengths of two nested maps over different arrays."""
    outer = pattern_arguments(term, "map")
    if outer is None or not isinstance(outer[0], Lambda):
        return None
    inner = pattern_arguments(outer[0].body, "map")
    lengths = _length(outer[1]), None if inner is None else _length(inner[1])
    return None if None in lengths else lengths  # pyright: ignore[reportReturnType]


def _tile_ranks(term: Term, rows: int, columns: int) -> Strategy | str:
    lengths = _nested_maps(term)
    if lengths is None:
        return "expected two nested maps over arrays of known lengths"
    height, width = -(-lengths[0] // rows), -(-lengths[1] // columns)
    below, right = -lengths[0] % height, -lengths[1] % width
    tiles = tile_over_ranks(height, width)
    if below or right:
        tiles = pad_both_with_zeros(below, right) >> argument(argument(tiles))
    windows = windows_over_ranks_2d(height, width)
    if below or right:
        windows = pad_windows_2d(below, right) >> argument(argument(windows))
    # Views of the rows, such as padding, are moved out of the loop over their windows.
    return choice(windows, argument(argument(map_fission)) >> windows, tiles)


def _summa(term: Term, rows: int, columns: int, panel: int) -> Strategy | str:
    lengths, sums = _nested_maps(term), _sum_length(term)
    if lengths is None or sums is None:
        return "expected a matrix multiplication of known sizes"
    height, width = -(-lengths[0] // rows), -(-lengths[1] // columns)
    below, right = -lengths[0] % height, -lengths[1] % width
    size = max(each for each in range(1, min(panel, sums) + 1) if sums % each == 0)
    strategy = product_of_panels_over_ranks(height, width, size)
    if below or right:
        return pad_both_with_zeros(below, right) >> argument(argument(strategy))
    return strategy


def _product_parts(term: Term, count: int, axis: int) -> Strategy | str:
    sums = _sum_length(term)
    if sums is None or sums % count:
        return "expected a matrix multiplication whose sums the number of ranks divides"
    return expose_sums @ outermost("reduce") >> product_of_parts_over_ranks(axis, sums // count)


def _sum_length(term: Term) -> int | None:
    """Return the length of the sums of a matrix multiplication."""
    outer = pattern_arguments(term, "map")
    if outer is None or not isinstance(outer[0], Lambda):
        return None
    inner = pattern_arguments(outer[0].body, "map")
    if inner is None or not isinstance(inner[0], Lambda):
        return None
    reduction = pattern_arguments(inner[0].body, "reduce")
    return None if reduction is None else _length(reduction[2])


@dataclass(frozen=True, repr=False)
class _OnRanks(Strategy):
    mesh: tuple[int, ...]

    def run(self, term: Term, setting: Setting) -> Result:
        if has_pattern(term, *RANK_LOOPS):
            return Success(term, ())
        strategy = ranks(self.mesh[0])
        if len(self.mesh) == 2:
            strategy = ranks_2d(*self.mesh) | strategy
        steps: tuple[Step, ...] = ()
        for path in list(_outermost_loops(term)):
            part = subterm_at(term, path)
            result = run_at(strategy, term, path, part, setting)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
        return Success(term, steps)

    def __str__(self) -> str:
        return f"on_ranks({', '.join(map(str, self.mesh))})"


def _outermost_loops(program: Term) -> Iterator[Path]:
    """Yield the paths of maps and reductions that are in no loop except an iteration."""
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        map_arguments = pattern_arguments(term, "map")
        is_map = map_arguments is not None and has_cost(map_arguments[0])
        if isinstance(term, Lambda):
            stack.append(((*path, 0), term.body))
        elif is_map or pattern_arguments(term, "reduce") is not None:
            yield path
        else:
            descends = any(pattern_arguments(term, each) for each in ("iterate", "let"))
            while isinstance(term, Apply):
                if descends or not isinstance(term.argument, Lambda):
                    stack.append(((*path, 1), term.argument))
                path, term = (*path, 0), term.function
