"""Maps the iterations of loops to blocks, threads, warps and lanes.

Each of these has an id: a block in its grid, a thread or a warp in its block, a lane in its warp.
It runs the iteration of its id; a loop with more iterations becomes a grid-stride loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import arith, gpu, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.constants import index_constant
from riselang.dialects.module import location_of
from riselang.dialects.tile import AttentionOp, ProductOp
from riselang.lowering.loop_emitter import GPU_MAPPING
from riselang.support.errors import LimitationError, UserError

ROUNDS = "rise.rounds"
"""Marks a loop over the iterations of a block."""
GLOBAL = "global"
"""The threads of all blocks, for parallel loops that choose neither blocks nor threads."""
MAX_THREADS = 1024
"""The maximum number of threads in a block."""
MAX_BLOCKS = {"x": 2**31 - 1, "y": 65535, "z": 65535}
DEFAULT_THREADS = 256
"""The default number of threads in a block."""
WARP_SIZE = 32
"""The number of lanes in a warp."""
PATTERN_NAMES = {"block": "mapBlock", "thread": "mapThread", "warp": "mapWarp", "lane": "mapLane"}


def mapping_of(op: Operation) -> str | None:
    """Return what a parallel loop is mapped to: block_x, thread_y, ...; None for other ops."""
    if not isinstance(op, scf.ParallelOp):
        return None
    part = op.attributes.get(GPU_MAPPING)
    return part.data if isinstance(part, StringAttr) else GLOBAL


def mapping_level(part: str) -> str:
    return part.partition("_")[0]


def is_thread_loop(op: Operation) -> bool:
    """Whether the op is a parallel loop that is mapped to a block's threads, warps or lanes."""
    part = mapping_of(op)
    return part is not None and mapping_level(part) in ("thread", "warp", "lane")


def format_mapping(part: str) -> str:
    """Return the pattern that maps a loop to a part of the GPU."""
    level, _, axis = part.partition("_")
    return (
        f"{PATTERN_NAMES[level]}({'xyz'.index(axis)})"
        if axis
        else PATTERN_NAMES.get(level, "mapPar")
    )


def constant_of(value: SSAValue) -> int | None:
    """Return the value of an integer constant; None for other values."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None


def constant_trip_count(loop: scf.ParallelOp) -> int:
    """Return the trip count of a loop."""
    count = constant_of(loop.upperBound[0])
    if count is None:
        raise LimitationError(
            "the size of a kernel must be known when it is compiled; specify the sizes of the "
            "program",
            location_of(loop),
        )
    return count


@dataclass(frozen=True)
class Launch:
    """The launch dimensions of a kernel: its numbers of blocks and of threads per block."""

    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)

    def limit_blocks(self, max_blocks: int) -> Launch:
        """Return the launch dimensions with fewer blocks, each of which then runs several
        iterations: of one dimension, so that they have an order."""
        columns, rows, planes = self.grid
        if planes > 1 or (rows > 1 and columns > max_blocks):
            return self
        if rows > 1:
            return Launch((columns, min(rows, max_blocks // columns), 1), self.block)
        return Launch((min(columns, max_blocks), 1, 1), self.block)

    @property
    def threads(self) -> int:
        return prod(self.block)

    def count(self, part: str) -> int:
        """Return the number of blocks, threads, warps or lanes."""
        level, _, axis = part.partition("_")
        match level:
            case "block":
                return self.grid["xyz".index(axis)]
            case "thread":
                return self.block["xyz".index(axis)]
            case "warp":
                return self.block[0] // WARP_SIZE
            case "lane":
                return WARP_SIZE
            case _:
                return self.grid[0] * self.block[0]


def launch_dimensions(loops: Sequence[scf.ParallelOp]) -> Launch:
    """Return launch dimensions for the longest loop of each kind, within the GPU's limits."""
    longest: dict[str, int] = {}
    for loop in loops:
        part = mapping_of(loop)
        assert part is not None
        longest[part] = max(longest.get(part, 1), constant_trip_count(loop))
    if GLOBAL in longest:
        threads = min(longest[GLOBAL], DEFAULT_THREADS)
        blocks = min(-(-longest[GLOBAL] // threads), MAX_BLOCKS["x"])
        return Launch((blocks, 1, 1), (threads, 1, 1))
    grid = [
        min(longest.get(f"block_{axis}", 1), max_blocks) for axis, max_blocks in MAX_BLOCKS.items()
    ]
    return Launch((grid[0], grid[1], grid[2]), _block_dimensions(longest))


def _block_dimensions(longest: dict[str, int]) -> tuple[int, int, int]:
    if "warp" in longest or "lane" in longest:
        warps = min(longest.get("warp", 1), MAX_THREADS // WARP_SIZE)
        return warps * WARP_SIZE, 1, 1
    remaining_threads = MAX_THREADS
    counts: list[int] = []
    for axis in "xyz":
        max_threads = min(remaining_threads, 64) if axis == "z" else remaining_threads
        counts.append(min(longest.get(f"thread_{axis}", 1), max_threads))
        remaining_threads //= counts[-1]
    return counts[0], counts[1], counts[2]


def check_nesting(loop: scf.ParallelOp) -> None:
    """Report nested loops that cannot be mapped to a GPU."""
    for inner, outer_parts in _nested_loops(loop, ()):
        part = mapping_of(inner)
        assert part is not None
        wrong = next((each for each in outer_parts if not _can_nest(each, part)), None)
        if wrong is not None:
            raise UserError(
                f"{format_mapping(part)} inside {format_mapping(wrong)}: blocks have threads or "
                "warps, warps have lanes, and each of them is used once",
                location_of(inner),
            )


def _nested_loops(
    op: Operation, outer_parts: tuple[str, ...]
) -> Iterator[tuple[scf.ParallelOp, tuple[str, ...]]]:
    part = mapping_of(op)
    if isinstance(op, scf.ParallelOp) and part is not None:
        yield op, outer_parts
        outer_parts = (*outer_parts, part)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _nested_loops(inner, outer_parts)


NESTING_ORDER = {GLOBAL: 0, "block": 0, "thread": 1, "warp": 1, "lane": 2}


def _can_nest(outer: str, inner: str) -> bool:
    first, second = mapping_level(outer), mapping_level(inner)
    if outer == inner or GLOBAL in (first, second):
        return False
    if {first, second} in ({"thread", "warp"}, {"thread", "lane"}):
        return False
    return NESTING_ORDER[first] <= NESTING_ORDER[second]


class GpuIds:
    """The ids of blocks, threads, warps and lanes, as values at the start of a kernel."""

    def __init__(self, block: Block, launch: Launch):
        self.launch = launch
        self._builder = Builder(
            InsertPoint.before(block.first_op) if block.first_op else InsertPoint.at_end(block)
        )
        self._ids: dict[str, SSAValue] = {}

    def id_of(self, part: str) -> SSAValue:
        if part not in self._ids:
            self._ids[part] = self._emit_id(part)
        return self._ids[part]

    def _emit_id(self, part: str) -> SSAValue:
        level, _, axis = part.partition("_")
        match level:
            case "block":
                return self._add(gpu.BlockIdOp(gpu.DimensionAttr(gpu.DimensionEnum(axis))))
            case "thread":
                return self._add(gpu.ThreadIdOp(gpu.DimensionAttr(gpu.DimensionEnum(axis))))
            case "warp":
                return self._add(
                    arith.DivUIOp(self.id_of("thread_x"), self.index_constant(WARP_SIZE))
                )
            case "lane":
                return self._add(
                    arith.RemUIOp(self.id_of("thread_x"), self.index_constant(WARP_SIZE))
                )
            case _:
                threads = self.index_constant(self.launch.block[0])
                first_thread = self._add(arith.MuliOp(self.id_of("block_x"), threads))
                return self._add(arith.AddiOp(first_thread, self.id_of("thread_x")))

    def is_first_thread(self) -> SSAValue:
        """Return whether a thread is the first of its block, as an i1."""
        return self.have_id_zero(self.idle_dimensions(()))

    def idle_dimensions(self, used_dimensions: Sequence[str]) -> list[str]:
        """Return the dimensions of a block in which loops over the used ones leave threads idle."""
        of_warps = any(mapping_level(part) in ("warp", "lane") for part in used_dimensions)
        parts = ("warp", "lane") if of_warps else ("thread_x", "thread_y", "thread_z")
        return [
            part for part in parts if part not in used_dimensions and self.launch.count(part) > 1
        ]

    def have_id_zero(self, parts: Sequence[str]) -> SSAValue:
        """Return whether a thread has id 0 in each of some dimensions, as an i1."""
        key = f"first {parts}"
        if key not in self._ids:
            total = self.id_of(parts[0])
            for part in parts[1:]:
                total = self._add(arith.AddiOp(total, self.id_of(part)))
            self._ids[key] = self._add(arith.CmpiOp(total, self.index_constant(0), "eq"))
        return self._ids[key]

    def index_constant(self, value: int) -> SSAValue:
        key = str(value)
        if key not in self._ids:
            self._ids[key] = self._add(index_constant(value))
        return self._ids[key]

    def _add(self, op: Operation) -> SSAValue:
        return self._builder.insert(op).results[0]

    def distribute_loop(self, loop: scf.ParallelOp) -> None:
        """Replace a loop by the iterations of one block, thread, warp or lane.

        All warps compute a product of tiles, also those without an iteration.
        """
        part = mapping_of(loop)
        assert part is not None
        length, count = constant_trip_count(loop), self.launch.count(part)
        number = self.id_of(part)
        block, body = loop.parent, loop.body.detach_block(0)
        assert block is not None
        assert body.last_op is not None
        body.last_op.detach()
        if count < length:
            body.add_op(scf.YieldOp())
            rounds = self._several_iterations(body, number, length, count)
            if mapping_level(part) == "block":
                rounds.attributes[ROUNDS] = UnitAttr()
            new_ops = [rounds]
        else:
            body.args[0].replace_all_uses_with(number)
            body.erase_arg(body.args[0])
            is_all = count == length or any(
                isinstance(op, ProductOp | AttentionOp) for op in body.walk()
            )
            new_ops = self._single_iteration(body, number, length, is_all=is_all)
        for op in new_ops:
            op.location = op.location or loop.location
        block.insert_ops_before(new_ops, loop)
        loop.detach()
        loop.erase()

    def _several_iterations(
        self, body: Block, number: SSAValue, length: int, count: int
    ) -> Operation:
        """Return a loop; if all ids have as many iterations, its bounds are constants."""
        if length % count:
            end, step = self.index_constant(length), self.index_constant(count)
            return scf.ForOp(number, end, step, [], Region(body))
        first = body.first_op
        assert first is not None
        start = arith.MuliOp(body.args[0], self.index_constant(count))
        iteration = arith.AddiOp(start, number)
        body.insert_ops_before([start, iteration], first)
        body.args[0].replace_uses_with_if(iteration.result, lambda use: use.operation is not start)
        end = self.index_constant(length // count)
        return scf.ForOp(self.index_constant(0), end, self.index_constant(1), [], Region(body))

    def _single_iteration(
        self, body: Block, number: SSAValue, length: int, *, is_all: bool
    ) -> list[Operation]:
        """Return a single iteration, under an if unless every id has one."""
        if is_all:
            ops = list(body.ops)
            for op in ops:
                op.detach()
            return ops
        body.add_op(scf.YieldOp())
        is_there = self._add(arith.CmpiOp(number, self.index_constant(length), "ult"))
        return [scf.IfOp(is_there, [], Region(body))]
