"""Stencils: values that are computed from the neighbors of each element.

A line is the innermost dimension of a stencil's result, and a block is a group of vectors that are
computed together. Neighbors are contiguous, so the windows of a line are read in vectors, shifted
by one element for each position in a window. If windows are reduced, the reductions of a block are
computed together, in registers. With overlapped tiles, each tile is copied once, with its border,
into a buffer on the stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import ArrayType, ScalarType, bf16, f16, f32
from riselang.nat import Nat, as_nat
from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import program_strategy, schedule
from riselang.rewrite.rules.algorithmic import (
    overlapped_tiling,
    overlapped_tiling_2d,
    peel_map,
    reduce_map_fusion,
    reduce_of_join,
)
from riselang.rewrite.rules.functions import reductions_first
from riselang.rewrite.rules.lowering import reduce_unrolled, store_elements, store_nontemporal
from riselang.rewrite.rules.movement import zip_before_join
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.matmul_shapes import LARGE_SIZE, bytes_of, typical_size
from riselang.rewrite.strategies.schedules import (
    by_size,
    fuse,
    hoist,
    interchange,
    pad_to_multiple,
    parallel,
    reorder,
    sequential,
    split,
    unroll,
    vectorize,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, everywhere, function, inside, normalize, top_down
from riselang.support.machine import Machine, this_machine
from riselang.term.cost import cost
from riselang.term.mathlib import is_library_call
from riselang.term.nodes import Lambda, Scalar, Term, subterms

MAX_UNROLLED = 32
"""The maximum number of iterations of nested reductions that are unrolled."""
MAX_UNROLLED_LOADS = 192
"""The maximum number of vectors that an iteration loads for reductions. LLVM does not simplify the
addresses of loops that compute more than 200; the loop of 27 elements in 8 vectors took twice as
long as in 4."""
MAX_SEPARATE_VECTORS = 4
"""The maximum number of vectors in a block whose elements are not reductions."""
SLICES = 2
"""The number of slices of a volume, and of vectors in each slice, that are computed together; a
larger number would be slower."""
WINDOW_SLICES = 3
"""The number of slices that a window typically reads."""
MAX_LIGHT_FLOPS, LIGHT_VECTOR_BYTES = 32, 32
"""Windows with at most so many operations per element wait for loads, most of which are not
aligned. A load of 64 bytes that is not aligned accesses two cache lines, so their vectors have at
most 32 bytes."""
CACHE_LINE_BYTES = 64
NONTEMPORAL_FACTOR = 32
"""Nontemporal stores are used for results that are at least so many times larger than the L2
caches of all threads, or that fill half of a larger L3 cache; smaller ones may stay in a cache
until they are read."""
MIN_PARALLEL_ELEMENTS = 1 << 16
"""The minimum number of elements for which parallel loops are worth their overhead."""


@schedule
def overlapped_tiles(size: int) -> Strategy:
    """Tiles the windows of an array; each tile is copied with its border before it is used."""
    store = argument(store_elements)
    return fuse() >> top_down(seq(overlapped_tiling(size), store))


@schedule
def overlapped_tiles_2d(rows: int, columns: int) -> Strategy:
    """Tiles the windows of a grid; each tile is copied with its border before it is used."""
    # A join of a map over bands of rows; each band is a view of a map over its tiles.
    band = argument(argument(store_elements))
    return fuse() >> top_down(seq(overlapped_tiling_2d(rows, columns), argument(inside(band))))


@schedule
def reduce_by_rows() -> Strategy:
    """Splits reductions over all elements of a window into reductions by row, in the same order."""
    return normalize(zip_before_join) >> normalize(choice(reduce_of_join, reduce_map_fusion))


@schedule
def in_vectors(lanes: int, most: int = 8) -> Strategy:
    """Vectorizes a map of scalars, up to `most` vectors at a time; reductions use registers."""
    return _InVectors(lanes, most)


@dataclass(frozen=True, repr=False)
class _InVectors(Strategy):
    """Vectorizes a map; the elements that do not fill a block are peeled into a second loop. If
    their number is known only at run time, the last ones are computed in a vector with padding."""

    lanes: int
    max_vectors: int
    in_parallel: bool = False

    def run(self, term: Term, setting: Setting) -> Result:
        length = scalar_count(term)
        if length is None:
            reason = "expected a map of scalars"
            return Failure(self, reason, term, closeness=CONDITION)
        if calls_library(term, setting.float):
            return self._vectors_one_by_one(length).run(term, setting)
        vectors = self.vectors_per_block(length, min(self.max_vectors, _vectors_to_unroll(term)))
        if vectors == 0:
            return sequential().run(term, setting)
        vectorized_length = length // (vectors * self.lanes) * (vectors * self.lanes)
        blocks = seq(
            vectorize(self.lanes),
            split(vectors) @ loop(1),
            (parallel() if self.in_parallel else sequential()) @ loop(1),
            _BlockInRegisters() @ loop(2),
        )
        if vectorized_length == length:
            return blocks.run(term, setting)
        peel = seq(peel_map(vectorized_length), function(argument(blocks)))
        return (peel >> argument(self._run_remainder(length, vectors))).run(term, setting)

    def _run_remainder(self, length: Nat, vectors: int) -> Strategy:
        """Computes the elements that do not fill a block of vectors."""
        if length.is_constant or self.lanes == 1:
            return sequential()
        # At run time, the remainder may consist of many vectors.
        if vectors > 1:
            return _InVectors(self.lanes, 1)
        last_vector = seq(
            pad_to_multiple(self.lanes) @ loop(1),
            vectorize(self.lanes) @ loop(1),
            split(1) @ loop(1),
            sequential() @ loop(1),
            _BlockInRegisters() @ loop(2),
        )
        return choice(last_vector, sequential())

    def _vectors_one_by_one(self, length: Nat) -> Strategy:
        """Vectorizes a map without blocks or unrolling: any values in vector registers would be
        spilled around each call to the math library."""
        make_loop = parallel() if self.in_parallel else sequential()
        vectors = vectorize(self.lanes) >> make_loop @ loop(1)
        vectorized_length = length // self.lanes * self.lanes
        if vectorized_length in (0, length):
            return make_loop if vectorized_length == 0 else vectors
        return seq(peel_map(vectorized_length), function(argument(vectors)), argument(sequential()))

    def vectors_per_block(self, length: Nat, max_vectors: int) -> int:
        """The number of vectors in a block: the one that leaves the fewest elements over."""
        if not length.is_constant:
            return 1 << (max_vectors.bit_length() - 1)
        max_vectors = min(max_vectors, length.constant // self.lanes)
        sizes = range(max(1, (max_vectors + 1) // 2), max_vectors + 1)
        return min(
            sizes, key=lambda size: (length.constant % (size * self.lanes), -size), default=0
        )

    def __str__(self) -> str:
        return f"in_vectors({self.lanes}, {self.max_vectors}{', in_parallel' * self.in_parallel})"


@dataclass(frozen=True, repr=False)
class _LinesInVectors(Strategy):
    """Vectorizes the lines of a slice: first the blocks of all lines, and then their remainders.

    A short line without a remainder would wait for the addresses of one. `by_columns` computes one
    block of all lines before the next, for which fewer addresses change in the innermost loop; the
    lines that a window reads must stay in the cache.
    """

    lanes: int
    max_vectors: int
    by_columns: bool = False

    def run(self, term: Term, setting: Setting) -> Result:
        line = loop_at(term, 2)
        length = None if line is None else scalar_count(line)
        if line is None or length is None or calls_library(line, setting.float):
            return Failure(self, "expected lines of scalars", term, closeness=CONDITION)
        in_vectors = _InVectors(self.lanes, min(self.max_vectors, _vectors_to_unroll(line)))
        vectors = in_vectors.vectors_per_block(length, in_vectors.max_vectors)
        in_blocks = length // (vectors * self.lanes) * (vectors * self.lanes)
        if in_blocks == length:
            return Failure(self, "the lines have no remainder", term, closeness=CONDITION)
        blocks = (
            self._columns(vectors) if self.by_columns else interchange() >> in_vectors @ loop(2)
        )
        remainder = self._remainder(length - in_blocks, vectors)
        parts = peel_map(in_blocks) >> function(argument(blocks)) >> argument(remainder)
        return (interchange() >> argument(parts)).run(term, setting)

    def _remainder(self, length: Nat, vectors: int) -> Strategy:
        """Computes the columns that do not fill a block, a vector of all lines at a time."""
        last_columns = interchange() >> _InVectors(self.lanes, 1) @ loop(2)
        if vectors == 1:
            return last_columns
        peel = peel_map(length // self.lanes * self.lanes)
        return peel >> function(argument(self._columns(1))) >> argument(last_columns)

    def _columns(self, vectors: int) -> Strategy:
        """Computes so many vectors of all lines before the next ones."""
        in_block = _InVectors(self.lanes, vectors) @ loop(3)
        return split(vectors * self.lanes) @ loop(1) >> interchange() @ loop(2) >> in_block

    def __str__(self) -> str:
        return f"lines_in_vectors({self.lanes}, {self.max_vectors})"


@dataclass(frozen=True, repr=False)
class LineInVectors(Strategy):
    """Vectorizes a line of at least `min_length` scalars, with as many vectors as registers
    permit."""

    max_vectors: int | None = None
    min_length: int = 0

    def run(self, term: Term, setting: Setting) -> Result:
        length, type = scalar_count(term), term.type
        if length is None or typical_size(length) < self.min_length:
            reason = f"expected a map of at least {self.min_length} scalars"
            return Failure(self, reason, term)
        assert isinstance(type, ArrayType)
        assert isinstance(type.element, ScalarType)
        lanes, max_vectors = block_shape(type.element, this_machine())
        return in_vectors(lanes, self.max_vectors or max_vectors).run(term, setting)

    def __str__(self) -> str:
        return "line_in_vectors"


@dataclass(frozen=True, repr=False)
class _BlockInRegisters(Strategy):
    """Computes a block of vectors: reductions are merged into one, other elements are unrolled."""

    def run(self, term: Term, setting: Setting) -> Result:
        if _reduction_of_elements(term) is None:
            separately = seq(everywhere(reduce_unrolled), unroll())
            together = seq(reductions_first, argument(_BlockInRegisters()), unroll())
            return choice(together, separately).run(term, setting)
        lengths = _reduction_lengths(term)
        steps: list[Strategy] = [interchange() @ loop(level + 1) for level in range(len(lengths))]
        unrolled_count = 1
        for level in reversed(range(len(lengths))):
            unrolled_count *= lengths[level]
            if unrolled_count <= MAX_UNROLLED:
                steps.append(unroll() @ loop(level + 1))
        return seq(*steps).run(term, setting)

    def __str__(self) -> str:
        return "registers"


@dataclass(frozen=True)
class StencilNumbers:
    """The numbers of a schedule of windows; those that are 0 are chosen for the machine."""

    lanes: int = 0
    vectors: int = 0
    """The number of vectors of a row that are computed together."""
    slices: int = 0
    """The number of outermost slices that are computed together."""
    rows: int = 0
    """The number of rows of all slices that are computed before the next rows; if 0, all."""


@dataclass(frozen=True, repr=False)
class _Stencil(Strategy):
    """Vectorizes the innermost of nested maps, and runs the outermost in parallel."""

    numbers: StencilNumbers = StencilNumbers()

    def run(self, term: Term, setting: Setting) -> Result:
        nest = match_scalar_nest(term)
        if nest is None:
            reason = "expected nested maps of scalars"
            return Failure(self, reason, term, closeness=CONDITION)
        bypasses_caches = (
            nest.elements.is_constant and _should_bypass_caches(nest) and not setting.in_loop
        )
        numbers = self._numbers_for(term, nest, bypasses_caches=bypasses_caches)
        large, small = (
            _schedule_nest(nest, numbers, is_large=is_large) for is_large in (True, False)
        )
        if nest.elements.is_constant:
            if bypasses_caches:
                large = large >> store_nontemporal
            is_large = nest.elements.constant >= MIN_PARALLEL_ELEMENTS
            return (large if is_large else small).run(term, setting)
        versions = by_size(str(nest.elements), MIN_PARALLEL_ELEMENTS, large, small)
        return versions.run(term, setting)

    def _numbers_for(
        self, term: Term, nest: ScalarNest, *, bypasses_caches: bool
    ) -> StencilNumbers:
        """Return the numbers for a nest of maps."""
        given = self.numbers
        lanes = given.lanes or window_lanes(term, nest, this_machine())
        # Two streams of nontemporal stores took twice as long as one on a CPU with AVX2.
        pairs_slices = (
            not bypasses_caches
            and not given.vectors
            and not given.rows
            and _should_pair_slices(nest, lanes)
            and _reduction_of_elements(loop_at(term, 3)) is None
        )
        slices = given.slices or (SLICES if pairs_slices else 1)
        return StencilNumbers(lanes, given.vectors, slices, given.rows)

    def __str__(self) -> str:
        return "stencil()"


def _schedule_nest(nest: ScalarNest, numbers: StencilNumbers, *, is_large: bool) -> Strategy:
    """Return the strategy for nested maps; only the loops of large ones run in parallel."""
    lanes = numbers.lanes
    if is_large and numbers.slices > 1:
        return _slices_together(lanes, numbers.vectors or SLICES, numbers.slices)
    _, max_vectors = block_shape(nest.element, this_machine())
    vectors = numbers.vectors or max_vectors
    if nest.depth == 1:
        return _InVectors(lanes, vectors, is_large)
    outermost = parallel() if is_large else sequential()
    lines = in_vectors(lanes, vectors) @ loop(nest.depth)
    if numbers.rows and nest.depth > 2:
        blocks_of_rows = seq(split(numbers.rows) @ loop(2), interchange() @ loop(1))
        return seq(lines, blocks_of_rows, outermost @ loop(1), sequential() @ loop(2))
    schedule = lines >> outermost @ loop(1)
    if nest.lengths[-1].is_constant or (nest.depth == 2 and is_large):
        return schedule
    by_columns = nest.depth > 2 and not is_large
    all_lines = _LinesInVectors(lanes, vectors, by_columns) @ loop(nest.depth - 1)
    if nest.depth > 2:
        all_lines = all_lines >> outermost @ loop(1)
    return choice(all_lines, schedule)


def _should_bypass_caches(nest: ScalarNest) -> bool:
    """Whether results are so large, and their rows have such lengths, that nontemporal stores are
    faster on this machine."""
    machine, bytes = this_machine(), bytes_of(nest.element)
    has_aligned_rows = nest.lengths[-1].constant * bytes % CACHE_LINE_BYTES == 0
    one_thread = NONTEMPORAL_FACTOR * machine.cache_bytes(2)
    most = max(one_thread, machine.cache_bytes(3) // 2)
    is_large = nest.elements.constant * bytes >= min(one_thread * machine.cores, most)
    return machine.nontemporal_speedup > 1 and has_aligned_rows and is_large


def _should_pair_slices(nest: ScalarNest, lanes: int) -> bool:
    """Whether slices of a volume can be paired, and those that a window reads do not stay in half
    of the L2 cache. Otherwise each slice is read from memory once, and a second stream of results
    only takes longer."""
    if nest.depth != 3 or not all(length.is_constant for length in nest.lengths):
        return False
    count, rows, columns = (length.constant for length in nest.lengths)
    if count % SLICES or columns % (lanes * SLICES):
        return False
    slice_bytes = rows * columns * bytes_of(nest.element)
    return WINDOW_SLICES * slice_bytes > this_machine().cache_bytes(2) // 2


def _slices_together(lanes: int, vectors: int, slices: int) -> Strategy:
    """Compute adjacent slices together, so that the elements they share are read once."""
    return seq(
        vectorize(lanes) @ loop(3), split(vectors) @ loop(3), split(slices) @ loop(1),
        reorder(1, 3, 4, 2, 5), parallel() @ loop(1), sequential() @ loop(2),
        sequential() @ loop(3), unroll() @ loop(4), unroll() @ loop(5),
    )  # fmt: skip


@schedule
def stencil(*, lanes: int = 0, vectors: int = 0, slices: int = 0, rows: int = 0) -> Strategy:
    """Vectorizes the innermost of nested maps of windows, and runs the outermost in parallel.

    The reduction of each window stays in registers. `vectors` vectors of a row and `slices` slices
    are computed together, and `rows` rows of all slices before the next rows. Numbers that are 0
    are chosen for the machine."""
    return _Stencil(StencilNumbers(lanes, vectors, slices, rows))


def window_lanes(term: Term, nest: ScalarNest, machine: Machine) -> int:
    """The number of lanes of a vector for windows: fewer if they take little arithmetic."""
    bytes, flops = bytes_of(nest.element), as_nat(cost(term).flops)
    sizes = {name: Nat.const(LARGE_SIZE) for name in flops.variables | nest.elements.variables}
    flops, elements = flops.substitute(sizes), nest.elements.substitute(sizes)
    is_light = flops.constant <= MAX_LIGHT_FLOPS * elements.constant
    lanes = machine.lanes(bytes)
    return min(lanes, max(1, LIGHT_VECTOR_BYTES // bytes)) if is_light else lanes


def block_shape(type: ScalarType, machine: Machine) -> tuple[int, int]:
    """The number of lanes of a vector, and the maximum number of vectors of a block."""
    return machine.lanes(bytes_of(type)), min(8, machine.registers // 2)


def scalar_count(term: Term) -> Nat | None:
    """The number of scalars that a map returns."""
    arguments, type = pattern_arguments(term, "map"), term.type
    if arguments is None or not isinstance(type, ArrayType):
        return None
    return type.length if isinstance(type.element, ScalarType) else None


@dataclass(frozen=True)
class ScalarNest:
    """Nested maps that return scalars."""

    lengths: tuple[Nat, ...]
    element: ScalarType

    @property
    def depth(self) -> int:
        return len(self.lengths)

    @property
    def elements(self) -> Nat:
        return prod(self.lengths, start=Nat.const(1))

    @property
    def typical_elements(self) -> int:
        """The number of elements, if sizes that are known only at run time are large."""
        return prod(map(typical_size, self.lengths))


def match_scalar_nest(term: Term) -> ScalarNest | None:
    """Return the nested maps of which a term is the outermost."""
    if loop_at(term, 1) is not term:
        return None
    lengths: list[Nat] = []
    while True:
        nested_loop = loop_at(term, len(lengths) + 1)
        if (
            nested_loop is None
            or pattern_arguments(nested_loop, "map") is None
            or not isinstance(nested_loop.type, ArrayType)
        ):
            return None
        lengths.append(nested_loop.type.length)
        if isinstance(nested_loop.type.element, ScalarType):
            return ScalarNest(tuple(lengths), nested_loop.type.element)


SHORT_FLOATS = (f32, f16, bf16)


def calls_library(term: Term, permission: str) -> bool:
    """Whether the scalar functions of a term call the math library."""
    return any(
        isinstance(part, Scalar)
        and is_library_call(part.op, is_short=part.type in SHORT_FLOATS, permission=permission)
        for part in subterms(term)
    )


def loop_at(term: Term, number: int) -> Term | None:
    """Return one of several nested loops, numbered from 1, outermost first."""
    match = loop(number).find(term)
    return None if match is None else match[1]


def _reduction_of_elements(term: Term | None) -> list[Term] | None:
    """Return the arguments of the reduction that computes each element of a map."""
    arguments = None if term is None else pattern_arguments(term, "map")
    if arguments is None or not isinstance(arguments[0], Lambda):
        return None
    return pattern_arguments(arguments[0].body, "reduce")


def _vectors_to_unroll(term: Term) -> int:
    """The maximum number of vectors in a block of the elements of a map."""
    if _reduction_of_elements(term) is None:
        return MAX_SEPARATE_VECTORS
    unrolled_loads = 1
    for length in reversed(_reduction_lengths(term)):
        if unrolled_loads * length > MAX_UNROLLED:
            break
        unrolled_loads *= length
    return max(1, MAX_UNROLLED_LOADS // unrolled_loads)


def _reduction_lengths(term: Term) -> list[int]:
    """The lengths of the nested reductions that compute each element of a map."""
    reduction, lengths = _reduction_of_elements(term), list[int]()
    while reduction is not None:
        type = reduction[2].type
        assert isinstance(type, ArrayType)
        lengths.append(type.length.constant if type.length.is_constant else MAX_UNROLLED + 1)
        inner = reduction[0]
        while isinstance(inner, Lambda):
            inner = inner.body
        reduction = pattern_arguments(inner, "reduce")
    return lengths


vectors = program_strategy(
    "stencils.vectors",
    fuse() >> reduce_by_rows() >> hoist() >> stencil() @ loop(1),
    "Vectorizes rows of windows, reduces in registers, and runs the outermost loop in parallel.",
)
