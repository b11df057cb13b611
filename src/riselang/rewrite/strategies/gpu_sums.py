"""Reductions of long arrays on GPUs, for programs that permit reordering sums: in two steps.

Each block reduces a part of the array, and then one block reduces the results.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, FunType, ScalarType
from riselang.rewrite.combinators import Identity, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import partial_reduce, peel_reduce
from riselang.rewrite.rules.lowering import map_over_blocks
from riselang.rewrite.strategies.gpu_reductions import (
    LANES,
    REDUCING_THREADS,
    reduce_by_block,
    threads_and_lanes,
)
from riselang.rewrite.strategies.reduction_schedules import expose_sums
from riselang.rewrite.term_parts import has_cost, pattern_arguments
from riselang.rewrite.traversals import argument, function, inside
from riselang.term.nodes import Apply, DepLambda, Lambda, Term

PART = 8192
"""The maximum number of elements that a block reduces."""
MIN_PART = REDUCING_THREADS * LANES
MAX_SEQUENTIAL = 64
"""The maximum number of results that one thread reduces."""


@schedule
def reduce_by_blocks(part: int) -> Strategy:
    """Reduces a long array by blocks, `part` elements each, and their results by one block."""
    require_positive("reduce_by_blocks", part=part)
    return _ReduceByBlocks(part)


@dataclass(frozen=True, repr=False)
class _ReduceByBlocks(Strategy):
    part: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "reduce")
        if arguments is None or not isinstance(arguments[1].type, ScalarType):
            return Failure(self, "expected a reduction of scalars", term)
        if self.part % MIN_PART:
            reason = f"the number of elements of a block must be a multiple of {MIN_PART}"
            return Failure(self, reason, term, closeness=CONDITION)
        assert isinstance(arguments[2].type, ArrayType)
        length = arguments[2].type.length
        if not length.is_constant or length.constant < self.part:
            reason = f"expected at least {self.part} elements, but found {length}"
            return Failure(self, reason, term, closeness=CONDITION)
        parts = length.constant // self.part
        by_blocks = seq(
            try_(expose_sums),
            partial_reduce(self.part),
            argument(inside(reduce_by_block(REDUCING_THREADS)) >> map_over_blocks),
            _reduce_parts(parts),
        )
        whole = parts * self.part
        if whole != length.constant:
            by_blocks = peel_reduce(whole) >> function(argument(by_blocks))
        return by_blocks.run(term, setting)

    def __str__(self) -> str:
        return f"reduce_by_blocks({self.part})"


def _reduce_parts(parts: int) -> Strategy:
    """Return a strategy that reduces the results of the blocks by one block, if there are many."""
    if parts <= MAX_SEQUENTIAL:
        return Identity()
    threads, lanes = threads_and_lanes(parts)
    reduce_part = inside(reduce_by_block(threads, lanes)) >> map_over_blocks
    return partial_reduce(parts) >> argument(reduce_part)


def choose_part(reduction: Term) -> int:
    """Return the number of elements for each block that reduces an array."""
    arguments = pattern_arguments(reduction, "reduce")
    assert arguments is not None
    assert isinstance(arguments[2].type, ArrayType)
    length = arguments[2].type.length
    part = PART
    if not length.is_constant:
        return part
    while part > MIN_PART and length.constant % part:
        part //= 2
    return part


def outermost_reductions(program: Term) -> Iterator[Path]:
    """Yield the paths of reductions and scans that are in no loop and of no loop's arrays."""
    stack: list[tuple[Path, Term]] = [((), program)]
    while stack:
        path, term = stack.pop()
        if isinstance(term, Lambda | DepLambda):
            stack.append(((*path, 0), term.children[0]))
        elif pattern_arguments(term, "reduce", "scan") is not None:
            yield path
        elif (arguments := pattern_arguments(term, "map")) is None or not has_cost(arguments[0]):
            stack += _parts(path, term)


def _parts(path: Path, term: Term) -> Iterator[tuple[Path, Term]]:
    """Yield the arguments of a term; for a let, also its function, which is not a loop."""
    is_let = pattern_arguments(term, "let") is not None
    if not isinstance(term, Apply):
        for number, child in enumerate(term.children):
            yield (*path, number), child
    while isinstance(term, Apply):
        if is_let or not isinstance(term.argument.type, FunType):
            yield (*path, 1), term.argument
        path, term = (*path, 0), term.function
