"""GPU mapping of the outermost loops of a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, index
from riselang.rewrite.combinators import choice, repeat, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import subterm_at, written_paths
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import split_join
from riselang.rewrite.rules.functions import inline_let
from riselang.rewrite.rules.gpu import transpose_by_blocks
from riselang.rewrite.rules.lowering import (
    map_in_parallel,
    map_over_blocks_z,
    map_over_threads,
    not_stored,
    store_on_heap,
)
from riselang.rewrite.rules.simplification import copy_elements, memory_of_memory
from riselang.rewrite.rules.vectorization import vectorize_map
from riselang.rewrite.strategies.epilogues import FuseEpilogue
from riselang.rewrite.strategies.gpu import SQUARE, TILES, VECTOR_BYTES, choose_tile
from riselang.rewrite.strategies.gpu_attention import attention_strategy
from riselang.rewrite.strategies.gpu_elements import InlineConversions, fuse_mapped_blocks
from riselang.rewrite.strategies.gpu_nests import (
    BODY,
    COPIED,
    FUNCTION,
    MIN_THREADS,
    MIN_VECTORS,
    Level,
    block_rules,
    perfect_nest,
    separate_maps,
    short_rows,
    thread_rules,
)
from riselang.rewrite.strategies.gpu_operands import operands_of
from riselang.rewrite.strategies.gpu_reductions import (
    COLUMN_THREADS,
    COLUMNS,
    GROUP,
    LANES,
    choose_threads,
    choose_threads_of_sums,
    columns_by_blocks,
    reduce_by_block,
    reduces_rows,
)
from riselang.rewrite.strategies.gpu_rows import FuseRows
from riselang.rewrite.strategies.gpu_scans import (
    scan_columns,
    scan_on_gpu,
    scan_rows,
    scans_rows,
)
from riselang.rewrite.strategies.gpu_stored_attention import RecoverAttention
from riselang.rewrite.strategies.gpu_stored_operands import (
    AlignOperands,
    ReadStoredRows,
    SplitDepth,
    StoreOperands,
    fuse_sums,
)
from riselang.rewrite.strategies.gpu_sums import (
    choose_part,
    outermost_reductions,
    reduce_by_blocks,
)
from riselang.rewrite.strategies.gpu_tensor_cores import tensor_strategy
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of, match_product
from riselang.rewrite.strategies.transposed_copies import result_of
from riselang.rewrite.term_parts import has_cost, is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import (
    AtPath,
    argument,
    everywhere,
    function,
    inside,
    run_at,
    top_down,
)
from riselang.term.nodes import Lambda, Term, has_pattern


@dataclass(frozen=True)
class RowNumbers:
    """How blocks reduce rows; numbers that are 0 are chosen for the rows."""

    threads: int = 0
    lanes: int = 0
    partial_sums: int = 0

    def strategy_for(self, part: Term) -> Strategy:
        """Return the strategy for a map; it fails if no reduction may be reordered."""
        threads = self.threads or choose_threads(part)
        has_defaults = not self.lanes and not self.partial_sums
        numbers = () if has_defaults else (self.lanes or LANES, self.partial_sums or GROUP)
        reduce_row = reduce_by_block(threads, *numbers)
        return inside(top_down(reduce_row)) >> try_(inside(everywhere(reduce_row)))


@schedule
def on_gpu(*, threads: int = 0, lanes: int = 0, partial_sums: int = 0) -> Strategy:
    """Maps the outermost loops to GPU threads, or to blocks and threads if they are nested.

    Matrix multiplications are computed in tiles. Sums that may be reordered are computed by all
    threads of a block. Other elements are computed in vectors of 16 bytes. `threads` threads reduce
    each row, `lanes` elements at a time, and `partial_sums` of their results together; numbers that
    are 0 are chosen for the rows.
    """
    return _OnGpu(RowNumbers(threads, lanes, partial_sums))


@dataclass(frozen=True, repr=False)
class _OnGpu(Strategy):
    rows: RowNumbers = RowNumbers()

    def run(self, term: Term, setting: Setting) -> Result:
        # What follows the epilogue may be a loop, which must not compute the sums.
        epilogues = FuseEpilogue(lambda part: _takes_epilogue(part, setting)) >> store_on_heap
        recovered = _fuse_models.run(term, setting)
        assert isinstance(recovered, Success), recovered
        term, steps = recovered.term, recovered.steps
        for path in separate_maps(term):
            part = subterm_at(term, path)
            result = run_at(StoreOperands(), term, path, part, setting)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
        fused = (try_(everywhere(ReadStoredRows())) >> try_(everywhere(epilogues))).run(
            term, setting
        )
        assert isinstance(fused, Success), fused
        term, steps = fused.term, (*steps, *fused.steps)
        fused = (try_(everywhere(memory_of_memory)) >> try_(_ResultNotStored())).run(term, setting)
        assert isinstance(fused, Success), fused
        term, steps = fused.term, (*steps, *fused.steps)
        for strategy in (AlignOperands(), SplitDepth()):
            for path in separate_maps(term):
                part = subterm_at(term, path)
                result = run_at(strategy, term, path, part, setting)
                if isinstance(result, Success):
                    term, steps = result.term, (*steps, *result.steps)
        for path in list(outermost_reductions(term)):
            part = subterm_at(term, path)
            result = run_at(_strategy_for_reduction(part), term, path, part, setting)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
        for path in separate_maps(term):
            part = subterm_at(term, path)
            views = run_at(_read_views, term, path, part, setting)
            assert isinstance(views, Success), views
            term, steps = views.term, (*steps, *views.steps)
            part = subterm_at(term, path)
            is_copy = is_free_to_read(part, COPIED)
            strategy = _Copy() if is_copy else _strategy_for(part, setting, self.rows)
            result = run_at(strategy, term, path, part, setting)
            assert isinstance(result, Success), result
            term, steps = result.term, (*steps, *result.steps)
        if not steps:
            return choice(transpose_on_gpu(), copy_on_gpu()).run(term, setting)
        return Success(term, steps)

    def __str__(self) -> str:
        return "on_gpu()"


_fuse_models = (
    try_(repeat(RecoverAttention()))
    >> try_(everywhere(FuseRows()))
    >> try_(fuse_mapped_blocks)
    >> try_(everywhere(InlineConversions()))
)
"""Fuses operations on whole arrays to the loops that kernels are made of."""


@dataclass(frozen=True, repr=False)
class _ResultNotStored(Strategy):
    """Computes the program's result where it belongs."""

    def run(self, term: Term, setting: Setting) -> Result:
        path, part = result_of(term)
        while (let := pattern_arguments(part, "let")) and isinstance(let[1], Lambda):
            path, part = (*path, 1, 0), let[1].body
        return run_at(not_stored, term, path, part, setting)

    def __str__(self) -> str:
        return "result_not_stored()"


TILE, THREAD_ROWS = 32, 8


_transpose_in_tiles = transpose_by_blocks(TILE // THREAD_ROWS, TILE // THREAD_ROWS, THREAD_ROWS)


@schedule
def transpose_on_gpu() -> Strategy:
    """Transposes the array that is the program's result, in tiles of a GPU's blocks."""
    return _TransposeResult()


@dataclass(frozen=True, repr=False)
class _TransposeResult(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        path, part = result_of(term)
        arguments = pattern_arguments(part, "transpose")
        if arguments is None or not is_free_to_read(arguments[0]):
            return Failure(self, "expected an outermost map, or a transposed copy", term)
        if len(_array_levels(part.type)) != 2:
            return Failure(self, "expected a matrix of scalars", term)
        return run_at(_transpose_in_tiles, term, path, part, setting)

    def __str__(self) -> str:
        return "transpose_on_gpu()"


@schedule
def copy_on_gpu() -> Strategy:
    """Copies the array that is the program's result, which is a view of others."""
    return _CopyResult()


@dataclass(frozen=True, repr=False)
class _CopyResult(Strategy):
    def run(self, term: Term, setting: Setting) -> Result:
        path, part = result_of(term)
        return run_at(_Copy(), term, path, part, setting)

    def __str__(self) -> str:
        return "copy_on_gpu()"


@dataclass(frozen=True, repr=False)
class _Copy(Strategy):
    """Copies a view of arrays, each element by a thread."""

    def run(self, term: Term, setting: Setting) -> Result:
        levels = _array_levels(term.type)
        if not is_free_to_read(term, COPIED) or not levels:
            return Failure(self, "expected a view of arrays", term)
        copy_nest: Strategy = copy_elements
        for _ in levels[1:]:
            copy_nest = copy_elements >> inside(copy_nest)
        copy = copy_nest >> _Lower(tuple(thread_rules(levels)))
        strategy = choice(_transpose_in_tiles, copy) if len(levels) == 2 else copy
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return "copy()"


def _array_levels(type: RiseType) -> list[Level]:
    """Return the maps that copy an array of scalars; none for other types."""
    levels: list[Level] = []
    path: Path = ()
    while isinstance(type, ArrayType):
        levels.append(Level(path, type.length.constant if type.length.is_constant else None))
        path, type = (*path, *FUNCTION, BODY), type.element
    return levels if isinstance(type, ScalarType) else []


def _strategy_for_reduction(part: Term) -> Strategy:
    """Return the strategy for an outermost reduction or scan; it may fail."""
    if pattern_arguments(part, "scan") is not None:
        return scan_on_gpu()
    return reduce_by_blocks(choose_part(part))


def _strategy_for(part: Term, setting: Setting, rows: RowNumbers) -> Strategy:
    """Return the strategy for an outermost map."""
    strategies: list[Strategy] = []
    on_tensor_cores = attention_strategy(part, setting)
    if on_tensor_cores is not None:
        strategies.append(on_tensor_cores)
    fused = fuse_sums.run(part, setting)
    product = match_product(fused.term) if isinstance(fused, Success) else None
    tile = None if product is None else choose_tile(product)
    if isinstance(fused, Success):
        on_tensor_cores = tensor_strategy(fused.term, setting)
        if on_tensor_cores is not None:
            strategies.append(fuse_sums >> on_tensor_cores)
    if tile is not None:
        strategies.append(fuse_sums >> tile.strategy())
    if isinstance(fused, Success) and (threads := _threads_of_sums(fused.term)):
        strategies.append(inside(top_down(reduce_by_block(threads, 1))) >> _MapLoops())
    strategies += _tiles_of_batch(part, setting)
    if product is None and reduces_rows(part):
        strategies.append(rows.strategy_for(part) >> _MapLoops())
    if scans_rows(part):
        strategies.append(scan_rows >> _MapLoops())
    strategies += [columns_by_blocks(COLUMN_THREADS, COLUMNS), scan_columns()]
    return choice(*strategies, _MapLoops())


def _threads_of_sums(term: Term) -> int | None:
    """Return the number of threads that share each sum of a small matrix multiplication whose rows
    and columns are contiguous."""
    product = match_product(term)
    if product is None or not all(size.is_constant for size in product.sizes):
        return None
    if any(each is None or each.depth_stride != 1 for each in operands_of(term)):
        return None
    rows, columns, depth = (size.constant for size in product.sizes)
    return choose_threads_of_sums(rows * columns, depth)


def _takes_epilogue(part: Term, setting: Setting) -> bool:
    """Whether a matrix multiplication applies an epilogue to its sums: not in tiles of lanes."""
    fused = fuse_sums.run(part, setting)
    product = match_product(fused.term) if isinstance(fused, Success) else None
    if product is None or not isinstance(fused, Success):
        return False
    if tensor_strategy(fused.term, setting) is not None:
        return True
    return bytes_of(product.type) * SQUARE != VECTOR_BYTES or not any(
        tile.fits(*product.sizes) for tile in TILES
    )


def _tiles_of_batch(part: Term, setting: Setting) -> list[Strategy]:
    """Return the strategy for a batch of matrix multiplications: blocks compute tiles of each."""
    for level, inner in pairwise(perfect_nest(part)):
        matrices = subterm_at(part, inner.path)
        fused = fuse_sums.run(matrices, setting)
        product = match_product(fused.term) if isinstance(fused, Success) else None
        tile = None if product is None else choose_tile(product, level.length or 1)
        if tile is not None:
            in_tiles = AtPath(inner.path, fuse_sums >> tile.strategy())
            return [in_tiles >> AtPath(level.path, map_over_blocks_z)]
    return []


@dataclass(frozen=True, repr=False)
class _NotStored(Strategy):
    """Reads a view in a loop directly, such as a padded image, instead of storing it first."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "toMem")
        if arguments is None or has_cost(arguments[-1]):
            return Failure(self, "expected a view that is stored", term)
        return not_stored.run(term, setting)

    def __str__(self) -> str:
        return "view_not_stored()"


@dataclass(frozen=True, repr=False)
class _NotNamed(Strategy):
    """Reads a view that a loop names directly, so that the loops in it are a perfect nest."""

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "let")
        if arguments is None or has_cost(arguments[0]) or not isinstance(arguments[1], Lambda):
            return Failure(self, "expected a view that is named", term)
        return inline_let.run(term, setting)

    def __str__(self) -> str:
        return "view_not_named()"


_read_views = try_(
    function(argument(try_(everywhere(_NotStored())) >> try_(everywhere(_NotNamed()))))
)


@dataclass(frozen=True, repr=False)
class _MapLoops(Strategy):
    """Maps a map to blocks and the maps in it to threads, or all elements to threads."""

    def run(self, term: Term, setting: Setting) -> Result:
        levels = perfect_nest(term)
        innermost = levels[-1].path
        thread_maps = list(_thread_maps(subterm_at(term, innermost), innermost))
        if thread_maps or has_pattern(subterm_at(term, FUNCTION), "mapThread"):
            rules = [(path, map_over_threads) for path in thread_maps] + block_rules(levels)
        elif (rows := short_rows(levels, _lanes(subterm_at(term, innermost)))) is not None:
            return self._in_groups(*rows).run(term, setting)
        else:
            rules = thread_rules(levels)
        return _Lower(tuple(rules)).run(term, setting)

    def _in_groups(self, path: Path, count: int) -> Strategy:
        """Let a block compute a number of iterations of the map at a path, whose rows are short."""
        if not path:
            return split_join(count) >> argument(_MapGroups())
        return AtPath(path, split_join(count)) >> _MapGroups()

    def __str__(self) -> str:
        return "map_loops()"


@dataclass(frozen=True, repr=False)
class _MapGroups(Strategy):
    """Maps groups of short rows to blocks, and their elements to threads."""

    def run(self, term: Term, setting: Setting) -> Result:
        return _Lower(tuple(thread_rules(perfect_nest(term))), MIN_VECTORS).run(term, setting)

    def __str__(self) -> str:
        return "map_groups()"


@dataclass(frozen=True, repr=False)
class _Lower(Strategy):
    """Applies rules at paths, in order; the maps of threads are computed in vectors."""

    rules: tuple[tuple[Path, Strategy], ...]
    min_vectors: int = MIN_THREADS
    """The minimum number of vectors of a row."""

    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        for path, rule in self.rules:
            part = subterm_at(term, path)
            is_vectorized = rule in (map_over_threads, map_in_parallel)
            strategy = _in_vectors(part, rule, self.min_vectors) if is_vectorized else rule
            result = run_at(strategy, term, path, part, setting)
            assert isinstance(result, Success), result
            term, steps = result.term, (*steps, *result.steps)
        return Success(term, steps)

    def __str__(self) -> str:
        return f"lower_at({', '.join(str(rule) for _, rule in self.rules)})"


def _in_vectors(part: Term, lower: Strategy, min_vectors: int) -> Strategy:
    """Return a strategy that lowers a map, to vectors if its rows have enough of them."""
    lanes, length = _lanes(part), length_of(part.type)
    if lanes == 1 or length.constant < min_vectors * lanes:
        return lower
    return choice(vectorize_map(lanes) >> argument(lower), lower)


def _lanes(part: Term) -> int:
    """Return the number of elements that a thread computes at once: if they are 2 to 8 bytes
    long, and the length of the row permits it."""
    assert isinstance(part.type, ArrayType)
    element, length = part.type.element, part.type.length
    if not isinstance(element, ScalarType) or element == index or not length.is_constant:
        return 1
    lanes = min(VECTOR_BYTES // bytes_of(element), MAX_LANES)
    is_too_short = lanes * bytes_of(element) < MIN_VECTOR_BYTES
    return 1 if is_too_short or length.constant % lanes else lanes


MAX_LANES, MIN_VECTOR_BYTES = 4, 8
"""The maximum number of lanes of a vector, and the minimum size of one."""


def _thread_maps(outer_map: Term, path: Path) -> Iterator[Path]:
    """Yield the maps whose results a map stores, if they are long enough for a block's threads."""
    arguments = pattern_arguments(outer_map, "map")
    assert arguments is not None
    function = arguments[0]
    if not isinstance(function, Lambda):
        return
    thread_maps: list[Path] = []
    for map_path in written_paths(function.body):
        part = subterm_at(function.body, map_path)
        inner = pattern_arguments(part, "map")
        is_new = all(map_path[: len(outer_path)] != outer_path for outer_path in thread_maps)
        if inner is not None and is_new and has_cost(inner[0]) and _is_long(inner[1]):
            thread_maps.append(map_path)
            yield (*path, *FUNCTION, BODY, *map_path)


def _is_long(xs: Term) -> bool:
    assert isinstance(xs.type, ArrayType)
    length = xs.type.length
    return length.is_constant and length.constant >= MIN_THREADS
