"""Parallel execution of the outermost loops of a program, if they are large enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import ArrayType, FunType, RiseType
from riselang.nat import Facts, Nat, as_nat, is_less_equal
from riselang.rewrite.combinators import Identity
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.lowering import map_in_parallel
from riselang.rewrite.rules.simplification import copy_elements
from riselang.rewrite.strategies.schedules import by_size
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import inside, run_at
from riselang.support.machine import this_machine
from riselang.term.cost import Cost, Count, cost
from riselang.term.nodes import (
    Apply,
    Bound,
    DepLambda,
    Lambda,
    Literal,
    Pattern,
    Term,
    has_pattern,
    spine,
)

PARALLEL_PATTERNS = ("mapPar", "reducePar", "mapBlock")
SCATTERS = ("scatter", "scatterWith")
MIN_SCATTERED_COST = 64
"""The minimum number of operations for an index or a value of a scatter."""
MIN_PARALLEL_COST = 1 << 18
"""The minimum number of operations and bytes for which a parallel loop is worth its overhead."""
COPIED_PATTERNS = ("map", "generate", "clampIdx")
"""The patterns other than views that a copy may contain."""
TRANSCENDENTAL_COST = 8
"""The approximate cost of a transcendental function, in operations."""


@schedule
def parallel_outermost() -> Strategy:
    """Runs each outermost map in parallel if it is large and contains no parallel loop, and copies
    large arrays in parallel."""
    return _ParallelOutermost()


@dataclass(frozen=True, repr=False)
class _ParallelOutermost(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        # From the inside out: a copy that becomes a map moves what it reads.
        for path in sorted(_outermost_loops(term), key=len, reverse=True):
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
    return _search_loops(program, has_copies=False)


def _outermost_loops(program: Term) -> Iterator[Path]:
    """Yield the paths of the outermost maps, and of arrays that are copied to memory, which several
    cores do faster than one; what a copy reads is searched, too."""
    return _search_loops(program, has_copies=this_machine().cores > 1)


def _search_loops(program: Term, *, has_copies: bool) -> Iterator[Path]:
    has_copied_results = has_copies and _has_computed_results(program)
    stack: list[tuple[Path, Term, bool]] = [((), program, has_copied_results)]
    while stack:
        path, term, is_stored = stack.pop()
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0], is_stored))
            continue
        arguments = pattern_arguments(term, "map")
        if arguments is not None and has_cost(arguments[0]):
            if _is_single(arguments[1]):
                stack.append(((*path, 0, 1), arguments[0], is_stored))
            else:
                yield path
        elif (arguments := pattern_arguments(term, *SCATTERS)) is not None:
            stack += [
                (place, each, False)
                for place, each in _arguments(path, term)
                if each is arguments[-2] or _is_expensive(each)
            ]
        elif pattern_arguments(term, *PARALLEL_PATTERNS) is None:
            in_memory = pattern_arguments(term, "toMem") is not None
            if is_stored and not in_memory and is_copy(term):
                yield path
            is_kept = in_memory and has_copies
            is_result = is_stored and pattern_arguments(term, "let", "tuple") is not None
            stack += [
                (place, each, is_kept or (is_result and not _is_value(term, each)))
                for place, each in _arguments(path, term)
            ]


def is_copy(term: Term) -> bool:
    """Whether a term is an array that only rearranges what is in memory, or repeats constants."""
    stack = [term]
    while stack:
        head, arguments = spine(stack.pop())
        if isinstance(head, Lambda):
            stack += [head.body, *arguments]
        elif isinstance(head, Pattern):
            is_free = head.spec.role is Role.VIEW or head.spec.name in COPIED_PATTERNS
            if not is_free and head.spec.name != "toMem":
                return False
            stack += arguments if is_free else []
        elif arguments or not isinstance(head, Bound | Literal):
            return False
    return isinstance(term.type, ArrayType)


def _has_computed_results(program: Term) -> bool:
    """Whether a program is more than a copy, which has a strategy of its own if it is a
    transposition."""
    while isinstance(program, Lambda | DepLambda):
        program = program.children[0]
    return not is_copy(program)


def _is_value(let: Term, part: Term) -> bool:
    """Whether a part of a let is the value that it names, if that is not a function."""
    arguments = pattern_arguments(let, "let")
    return arguments is not None and part is arguments[0] and not isinstance(part, Lambda)


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
    """Return the strategy that runs a map, or a copy, in parallel if it is large; None if it never
    is."""
    if pattern_arguments(term, "map") is not None and not is_copy(term):
        if has_pattern(term, *PARALLEL_PATTERNS):
            return None
        run_parallel: Strategy = map_in_parallel
    else:
        copied = _parallel_copy(term)
        if copied is None:
            return None
        run_parallel = copied
    costs = cost(term)
    total = _operations(costs) + costs.bytes_written
    if not isinstance(total, int):
        return by_size(str(total), MIN_PARALLEL_COST, run_parallel, Identity())
    return run_parallel if total >= MIN_PARALLEL_COST else None


def _parallel_copy(term: Term) -> Strategy | None:
    """Return the strategy that copies an array in parallel; None if it has one element."""
    arguments = pattern_arguments(term, "map")
    if arguments is not None and not _is_single(term):
        return map_in_parallel
    if arguments is not None and isinstance(arguments[0], Lambda):
        inner = _parallel_copy(arguments[0].body)
        return None if inner is None else inside(inner)
    return _parallel_elements(term.type)


def _parallel_elements(type: RiseType) -> Strategy | None:
    if not isinstance(type, ArrayType):
        return None
    if type.length != Nat.const(1):
        return copy_elements >> map_in_parallel
    inner = _parallel_elements(type.element)
    return None if inner is None else copy_elements >> inside(inner)
