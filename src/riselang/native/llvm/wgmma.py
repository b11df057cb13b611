"""Tensor cores of Hopper GPUs: `wgmma` on tiles that the copy engine brings to shared memory.

One warp copies the operands, several steps ahead, to a circular buffer of stages in shared memory.
The other warps, in groups of four, multiply them: each group has 64 rows of the tile. Two barriers
for each stage pass it on: `full` when its operands have arrived, `empty` when every group has used
them. If a block computes several tiles, the copies of the next tile overlap the epilogue.
"""

from __future__ import annotations

from riselang.lowering.gpu.tensor_products import (
    SWIZZLE_BYTES,
    WARP_SIZE,
    TensorProduct,
    TileOperand,
)
from riselang.native.llvm.product_writer import INSTRUCTION_BYTES, ProductWriter, shared_address

GROUP_ROWS, GROUP_WARPS = 64, 4
"""The rows and the warps of a warp group."""
ATOM_BYTES = 8 * SWIZZLE_BYTES
"""The bytes of the smallest part of a tile: eight rows."""
SWIZZLED = 1 << 62
"""The mark of the permuted layout in a matrix descriptor."""
TYPES = {
    "bf16": "f32.bf16.bf16", "f16": "f32.f16.f16", "f32": "f32.tf32.tf32", "i8": "s32.s8.s8",
    "f8E4M3FN": "f32.e4m3.e4m3", "f8E5M2": "f32.e5m2.e5m2",
}  # fmt: skip


def box(operand: TileOperand, count: int, element_bytes: int) -> tuple[int, ...]:
    """Return the sizes of the part of a buffer that one copy brings, innermost first."""
    width = SWIZZLE_BYTES // element_bytes
    sizes = [1] * len(operand.shape)
    if operand.is_depth_major:
        sizes[operand.depth_dimension], sizes[operand.row_dimension] = width, count
    else:
        sizes[operand.row_dimension], sizes[operand.depth_dimension] = width, width
    return tuple(reversed(sizes))


def wgmma_function(product: TensorProduct, tiles: str, barriers: str) -> str:
    """Return a function whose stages are in the buffer `tiles`, with `barriers`, both shared."""
    return _WgmmaWriter(product, tiles, barriers).function()


class _WgmmaWriter(ProductWriter):
    def __init__(self, product: TensorProduct, tiles: str, barriers: str):
        super().__init__(product, tiles)
        self.row_bytes = product.row_count * SWIZZLE_BYTES
        self.first_stage = self.first_parity = "0"
        """The stage and the parity of its barriers for the first step of this tile."""
        self.barriers = shared_address(barriers)

    @property
    def steps(self) -> int:
        """The number of steps; after the end of a row, the copy engine stores zeros."""
        return -(-self.product.depth // self.product.step)

    def write_body(self) -> None:
        self.label("entry")
        self._initialize()
        warp = self.let("udiv i32 %thread, 32")
        is_producer = self.let(f"icmp eq i32 {warp}, {self.product.warps}")
        self.branch(is_producer, "producer", "consumer")
        self._produce()
        self._consume(warp)

    def _initialize(self) -> None:
        """Initialize the barriers before the first tile."""
        product = self.product
        self.branch(self.let("icmp eq i32 %round, 0"), "first_round", "start")
        self.label("first_round")
        self.branch(self.let("icmp eq i32 %thread, 0"), "initialize", "initialized")
        self.label("initialize")
        for stage in range(product.stages):
            for kind, count in ((0, 1), (1, product.warps // GROUP_WARPS)):
                address = self.let(f"add i32 {self.barriers}, {8 * (2 * stage + kind)}")
                self.asm("mbarrier.init.shared::cta.b64 [$0], $1;",
                         [f"i32 {address}", f"i32 {count}"], "rr")  # fmt: skip
        self.asm("fence.mbarrier_init.release.cluster;")
        self.jump("initialized")
        self.label("initialized")
        self.asm("bar.sync 0;")
        self.jump("start")
        self.label("start")
        previous = self.let(f"mul i32 %round, {self.steps}")
        self.first_stage = self.let(f"urem i32 {previous}, {product.stages}")
        self.first_parity = self.let(
            f"and i32 {self.let(f'udiv i32 {previous}, {product.stages}')}, 1"
        )

    def _barrier(self, stage: str, kind: int) -> str:
        offset = self.let(f"mul i32 {stage}, 16")
        first = self.let(f"add i32 {self.barriers}, {8 * kind}")
        return self.let(f"add i32 {first}, {offset}")

    def _wait(self, barrier: str, parity: str) -> None:
        self.asm(
            "{ .reg .pred p; waiting: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; "
            "@!p bra waiting; }",
            [f"i32 {barrier}", f"i32 {parity}"], "rr",
        )  # fmt: skip

    def _next_stage(self, stage: str, parity: str) -> tuple[str, str]:
        following = self.let(f"add i32 {stage}, 1")
        wraps = self.let(f"icmp eq i32 {following}, {self.product.stages}")
        flipped = self.let(f"xor i32 {parity}, 1")
        return (
            self.let(f"select i1 {wraps}, i32 0, i32 {following}"),
            self.let(f"select i1 {wraps}, i32 {flipped}, i32 {parity}"),
        )

    # The warp that copies

    def _produce(self) -> None:
        self.label("producer")
        lane = self.let(f"and i32 %thread, {WARP_SIZE - 1}")
        elected = self.let(f"icmp eq i32 {lane}, 0")
        self.branch(elected, "copy", "copied")
        self.label("copy")
        free_parity = self.let(f"xor i32 {self.first_parity}, 1")
        self.jump("copy_step")
        self.label("copy_step")
        step, stage, parity = "%copy_number", "%copy_stage", "%copy_parity"
        phi_position = len(self.lines)
        empty, full = self._barrier(stage, 1), self._barrier(stage, 0)
        self._wait(empty, parity)
        self.asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
                 [f"i32 {full}", f"i32 {self.product.stage_bytes}"], "rr")  # fmt: skip
        address = self.stage_address(stage)
        self._copy_operand("rows", "r", self.product.rows, self.product.row_count,
                           address, full, step)  # fmt: skip
        columns = self.let(f"add i32 {address}, {self.row_bytes}")
        self._copy_operand("columns", "c", self.product.columns, self.product.column_count,
                           columns, full, step)  # fmt: skip
        next_step = self.let(f"add i32 {step}, 1")
        next_stage, next_parity = self._next_stage(stage, parity)
        more = self.let(f"icmp ult i32 {next_step}, {self.steps}")
        self.branch(more, "copy_step", "copied")
        values = (
            (step, "i32", "0", next_step),
            (stage, "i32", self.first_stage, next_stage),
            (parity, "i32", free_parity, next_parity),
        )
        self.add_phis(phi_position, values, "copy", "copy_step")
        self.label("copied")
        self.emit(f"ret {self.result_type} zeroinitializer")

    def _copy_operand(
        self, name: str, prefix: str, operand: TileOperand, count: int,
        address: str, barrier: str, step: str,
    ) -> None:  # fmt: skip
        """Copy the operand of a step: all rows at once, or 128 bytes of each column."""
        width = SWIZZLE_BYTES // self.product.element_bytes
        offset = self.let(f"mul i32 {step}, {self.product.step}")
        parts = 1 if operand.is_depth_major else count // width
        for part in range(parts):
            coordinates = [f"%{prefix}{number}" for number in range(len(operand.shape))]
            depth = operand.depth_dimension
            coordinates[depth] = self.let(f"add i32 {coordinates[depth]}, {offset}")
            if part:
                row = operand.row_dimension
                coordinates[row] = self.let(f"add i32 {coordinates[row]}, {part * width}")
            target = self.let(f"add i32 {address}, {part * width * SWIZZLE_BYTES}")
            self._copy_box(name, target, barrier, list(reversed(coordinates)))

    def _copy_box(self, name: str, target: str, barrier: str, coordinates: list[str]) -> None:
        rank = len(coordinates)
        places = ", ".join(f"${number + 3}" for number in range(rank))
        self.asm(
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            f" [$0], [$1, {{{places}}}], [$2];",
            [f"i32 {target}", f"ptr %{name}", f"i32 {barrier}", *(f"i32 {c}" for c in coordinates)],
            "rlr" + "r" * rank,
        )

    # The warps that multiply

    def _consume(self, warp: str) -> None:
        product = self.product
        self.label("consumer")
        group = self.let(f"udiv i32 {warp}, {GROUP_WARPS}")
        thread = self.let(f"and i32 %thread, {GROUP_WARPS * WARP_SIZE - 1}")
        is_first = self.let(f"icmp eq i32 {thread}, 0")
        first = self._address_of_group(group)
        self.jump("multiply")
        self.label("multiply")
        step, stage, parity, last = "%number", "%stage", "%parity", "%last_stage"
        phi_position = len(self.lines)
        sums = [f"%sum{number}" for number in range(product.registers)]
        self._wait(self._barrier(stage, 0), parity)
        offset = self.let(f"mul i32 {stage}, {product.stage_bytes}")
        rows = self.let(f"add i32 {first}, {offset}")
        columns_start = self.let(f"add i32 {self.tiles}, {self.row_bytes}")
        columns = self.let(f"add i32 {columns_start}, {offset}")
        row_descriptor = self._descriptor(rows, product.rows)
        column_descriptor = self._descriptor(columns, product.columns)
        self.asm("wgmma.fence.sync.aligned;")
        results = sums
        for part in range(self.instructions):
            results = self._multiply(part, row_descriptor, column_descriptor, results)
        self.asm("wgmma.commit_group.sync.aligned;")
        self.asm("wgmma.wait_group.sync.aligned 1;")
        self._release(step, last, is_first)
        next_step = self.let(f"add i32 {step}, 1")
        next_stage, next_parity = self._next_stage(stage, parity)
        more = self.let(f"icmp ult i32 {next_step}, {self.steps}")
        self.branch(more, "multiply", "finish")
        values = [
            (step, "i32", "0", next_step), (stage, "i32", self.first_stage, next_stage),
            (parity, "i32", self.first_parity, next_parity), (last, "i32", "0", stage),
            *self.sum_phis(sums, results),
        ]  # fmt: skip
        self.add_phis(phi_position, values, "consumer", "released")
        self.label("finish")
        self._finish(results, stage, is_first)

    def _release(self, step: str, last: str, is_first: str) -> None:
        """Release the stage of the previous step, whose products are complete."""
        is_used = self.let(f"icmp ne i32 {step}, 0")
        releases = self.let(f"and i1 {is_used}, {is_first}")
        self._release_if(releases, last, "release", "released")

    def _release_if(self, condition: str, stage: str, label: str, end: str) -> None:
        """Pass a stage to the warp that copies, in one thread of each group."""
        self.branch(condition, label, end)
        self.label(label)
        empty = self._barrier(stage, 1)
        self.asm("mbarrier.arrive.shared::cta.b64 _, [$0];", [f"i32 {empty}"], "r")
        self.jump(end)
        self.label(end)

    def _finish(self, results: list[str], stage: str, is_first: str) -> None:
        """Wait for the sums, and return them: values that depend on the wait."""
        sums = self.asm_sums("wgmma.wait_group.sync.aligned 0;", results, touches_memory=True)
        self._release_if(is_first, stage, "release_last", "return")
        self.return_sums(sums)

    def _address_of_group(self, group: str) -> str:
        """Return the address of the rows of a warp group in the first stage."""
        rows = self.let(f"mul i32 {group}, {GROUP_ROWS * SWIZZLE_BYTES}")
        return self.let(f"add i32 {self.tiles}, {rows}")

    def _descriptor(self, address: str, operand: TileOperand) -> str:
        """Return the descriptor of a matrix in shared memory.

        Eight rows follow each other every `ATOM_BYTES`; columns of a tile that is not depth-major
        are in parts of 128 bytes, each with all of its rows.
        """
        short = self.let(f"lshr i32 {address}, 4")
        low = self.let(f"and i32 {short}, 16383")
        wide = self.let(f"zext i32 {low} to i64")
        width = SWIZZLE_BYTES // self.product.element_bytes
        part_bytes = 16 if operand.is_depth_major else width * SWIZZLE_BYTES
        constant = SWIZZLED | (ATOM_BYTES >> 4) << 32 | (part_bytes >> 4) << 16
        return self.let(f"or i64 {wide}, {constant}")

    def _multiply(self, part: int, rows: str, columns: str, sums: list[str]) -> list[str]:
        product, depth = self.product, self.instruction_depth
        operands: list[str] = []
        for descriptor, operand in ((rows, product.rows), (columns, product.columns)):
            advance = INSTRUCTION_BYTES if operand.is_depth_major else depth * SWIZZLE_BYTES
            operands.append(self.let(f"add i64 {descriptor}, {part * advance >> 4}"))
        count = len(sums)
        results = ", ".join(f"${number}" for number in range(count))
        scales = "p" if product.accumulator == "i32" else "p, 1, 1"
        if product.element_bytes == 2:
            majors = (int(not each.is_depth_major) for each in (product.rows, product.columns))
            scales += "".join(f", {major}" for major in majors)
        text = (
            "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned."
            f"m64n{product.column_count}k{depth}.{TYPES[product.element]} "
            f"{{{results}}}, ${count}, ${count + 1}, {scales}; }}"
        )
        return self.asm_sums(text, sums, [f"i64 {each}" for each in operands], "ll")
