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
from riselang.native.llvm.ir_writer import ATTRIBUTES, IrWriter

GROUP_ROWS, GROUP_WARPS = 64, 4
"""The rows and the warps of a warp group."""
ATOM_BYTES = 8 * SWIZZLE_BYTES
"""The bytes of the smallest part of a tile: eight rows."""
SWIZZLED = 1 << 62
"""The mark of the permuted layout in a matrix descriptor."""
INSTRUCTION_BYTES = 32
"""The bytes of a row that one instruction multiplies."""
TYPES = {"bf16": "f32.bf16.bf16", "f16": "f32.f16.f16", "f32": "f32.tf32.tf32", "i8": "s32.s8.s8"}


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


class _WgmmaWriter(IrWriter):
    def __init__(self, product: TensorProduct, tiles: str, barriers: str):
        super().__init__()
        self.product = product
        self.row_bytes = product.row_count * SWIZZLE_BYTES
        self.first_stage = self.first_parity = "0"
        """The stage and the parity of its barriers for the first step of this tile."""
        self.tiles = f"ptrtoint (ptr addrspace(3) @{tiles} to i32)"
        self.barriers = f"ptrtoint (ptr addrspace(3) @{barriers} to i32)"

    @property
    def steps(self) -> int:
        """The number of steps; after the end of a row, the copy engine stores zeros."""
        return -(-self.product.depth // self.product.step)

    def function(self) -> str:
        product = self.product
        type = f"<{product.registers} x {product.accumulator}>"
        coordinates = [
            f"i32 %{name}{number}"
            for name, operand in (("r", product.rows), ("c", product.columns))
            for number in range(len(operand.shape))
        ]
        parameters = ["ptr %rows", "ptr %columns", *coordinates, "i32 %thread",
                      "i32 %round", f"{product.accumulator} %init"]  # fmt: skip
        self.label("entry")
        self._initialize()
        warp = self.let("udiv i32 %thread, 32")
        is_producer = self.let(f"icmp eq i32 {warp}, {product.warps}")
        self.branch(is_producer, "producer", "consumer")
        self._produce()
        self._consume(warp)
        header = f"define internal {type} @{product.name}({', '.join(parameters)}) alwaysinline {{"
        return "\n".join([header, *self.lines, "}", ""])

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

    def _stage_address(self, stage: str) -> str:
        offset = self.let(f"mul i32 {stage}, {self.product.stage_bytes}")
        return self.let(f"add i32 {self.tiles}, {offset}")

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
        address = self._stage_address(stage)
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
            (step, "0", next_step),
            (stage, self.first_stage, next_stage),
            (parity, free_parity, next_parity),
        )
        self.lines[phi_position:phi_position] = [
            f"  {name} = phi i32 [ {start}, %copy ], [ {following}, %copy_step ]"
            for name, start, following in values
        ]
        self.label("copied")
        type = f"<{self.product.registers} x {self.product.accumulator}>"
        self.emit(f"ret {type} zeroinitializer")

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
        count, type = product.registers, product.accumulator
        self.label("consumer")
        group = self.let(f"udiv i32 {warp}, {GROUP_WARPS}")
        thread = self.let(f"and i32 %thread, {GROUP_WARPS * WARP_SIZE - 1}")
        is_first = self.let(f"icmp eq i32 {thread}, 0")
        first = self._address_of_group(group)
        self.jump("multiply")
        self.label("multiply")
        step, stage, parity, last = "%number", "%stage", "%parity", "%last_stage"
        phi_position = len(self.lines)
        sums = [f"%sum{number}" for number in range(count)]
        self._wait(self._barrier(stage, 0), parity)
        offset = self.let(f"mul i32 {stage}, {product.stage_bytes}")
        rows = self.let(f"add i32 {first}, {offset}")
        columns_start = self.let(f"add i32 {self.tiles}, {self.row_bytes}")
        columns = self.let(f"add i32 {columns_start}, {offset}")
        row_descriptor = self._descriptor(rows, product.rows)
        column_descriptor = self._descriptor(columns, product.columns)
        self.asm("wgmma.fence.sync.aligned;")
        results = sums
        for part in range(product.step * product.element_bytes // INSTRUCTION_BYTES):
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
            *((name, type, "%init", result) for name, result in zip(sums, results, strict=True)),
        ]  # fmt: skip
        self.lines[phi_position:phi_position] = [
            f"  {name} = phi {kind} [ {start}, %consumer ], [ {following}, %released ]"
            for name, kind, start, following in values
        ]
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
        """Wait for the sums, and return them."""
        type, count = self.product.accumulator, len(results)
        sums = self._waited(results)
        self._release_if(is_first, stage, "release_last", "return")
        vector = "poison"
        for number, value in enumerate(sums):
            vector = self.let(
                f"insertelement <{count} x {type}> {vector}, {type} {value}, i32 {number}"
            )
        self.emit(f"ret <{count} x {type}> {vector}")

    def _waited(self, results: list[str]) -> list[str]:
        """Return the sums after all products: values that depend on the wait."""
        count, type = len(results), self.product.accumulator
        kind = "r" if type == "i32" else "f"
        constraints = ",".join([f"={kind}"] * count + [str(n) for n in range(count)])
        struct = "{ " + ", ".join([type] * count) + " }"
        operands = ", ".join(f"{type} {value}" for value in results)
        result = self.let(
            f'call {struct} asm sideeffect "wgmma.wait_group.sync.aligned 0;", '
            f'"{constraints},~{{memory}}"({operands}) {ATTRIBUTES}'
        )
        return [self.let(f"extractvalue {struct} {result}, {n}") for n in range(count)]

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
        product = self.product
        depth = INSTRUCTION_BYTES // product.element_bytes
        operands: list[str] = []
        for descriptor, operand in ((rows, product.rows), (columns, product.columns)):
            advance = INSTRUCTION_BYTES if operand.is_depth_major else depth * SWIZZLE_BYTES
            operands.append(self.let(f"add i64 {descriptor}, {part * advance >> 4}"))
        count, type = len(sums), product.accumulator
        results = ", ".join(f"${number}" for number in range(count))
        scales = "p" if type == "i32" else "p, 1, 1"
        if product.element_bytes == 2:
            majors = (int(not each.is_depth_major) for each in (product.rows, product.columns))
            scales += "".join(f", {major}" for major in majors)
        text = (
            "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned."
            f"m64n{product.column_count}k{depth}.{TYPES[product.element]} "
            f"{{{results}}}, ${count}, ${count + 1}, {scales}; }}"
        )
        kind = "r" if type == "i32" else "f"
        constraints = [f"={kind}"] * count + ["l", "l"] + [str(n) for n in range(count)]
        values = [*(f"i64 {each}" for each in operands), *(f"{type} {each}" for each in sums)]
        struct = "{ " + ", ".join([type] * count) + " }"
        result = self.let(
            f'call {struct} asm sideeffect "{text}", "{",".join(constraints)}"'
            f"({', '.join(values)}) {ATTRIBUTES}"
        )
        return [self.let(f"extractvalue {struct} {result}, {n}") for n in range(count)]
