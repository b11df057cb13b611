"""Emits the instructions of the CPU for dot products: AMX tiles, or vectors.

    accumulators[i][j] = init
    for k = 0 to depth step group:
        accumulators[i][j] += dot(rows[i][k : k + group], columns[k / group][j])

The accumulators of a register tile stay in registers during the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import copysign

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from riselang.dialects.rise import types
from riselang.dialects.rise.dot_units import DotUnit
from riselang.dialects.rise.types import RiseType, array
from riselang.lowering.loop_emitter import Emitter

INTRINSICS = {
    "tdpbssd": "llvm.x86.tdpbssd",
    "tdpbf16ps": "llvm.x86.tdpbf16ps",
    "vpdpbusd": "llvm.x86.avx512.vpdpbusd.512",
    "sdot": "llvm.aarch64.neon.sdot.v4i32.v16i8",
    "bfdot": "llvm.aarch64.neon.bfdot.v4f32.v8bf16",
    "vpmaddwd": "llvm.x86.avx2.pmadd.wd",
}
"""LLVM's intrinsic for each unit."""
SIGN = -128
"""Added to a signed byte, it makes the byte that is larger by 128 if read as unsigned."""
TILE_BYTES = 64
"""The bytes of a row of an AMX tile."""


@dataclass(frozen=True)
class Operand:
    """A matrix that is a contiguous part of a buffer: the one at some indices."""

    value: SSAValue
    """The matrix as a value of its RISE type."""
    buffer: SSAValue
    indices: tuple[SSAValue, ...]

    @property
    def buffer_type(self) -> MemRefType:
        assert isinstance(self.buffer.type, MemRefType)
        return self.buffer.type

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the dimensions that no index selects from."""
        return self.buffer_type.get_shape()[len(self.indices) :]


Allocate = Callable[[RiseType], list[SSAValue]]
"""Allocates temporary buffers for a value of a type."""


def emit_dot_products(
    emitter: Emitter,
    allocate: Allocate,
    unit: DotUnit,
    init: SSAValue,
    results: Operand,
    rows: Operand,
    columns: Operand,
) -> None:
    """Store the dot products of rows and columns, added to `init`, in memory."""
    builder = _TileBuilder if unit.has_tiles else _VectorBuilder
    builder(emitter, allocate, unit).emit(init, results, rows, columns)


class _DotProductBuilder:
    def __init__(self, emitter: Emitter, allocate: Allocate, unit: DotUnit):
        self.emitter = emitter
        self.allocate = allocate
        self.unit = unit

    def emit(self, init: SSAValue, results: Operand, rows: Operand, columns: Operand) -> None:
        raise NotImplementedError

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]

    def call(
        self, intrinsic: str, operands: Sequence[SSAValue], *results: Attribute
    ) -> Sequence[SSAValue]:
        from xdsl.dialects import llvm  # importing it takes as long as lowering a small program

        return self.emitter.add(llvm.CallIntrinsicOp(intrinsic, operands, results)).results

    def index(self, number: int) -> SSAValue:
        return self.emitter.constant(number)

    def loop(
        self, count: int, inits: Sequence[SSAValue], body: Callable[..., Sequence[SSAValue]]
    ) -> Sequence[SSAValue]:
        zero, end, one = self.index(0), self.index(count), self.index(1)
        return self.emitter.range_loop(zero, end, one, inits, body)


class _TileBuilder(_DotProductBuilder):
    """Four AMX tiles of accumulators, 2 x 2, in the registers 0 to 3.

    Registers 4 and 5 hold rows, registers 6 and 7 columns.
    """

    def emit(self, init: SSAValue, results: Operand, rows: Operand, columns: Operand) -> None:
        self.configure()
        for register in range(4):
            self.start(register, init)
        lanes, group = self.unit.lanes, self.unit.group

        def step(k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            first_group, zero = self.add(arith.MuliOp(k, self.index(lanes))), self.index(0)
            for half in range(2):
                column = self.index(half * lanes * group)
                self.move("tileloadd64", 4 + half, rows, k, self.index(half * lanes), zero)
                self.move("tileloadd64", 6 + half, columns, first_group, column)
            for register in range(4):
                operands = (register, 4 + register // 2, 6 + register % 2)
                self.call(INTRINSICS[self.unit.name], [self.byte(each) for each in operands])
            return ()

        self.loop(rows.shape[0], (), step)
        for register in range(4):
            self.move("tilestored64", register, results, *self.corner(register))
        self.call("llvm.x86.tilerelease", [])

    def start(self, register: int, init: SSAValue) -> None:
        """Set all accumulators of a tile to a scalar."""
        if _is_zero(init):
            self.call("llvm.x86.tilezero", [self.byte(register)])
            return
        lanes, type = self.unit.lanes, self.unit.accumulator
        (row,) = self.allocate(array(1, array(lanes, type)))
        vector_type = VectorType(init.type, [lanes])
        repeated = self.add(vector.BroadcastOp(init, vector_type))
        zero = self.index(0)
        self.emitter.add(vector.StoreOp(repeated, row, [zero, zero]))
        # All rows of the tile are loaded from the same address.
        self.move_tile("tileloadd64", register, row, zero, stride=0)

    def corner(self, register: int) -> tuple[SSAValue, SSAValue]:
        """The first element of a tile of accumulators."""
        row, column = divmod(register, 2)
        return self.index(row * self.unit.lanes), self.index(column * self.unit.lanes)

    def byte(self, number: int) -> SSAValue:
        return self.add(arith.ConstantOp(IntegerAttr(number, i8)))

    def configure(self) -> None:
        """Set the shapes of all tile registers: 16 rows of 64 bytes."""
        (table,) = self.allocate(array(64, types.i8))
        content = [1] + [0] * 15 + [TILE_BYTES, 0] * 8 + [0] * 16 + [16] * 8 + [0] * 8
        attribute = DenseIntOrFPElementsAttr.from_list(VectorType(i8, [len(content)]), content)
        constant = self.add(arith.ConstantOp(attribute))
        self.emitter.add(vector.StoreOp(constant, table, [self.index(0)]))
        self.call("llvm.x86.ldtilecfg", [self.pointer(table, self.index(0))])

    def pointer(self, buffer: SSAValue, offset: SSAValue) -> SSAValue:
        """The address that is `offset` bytes behind the start of a buffer."""
        from xdsl.dialects import llvm

        start = self.add(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
        address = self.add(arith.IndexCastOp(self.add(arith.AddiOp(start, offset)), i64))
        return self.add(llvm.IntToPtrOp(address))

    def move(self, intrinsic: str, register: int, operand: Operand, *first: SSAValue) -> None:
        """Load or store a tile, given the indices of its first element."""
        stride = operand.shape[-1] * _element_bytes(operand)
        offset = self.byte_offset(operand, *first)
        self.move_tile(intrinsic, register, operand.buffer, offset, stride)

    def byte_offset(self, operand: Operand, *first: SSAValue) -> SSAValue:
        """Return the distance in bytes from the start of a buffer to an element of an operand."""
        shape, offset = operand.buffer_type.get_shape(), self.index(0)
        for length, index in zip(shape, (*operand.indices, *first), strict=True):
            offset = self.add(
                arith.AddiOp(self.add(arith.MuliOp(offset, self.index(length))), index)
            )
        return self.add(arith.MuliOp(offset, self.index(_element_bytes(operand))))

    def move_tile(
        self, intrinsic: str, register: int, buffer: SSAValue, offset: SSAValue, stride: int
    ) -> None:
        """Load or store a tile whose rows are `stride` bytes apart."""
        distance = self.add(arith.ConstantOp(IntegerAttr(stride, i64)))
        operands = [self.byte(register), self.pointer(buffer, offset), distance]
        self.call(f"llvm.x86.{intrinsic}", operands)


class _VectorBuilder(_DotProductBuilder):
    """Vectors of accumulators, several for each row."""

    def emit(self, init: SSAValue, results: Operand, rows: Operand, columns: Operand) -> None:
        count, width = results.shape
        lanes, group = self.unit.lanes, self.unit.group
        starts = range(0, width, lanes)
        has_unsigned_rows = self.unit.name == "vpdpbusd"
        if has_unsigned_rows:
            rows = self.bias(rows)
        positions = [(row, start) for row in range(count) for start in starts]
        accumulator_type = VectorType(init.type, [lanes])
        inits = [self.add(vector.BroadcastOp(init, accumulator_type)) for _ in positions]
        if has_unsigned_rows:
            inits += [self.splat(0, i32, lanes)] * len(starts)
        bias = self.splat(SIGN, i8, lanes * group)
        groups = rows.shape[2] // group
        per_chunk = self.index(groups)

        def step(
            chunk: SSAValue, position: SSAValue, carried: Sequence[SSAValue]
        ) -> Sequence[SSAValue]:
            group_number = self.add(
                arith.AddiOp(self.add(arith.MuliOp(chunk, per_chunk)), position)
            )
            vectors = [
                self.load(columns, lanes * group, group_number, self.index(start * group))
                for start in starts
            ]
            first = self.add(arith.MuliOp(position, self.index(group)))
            results: list[SSAValue] = []
            for row in range(count):
                factor = self.broadcast_group(rows, chunk, row, first)
                for column in vectors:
                    results.append(self.dot(carried[len(results)], factor, column))
            if has_unsigned_rows:
                for column in vectors:
                    results.append(self.dot(carried[len(results)], bias, column))
            return results

        def add_chunk(chunk: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.loop(
                groups, carried, lambda position, values: step(chunk, position, values)
            )

        totals = list(self.loop(rows.shape[0], inits, add_chunk))
        corrections = totals[len(positions) :]
        for number, (row, start) in enumerate(positions):
            total = totals[number]
            if has_unsigned_rows:
                total = self.add(arith.SubiOp(total, corrections[number % len(starts)]))
            self.store(total, results, row, start)

    def dot(self, accumulator: SSAValue, rows: SSAValue, columns: SSAValue) -> SSAValue:
        intrinsic = INTRINSICS[self.unit.name]
        if self.unit.adds:
            return self.call(intrinsic, [accumulator, rows, columns], accumulator.type)[0]
        (products,) = self.call(intrinsic, [rows, columns], accumulator.type)
        return self.add(arith.AddiOp(accumulator, products))

    def bias(self, rows: Operand) -> Operand:
        """Return a copy of rows whose bytes are larger by 128, and unsigned.

        The instruction multiplies unsigned by signed bytes. The sums of 128 times the elements of
        each column are subtracted afterwards.
        """
        shape = rows.shape
        (buffer,) = self.allocate(array(shape[0], array(shape[1], array(shape[2], types.i8))))
        offset = self.add(arith.ConstantOp(IntegerAttr(SIGN, i8)))

        def copy(indices: Sequence[SSAValue]) -> None:
            if len(indices) < len(shape):
                self.loop(shape[len(indices)], (), lambda index, _: copy([*indices, index]) or ())
                return
            byte = self.add(memref.LoadOp.get(rows.buffer, [*rows.indices, *indices]))
            biased = self.add(arith.AddiOp(byte, offset))
            self.emitter.add(memref.StoreOp.get(biased, buffer, indices))

        copy([])
        return Operand(buffer, buffer, ())

    def splat(self, number: int, type: IntegerType, lanes: int) -> SSAValue:
        scalar = self.add(arith.ConstantOp(IntegerAttr(number, type)))
        return self.add(vector.BroadcastOp(scalar, VectorType(type, [lanes])))

    def load(self, operand: Operand, lanes: int, *indices: SSAValue) -> SSAValue:
        type = VectorType(operand.buffer_type.element_type, [lanes])
        return self.add(vector.LoadOp(operand.buffer, [*operand.indices, *indices], type))

    def store(self, value: SSAValue, operand: Operand, row: int, column: int) -> None:
        indices = [*operand.indices, self.index(row), self.index(column)]
        self.emitter.add(vector.StoreOp(value, operand.buffer, indices))

    def broadcast_group(
        self, rows: Operand, chunk: SSAValue, row: int, first: SSAValue
    ) -> SSAValue:
        """Repeat a group of elements of a row in all lanes."""
        lanes, group = self.unit.lanes, self.unit.group
        element = rows.buffer_type.element_type
        part = self.load(rows, group, chunk, self.index(row), first)
        word = self.add(vector.BitcastOp(part, VectorType(i32, [1])))
        scalar = self.add(vector.ExtractOp(word, [0], i32))
        words = self.add(vector.BroadcastOp(scalar, VectorType(i32, [lanes])))
        return self.add(vector.BitcastOp(words, VectorType(element, [lanes * group])))


def _element_bytes(operand: Operand) -> int:
    element = operand.buffer_type.element_type
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth // 8


def _is_zero(value: SSAValue) -> bool:
    """Whether all bits of a value are known to be 0."""
    op = value.owner
    if not isinstance(op, arith.ConstantOp):
        return False
    number = op.value
    if isinstance(number, FloatAttr):
        return number.value.data == 0 and copysign(1, number.value.data) > 0
    return isinstance(number, IntegerAttr) and number.value.data == 0
