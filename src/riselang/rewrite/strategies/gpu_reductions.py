"""Reductions on GPUs, for programs that permit reordering sums: a block for each reduction."""

from __future__ import annotations

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.combinators import Identity, choice, seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import partial_reduce
from riselang.rewrite.rules.gpu import reduce_by_threads, reduce_columns_by_blocks
from riselang.rewrite.rules.lowering import map_over_threads
from riselang.rewrite.rules.vectorization import vectorize_map_of_arrays
from riselang.rewrite.strategies.matmul_shapes import bytes_of, is_row_major
from riselang.rewrite.strategies.reduction_schedules import expose_sums, partial_sums
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, inside, top_down
from riselang.term.nodes import Term, subterms

REDUCING_THREADS = 256
"""The threads of a block that reduces a row."""
MIN_THREADS, MAX_THREADS = 64, 1024
ELEMENT_BYTES = 4
LANES = 4
"""The elements that a thread loads at once."""
COLUMN_THREADS, COLUMNS = 64, 32
"""The rows of threads and the columns of a block that reduces columns."""
GROUP = 32
"""The number of partial results that a thread reduces in the second step."""


@schedule
def reduce_by_block(threads: int, lanes: int = LANES, partial_count: int = GROUP) -> Strategy:
    """Reduces an array by a block of `threads` threads: each of them reduces every n-th vector.

    Some threads reduce `partial_count` partial results each, and all of them the results of these.
    A vector has `lanes` elements.
    """
    require_positive("reduce_by_block", threads=threads, lanes=lanes, partial_count=partial_count)
    reduce_groups = partial_reduce(partial_count) >> argument(map_over_threads)
    return seq(
        try_(expose_sums), reduce_by_threads(threads, lanes),
        argument(inside(try_(partial_sums(1, lanes)) if lanes > 1 else Identity())),
        reduce_groups if threads > partial_count and threads % partial_count == 0 else Identity(),
    )  # fmt: skip


def threads_and_lanes(length: int) -> tuple[int, int]:
    """Return the number of threads that reduce an array, and of elements at a time."""
    if length % (REDUCING_THREADS * LANES) == 0:
        return REDUCING_THREADS, LANES
    divisors = (each for each in range(REDUCING_THREADS, 0, -1) if length % each == 0)
    return next(divisors), 1


@schedule
def columns_by_blocks(threads: int, columns: int) -> Strategy:
    """Reduces the columns of a matrix by blocks, each of which reduces some columns.

    A block has `threads` rows of threads, and a thread reduces 4 columns at a time.
    """
    require_positive("columns_by_blocks", threads=threads, columns=columns)
    in_vectors = vectorize_map_of_arrays(LANES) >> argument(map_over_threads)
    lower = choice(in_vectors, map_over_threads)
    return reduce_columns_by_blocks(threads, columns) >> top_down(lower)


def choose_threads(term: Term) -> int:
    """Return the number of threads for the reductions in a row: 256, or those that store a row.

    Short rows are reduced by fewer threads, so that each of them has elements.
    """
    shortest = min(
        (length for part in subterms(term) if (length := _reduction_length(part)) is not None),
        default=MAX_THREADS * LANES,
    )
    row = term.type
    while isinstance(row, ArrayType) and isinstance(row.element, ArrayType):
        row = row.element
    is_stored = isinstance(term.type, ArrayType) and row is not term.type
    assert isinstance(row, ArrayType)
    threads = MAX_THREADS if is_stored and row.length.is_constant else REDUCING_THREADS
    stored = row.length.constant if is_stored and row.length.is_constant else 0
    while threads > REDUCING_THREADS and stored % (threads * LANES):
        threads //= 2
    while threads > MIN_THREADS and shortest % (threads * LANES):
        threads //= 2
    return threads


MIN_DEPTH, MAX_SUMS = 64, 1 << 16
"""The minimum length of dot products that several threads share, and the maximum number of these:
more of them occupy a GPU with a thread for each."""


def choose_threads_of_sums(sums: int, depth: int) -> int | None:
    """Return the number of threads that share each of some dot products; None for one thread.

    The partial sums of the threads are added by one of them, so both parts should take as long.
    """
    if depth < MIN_DEPTH or sums > MAX_SUMS:
        return None
    divisors = [each for each in range(2, MIN_DEPTH + 1) if depth % each == 0]
    return min(divisors, key=lambda each: each + depth // each, default=None)


def reduces_rows(term: Term) -> bool:
    """Whether a map computes with contiguous rows that are long enough for a block's threads."""
    arguments = pattern_arguments(term, "map")
    if arguments is None or is_row_major(arguments[1]):
        return False
    return any(map(_is_long_reduction, subterms(arguments[0])))


def _is_long_reduction(term: Term) -> bool:
    return _reduction_length(term) is not None


def _reduction_length(term: Term) -> int | None:
    """Return the length of a reduction of 4-byte scalars that the threads of a block can share."""
    arguments = pattern_arguments(term, "reduce")
    if arguments is None or not isinstance(arguments[1].type, ScalarType):
        return None
    xs = arguments[2].type
    assert isinstance(xs, ArrayType)
    if bytes_of(arguments[1].type) != ELEMENT_BYTES or not xs.length.is_constant:
        return None
    length = xs.length.constant
    return length if length > 0 and length % (MIN_THREADS * LANES) == 0 else None
