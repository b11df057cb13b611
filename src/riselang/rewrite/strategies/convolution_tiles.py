"""Convolutions of neural networks: windows of an image are multiplied with many kernels.

A register tile holds accumulators for some windows of a line and for some vectors of kernels, while
nested reductions iterate over the elements of a window. Windows are read in their original layout;
the kernels are packed once, in vectors. If the kernels take too much of the L2 cache, the outermost
loop is over blocks of them, each of which is read for all windows. The order of sums is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import ScalarType
from riselang.rewrite.combinators import Identity, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy, Success
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import peel_map
from riselang.rewrite.rules.lowering import store_on_heap, store_planes_last
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of
from riselang.rewrite.strategies.schedules import (
    collapse,
    hoist,
    interchange,
    pad_to_multiple,
    parallel,
    reorder,
    sequential,
    split,
    tile,
    vectorize,
)
from riselang.rewrite.strategies.tiles import MIN_PARALLEL_PRODUCTS
from riselang.rewrite.term_parts import pattern_arguments, view_source
from riselang.rewrite.traversals import argument, function
from riselang.support.machine import Machine, this_machine
from riselang.term.nodes import Bound, Lambda, Term
from riselang.term.substitution import mentions

MAX_ROWS = 14
MAX_VECTORS = 8
L2_CYCLES, L2_BYTES_PER_CYCLE = 2.5, 44
"""The cycles in which a vector is loaded from the L2 cache, if many are, and the bytes of kernels
for which multiplications wait one cycle. Both were fitted to measured times."""
FAR_FACTOR = 3
"""How many times longer they wait if a block of kernels does not fit 3/4 of the L2 cache."""
KERNEL_SHARE = 8
"""The share of the L2 cache, 1/8, that kernels may take if they are read again for each tile:
windows and results take the rest."""

BLOCKS_PER_THREAD = 4
"""The number of blocks of kernels for each thread that suffices to balance the threads."""


@dataclass(frozen=True, repr=False)
class _StoredKernels(Strategy):
    """Stores the kernels of a map, in the order in which the reductions read them."""

    def run(self, term: Term, setting: Setting) -> Result:
        store = store_planes_last if _reads_planes_last(term) else store_on_heap
        return argument(store).run(term, setting)

    def __str__(self) -> str:
        return "stored_kernels"


def _reads_planes_last(term: Term) -> bool:
    """Whether kernels have their planes first, and are read with the elements of all planes at a
    position last: each reduction but the innermost is over a transposed part of a kernel."""
    arguments = pattern_arguments(term, "map")
    function = None if arguments is None else arguments[0]
    for _ in range(2):
        body = function.body if isinstance(function, Lambda) else None
        if isinstance(body, Lambda):
            body = body.body
        reduction = None if body is None else pattern_arguments(body, "reduce")
        pairs = None if reduction is None else pattern_arguments(reduction[2], "zip")
        if reduction is None or pairs is None:
            return False
        if not any(_is_transposed_part(each) for each in pairs):
            return False
        function = reduction[0]
    return True


def _is_transposed_part(term: Term) -> bool:
    """Whether a term is the transposed variable of the innermost lambda, or of a part of it."""
    arguments = pattern_arguments(term, "transpose")
    while arguments is not None:
        source = arguments[0]
        if source == Bound(0, source.type):
            return True
        arguments = pattern_arguments(source, "snd") or pattern_arguments(source, "fst")
    return False


@dataclass(frozen=True)
class WindowShape:
    """Nested maps, the last two over a line of windows and over kernels."""

    outer: tuple[int, ...]
    """The lengths of the maps outside these two."""
    rows: int
    columns: int
    reduction_lengths: tuple[int, ...]
    """The lengths of the nested reductions."""
    bytes: int

    @property
    def products(self) -> int:
        return prod((*self.outer, self.rows, self.columns, *self.reduction_lengths))

    @property
    def kernel_bytes(self) -> int:
        return prod(self.reduction_lengths) * self.columns * self.bytes

    def __str__(self) -> str:
        positions = " x ".join(map(str, (*self.outer, self.rows)))
        elements = " x ".join(map(str, self.reduction_lengths))
        return f"windows of {elements} at {positions} positions with {self.columns} kernels"


@dataclass(frozen=True)
class WindowTiles:
    """A register tile: the numbers of windows and of vectors of kernels with accumulators in it."""

    rows: int
    vectors: int
    lanes: int
    shape: WindowShape
    has_kernel_blocks: bool = False
    """Whether the outermost loop is over blocks of kernels."""

    def __str__(self) -> str:
        threads = "in parallel" if self._parallel_map is not None else "on one thread"
        blocks = ", a block of kernels at a time" if self.has_kernel_blocks else ""
        return f"tiles of {self.rows} x {self.vectors} vectors of {self.lanes}{blocks}, {threads}"

    def strategy(self) -> Strategy:
        return self._kernel_blocks() if self.has_kernel_blocks else self._all_kernels()

    def _kernel_blocks(self) -> Strategy:
        line = len(self.shape.outer) + 1
        steps = [
            pad_to_multiple(self.vectors * self.lanes) @ loop(line + 1),
            vectorize(self.lanes) @ loop(line + 1),
            _StoredKernels() @ loop(line + 1),
            hoist(),
            split(self.vectors) @ loop(line + 1),
            *(interchange() @ loop(level) for level in reversed(range(1, line + 1))),
            self._tile_windows() @ loop(line + 1),
            self._run_blocks(),
        ]
        return seq(*steps)

    def _run_blocks(self) -> Strategy:
        """Threads share the blocks, and the lines of each if there are few blocks."""
        if self._parallel_map is None:
            return sequential() @ loop(1)
        blocks = -(-self.shape.columns // (self.vectors * self.lanes))
        cores = this_machine().cores
        has_enough = cores == 1 or blocks >= BLOCKS_PER_THREAD * cores
        share_lines = Identity() if has_enough else try_(collapse() @ loop(1))
        return share_lines >> parallel() @ loop(1)

    def _all_kernels(self) -> Strategy:
        shape = self.shape
        line = len(shape.outer) + 1
        steps: list[Strategy] = [
            pad_to_multiple(self.vectors * self.lanes) @ loop(line + 1),
            vectorize(self.lanes) @ loop(line + 1),
            _StoredKernels() @ loop(line + 1),
            hoist(),
            self._tile_windows() @ loop(line),
        ]
        if self._parallel_map is not None:
            steps.append(parallel() @ loop(self._parallel_map))
        return seq(*steps)

    def _tile_windows(self) -> Strategy:
        """Tile the windows; those that do not fill a tile form a smaller one."""
        remainder = self.shape.rows % self.rows
        if remainder == 0:
            return self._tile_rows(self.rows)
        full_rows = self.shape.rows - remainder
        return seq(
            peel_map(full_rows),
            function(argument(self._tile_rows(self.rows))),
            argument(self._tile_rows(remainder)),
        )

    def _tile_rows(self, rows: int) -> Strategy:
        reductions = [5 + level for level in range(len(self.shape.reduction_lengths))]
        return seq(
            tile(rows, self.vectors),
            reorder(1, 2, *reductions, 3, 4),
            sequential() @ loop(1),
            sequential() @ loop(2),
        )

    @property
    def _parallel_map(self) -> int | None:
        """The number of the map that runs in parallel."""
        if self.shape.products < MIN_PARALLEL_PRODUCTS:
            return None
        return next((level for level, length in enumerate(self.shape.outer, 1) if length > 1), None)


def choose_window_tiles(shape: WindowShape, machine: Machine) -> WindowTiles:
    """Choose the tile that needs the fewest cycles."""
    lanes = machine.lanes(shape.bytes)
    max_vectors = min(MAX_VECTORS, -(-shape.columns // lanes))
    candidates = [
        (rows, vectors)
        for rows in range(1, min(MAX_ROWS, shape.rows) + 1)
        for vectors in range(1, max_vectors + 1)
        if rows * vectors + vectors + 2 <= machine.registers
    ]
    has_blocks = shape.kernel_bytes > machine.cache_bytes(2) // KERNEL_SHARE
    rows, vectors = min(candidates, key=lambda each: _cycles(*each, shape, machine))
    return WindowTiles(rows, vectors, lanes, shape, has_blocks and shape.columns > vectors * lanes)


def _cycles(rows: int, vectors: int, shape: WindowShape, machine: Machine) -> float:
    """Estimate the cycles, with two multiplications and two vector loads per cycle.

    The vectors of kernels are loaded from the L2 cache.
    """
    columns = vectors * machine.lanes(shape.bytes)
    block_bytes = prod(shape.reduction_lengths) * min(columns, shape.columns) * shape.bytes
    wait = vectors * machine.vector_bytes / L2_BYTES_PER_CYCLE
    if block_bytes > machine.cache_bytes(2) * 3 // 4:
        wait *= FAR_FACTOR
    tiles, remainder = divmod(shape.rows, rows)
    line = tiles * (_iteration_cycles(rows, vectors) + wait)
    if remainder:
        line += _iteration_cycles(remainder, vectors) + wait
    # If two tiles are equally fast, prefer the one with less code.
    return line * -(-shape.columns // columns) * (1 + rows * vectors / 1024)


def _iteration_cycles(rows: int, vectors: int) -> float:
    """Estimate the cycles of an iteration that does not wait for kernels."""
    loads = rows + vectors
    return max(rows * vectors / 2, loads / 2, vectors * L2_CYCLES, 4) + rows / 6


def window_shape(term: Term) -> WindowShape | None:
    """The shape of `... |> map(window => kernels |> map(kernel => reductions of both))`."""
    nest = _match_nest(term)
    if nest is None or not nest.has_kernels_inside:
        return None
    *outer, rows, columns = nest.lengths
    return WindowShape(tuple(outer), rows, columns, nest.reduction_lengths, bytes_of(nest.type))


def move_kernels_inside(term: Term) -> Strategy | None:
    """Return a strategy that moves the map over kernels inside the maps over windows, if needed."""
    nest = _match_nest(term)
    if nest is None or nest.has_kernels_inside or nest.kernels is None:
        return None
    depth = len(nest.lengths)
    return seq(*(interchange() @ loop(level) for level in range(nest.kernels, depth)))


@dataclass(frozen=True)
class _Nest:
    """Nested maps, and reductions inside them."""

    lengths: tuple[int, ...]
    reduction_lengths: tuple[int, ...]
    type: ScalarType
    kernels: int | None
    """The number of the map over the operand that is zipped with elements of the innermost map."""
    has_kernels_inside: bool
    """Whether the innermost map is over the same kernels for all windows."""


def _match_nest(term: Term) -> _Nest | None:
    lengths: list[int] = []
    outer_function: Lambda | None = None
    while (arguments := pattern_arguments(term, "map")) is not None:
        length, function = length_of(arguments[1].type), arguments[0]
        if not length.is_constant or not isinstance(function, Lambda):
            return None
        lengths.append(length.constant)
        reduction = pattern_arguments(function.body, "reduce")
        if reduction is not None:
            break
        outer_function, term = function, _skip_views_and_lets(function.body)
    else:
        return None
    reduction_lengths, type = _reduction_lengths(reduction), reduction[1].type
    if (
        reduction_lengths is None
        or len(reduction_lengths) < 2
        or outer_function is None
        or not isinstance(type, ScalarType)
    ):
        return None
    is_direct = pattern_arguments(outer_function.body, "map") is not None and not mentions(
        arguments[1], 0
    )
    distance = _zipped_map_distance(reduction[2], len(lengths))
    return _Nest(
        tuple(lengths), reduction_lengths, type,
        None if distance is None else len(lengths) - distance,
        is_direct and distance == 1,
    )  # fmt: skip


def _zipped_map_distance(pairs: Term, depth: int) -> int | None:
    """Find the map whose elements a reduction zips with elements of the innermost map.

    Returns how many levels further out that map is.
    """
    pair = pattern_arguments(pairs, "zip")
    outer_parts = [] if pair is None else [part for part in pair if not mentions(part, 0)]
    if pair is None or len(outer_parts) != 1:
        return None
    inner = next(part for part in pair if part is not outer_parts[0])
    distances = [level for level in range(1, depth) if mentions(outer_parts[0], level)]
    if len(distances) != 1 or mentions(inner, distances[0]):
        return None
    return distances[0]


def _skip_views_and_lets(term: Term) -> Term:
    """Return the computed term under views and lets."""
    while True:
        source, let = view_source(term), pattern_arguments(term, "let")
        if source is not None:
            term = source
        elif let is not None and isinstance(let[1], Lambda):
            term = let[1].body
        else:
            return term


def _reduction_lengths(reduction: list[Term]) -> tuple[int, ...] | None:
    """The lengths of nested reductions, each of which continues the sum of the next outer one."""
    lengths: list[int] = []
    arguments: list[Term] | None = reduction
    while arguments is not None:
        length, function = length_of(arguments[2].type), arguments[0]
        if not length.is_constant or length.constant < 1:
            return None
        lengths.append(length.constant)
        if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
            return None
        arguments = pattern_arguments(function.body.body, "reduce")
        if arguments is not None and arguments[1] != Bound(1, arguments[1].type):
            return None
    return tuple(lengths)


def schedule_windows(term: Term, setting: Setting) -> tuple[WindowTiles, Strategy] | None:
    """Choose the tiles of a term, and the strategy to apply them."""
    move_kernels = move_kernels_inside(term)
    if move_kernels is not None:
        result = move_kernels.run(term, setting)
        shape = window_shape(result.term) if isinstance(result, Success) else None
    else:
        shape = window_shape(term)
    if shape is None:
        return None
    tiles = choose_window_tiles(shape, this_machine())
    strategy = tiles.strategy()
    return tiles, strategy if move_kernels is None else move_kernels >> strategy


@dataclass(frozen=True, repr=False)
class _WindowSums(Strategy):
    """Register tiles for the shape of the term and for this machine."""

    def run(self, term: Term, setting: Setting) -> Result:
        schedule = schedule_windows(term, setting)
        if schedule is None:
            reason = "expected nested reductions of windows and kernels, with constant sizes"
            return Failure(self, reason, term, closeness=CONDITION)
        return schedule[1].run(term, setting)

    def __str__(self) -> str:
        return "convolution_tiles()"


@schedule
def convolution_tiles() -> Strategy:
    """Computes convolutions with many kernels in register tiles of sizes for this machine."""
    return _WindowSums()
