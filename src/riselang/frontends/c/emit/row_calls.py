"""Matrix multiplications through a small row buffer, as BLAS calls on blocks of rows.

A factor may be the array of the result, so a block is computed in a separate buffer and copied.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Block, Region, SSAValue

from riselang.frontends.c.emit.blas_gemm import GemmEmitter
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.matrix_products import MatrixProduct
from riselang.frontends.c.tactics.row_products import RowProduct


class RowGemmEmitter(GemmEmitter):
    """Emits the BLAS calls, and the copies of the blocks and of the last row."""

    def __init__(self, out: ExpressionEmitter, rows: RowProduct):
        super().__init__(out, _split_into_blocks(rows.product))
        self._full_product = rows.product
        self._row = rows.row
        self._buffer: SSAValue | None = None

    def emit(self) -> None:
        out, product = self._out, self._product
        target = product.target
        count = (
            self._dimensions_product(target, product.batch)
            if product.batch
            else out.indices.emit_constant(1)
        )
        loops = tuple(loop for loop in target.loops if loop not in product.batch)
        size = self._dimensions_product(target, loops)
        buffer = out.add(
            memref.AllocOp.get(target.array.type.mlir_type, None, [DYNAMIC_INDEX], [size])
        )
        self._buffer = buffer
        block = Block(arg_types=[INDEX])
        with out.inside_block(block):
            self._emit_gemm(block.args[0] if product.batch else None)
            start = out.add(arith.MuliOp(block.args[0], size))
            self._emit_copy(size, self._block_buffer(), self._element_pointer(target, start))
            out.insert(scf.YieldOp())
        zero, one = out.indices.emit_constant(0), out.indices.emit_constant(1)
        out.insert(scf.ForOp(zero, count, one, [], Region(block)))
        out.insert(memref.DeallocOp.get(buffer))
        self._copy_last_row()

    def _copy_last_row(self) -> None:
        """Copy the last row, if there is one, to the small array."""
        out, product = self._out, self._full_product
        rows = self._dimensions_product(product.target, product.rows)
        columns = self._dimensions_product(product.target, product.columns)
        one = out.indices.emit_constant(1)
        count = out.add(arith.MuliOp(columns, out.add(arith.MinSIOp(rows, one))))
        last = out.add(arith.MuliOp(out.add(arith.SubiOp(rows, one)), columns))
        zero = out.indices.emit_constant(0)
        self._emit_copy(
            count,
            self._element_pointer(product.target, last),
            self._element_pointer(self._row, zero),
        )

    def _emit_copy(self, count: SSAValue, source: SSAValue, target: SSAValue) -> None:
        one = self._integer_constant(1)
        self._emit_blas_call("copy", [self._truncate_to_int(count), source, one, target, one])

    def _element_pointer(self, factor: Factor, start: SSAValue) -> SSAValue:
        """Return the address of an element, by the number of elements before it."""
        out = self._out
        base = out.add(memref.ExtractAlignedPointerAsIndexOp.get(out.memory[factor.array]))
        size = out.indices.emit_constant(factor.array.type.bits // 8)
        address = out.add(arith.AddiOp(base, out.add(arith.MuliOp(start, size))))
        return out.add(arith.IndexCastOp(address, i64))

    def _block_buffer(self) -> SSAValue:
        assert self._buffer is not None
        start = memref.ExtractAlignedPointerAsIndexOp.get(self._buffer)
        return self._out.add(arith.IndexCastOp(self._out.add(start), i64))

    def _matrix_operand(self, factor: Factor, batch: SSAValue | None) -> list[SSAValue]:
        """The result goes to a separate buffer."""
        operand = super()._matrix_operand(factor, batch)
        return [self._block_buffer(), operand[1]] if factor is self._product.target else operand


def _split_into_blocks(product: MatrixProduct) -> MatrixProduct:
    """A product whose outermost rows are a batch, if it has others."""
    if len(product.rows) < 2 or product.left.loops != (*product.rows, *product.depth):
        return product
    return replace(product, batch=product.rows[:1], rows=product.rows[1:])
