"""Scans on GPUs, for programs that permit reordering sums: by the threads of blocks.

Each thread reduces a part of the array, and then scans it from the reduction of all parts before
it. For a long array, blocks do the same with larger parts, in two kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.combinators import seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.gpu import (
    scan_by_blocks,
    scan_by_one_block,
    scan_by_threads,
    scan_columns_by_blocks,
)
from riselang.rewrite.strategies.gpu_reductions import reduce_by_block, threads_and_lanes
from riselang.rewrite.strategies.matmul_shapes import is_row_major
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import inside, top_down
from riselang.term.nodes import Term, subterms

MIN_LENGTH = 128
"""The length from which the threads of a block scan an array."""
MAX_ROW = 1 << 15
"""The maximum length of an array that one block scans."""
MIN_PART, MAX_PART = 1024, 8192
"""The numbers of elements that a block scans of a long array."""
MIN_THREADS, MAX_THREADS = 32, 1024
PART_OF_THREAD = 8
"""The minimum number of elements that a thread scans: those of two vectors."""
ROWS, COLUMNS = 32, 32
"""The rows of threads and the columns of a block that scans columns."""


@schedule
def scan_on_gpu() -> Strategy:
    """Scans an array by the threads of a block, or a long array by blocks."""
    return _ScanOnGpu()


@dataclass(frozen=True, repr=False)
class _ScanOnGpu(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        length = scan_length(term)
        if length is None:
            return Failure(self, "expected a scan of scalars with a known length", term)
        if length <= MAX_ROW:
            return (scan_by_one_block >> top_down(scan_row())).run(term, setting)
        part = _largest_divisor(length, MAX_PART)
        shape = _shape(part)
        if part < MIN_PART or shape is None:
            reason = f"expected a length with a divisor of {MIN_PART} to {MAX_PART}, not {length}"
            return Failure(self, reason, term, closeness=CONDITION)
        threads, lanes = threads_and_lanes(part)
        strategy = seq(
            scan_by_blocks(shape.groups, shape.group, shape.part),
            top_down(reduce_by_block(threads, lanes)),
            try_(top_down(_ScanOnGpu())),
        )
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return "scan_on_gpu()"


@schedule
def scan_row() -> Strategy:
    """Scans an array by the threads of a block."""
    return _ScanRow()


@dataclass(frozen=True, repr=False)
class _ScanRow(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        length = scan_length(term)
        shape = None if length is None else _shape(length)
        if shape is None:
            reason = f"expected a scan of scalars whose length has a divisor of {MIN_THREADS} to "
            return Failure(self, f"{reason}{MAX_THREADS}", term, closeness=CONDITION)
        return scan_by_threads(shape.group, shape.part).run(term, setting)

    def __str__(self) -> str:
        return "scan_row()"


@schedule
def scan_columns() -> Strategy:
    """Scans the columns of a matrix by blocks, each of which scans some columns."""
    return scan_columns_by_blocks(ROWS, COLUMNS)


@dataclass(frozen=True)
class _Shape:
    """How the threads of a block share an array."""

    groups: int
    group: int
    """The number of threads in a group."""
    part: int
    """The number of elements of a thread."""


def _shape(length: int) -> _Shape | None:
    """Return how threads share an array; None if its length does not permit it."""
    threads = _largest_divisor(length, min(MAX_THREADS, length // PART_OF_THREAD))
    if threads < MIN_THREADS:
        return None
    group = _largest_divisor(threads, isqrt(threads))
    return _Shape(threads // group, group, length // threads)


def _largest_divisor(number: int, limit: int) -> int:
    """Return the largest divisor of a number up to a limit; one if there is none."""
    return next((each for each in range(limit, 1, -1) if number % each == 0), 1)


def scan_length(term: Term) -> int | None:
    """Return the length of a scan of scalars, if it is known and long enough for a block."""
    arguments = pattern_arguments(term, "scan")
    if arguments is None or not isinstance(arguments[1].type, ScalarType):
        return None
    assert isinstance(arguments[2].type, ArrayType)
    length = arguments[2].type.length
    return length.constant if length.is_constant and length.constant >= MIN_LENGTH else None


def scans_rows(term: Term) -> bool:
    """Whether a map scans contiguous rows that are long enough for a block's threads."""
    arguments = pattern_arguments(term, "map")
    if arguments is None or is_row_major(arguments[1]):
        return False
    return any(scan_length(part) is not None for part in subterms(arguments[0]))


scan_rows = inside(top_down(scan_row()))
"""Scans the rows of a map by the threads of a block."""
