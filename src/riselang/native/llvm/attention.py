"""Attention on tensor cores (`mma.sync`), with the softmax in one pass over the keys.

All threads copy some keys and values ahead of time, with asynchronous copies to a circular buffer
of stages in shared memory. Each warp multiplies its queries with these keys; the scores stay in
registers, in the layout in which the weights are an operand of the product with the values. The
16-byte parts of rows are permuted in shared memory, so that no two lanes access the same bank.
"""

from __future__ import annotations

from riselang.lowering.gpu.attention_tiles import (
    ELEMENT_BYTES,
    PART_BYTES,
    ROW_PARTS,
    TILE_ROWS,
    TileAttention,
)
from riselang.lowering.gpu.tensor_products import TileOperand
from riselang.native.llvm.ir_writer import ATTRIBUTES, IrWriter

LOG2_E = "0x3FF7154760000000"
MINUS_INFINITY = "0xFFF0000000000000"
MAX = "max.f32"
PERMUTED_BYTES = ROW_PARTS * PART_BYTES
"""The bytes of a row whose parts are permuted."""
QUAD = (1, 2)
"""The distances of the lanes that hold parts of the same row."""


def attention_function(attention: TileAttention, tiles: str) -> str:
    """Return a function whose operands are in the buffer `tiles` in shared memory."""
    return _AttentionWriter(attention, tiles).function()


class _AttentionWriter(IrWriter):
    def __init__(self, attention: TileAttention, tiles: str):
        super().__init__()
        self.attention = attention
        self.tiles = f"ptrtoint (ptr addrspace(3) @{tiles} to i32)"
        self.query_bytes = attention.rows * attention.depth * ELEMENT_BYTES
        self.key_bytes = attention.step * attention.depth * ELEMENT_BYTES
        self.key_tiles = attention.step // 8
        self.column_tiles = attention.columns // 8
        self.keeps_queries = attention.row_tiles == 1
        """Whether the queries stay in registers."""

    def function(self) -> str:
        attention = self.attention
        operands = {"q": attention.queries, "k": attention.keys, "z": attention.values}
        coordinates = [
            f"i32 %{name}{number}"
            for name, operand in operands.items()
            for number in range(len(operand.shape))
        ]
        parameters = ["ptr %queries", "ptr %keys", "ptr %values", *coordinates, "i32 %thread",
                      "float %scale", "float %empty", "i32 %last"]  # fmt: skip
        self.label("entry")
        self.asm("bar.sync 0;")
        self._lanes()
        self._copy_queries()
        self._steps()
        type = f"<{attention.registers} x float>"
        name = attention.name
        header = f"define internal {type} @{name}({', '.join(parameters)}) alwaysinline {{"
        return "\n".join([header, *self.lines, "}", ""])

    # Copies

    def _copy(
        self, name: str, prefix: str, operand: TileOperand, rows: int, length: int
    ) -> list[tuple[str, int, str, int]]:
        """Return the copies of a thread: an address, and a constant to add to it, of the source in
        global memory, and the same of the target in shared memory."""
        parts, threads = length * ELEMENT_BYTES // PART_BYTES, self.attention.threads
        base = self._address(name, prefix, operand)
        line, part = self.let(f"udiv i32 %thread, {parts}"), self.let(f"urem i32 %thread, {parts}")
        stride = operand.stride(operand.row_dimension) * ELEMENT_BYTES
        wide_line, wide_part = (self.let(f"zext i32 {each} to i64") for each in (line, part))
        offset = self.let(f"mul i64 {wide_line}, {stride}")
        part_offset = self.let(f"mul i64 {wide_part}, {PART_BYTES}")
        total = self.let(f"add i64 {offset}, {part_offset}")
        source = self.let(f"getelementptr i8, ptr {base}, i64 {total}")
        key = self.let(f"and i32 {line}, 7")
        permuted = self.let(f"mul i32 {self.let(f'xor i32 {part}, {key}')}, {PART_BYTES}")
        row = self.let(f"mul i32 {line}, {length * ELEMENT_BYTES}")
        target = self.let(f"add i32 {row}, {permuted}")
        lines = threads // parts
        return [
            (source, first * stride, target, first * length * ELEMENT_BYTES)
            for first in range(0, rows, lines)
        ]

    def _address(self, name: str, prefix: str, operand: TileOperand) -> str:
        """Return the address of the first element of an operand."""
        total = "0"
        for dimension in range(len(operand.shape)):
            index = self.let(f"sext i32 %{prefix}{dimension} to i64")
            scaled = self.let(f"mul i64 {index}, {operand.stride(dimension) * ELEMENT_BYTES}")
            total = self.let(f"add i64 {total}, {scaled}")
        return self.let(f"getelementptr i8, ptr %{name}, i64 {total}")

    def _start_copies(
        self, copies: list[tuple[str, int, str, int]], distance: str, start: str
    ) -> None:
        """Start copies from sources that are `distance` bytes further, to shared memory."""
        for source, offset, target, local in copies:
            total = self.let(f"add i64 {distance}, {offset}")
            address = self.let(f"getelementptr i8, ptr {source}, i64 {total}")
            near = self.let(f"addrspacecast ptr {address} to ptr addrspace(1)")
            shared = self.let(f"add i32 {self.let(f'add i32 {start}, {target}')}, {local}")
            self.asm("cp.async.cg.shared.global [$0], [$1], 16;",
                     [f"i32 {shared}", f"ptr addrspace(1) {near}"], "rl")  # fmt: skip

    def _copy_queries(self) -> None:
        attention = self.attention
        copies = self._copy("queries", "q", attention.queries, attention.rows, attention.depth)
        self._start_copies(copies, "0", self.tiles)

    def _copy_step(self, number: str, stage: str) -> None:
        """Start the copies of some keys and values."""
        attention = self.attention
        start = self._stage_address(stage)
        wide = self.let(f"zext i32 {number} to i64")
        for operand, copies, offset in (
            (attention.keys, self.key_copies, 0),
            (attention.values, self.value_copies, self.key_bytes),
        ):
            stride = operand.stride(operand.row_dimension) * ELEMENT_BYTES
            distance = self.let(f"mul i64 {wide}, {attention.step * stride}")
            self._start_copies(copies, distance, self.let(f"add i32 {start}, {offset}"))

    def _stage_address(self, stage: str) -> str:
        offset = self.let(f"mul i32 {stage}, {self.attention.stage_bytes}")
        first = self.let(f"add i32 {self.tiles}, {self.query_bytes}")
        return self.let(f"add i32 {first}, {offset}")

    # The position of a lane

    def _lanes(self) -> None:
        """Name what depends on the lane: its row, and the parts of shared memory that it loads."""
        attention = self.attention
        self.warp, lane = self.let("udiv i32 %thread, 32"), self.let("and i32 %thread, 31")
        self.within, matrix = self.let(f"and i32 {lane}, 7"), self.let(f"lshr i32 {lane}, 3")
        self.low, self.high = self.let(f"and i32 {matrix}, 1"), self.let(f"lshr i32 {matrix}, 1")
        warp_row = self.let(f"mul i32 {self.warp}, {attention.row_tiles * TILE_ROWS}")
        self.first_row = self.let(f"add i32 {warp_row}, {self.let(f'lshr i32 {lane}, 2')}")
        pair = self.let(f"and i32 {lane}, 3")
        self.first_column = self.let(f"mul i32 {pair}, 2")
        self.warp_row = warp_row

    def _lane_offsets(self, length: int, line_half: str, part_half: str) -> list[tuple[str, int]]:
        """Return the offsets that a lane adds to the address of a tile to load its parts: one for
        each 32 bytes of a row, and a constant to add to it.

        Parts are permuted within 128 bytes, so few offsets occupy registers.
        """
        eight = self.let(f"mul i32 {line_half}, 8")
        line = self.let(f"add i32 {eight}, {self.within}")
        row = self.let(f"mul i32 {line}, {length * ELEMENT_BYTES}")
        offsets: list[str] = []
        for pair in range(PERMUTED_BYTES // 32):
            part = self.let(f"add i32 {part_half}, {2 * pair}")
            permuted = self.let(f"xor i32 {part}, {self.within}")
            offset = self.let(f"mul i32 {permuted}, {PART_BYTES}")
            offsets.append(self.let(f"add i32 {row}, {offset}"))
        groups = range(0, length * ELEMENT_BYTES, PERMUTED_BYTES)
        return [(offset, group) for group in groups for offset in offsets]

    def _load(
        self, start: str, position: tuple[str, int], constant: int, transposed: str = ""
    ) -> list[str]:
        """Load four matrices of 8 x 8 elements."""
        offset, group = position
        constant += group
        address = self.let(f"add i32 {self.let(f'add i32 {start}, {offset}')}, {constant}")
        struct = "{ i32, i32, i32, i32 }"
        result = self.let(
            f"call {struct} asm sideeffect "
            f'"ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{$0, $1, $2, $3}}, [$4];", '
            f'"=r,=r,=r,=r,r,~{{memory}}"(i32 {address}) {ATTRIBUTES}'
        )
        return [self.let(f"extractvalue {struct} {result}, {number}") for number in range(4)]

    def _multiply(self, rows: list[str], columns: list[str], sums: list[str]) -> list[str]:
        struct = "{ float, float, float, float }"
        operands = [f"i32 {each}" for each in (*rows, *columns)]
        operands += [f"float {each}" for each in sums]
        constraints = ",".join(["=f"] * 4 + ["r"] * 6 + [str(number) for number in range(4)])
        element = self.attention.element
        result = self.let(
            f'call {struct} asm "mma.sync.aligned.m16n8k16.row.col.f32.{element}.{element}.f32 '
            '{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$0, $1, $2, $3};", '
            f'"{constraints}"({", ".join(operands)}) {ATTRIBUTES}'
        )
        return [self.let(f"extractvalue {struct} {result}, {number}") for number in range(4)]

    # The loop over the keys

    def _steps(self) -> None:
        attention = self.attention
        stages = attention.stages
        self.key_copies = self._copy("keys", "k", attention.keys, attention.step, attention.depth)
        self.value_copies = self._copy(
            "values", "z", attention.values, attention.step, attention.columns
        )
        count = self._step_count()
        for stage in range(stages - 1):
            self._copy_step_if(count, str(stage), str(stage), f"first{stage}")
        self.query_offsets = self._lane_offsets(attention.depth, self.low, self.high)
        self.key_offsets = self._lane_offsets(attention.depth, self.high, self.low)
        self.value_offsets = self._lane_offsets(attention.columns, self.low, self.high)
        factor = self.let(f"fmul float %scale, {LOG2_E}")
        row_bytes = attention.depth * ELEMENT_BYTES
        query_row = self.let(f"mul i32 {self.warp_row}, {row_bytes}")
        queries = self.let(f"add i32 {self.tiles}, {query_row}")
        if self.keeps_queries:
            self.asm(f"cp.async.wait_group {stages - 2};")
            self.asm("bar.sync 0;")
            self.query_registers = [self._load(queries, each, 0) for each in self.query_offsets]
        first_limit = self.let(f"add i32 %last, {self.first_row}")
        self.jump("start")
        self.label("start")
        self.jump("step")
        self.label("step")
        phi_position = len(self.lines)
        rows = 2 * attention.row_tiles
        results = [f"%result{number}" for number in range(attention.registers)]
        largest = [f"%largest{number}" for number in range(rows)]
        totals = [f"%total{number}" for number in range(rows)]
        self.asm(f"cp.async.wait_group {stages - 2};")
        self.asm("bar.sync 0;")
        ahead = self.let(f"add i32 %number, {stages - 1}")
        stage_ahead = self.let(f"urem i32 {ahead}, {stages}")
        self._copy_step_if(count, ahead, stage_ahead, "ahead")
        start = self._stage_address("%stage")
        scores = self._scores(queries, start)
        scores = [self.let(f"fmul float {each}, {factor}") for each in scores]
        scores = self._mask(scores, first_limit)
        next_largest, next_totals, next_results = self._update(
            start, scores, largest, totals, results
        )
        following = self.let("add i32 %number, 1")
        next_stage = self.let(f"urem i32 {following}, {stages}")
        more = self.let(f"icmp ult i32 {following}, {count}")
        self.branch(more, "step", "finish")
        floats = [
            *(
                (name, MINUS_INFINITY, after)
                for name, after in zip(largest, next_largest, strict=True)
            ),
            *((name, "0.0", after) for name, after in zip(totals, next_totals, strict=True)),
            *((name, "0.0", after) for name, after in zip(results, next_results, strict=True)),
        ]
        values = [("%number", "i32", "0", following), ("%stage", "i32", "0", next_stage),
                  *((name, "float", begin, after) for name, begin, after in floats)]  # fmt: skip
        self.lines[phi_position:phi_position] = [
            f"  {name} = phi {kind} [ {begin}, %start ], [ {after}, %masked ]"
            for name, kind, begin, after in values
        ]
        self.label("finish")
        self._finish(next_totals, next_results)

    def _step_count(self) -> str:
        """Return the number of steps with a key that one of the queries attends to."""
        attention = self.attention
        keys = self.let(f"add i32 %last, {attention.rows + attention.step - 1}")
        steps = self.let(f"udiv i32 {keys}, {attention.step}")
        most = attention.count // attention.step
        is_less = self.let(f"icmp ult i32 {steps}, {most}")
        return self.let(f"select i1 {is_less}, i32 {steps}, i32 {most}")

    def _copy_step_if(self, count: str, number: str, stage: str, name: str) -> None:
        is_inside = self.let(f"icmp ult i32 {number}, {count}")
        self.branch(is_inside, f"{name}_copy", f"{name}_copied")
        self.label(f"{name}_copy")
        self._copy_step(number, stage)
        self.jump(f"{name}_copied")
        self.label(f"{name}_copied")
        self.asm("cp.async.commit_group;")

    def _scores(self, queries: str, start: str) -> list[str]:
        """Return the products of the queries and keys that a lane holds."""
        attention = self.attention
        tile_bytes = TILE_ROWS * attention.depth * ELEMENT_BYTES
        scores = ["0.0"] * (4 * attention.row_tiles * self.key_tiles)
        for part, key_offset in enumerate(self.key_offsets):
            if self.keeps_queries:
                rows = [self.query_registers[part]]
            else:
                rows = [
                    self._load(queries, self.query_offsets[part], tile * tile_bytes)
                    for tile in range(attention.row_tiles)
                ]
            for pair in range(self.key_tiles // 2):
                registers = self._load(start, key_offset, pair * tile_bytes)
                for half, columns in enumerate((registers[:2], registers[2:])):
                    for row_tile, row_registers in enumerate(rows):
                        first = 4 * (row_tile * self.key_tiles + 2 * pair + half)
                        scores[first : first + 4] = self._multiply(
                            row_registers, columns, scores[first : first + 4]
                        )
        return scores

    def _mask(self, scores: list[str], first_limit: str) -> list[str]:
        """Return scores without those of the keys that a query does not attend to."""
        attention = self.attention
        first_key = self.let(f"mul i32 %number, {attention.step}")
        end = self.let(f"add i32 {first_key}, {attention.step - 1}")
        is_masked = self.let(f"icmp ugt i32 {end}, %last")
        self.jump("scored")
        self.label("scored")
        self.branch(is_masked, "mask", "masked")
        self.label("mask")
        column = self.let(f"add i32 {first_key}, {self.first_column}")
        masked: list[str] = []
        for number, score in enumerate(scores):
            tile, element = divmod(number, 4)
            row_tile, column_tile = divmod(tile, self.key_tiles)
            row = TILE_ROWS * row_tile + 8 * (element // 2)
            limit = self.let(f"add i32 {first_limit}, {row}")
            key = self.let(f"add i32 {column}, {8 * column_tile + element % 2}")
            is_seen = self.let(f"icmp ule i32 {key}, {limit}")
            masked.append(self.let(f"select i1 {is_seen}, float {score}, float {MINUS_INFINITY}"))
        self.jump("masked")
        self.label("masked")
        return [
            self.let(f"phi float [ {score}, %scored ], [ {other}, %mask ]")
            for score, other in zip(scores, masked, strict=True)
        ]

    def _update(
        self, start: str, scores: list[str], largest: list[str], totals: list[str],
        results: list[str],
    ) -> tuple[list[str], list[str], list[str]]:  # fmt: skip
        """Return the largest scores, and the sums of weights and weighted values."""
        attention = self.attention
        weights, next_totals = list(scores), list(totals)
        next_largest, next_results = list(largest), list(results)
        for row in range(2 * attention.row_tiles):
            numbers = self._numbers_of_row(row, self.key_tiles)
            new = self._reduced(MAX, [scores[number] for number in numbers])
            new = self._over_quad(MAX, new)
            new = self._call(MAX, new, largest[row])
            # The weights of a row without a score so far are zero.
            is_none = self.let(f"fcmp oeq float {new}, {MINUS_INFINITY}")
            base = self.let(f"select i1 {is_none}, float 0.0, float {new}")
            scale = self._exp2(self.let(f"fsub float {largest[row]}, {base}"))
            for number in numbers:
                weights[number] = self._exp2(self.let(f"fsub float {scores[number]}, {base}"))
            total = self.let(f"fmul float {totals[row]}, {scale}")
            sum = self._sum([weights[number] for number in numbers])
            next_totals[row] = self.let(f"fadd float {total}, {sum}")
            next_largest[row] = new
            for number in self._numbers_of_row(row, self.column_tiles):
                next_results[number] = self.let(f"fmul float {results[number]}, {scale}")
        return next_largest, next_totals, self._add_values(start, weights, next_results)

    def _numbers_of_row(self, row: int, tiles: int) -> list[int]:
        """Return the numbers of the elements of a row that a lane holds."""
        row_tile, half = divmod(row, 2)
        return [
            4 * (row_tile * tiles + tile) + 2 * half + element
            for tile in range(tiles)
            for element in range(2)
        ]

    def _add_values(self, start: str, weights: list[str], results: list[str]) -> list[str]:
        """Return results with weighted values added."""
        attention = self.attention
        sums = list(results)
        values = self.let(f"add i32 {start}, {self.key_bytes}")
        tile_bytes = TILE_ROWS * attention.columns * ELEMENT_BYTES
        for chunk in range(attention.step // TILE_ROWS):
            rows = [
                self._weight_registers(weights, row_tile, chunk)
                for row_tile in range(attention.row_tiles)
            ]
            for pair, offset in enumerate(self.value_offsets):
                registers = self._load(values, offset, chunk * tile_bytes, ".trans")
                for half, columns in enumerate((registers[:2], registers[2:])):
                    for row_tile, row_registers in enumerate(rows):
                        first = 4 * (row_tile * self.column_tiles + 2 * pair + half)
                        sums[first : first + 4] = self._multiply(
                            row_registers, columns, sums[first : first + 4]
                        )
        return sums

    def _weight_registers(self, weights: list[str], row_tile: int, chunk: int) -> list[str]:
        """Return the weights of 16 queries and 16 keys as an operand of a product."""
        registers: list[str] = []
        for tile in (2 * chunk, 2 * chunk + 1):
            first = 4 * (row_tile * self.key_tiles + tile)
            for low in (first, first + 2):
                registers.append(
                    self.let(
                        f'call i32 asm "cvt.rn.{self.attention.element}x2.f32 $0, $1, $2;", '
                        f'"=r,f,f"(float {weights[low + 1]}, float {weights[low]})'
                    )
                )
        return registers

    def _finish(self, totals: list[str], results: list[str]) -> None:
        """Divide by the sums of the weights, and return the results."""
        attention = self.attention
        divided = list(results)
        for row, total in enumerate(totals):
            whole = self._over_quad("fadd", total)
            inverse = self.let(f"fdiv arcp float 1.0, {whole}")
            is_empty = self.let(f"fcmp oeq float {whole}, 0.0")
            for number in self._numbers_of_row(row, self.column_tiles):
                quotient = self.let(f"fmul float {results[number]}, {inverse}")
                divided[number] = self.let(f"select i1 {is_empty}, float %empty, float {quotient}")
        count, vector = attention.registers, "poison"
        for number, value in enumerate(divided):
            vector = self.let(
                f"insertelement <{count} x float> {vector}, float {value}, i32 {number}"
            )
        self.emit(f"ret <{count} x float> {vector}")

    # Arithmetic

    def _call(self, function: str, one: str, other: str) -> str:
        if function == "fadd":
            return self.let(f"fadd float {one}, {other}")
        operands = f"float {one}, float {other}"
        return self.let(f'call float asm "{function} $0, $1, $2;", "=f,f,f"({operands})')

    def _reduced(self, function: str, values: list[str]) -> str:
        while len(values) > 1:
            pairs = [values[first : first + 2] for first in range(0, len(values), 2)]
            values = [self._call(function, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return values[0]

    def _sum(self, values: list[str]) -> str:
        return self._reduced("fadd", values)

    def _over_quad(self, function: str, value: str) -> str:
        """Combine the values of the lanes that hold parts of the same row."""
        for distance in QUAD:
            other = self.let(
                f'call float asm sideeffect "shfl.sync.bfly.b32 $0, $1, {distance}, 31, -1;", '
                f'"=f,f"(float {value}) {ATTRIBUTES}'
            )
            value = self._call(function, value, other)
        return value

    def _exp2(self, value: str) -> str:
        return self.let(f'call float asm "ex2.approx.ftz.f32 $0, $1;", "=f,f"(float {value})')
