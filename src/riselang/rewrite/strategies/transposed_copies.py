"""Transposed copies of arrays: in cache tiles, each of which is transposed in registers."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import transpose_by_rows
from riselang.rewrite.rules.lowering import (
    copy_rows_in_vectors,
    fetch_ahead,
    map_as_loop,
    map_in_parallel,
    map_unrolled,
    store_nontemporal,
    store_on_stack,
)
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.transposition import tile_transpose, transpose_in_squares
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import argument, inside, run_at
from riselang.support.machine import Machine, this_machine
from riselang.term.nodes import DepLambda, Lambda, Term

READ_BYTES, WRITE_BYTES = 1024, 256
"""Bytes of a row in a tile, if tiles follow each other by columns: many cache lines, but few enough
for a tile to fit the L1 cache."""
NONTEMPORAL_READ_BYTES, NONTEMPORAL_WRITE_BYTES = 64, 128
"""The same with nontemporal stores, which need no cache lines of the result: a tile reads each line
once."""
BYTES_BY_ROWS = 256
"""Bytes of a row in tiles that follow each other by rows, read and written."""
NONTEMPORAL_FACTOR = 2
"""Nontemporal stores are used for results that are at least so many times larger than the L2
cache, unless the result and the array fit half of an L3 cache of at most `LOCAL_BYTES`. What a core
gets of a larger one depends on the other cores."""
LOCAL_BYTES = 64 << 20
PREFETCH_FACTOR = 4
"""The prefetch distance, as a multiple of the rows that are transposed together."""
MAX_VECTOR_BYTES = 32
"""The maximum size of a vector: squares of longer ones need more shuffles per element."""
MIN_ELEMENTS = 1 << 16
"""The minimum number of elements for which tiles are worth the compile time."""


@schedule
def tiled_transpose(
    rows: int,
    columns: int,
    lanes: int,
    nontemporal: bool = False,
    by_rows: bool = False,
) -> Strategy:
    """Transposes an array in parallel, in tiles of rows x columns that are held in vectors.

    A tile is transposed into a local buffer, a few rows at a time: the rows of large arrays are so
    far apart that a cache holds few of them. The buffer is then copied row by row. If
    `nontemporal`, the copy is not kept in a cache. If `by_rows`, the tiles of the same rows follow
    each other, otherwise those of the same columns.
    """
    line = max((each for each in (2 * lanes, 4 * lanes) if columns % each == 0), default=lanes)
    transpose_strip = map_unrolled >> inside(transpose_in_squares(lanes, map_unrolled))
    transpose_block = tile_transpose(lanes, line, map_as_loop, transpose_strip)
    transpose_rows = argument(argument(map_as_loop >> inside(transpose_block)))
    copy_rows = copy_rows_in_vectors(lanes)
    if nontemporal:
        copy_rows = copy_rows >> store_nontemporal
    transpose_tile = transpose_by_rows(lanes) >> transpose_rows >> store_on_stack >> copy_rows
    if by_rows:
        tiles = tile_transpose(rows, columns, map_as_loop, map_unrolled >> inside(transpose_tile))
        return transpose_by_rows(rows) >> argument(argument(map_in_parallel >> inside(tiles)))
    tiles = tile_transpose(rows, columns, map_in_parallel, map_as_loop >> inside(transpose_tile))
    return argument(fetch_ahead(PREFETCH_FACTOR * lanes)) >> tiles


@dataclass(frozen=True)
class TransposeTiles:
    """The tiles of a transposed copy."""

    rows: int
    columns: int
    lanes: int
    nontemporal: bool = False
    by_rows: bool = False

    def __str__(self) -> str:
        text = f"tiles of {self.rows} x {self.columns}, transposed in vectors of {self.lanes}"
        return f"{text}, nontemporal stores" if self.nontemporal else text

    def strategy(self) -> Strategy:
        return tiled_transpose(
            self.rows, self.columns, self.lanes, nontemporal=self.nontemporal, by_rows=self.by_rows
        )


def choose_transpose_tiles(term: Term, machine: Machine) -> TransposeTiles | None:
    """Choose tiles for a term that only transposes an array, if they divide it."""
    arguments, type = pattern_arguments(term, "transpose"), term.type
    if arguments is None or not is_free_to_read(arguments[0]) or not isinstance(type, ArrayType):
        return None
    inner = type.element
    if not isinstance(inner, ArrayType) or not isinstance(inner.element, ScalarType):
        return None
    if not (type.length.is_constant and inner.length.is_constant):
        return None
    columns, rows = type.length.constant, inner.length.constant
    bytes = bytes_of(inner.element)
    lanes = max(1, min(machine.vector_bytes, MAX_VECTOR_BYTES) // bytes)
    by_rows = machine.reads_stored_lines
    nontemporal = by_rows and _bypasses_caches(rows * columns * bytes, machine)
    read_bytes, write_bytes = (BYTES_BY_ROWS,) * 2 if by_rows else (READ_BYTES, WRITE_BYTES)
    if nontemporal:
        read_bytes, write_bytes = NONTEMPORAL_READ_BYTES, NONTEMPORAL_WRITE_BYTES
    height = _largest_divisor(rows, range(lanes, write_bytes // bytes + 1, lanes))
    width = _largest_divisor(columns, range(lanes, read_bytes // bytes + 1, lanes))
    if rows * columns < MIN_ELEMENTS or lanes == 1 or not height or not width:
        return None
    return TransposeTiles(height, width, lanes, nontemporal, by_rows)


def _bypasses_caches(bytes: int, machine: Machine) -> bool:
    """Whether a result is so large that nontemporal stores are faster."""
    last = machine.cache_bytes(3)
    local = last // 4 if last <= LOCAL_BYTES else 0
    return bytes >= max(NONTEMPORAL_FACTOR * machine.cache_bytes(2), local)


def _largest_divisor(size: int, candidates: range) -> int:
    return max((each for each in candidates if size % each == 0), default=0)


def result_of(program: Term) -> tuple[Path, Term]:
    """Return the result of a program, and its path."""
    path: Path = ()
    while isinstance(program, Lambda | DepLambda):
        path, program = (*path, 0), program.children[0]
    return path, program


@dataclass(frozen=True, repr=False)
class _TransposeResult(Strategy):
    """Transposes the result of a program that does nothing else."""

    def run(self, term: Term, setting: Setting) -> Result:
        path, part = result_of(term)
        tiles = choose_transpose_tiles(part, this_machine())
        if tiles is None:
            reason = "expected a transposed array of scalars that tiles divide"
            return Failure(self, reason, term, closeness=CONDITION)
        return run_at(tiles.strategy(), term, path, part, setting)

    def __str__(self) -> str:
        return "transpose_result()"


@schedule
def transpose_result() -> Strategy:
    """Transposes the array that is the program's result, in tiles of sizes for this machine."""
    return _TransposeResult()
