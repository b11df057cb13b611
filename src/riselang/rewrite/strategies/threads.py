"""Parallel execution of the outermost loops of a program, if they are large enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, FunType
from riselang.nat import Facts, Nat, as_nat, is_less_equal
from riselang.rewrite.combinators import Identity
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.lowering import map_in_parallel
from riselang.rewrite.strategies.schedules import by_size
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import run_at
from riselang.term.cost import Cost, Count, cost
from riselang.term.nodes import Apply, DepLambda, Lambda, Term, has_pattern

PARALLEL_PATTERNS = ("mapPar", "reducePar", "mapBlock")
SCATTERS = ("scatter", "scatterWith")
MIN_SCATTERED_COST = 64
"""The minimum number of operations for an index or a value of a scatter."""
MIN_PARALLEL_COST = 1 << 18
"""The minimum number of operations and bytes for which a parallel loop is worth its overhead."""
TRANSCENDENTAL_COST = 8
"""The approximate cost of a transcendental function, in operations."""


@schedule
def parallel_outermost() -> Strategy:
    """Runs each outermost map in parallel if it is large and contains no parallel loop."""
    return _ParallelOutermost()


@dataclass(frozen=True, repr=False)
class _ParallelOutermost(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        for path in list(outermost_maps(term)):
            strategy = _parallel_if_large(subterm_at(term, path))
            if strategy is None:
                continue
            result = run_at(strategy, term, path, subterm_at(term, path), setting)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
        return Success(term, steps) if steps else Failure(self, "no outermost map is large", term)

    def __str__(self) -> str:
        return "parallel_outermost()"


def outermost_maps(program: Term) -> Iterator[Path]:
    """Yield the paths of maps that are in no other loop.

    Arrays that such a loop reads are computed in it, so they are not searched. A scatter computes
    its indices and values in blocks, so they are computed in parallel only if this takes long.
    """
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0]))
        elif (arguments := pattern_arguments(term, "map")) is not None and has_cost(arguments[0]):
            if _is_single(arguments[1]):
                stack.append(((*path, 0, 1), arguments[0]))
            else:
                yield path
        elif (arguments := pattern_arguments(term, *SCATTERS)) is not None:
            stack += [
                (place, each)
                for place, each in _arguments(path, term)
                if each is arguments[-2] or _is_expensive(each)
            ]
        elif pattern_arguments(term, *PARALLEL_PATTERNS) is None:
            stack += _arguments(path, term)


def _arguments(path: Path, term: Term) -> Iterator[tuple[Path, Term]]:
    """Yield the arguments of a pattern except its functions, which are its loop; let has none."""
    is_let = pattern_arguments(term, "let") is not None
    while isinstance(term, Apply):
        if is_let or not isinstance(term.argument.type, FunType):
            yield (*path, 1), term.argument
        path, term = (*path, 0), term.function


def _is_expensive(xs: Term) -> bool:
    """Whether an element takes many operations."""
    length = xs.type.length if isinstance(xs.type, ArrayType) else Nat.const(1)
    return is_less_equal(length * MIN_SCATTERED_COST, as_nat(_operations(cost(xs))), Facts())


def _operations(costs: Cost) -> Count:
    return costs.flops + TRANSCENDENTAL_COST * costs.transcendentals


def _is_single(xs: Term) -> bool:
    """Whether an array has one element, such as a batch of one image, and so needs no loop."""
    return isinstance(xs.type, ArrayType) and xs.type.length == Nat.const(1)


def _parallel_if_large(term: Term) -> Strategy | None:
    """Return the strategy that runs a map in parallel if it is large; None if it never is."""
    if has_pattern(term, *PARALLEL_PATTERNS):
        return None
    costs = cost(term)
    total = _operations(costs) + costs.bytes_written
    if not isinstance(total, int):
        return by_size(str(total), MIN_PARALLEL_COST, map_in_parallel, Identity())
    return map_in_parallel if total >= MIN_PARALLEL_COST else None
