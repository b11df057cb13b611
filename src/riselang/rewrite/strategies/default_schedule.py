"""The default schedule of a program without a strategy: loops that suit this machine.

It looks for kernels, from the outside in; a table says how to recognize and how to schedule each
kind. It does not look inside a recognized kernel, and leaves unrecognized loops as written. Results
are bitwise identical, except where the program permits to reorder sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, is_float
from riselang.nat import Nat
from riselang.rewrite.combinators import choice, repeat, try_
from riselang.rewrite.core import Failure, Path, Result, Setting, Step, Strategy, Success
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.paths import Trail, format_path, path_of_trail, subterm_at, written_paths
from riselang.rewrite.rules.algorithmic import reduce_map_fusion, scan_map_fusion
from riselang.rewrite.rules.functions import name_stored
from riselang.rewrite.strategies.contractions import panels_of, strategy_for_tiles
from riselang.rewrite.strategies.convolution_tiles import schedule_windows
from riselang.rewrite.strategies.epilogues import FuseEpilogue, reduction_in
from riselang.rewrite.strategies.kernel_fission import KernelFission
from riselang.rewrite.strategies.matmul_shapes import (
    bytes_of,
    contraction_shape,
    is_row_major,
    length_of,
)
from riselang.rewrite.strategies.reduction_schedules import blocked_reduction, partial_sums
from riselang.rewrite.strategies.skinny_matmul import interleaved_reductions, streamed_reductions
from riselang.rewrite.strategies.threads import parallel_outermost
from riselang.rewrite.strategies.tile_sizes import (
    ROWS_AT_ONCE,
    MatmulShape,
    choose_tiles,
    columns_per_thread,
)
from riselang.rewrite.strategies.transposed_copies import (
    choose_transpose_tiles,
    result_of,
    transpose_result,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import everywhere, normalize, run_at, top_down
from riselang.support.machine import Machine, this_machine
from riselang.term.nodes import Term, has_pattern
from riselang.term.substitution import mentions

ACCUMULATORS = 4
"""Vectors of independent accumulators: as many as an addition takes cycles."""
MIN_ITERATIONS = 16
"""Iterations from which on more accumulators are worth the additions at the end."""
MIN_REDUCTION = 128
LONG_REDUCTION = 1 << 18
"""Elements from which on a reduction may run in parallel."""
BLOCKS = 64
MIN_LINE = 32
"""Elements of a line, and lines, from which on lines are reduced together."""
MIN_PRODUCTS = 1 << 12
"""Multiplications from which on tiles are worth their code size."""


@dataclass(frozen=True)
class RecognizedKernel:
    """A recognized kernel, its path, and its schedule."""

    path: Path
    what: str
    how: str
    strategy: Strategy

    def __str__(self) -> str:
        return f"{self.what} at {format_path(self.path)}: {self.how}"


Recognize = Callable[[Term, Setting], tuple[str, str, Strategy] | None]


def _recognize_contraction(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    shape = contraction_shape(term)
    if shape is None or shape.products < MIN_PRODUCTS:
        return None
    if shape.rows <= ROWS_AT_ONCE and not shape.is_row_major and not setting.precompute:
        # Contiguous columns are lines, each of which is read once.
        return None
    left, right = f"{shape.rows} x {shape.depth}", f"{shape.depth} x {shape.columns}"
    what = f"matrix multiplication of {left} by {right}"
    panels = panels_of(term)
    if panels is not None and panels.fits(this_machine()):
        return what, str(panels), panels.strategy(this_machine())
    tiles = choose_tiles(shape, this_machine(), ahead=setting.precompute)
    return what, str(tiles), strategy_for_tiles(tiles)


def _recognize_line_reductions(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Recognize a reduction of each row of a matrix, or of each column."""
    found = pattern_arguments(term, "map")
    reduction = None if found is None else reduction_in(found[0])
    if found is None or reduction is None or not mentions(reduction[2], 0):
        return None
    lengths, type = [length_of(each.type) for each in (found[1], reduction[2])], reduction[1].type
    if not isinstance(type, ScalarType) or not all(map(_is_long, lengths)):
        return None
    count, length = (each.constant for each in lengths)
    what = f"{count} reductions of {length} elements"
    if is_row_major(found[1]):
        shape = MatmulShape(1, count, length, bytes_of(type))
        return what, *_column_reductions(shape)
    if setting.float == "relaxed" or not is_float(type):
        # Each is reduced in vectors.
        return None
    return what, f"{ROWS_AT_ONCE} of them interleaved", interleaved_reductions(ROWS_AT_ONCE)


def _is_long(length: Nat) -> bool:
    return length.is_constant and length.constant >= MIN_LINE


def _column_reductions(shape: MatmulShape) -> tuple[str, Strategy]:
    share = columns_per_thread(shape, this_machine())
    is_parallel = share < shape.columns
    threads = "in parallel" if is_parallel else "on one thread"
    strategy = streamed_reductions(ROWS_AT_ONCE, share=share, threads=is_parallel)
    return f"{ROWS_AT_ONCE} elements of each at a time, {threads}", strategy


def _recognize_window_sums(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    found = schedule_windows(term, setting)
    if found is None or found[0].shape.products < MIN_PRODUCTS:
        return None
    tiles, strategy = found
    return str(tiles.shape), str(tiles), strategy


def _recognize_windows(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    if not has_pattern(term, "slide"):
        return None
    # Strategies for images are imported only for programs with windows.
    from riselang.rewrite.strategies.windows import recognize_windows

    return recognize_windows(term, setting)


def _recognize_reduction(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    found = pattern_arguments(term, "reduce")
    if found is None or setting.float != "relaxed" or not isinstance(found[1].type, ScalarType):
        return None
    length, type = length_of(found[2].type), found[1].type
    if not is_float(type) or not length.is_constant or length.constant < MIN_REDUCTION:
        return None
    lanes = this_machine().lanes(bytes_of(type))
    sums = _accumulators_for(length.constant // lanes, this_machine())
    what, how = f"a reduction of {length} elements", f"{sums} vectors of {lanes} sums at a time"
    if length.constant >= LONG_REDUCTION:
        return what, f"{BLOCKS} blocks, in each {how}", blocked_reduction(BLOCKS, sums, lanes)
    return what, how, partial_sums(sums, lanes)


def _accumulators_for(vectors: int, machine: Machine) -> int:
    """The number of vector accumulators for a reduction of this many vectors.

    Long arrays are read from memory, where more accumulators keep more loads in flight.
    """
    return machine.registers // 2 if vectors >= MIN_ITERATIONS * machine.registers else ACCUMULATORS


KERNELS: tuple[Recognize, ...] = (
    _recognize_contraction,
    _recognize_window_sums,
    _recognize_windows,
    _recognize_line_reductions,
    _recognize_reduction,
)
"""The kernels to look for at each subterm, in this order."""
WRITTEN_KERNELS: tuple[Recognize, ...] = (_recognize_line_reductions,)
"""Kernels that compute several elements together, which pays if all elements are written to memory,
and not if each is computed when it is read."""


def find_kernels(term: Term, setting: Setting) -> Iterator[RecognizedKernel]:
    """Yield the kernels of a program, from the outside in."""
    stored = set(written_paths(term))
    stack: list[tuple[Trail, Term]] = [(None, term)]
    while stack:
        trail, part = stack.pop()
        for recognize in KERNELS:
            found = recognize(part, setting)
            if found is not None and (
                recognize not in WRITTEN_KERNELS or path_of_trail(trail) in stored
            ):
                yield RecognizedKernel(path_of_trail(trail), *found)
                break
        else:
            stack += [((trail, index), child) for index, child in enumerate(part.children)][::-1]


@dataclass(frozen=True, repr=False)
class ScheduleKernels(Strategy):
    """Schedules every kernel; one whose strategy does not apply stays unchanged."""

    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        for found in find_kernels(term, setting):
            part = subterm_at(term, found.path)
            result = run_at(found.strategy, term, found.path, part, setting.quiet)
            if isinstance(result, Success):
                term, steps = result.term, (*steps, *result.steps)
        return Success(term, steps) if steps else Failure(self, "no kernel was recognized", term)

    def __str__(self) -> str:
        return "arrange()"


def _is_contraction(term: Term) -> bool:
    shape = contraction_shape(term)
    return shape is not None and shape.products >= MIN_PRODUCTS


# Maps are not fused with each other, except that the elementwise uses of a kernel's results become
# a part of the kernel.
_fuse_reductions = try_(normalize(choice(reduce_map_fusion, scan_map_fusion)))
_fuse_epilogues = everywhere(FuseEpilogue(_is_contraction))
# A stored array that a kernel reads has a name, so that it is not a part of the kernel.
_name_stored = everywhere(name_stored)
# A kernel inside a loop of the program is stored first.
_split_kernels = repeat(top_down(KernelFission(_is_contraction)))
prepare_kernels: Strategy = (
    _fuse_reductions >> _split_kernels >> try_(_fuse_epilogues) >> _name_stored
)
"""The preparation before kernels are looked for."""
schedule_program = prepare_kernels >> choice(
    ScheduleKernels() >> try_(parallel_outermost()), parallel_outermost(), transpose_result()
)


def recognized_kernels(term: Term, setting: Setting) -> list[RecognizedKernel]:
    """Return the kernels that are recognized in a program as written."""
    result = (data_flow_normal_form >> prepare_kernels).run(term, setting)
    if isinstance(result, Failure):
        return []
    path, part = result_of(result.term)
    tiles = choose_transpose_tiles(part, this_machine())
    if tiles is not None:
        return [RecognizedKernel(path, "a transposed array", str(tiles), tiles.strategy())]
    return list(find_kernels(result.term, setting))
