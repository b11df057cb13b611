"""Tensor cores of Ampere GPUs and later: `mma.sync` on tiles that threads copy to shared memory.

All threads copy the operands of a step, several steps ahead, with asynchronous copies of 16 bytes
to a circular buffer of stages. Each warp then loads its parts with `ldmatrix`, and multiplies them.
The 16-byte parts of a row are permuted in shared memory, so that no two lanes access the same bank.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.lowering.gpu.tensor_products import WARP_SIZE, TensorProduct, TileOperand
from riselang.native.llvm.ir_writer import ATTRIBUTES
from riselang.native.llvm.product_writer import ProductWriter

PART_BYTES = 16
"""The bytes of an asynchronous copy, and of a row of a matrix that `ldmatrix` loads."""
TYPES = {
    "bf16": "f32.bf16.bf16.f32",
    "f16": "f32.f16.f16.f32",
    "f32": "f32.tf32.tf32.f32",
    "i8": "s32.s8.s8.s32",
}


def mma_function(product: TensorProduct, tiles: str) -> str:
    """Return a function whose stages are in the buffer `tiles` in shared memory."""
    return _MmaWriter(product, tiles).function()


@dataclass(frozen=True)
class _Layout:
    """An operand in shared memory: lines of contiguous elements, in parts of 16 bytes."""

    operand: TileOperand
    lines: int
    parts: int
    """The parts of a line."""

    @property
    def line_bytes(self) -> int:
        return self.parts * PART_BYTES


class _MmaWriter(ProductWriter):
    def __init__(self, product: TensorProduct, tiles: str):
        super().__init__(product, tiles)
        self.rows = self._layout(product.rows, product.row_count)
        self.columns = self._layout(product.columns, product.column_count)
        self.row_bytes = self.rows.lines * self.rows.line_bytes

    def _layout(self, operand: TileOperand, count: int) -> _Layout:
        step, size = self.product.step, self.product.element_bytes
        if operand.is_depth_major:
            return _Layout(operand, count, step * size // PART_BYTES)
        return _Layout(operand, step, count * size // PART_BYTES)

    @property
    def steps(self) -> int:
        return self.product.depth // self.product.step

    def write_body(self) -> None:
        self.label("entry")
        self.asm("bar.sync 0;")
        copies = [
            *self._copies("rows", "r", self.rows, 0),
            *self._copies("columns", "c", self.columns, self.row_bytes),
        ]
        for stage in range(self.product.stages - 1):
            if stage < self.steps:
                self._copy_step(copies, str(stage), str(stage))
            self.asm("cp.async.commit_group;")
        self._multiply_steps(copies)

    # Copies

    def _copies(
        self, name: str, prefix: str, layout: _Layout, start: int
    ) -> list[tuple[str, str, int]]:
        """Return the copies of a thread: source in the first step, target in the first stage, and
        the distance of the sources of consecutive steps, in bytes."""
        operand, size = layout.operand, self.product.element_bytes
        base = self._address(name, prefix, operand)
        other = operand.row_dimension if operand.is_depth_major else operand.depth_dimension
        line_distance = operand.stride(other) * size
        distance = self.product.step * operand.stride(operand.depth_dimension) * size
        threads = self.product.warps * WARP_SIZE
        copies: list[tuple[str, str, int]] = []
        for first in range(0, layout.lines * layout.parts, threads):
            number = self.let(f"add i32 %thread, {first}")
            line = self.let(f"udiv i32 {number}, {layout.parts}")
            part = self.let(f"urem i32 {number}, {layout.parts}")
            wide_line, wide_part = (self.let(f"zext i32 {each} to i64") for each in (line, part))
            line_offset = self.let(f"mul i64 {wide_line}, {line_distance}")
            part_offset = self.let(f"mul i64 {wide_part}, {PART_BYTES}")
            offset = self.let(f"add i64 {line_offset}, {part_offset}")
            source = self.let(f"getelementptr i8, ptr {base}, i64 {offset}")
            local = self._shared_offset(layout, line, part)
            target = self.let(f"add i32 {local}, {start}")
            copies.append((source, target, distance))
        return copies

    def _address(self, name: str, prefix: str, operand: TileOperand) -> str:
        """Return the address of the first element of an operand."""
        total = "0"
        for dimension in range(len(operand.shape)):
            index = self.let(f"sext i32 %{prefix}{dimension} to i64")
            distance = operand.stride(dimension) * self.product.element_bytes
            scaled = self.let(f"mul i64 {index}, {distance}")
            total = self.let(f"add i64 {total}, {scaled}")
        return self.let(f"getelementptr i8, ptr %{name}, i64 {total}")

    def _shared_offset(self, layout: _Layout, line: str, part: str) -> str:
        """Return the offset of a part of a line, after the permutation of the line's parts."""
        parts = min(layout.parts, 8)
        group = self.let(f"udiv i32 {line}, {8 // parts}")
        key = self.let(f"and i32 {group}, {parts - 1}")
        permuted = self.let(f"xor i32 {part}, {key}")
        line_offset = self.let(f"mul i32 {line}, {layout.line_bytes}")
        part_offset = self.let(f"mul i32 {permuted}, {PART_BYTES}")
        return self.let(f"add i32 {line_offset}, {part_offset}")

    def _copy_step(self, copies: list[tuple[str, str, int]], step: str, stage: str) -> None:
        start = self.stage_address(stage)
        wide = self.let(f"zext i32 {step} to i64")
        for source, target, distance in copies:
            offset = self.let(f"mul i64 {wide}, {distance}")
            address = self.let(f"getelementptr i8, ptr {source}, i64 {offset}")
            near = self.let(f"addrspacecast ptr {address} to ptr addrspace(1)")
            shared = self.let(f"add i32 {start}, {target}")
            self.asm("cp.async.cg.shared.global [$0], [$1], 16;",
                     [f"i32 {shared}", f"ptr addrspace(1) {near}"], "rl")  # fmt: skip

    # Products

    def _multiply_steps(self, copies: list[tuple[str, str, int]]) -> None:
        stages = self.product.stages
        warp, lane = self.let("udiv i32 %thread, 32"), self.let("and i32 %thread, 31")
        first_row, first_column = self._first_positions(warp)
        self.jump("start")
        self.label("start")
        self.jump("multiply")
        self.label("multiply")
        phi_position = len(self.lines)
        sums = [f"%sum{number}" for number in range(self.product.registers)]
        self.asm(f"cp.async.wait_group {stages - 2};")
        self.asm("bar.sync 0;")
        ahead = self.let(f"add i32 %number, {stages - 1}")
        is_inside = self.let(f"icmp ult i32 {ahead}, {self.steps}")
        self.branch(is_inside, "copy", "copied")
        self.label("copy")
        stage_ahead = self.let(f"urem i32 {ahead}, {stages}")
        self._copy_step(copies, ahead, stage_ahead)
        self.jump("copied")
        self.label("copied")
        self.asm("cp.async.commit_group;")
        start = self.stage_address("%stage")
        results = sums
        for part in range(self.instructions):
            results = self._multiply_part(start, part, lane, first_row, first_column, results)
        following = self.let("add i32 %number, 1")
        next_stage = self.let(f"urem i32 {following}, {stages}")
        more = self.let(f"icmp ult i32 {following}, {self.steps}")
        self.branch(more, "multiply", "finish")
        values = [
            ("%number", "i32", "0", following), ("%stage", "i32", "0", next_stage),
            *self.sum_phis(sums, results),
        ]  # fmt: skip
        self.add_phis(phi_position, values, "start", "copied")
        self.label("finish")
        self.return_sums(results)

    def _first_positions(self, warp: str) -> tuple[str, str]:
        """Return the first row and the first column of a warp."""
        product = self.product
        row_warp = self.let(f"udiv i32 {warp}, {product.column_warps}")
        column_warp = self.let(f"urem i32 {warp}, {product.column_warps}")
        return (
            self.let(f"mul i32 {row_warp}, {product.row_tiles * 16}"),
            self.let(f"mul i32 {column_warp}, {product.column_tiles * 8}"),
        )

    def _multiply_part(
        self, start: str, part: int, lane: str, first_row: str, first_column: str, sums: list[str]
    ) -> list[str]:
        """Multiply 32 bytes of all rows and columns of a warp."""
        product = self.product
        within, matrix = self.let(f"and i32 {lane}, 7"), self.let(f"lshr i32 {lane}, 3")
        low, high = self.let(f"and i32 {matrix}, 1"), self.let(f"lshr i32 {matrix}, 1")
        rows = [
            self._load(self.rows, start, first_row, 16 * tile, part, (low, high), within)
            for tile in range(product.row_tiles)
        ]
        columns_start = self.let(f"add i32 {start}, {self.row_bytes}")
        columns: list[list[str]] = []
        for tile in range(0, product.column_tiles, 2):
            registers = self._load(
                self.columns, columns_start, first_column, 8 * tile, part, (high, low), within
            )
            columns += [registers[:2], registers[2:]]
        results = list(sums)
        for row_tile, row_registers in enumerate(rows):
            for column_tile, column_registers in enumerate(columns):
                first = 4 * (row_tile * product.column_tiles + column_tile)
                results[first : first + 4] = self._multiply(
                    row_registers, column_registers, results[first : first + 4]
                )
        return results

    def _load(
        self, layout: _Layout, start: str, first: str, offset: int, part: int,
        halves: tuple[str, str], within: str,
    ) -> list[str]:  # fmt: skip
        """Load four matrices: two halves of 16 rows, and two halves of 32 bytes of their depth.

        `halves` are, for the matrix whose line a lane addresses, the half of the rows and the half
        of the depth.
        """
        row_half, depth_half = halves
        row = self.let(f"add i32 {first}, {offset}")
        if layout.operand.is_depth_major:
            half = self.let(f"mul i32 {row_half}, 8")
            line = self.let(f"add i32 {self.let(f'add i32 {row}, {half}')}, {within}")
            position = self.let(f"add i32 {depth_half}, {2 * part}")
        else:
            half = self.let(f"mul i32 {depth_half}, 8")
            line = self.let(f"add i32 {self.let(f'add i32 {half}, {16 * part}')}, {within}")
            position = self.let(f"add i32 {self.let(f'udiv i32 {row}, 8')}, {row_half}")
        local = self._shared_offset(layout, line, position)
        address = self.let(f"add i32 {start}, {local}")
        transposed = "" if layout.operand.is_depth_major else ".trans"
        struct = "{ i32, i32, i32, i32 }"
        result = self.let(
            f"call {struct} asm sideeffect "
            f'"ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{$0, $1, $2, $3}}, [$4];", '
            f'"=r,=r,=r,=r,r,~{{memory}}"(i32 {address}) {ATTRIBUTES}'
        )
        return [self.let(f"extractvalue {struct} {result}, {number}") for number in range(4)]

    def _multiply(self, rows: list[str], columns: list[str], sums: list[str]) -> list[str]:
        text = (
            f"mma.sync.aligned.m16n8k{self.instruction_depth}.row.col."
            f"{TYPES[self.product.element]} "
            "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};"
        )
        operands = [f"i32 {each}" for each in (*rows, *columns)]
        return self.asm_sums(text, sums, operands, "rrrrrr", is_volatile=False)
