"""The default strategy, for programs without a strategy: loops that suit this machine.

It looks for computations that it recognizes, from the outside in: matrix multiplications, windows
and reductions. A table lists a function for each kind, which recognizes the computation and chooses
its schedule. The default strategy does not look inside a recognized computation, and leaves other
loops as written. Results are bitwise identical, unless the program permits reordering sums.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from riselang.dialects.rise.types import ScalarType, is_float
from riselang.nat import Nat
from riselang.rewrite.combinators import Guard, choice, repeat, seq, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.paths import Trail, format_path, path_of_trail, subterm_at, written_paths
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import reduce_map_fusion, scan_map_fusion
from riselang.rewrite.rules.functions import inline_let, name_stored
from riselang.rewrite.side_conditions import may_reorder
from riselang.rewrite.strategies.accumulated_rows import (
    accumulated_rows,
    match_row_sums,
)
from riselang.rewrite.strategies.contractions import schedule_matmul
from riselang.rewrite.strategies.convolution_tiles import schedule_windows
from riselang.rewrite.strategies.dot_products import choose_dot_tiles
from riselang.rewrite.strategies.epilogues import FuseEpilogue, reduction_in
from riselang.rewrite.strategies.kernel_fission import KernelFission
from riselang.rewrite.strategies.loops_in_lanes import recognize_loops
from riselang.rewrite.strategies.matmul_shapes import (
    bytes_of,
    is_row_major,
    length_of,
    match_product,
    matmul_shape,
    typical_size,
)
from riselang.rewrite.strategies.panels import panels_of
from riselang.rewrite.strategies.reduction_schedules import (
    blocked_reduction,
    partial_sums,
    sums_of_rows,
)
from riselang.rewrite.strategies.schedules import by_size
from riselang.rewrite.strategies.selections import select_sorted
from riselang.rewrite.strategies.shifted_rows import FuseShiftedRows
from riselang.rewrite.strategies.skinny_matmul import (
    interleaved_reductions,
    reductions_in_lanes,
    streamed_reductions,
)
from riselang.rewrite.strategies.stored_operands import fuse_stored_operands
from riselang.rewrite.strategies.stored_padding import store_inside_of_padding
from riselang.rewrite.strategies.stored_rows import fuse_stored_rows_with_readers
from riselang.rewrite.strategies.threads import parallel_outermost
from riselang.rewrite.strategies.tile_sizes import ROWS_AT_ONCE, columns_per_thread
from riselang.rewrite.strategies.tiles import MIN_PARALLEL_PRODUCTS, MatmulShape
from riselang.rewrite.strategies.transposed_copies import (
    choose_transpose_tiles,
    result_of,
    transpose_result,
)
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments
from riselang.rewrite.traversals import argument, everywhere, function, normalize, run_at, top_down
from riselang.support.counts import format_count
from riselang.support.machine import Machine, this_machine
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.nodes import Scalar, Term, has_pattern, subterms
from riselang.term.substitution import mentions

ACCUMULATORS = 4
"""Vectors of independent accumulators: as many as an addition has cycles of latency."""
MIN_ITERATIONS = 16
"""The minimum number of iterations for which more accumulators pay for the additions at the end."""
MIN_REDUCTION = 32
"""The minimum number of elements of a reduction in vectors."""
MIN_ACCUMULATED = 128
"""The minimum number of elements of a reduction with several vectors of accumulators, and of one
that calls math functions for each element. The reductions of shorter arrays overlap."""
APPROXIMATED_BYTES = 4
"""The largest scalars of which relaxed programs compute math functions in vectors."""
LONG_REDUCTION = 1 << 18
"""The minimum number of elements of a reduction that may run in parallel."""
BLOCKS = 64
MIN_LINE = 32
"""The minimum number of lines, and of elements in each, for lines that are reduced together."""
MIN_COLUMNS, MIN_COLUMN = 4, 16
"""The same for columns, which are read row by row: the elements of a single column are far apart,
so even a few columns are faster together."""
ROWS_BYTES, MAX_ROW_BYTES = 64, 32
"""The bytes of the accumulators of rows that are reduced at a time, and of each vector of them: few
enough rows for the CPU to prefetch all of them, in two vectors or more, whose additions overlap."""
SUMMED_ROWS = 8
"""The number of rows that are summed together: as many additions overlap, and the CPU prefetches so
many rows."""
SUMMED_ROWS_OF_ANY_LENGTH = 4
"""The same if their length is known only at run time: few, since their sums are combined in
registers."""
LARGE_FACTOR = 8
"""How many times larger than the L2 cache a matrix is whose rows are summed together; the rows of
smaller ones are as fast one by one."""
MIN_VECTOR_BYTES = 16
"""The bytes of the shortest vectors in which several rows are summed."""
PAGE_BYTES = 4096
SHUFFLE_BYTES = 16
"""The number of bytes of each row that are read at a time: one instruction shuffles them."""
MIN_PRODUCTS = 1 << 12
"""The minimum number of multiplications for which tiles are worth their code size."""


@dataclass(frozen=True)
class RecognizedComputation:
    """A recognized computation, its path, and its schedule."""

    path: Path
    description: str
    schedule: str
    strategy: Strategy

    def __str__(self) -> str:
        return f"{self.description} at {format_path(self.path)}: {self.schedule}"


Recognize = Callable[[Term, Setting], tuple[str, str, Strategy] | None]
"""A function that describes a computation and its schedule, and returns its strategy; or None."""


def _recognize_matmul(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    product = match_product(term)
    shape = None if product is None else product.shape
    if product is None or shape is None or shape.products < MIN_PRODUCTS:
        return None
    if shape.rows <= ROWS_AT_ONCE and not shape.is_row_major and not setting.precompute:
        # Contiguous columns are reduced as lines, each of which is read once.
        return None
    rows, columns, depth = product.sizes
    description = f"matrix multiplication of {rows} x {depth} by {depth} x {columns}"
    panels = panels_of(term)
    if not shape.symbolic and (panels is None or not panels.fits(this_machine())):
        with_dot_products = choose_dot_tiles(term, shape, setting, this_machine())
        if with_dot_products is not None:
            return description, *with_dot_products
    schedule = schedule_matmul(term, setting)
    assert schedule is not None
    return description, schedule.description, schedule.strategy


def _recognize_line_reductions(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Recognize a reduction of each row of a matrix, or of each column."""
    arguments = pattern_arguments(term, "map")
    reduction = None if arguments is None else reduction_in(arguments[0])
    if arguments is None or reduction is None or not mentions(reduction[2], 0):
        return None
    lengths, type = (
        [length_of(each.type) for each in (arguments[1], reduction[2])],
        reduction[1].type,
    )
    if not isinstance(type, ScalarType):
        return None
    count, length = lengths
    shortest = min(typical_size(count), typical_size(length))
    description = f"{count} reductions of {length} elements"
    if is_row_major(arguments[1]):
        if typical_size(length) < MIN_COLUMN or typical_size(count) < MIN_COLUMNS:
            return None
        symbolic = frozenset(
            name for name, size in (("columns", count), ("depth", length)) if not size.is_constant
        )
        shape = MatmulShape(
            1, typical_size(count), typical_size(length), bytes_of(type), symbolic=symbolic
        )
        return description, *_column_reductions(shape, count * length)
    if shortest < MIN_LINE or not is_float(type):
        # Each row is reduced in vectors.
        return None
    if any(has_pattern(part, *GATHERS) for part in (reduction[0], reduction[2])):
        # Gathers of several rows are slower than scalar loads from one row.
        return None
    if may_reorder(reduction[0], setting):
        return _recognize_sums_of_rows(reduction[0], type, count, length)
    return description, *_row_reductions(bytes_of(type), length)


def _recognize_sums_of_rows(
    reduce: Term, type: ScalarType, count: Nat, length: Nat
) -> tuple[str, str, Strategy] | None:
    """Recognize reductions of the rows of a large matrix in any order: several rows are read at a
    time, so that the CPU prefetches all of them. Rows of any length are reduced together as well,
    since the parts that do not fill vectors would take long if each row has its own loops. Other
    rows are reduced one by one, in vectors."""
    machine, bytes = this_machine(), bytes_of(type)
    lanes, rows = machine.lanes(bytes), SUMMED_ROWS
    if not length.is_constant:
        is_worthwhile, rows = lanes > 1, SUMMED_ROWS_OF_ANY_LENGTH
    else:
        while lanes * bytes > MIN_VECTOR_BYTES and length % lanes != Nat.const(0):
            lanes //= 2
        row_bytes, min_bytes = length.constant * bytes, LARGE_FACTOR * machine.cache_bytes(2)
        is_large = count.is_constant and count.constant * row_bytes >= min_bytes
        is_worthwhile = is_large and length % lanes == Nat.const(0)
    if not is_worthwhile or _calls_functions(reduce):
        return None
    schedule = f"{rows} of them at a time, each in a vector of {lanes} sums"
    return f"{count} reductions of {length} elements", schedule, sums_of_rows(rows, lanes)


def _recognize_row_sums(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Recognize reductions of columns that are computed row by row."""
    sums = match_row_sums(term)
    if sums is None or not sums.pays_in_one_loop() or any(map(_is_matmul, subterms(sums.rows))):
        return None
    # Computations inside of a row, such as its sum, have schedules of their own.
    schedule_row = function(function(argument(ScheduleComputations(in_loop=True))))
    return str(sums), "row by row", accumulated_rows(sums.depth) >> try_(schedule_row)


def _row_reductions(bytes: int, length: Nat) -> tuple[str, Strategy]:
    """Reduce several rows at a time, each in one lane; interleave those that are not vectorized.

    Lines at addresses that differ by whole pages share the few lines of one set of the L1 cache.
    """
    lanes = min(this_machine().lanes(bytes), max(1, MAX_ROW_BYTES // bytes))
    vectors = max(1, ROWS_BYTES // (lanes * bytes))
    lines_of_set = this_machine().cache_bytes(1) // PAGE_BYTES
    crowded_vectors = max(1, min(vectors, lines_of_set // lanes))
    depth = min(lanes, max(1, SHUFFLE_BYTES // bytes))
    apart, crowded = (
        choice(reductions_in_lanes(lanes, count, depth), interleaved_reductions(ROWS_AT_ONCE))
        for count in (vectors, crowded_vectors)
    )
    description = f"of them at a time, in vectors of {lanes}"
    beyond_pages = length % (PAGE_BYTES // bytes)
    if beyond_pages == 0:
        return f"{crowded_vectors * lanes} {description}", crowded
    if length.is_constant or crowded_vectors == vectors:
        return f"{vectors * lanes} {description}", apart
    description = f"{description}, or {crowded_vectors * lanes} if rows are whole pages"
    return f"{vectors * lanes} {description}", by_size(str(beyond_pages), 1, apart, crowded)


def _column_reductions(shape: MatmulShape, elements: Nat) -> tuple[str, Strategy]:
    columns = columns_per_thread(shape, this_machine())
    schedules = {
        threads: streamed_reductions(
            ROWS_AT_ONCE, reductions_per_thread=columns, in_parallel=threads == "in parallel"
        )
        for threads in ("in parallel", "on one thread")
    }
    description = f"{ROWS_AT_ONCE} elements of each at a time"
    if this_machine().cores == 1:
        return f"{description}, on one thread", schedules["on one thread"]
    if not elements.is_constant:
        strategy = by_size(str(elements), MIN_PARALLEL_PRODUCTS, *schedules.values())
        return f"{description}, in parallel if there are many", strategy
    threads = "in parallel" if columns < shape.columns else "on one thread"
    return f"{description}, {threads}", schedules[threads]


def _recognize_window_sums(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    match = schedule_windows(term, setting)
    if match is None or match[0].shape.products < MIN_PRODUCTS:
        return None
    tiles, strategy = match
    return str(tiles.shape), str(tiles), strategy


def _recognize_windows(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    if not has_pattern(term, "slide"):
        return None
    # Strategies for images are imported only for programs with windows.
    from riselang.rewrite.strategies.windows import recognize_windows

    return recognize_windows(term, setting)


def _recognize_reduction(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    arguments = pattern_arguments(term, "reduce")
    if (
        arguments is None
        or not may_reorder(arguments[0], setting)
        or not isinstance(arguments[1].type, ScalarType)
    ):
        return None
    length, type = length_of(arguments[2].type), arguments[1].type
    if not is_float(type):
        return None
    lanes, size = this_machine().lanes(bytes_of(type)), typical_size(length)
    if size < (MIN_REDUCTION if lanes > 1 else MIN_ACCUMULATED):
        return None
    if (
        size < MIN_ACCUMULATED
        and bytes_of(type) > APPROXIMATED_BYTES
        and _calls_functions(arguments[0])
    ):
        return None
    vectors = _accumulators_for(size, lanes, this_machine())
    description, schedule = (
        f"a reduction of {length} elements",
        f"{format_count(vectors, 'vector')} of {lanes} sums at a time",
    )
    if not length.is_constant and not setting.in_loop:
        long_vectors = _accumulators_for(LONG_REDUCTION, lanes, this_machine())
        strategy = by_size(
            str(length), LONG_REDUCTION,
            blocked_reduction(BLOCKS, long_vectors, lanes), partial_sums(vectors, lanes),
        )  # fmt: skip
        return description, f"{schedule}, in {BLOCKS} blocks if there are many", strategy
    if length.is_constant and length.constant >= LONG_REDUCTION:
        return (
            description,
            f"{BLOCKS} blocks, in each {schedule}",
            blocked_reduction(BLOCKS, vectors, lanes),
        )
    return description, schedule, partial_sums(vectors, lanes)


def _calls_functions(function: Term) -> bool:
    parts = subterms(function)
    return any(isinstance(each, Scalar) and each.op in LIBRARY_FUNCTIONS for each in parts)


def _accumulators_for(length: int, lanes: int, machine: Machine) -> int:
    """The number of vector accumulators for a reduction of an array of this length.

    Long arrays are read from memory, where more accumulators keep more loads in flight.
    """
    if length < MIN_ACCUMULATED:
        return 1
    is_long = length // lanes >= MIN_ITERATIONS * machine.registers
    return machine.registers // 2 if is_long else ACCUMULATORS


def _recognize_function_map(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    is_relaxed_map = setting.float == "relaxed" and pattern_arguments(term, "map") is not None
    if not is_relaxed_map or not setting.in_loop or not _calls_functions(term):
        return None
    # Strategies for vectors are imported only for programs with math functions.
    from riselang.rewrite.strategies.function_maps import recognize_function_map

    return recognize_function_map(term, setting)


LOOP_PATTERNS = ("map", "mapSeq", "mapPar", "reduce", "generate")
RECOGNIZERS: tuple[Recognize, ...] = (
    _recognize_matmul,
    _recognize_window_sums,
    _recognize_windows,
    _recognize_row_sums,
    _recognize_line_reductions,
    recognize_loops,
    _recognize_function_map,
    _recognize_reduction,
)
"""The functions that are tried at each subterm, in this order."""
RECOGNIZERS_OF_STORED: tuple[Recognize, ...] = (
    _recognize_row_sums,
    _recognize_line_reductions,
    recognize_loops,
    _recognize_function_map,
)
"""Those whose strategies compute several elements together, which pays only if all elements are
written to memory, not if each is computed when it is read."""

GATHERS = ("at", "gather", "sliceAt", "reorder")
"""Patterns that read elements at computed indices."""
LOOPS_WITH_STATE = ("iterate", "iterateSeq", "while", "scan")
"""Patterns that write the result of their function to memory in each iteration."""


def recognize_computations(
    term: Term, setting: Setting
) -> Generator[RecognizedComputation, bool | None]:
    """Yield the recognized computations of a program, from the outside in.

    Send False if the strategy of one fails: then computations inside of it are recognized, too.
    """
    stored_paths = set(written_paths(term, LOOPS_WITH_STATE))
    stack: list[tuple[Trail, Term, Setting]] = [(None, term, setting)]
    while stack:
        trail, part, setting = stack.pop()
        for recognize in RECOGNIZERS:
            match = recognize(part, setting)
            if (
                match is not None
                and (recognize not in RECOGNIZERS_OF_STORED or path_of_trail(trail) in stored_paths)
                and (yield RecognizedComputation(path_of_trail(trail), *match)) is not False
            ):
                break
        else:
            if pattern_arguments(part, *LOOP_PATTERNS) is not None:
                setting = replace(setting, in_loop=True)
            stack += [
                ((trail, index), child, setting) for index, child in enumerate(part.children)
            ][::-1]


@dataclass(frozen=True, repr=False)
class ScheduleComputations(Strategy):
    """Schedules all recognized computations, or, if the strategy of one fails, those in it."""

    in_loop: bool = False

    def run(self, term: Term, setting: Setting) -> Result:
        setting = replace(setting, in_loop=self.in_loop or setting.in_loop)
        steps: tuple[Step, ...] = ()
        computations = recognize_computations(term, setting)
        computation = next(computations, None)
        while computation is not None:
            path = computation.path
            part = subterm_at(term, path)
            result = run_at(computation.strategy, term, path, part, setting.quiet)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
            try:
                computation = computations.send(isinstance(result, Success))
            except StopIteration:
                computation = None
        return (
            Success(term, steps) if steps else Failure(self, "no computation was recognized", term)
        )

    def __str__(self) -> str:
        return "schedule_computations()"


def _is_matmul(term: Term) -> bool:
    shape = matmul_shape(term)
    return shape is not None and shape.products >= MIN_PRODUCTS


def _is_row_sums(term: Term) -> bool:
    return match_row_sums(term) is not None


def _names_view(term: Term) -> bool:
    """Whether a term is a let whose value is read without computing or loading indices."""
    arguments = pattern_arguments(term, "let")
    return (
        arguments is not None
        and is_free_to_read(arguments[0])
        and not has_pattern(arguments[0], *GATHERS)
    )


# Maps are not fused with each other, except that elementwise operations on the results of a matrix
# multiplication become its epilogue, and rows are fused with the only map that reads them.
_fuse_rows = try_(normalize(FuseShiftedRows()))
_fuse_reductions = try_(normalize(choice(reduce_map_fusion, scan_map_fusion)))
_fuse_epilogues = everywhere(FuseEpilogue(_is_matmul))
# A stored array that a computation reads is bound by a let, so that it is not a part of the
# computation.
_name_stored = everywhere(name_stored)
# A let whose value is only a view of such an array would copy it.
_inline_views = try_(everywhere(Guard("its value is a view", _names_view) >> inline_let))
# The results of a matrix multiplication inside a loop are stored before the loop uses them.
_split_matmuls = repeat(top_down(KernelFission(_is_matmul)))
# So are sums of computed rows: those that are computed where they are read need strided loads.
_split_row_sums = repeat(top_down(KernelFission(_is_row_sums)))
_prepare_computations = seq(
    _fuse_rows,
    _fuse_reductions,
    _split_matmuls,
    try_(_fuse_epilogues),
    _split_row_sums,
    _name_stored,
    _inline_views,
)


@schedule
def prepare_computations() -> Strategy:
    """Rewrites a program so that the default strategy recognizes its computations."""
    return try_(select_sorted) >> _prepare_computations


_schedule_computations = _prepare_computations >> choice(
    seq(
        ScheduleComputations(),
        try_(fuse_stored_rows_with_readers()),
        try_(fuse_stored_operands()),
        try_(store_inside_of_padding()),
        try_(parallel_outermost()),
    ),
    parallel_outermost(),
    transpose_result(),
)
schedule_program = choice(select_sorted >> try_(_schedule_computations), _schedule_computations)


def recognized_computations(term: Term, setting: Setting) -> list[RecognizedComputation]:
    """Return the computations that are recognized in a program as written."""
    prepare = data_flow_normal_form >> prepare_computations()
    result = prepare.run(term, setting)
    if isinstance(result, Failure):
        return []
    path, part = result_of(result.term)
    tiles = choose_transpose_tiles(part, this_machine())
    if tiles is not None:
        return [RecognizedComputation(path, "a transposed array", str(tiles), tiles.strategy())]
    return list(recognize_computations(result.term, setting))
