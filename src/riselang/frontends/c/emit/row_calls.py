"""Matrix multiplications through a small row buffer, as BLAS calls on blocks of rows.

A factor may be the array of the result, so a block is computed in a separate buffer and copied.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit.blas_gemm import GemmEmitter
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.row_products import RowProduct


class RowGemmEmitter(GemmEmitter):
    """Emits the BLAS calls, and the copies of the blocks and of the last row."""

    def __init__(self, out: ExpressionEmitter, rows: RowProduct):
        super().__init__(out, rows.blocks)
        self._full_product = rows.product
        self._row = rows.row
        self._buffer: SSAValue | None = None

    def emit(self) -> None:
        out, product = self._out, self._product
        size = out.add(
            arith.MuliOp(self._trip_count(product.rows), self._trip_count(product.columns))
        )
        buffer = out.add(
            memref.AllocOp.get(product.target.array.type.mlir_type, None, [DYNAMIC_INDEX], [size])
        )
        self._buffer = buffer
        self._emit_loop(self._trip_count(product.batch), self._emit_block)
        out.insert(memref.DeallocOp.get(buffer))
        self._copy_last_row()

    def _emit_loop(self, count: SSAValue, emit_body: Callable[[SSAValue], None]) -> None:
        out = self._out
        block = Block(arg_types=[INDEX])
        with out.inside_block(block):
            emit_body(block.args[0])
            out.insert(scf.YieldOp())
        zero, one = out.indices.emit_constant(0), out.indices.emit_constant(1)
        out.insert(scf.ForOp(zero, count, one, [], Region(block)))

    def _emit_block(self, batch: SSAValue) -> None:
        """Compute a block, and copy its rows to the target."""
        out, product = self._out, self._product
        self._emit_gemm(batch if product.batch else None)
        columns = self._trip_count(product.columns)

        def copy_row(row: SSAValue) -> None:
            source = self._add_elements(self._block_start(), out.add(arith.MuliOp(row, columns)))
            self._emit_copy(columns, source, self._target_row(batch, row))

        self._emit_loop(self._trip_count(product.rows), copy_row)

    def _target_row(self, batch: SSAValue, row: SSAValue) -> SSAValue:
        """Return the address of a row of a block of the target."""
        out, product = self._out, self._product
        address = self._part_address(product.target)
        for loops, index in ((product.batch, batch), (product.rows, row)):
            if loops:
                stride = self._loop_stride(product.target, loops[-1])
                address = self._add_elements(address, out.add(arith.MuliOp(index, stride)))
        return address

    def _copy_last_row(self) -> None:
        """Copy the last row, if there is one, to the small array."""
        out, product = self._out, self._product
        one = out.indices.emit_constant(1)
        count = self._trip_count(product.columns)
        last: list[SSAValue] = []
        for loops in (product.batch, product.rows):
            trips = self._trip_count(loops)
            last.append(out.add(arith.SubiOp(trips, one)))
            # There is no last row if any of the loops is empty.
            count = out.add(arith.MuliOp(count, out.add(arith.MinSIOp(trips, one))))
        begin = self._target_row(last[0], last[1])
        self._emit_copy(count, begin, self._row_start())

    def _row_start(self) -> SSAValue:
        """Return the address of the part of the small array that is written."""
        out, row = self._out, self._row
        address = out.add(memref.ExtractAlignedPointerAsIndexOp.get(out.memory[row.array]))
        for loop in row.loops:
            first = out.indices.emit_linear(self._full_product.ranges[loop].first)
            stride = self._loop_stride(row, loop)
            address = self._add_elements(address, out.add(arith.MuliOp(first, stride)))
        return address

    def _emit_copy(self, count: SSAValue, source: SSAValue, target: SSAValue) -> None:
        out, one = self._out, self._integer_constant(1)
        pointers = [out.add(arith.IndexCastOp(each, i64)) for each in (source, target)]
        self._emit_blas_call(
            "copy", [self._truncate_to_int(count), pointers[0], one, pointers[1], one]
        )

    def _add_elements(self, address: SSAValue, count: SSAValue) -> SSAValue:
        offset = self._byte_count(self._product.target, count)
        return self._out.add(arith.AddiOp(address, offset))

    def _block_start(self) -> SSAValue:
        assert self._buffer is not None
        return self._out.add(memref.ExtractAlignedPointerAsIndexOp.get(self._buffer))

    def _matrix_operand(self, factor: Factor, batch: SSAValue | None) -> list[SSAValue]:
        """The result goes to a separate buffer."""
        if factor is not self._product.target:
            return super()._matrix_operand(factor, batch)
        out = self._out
        one = out.indices.emit_constant(1)
        stride = out.add(arith.MaxSIOp(self._trip_count(self._product.columns), one))
        start = out.add(arith.IndexCastOp(self._block_start(), i64))
        return [start, self._truncate_to_int(stride)]
