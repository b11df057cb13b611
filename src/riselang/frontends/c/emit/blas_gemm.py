"""Matrix multiplications as calls of BLAS routines, for sizes that are known at the call.

Matrices are row-major; a column-major one is passed as its transpose.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.parse.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.matrix_products import MatrixProduct
from riselang.lowering.library_code import NO_TRANSPOSE, ROW_MAJOR, TRANSPOSE, cblas_symbol

UPLO = {"upper": 121, "lower": 122}
"""The values of CBLAS's enumeration."""


class BlasEmitter:
    """Emits calls of routines, and their arguments."""

    def __init__(self, out: ExpressionEmitter, type: Attribute):
        self._out = out
        self._type = type

    def _emit_blas_call(
        self, routine: str, arguments: Sequence[SSAValue], result: Attribute | None = None
    ) -> SSAValue | None:
        name = cblas_symbol(routine, self._type)
        self._out.called_functions[name] = ([value.type for value in arguments], result)
        results = [] if result is None else [result]
        call = self._out.insert(func.CallOp(name, arguments, results))
        return None if result is None else call.results[0]

    def _emit_product(self, parts: Sequence[Expression]) -> SSAValue:
        value: SSAValue | None = None
        for part in parts:
            if isinstance(part, Literal):
                factor = self._float_constant(float(part.value))
            else:
                assert isinstance(part, Access)
                factor = self._out.emit_value(part)
            value = factor if value is None else self._out.add(arith.MulfOp(value, factor))
        return self._float_constant(1.0) if value is None else value

    def _float_constant(self, value: float) -> SSAValue:
        assert isinstance(self._type, Float32Type | Float64Type)
        return self._out.add(arith.ConstantOp(FloatAttr(value, self._type)))

    def _transpose_flag(self, is_transposed: bool) -> SSAValue:
        return self._integer_constant(TRANSPOSE if is_transposed else NO_TRANSPOSE)

    def _integer_constant(self, value: int) -> SSAValue:
        return self._out.add(arith.ConstantOp(IntegerAttr(value, i32)))

    def _truncate_to_int(self, value: SSAValue) -> SSAValue:
        return self._out.add(arith.IndexCastOp(value, i32))


class GemmEmitter(BlasEmitter):
    """Emits the call that computes a matrix multiplication."""

    def __init__(self, out: ExpressionEmitter, product: MatrixProduct):
        super().__init__(out, product.target.array.type.mlir_type)
        self._product = product

    def emit(self) -> None:
        if not self._product.batch:
            self._emit_gemm(None)
            return
        out = self._out
        block = Block(arg_types=[INDEX])
        count = self._trip_count(self._product.batch)
        with out.inside_block(block):
            self._emit_gemm(block.args[0])
            out.insert(scf.YieldOp())
        zero, one = out.indices.emit_constant(0), out.indices.emit_constant(1)
        out.insert(scf.ForOp(zero, count, one, [], Region(block)))

    def _emit_gemm(self, batch: SSAValue | None) -> None:
        product = self._product
        rows, columns, depth = (
            self._trip_count(group) for group in (product.rows, product.columns, product.depth)
        )
        alpha = self._emit_product(product.scale)
        beta = self._float_constant(0.0 if product.begins_with_zero else 1.0)
        left, right = (
            self._matrix_operand(product.left, batch),
            self._matrix_operand(product.right, batch),
        )
        target = self._matrix_operand(product.target, batch)
        # The columns of the right factor are its rows here: it is transposed if they are
        # contiguous.
        is_turned = product.left.loops[-1] not in product.depth
        is_right_turned = product.right.loops[-1] in product.depth
        order = self._integer_constant(ROW_MAJOR)
        if product.half:
            flags = [self._integer_constant(UPLO[product.half]), self._transpose_flag(is_turned)]
            lengths = [self._truncate_to_int(each) for each in (rows, depth)]
            factors = [*left, *right] if product.is_both else left
            routine = "syr2k" if product.is_both else "syrk"
        else:
            flags = [self._transpose_flag(is_turned), self._transpose_flag(is_right_turned)]
            lengths = [self._truncate_to_int(each) for each in (rows, columns, depth)]
            factors, routine = [*left, *right], "gemm"
        self._emit_blas_call(routine, [order, *flags, *lengths, alpha, *factors, beta, *target])

    # Arguments

    def _matrix_operand(self, factor: Factor, batch: SSAValue | None) -> list[SSAValue]:
        """Return the address of a matrix, and its leading dimension."""
        out = self._out
        stride = self._row_stride(factor)
        address = self._part_address(factor)
        if batch is not None and self._product.batch[0] in factor.loops:
            distance = self._loop_stride(factor, self._product.batch[-1])
            offset = out.add(arith.MuliOp(batch, distance))
            address = out.add(arith.AddiOp(address, self._byte_count(factor, offset)))
        one = out.indices.emit_constant(1)
        least = out.add(arith.MaxSIOp(stride, one))
        return [out.add(arith.IndexCastOp(address, i64)), self._truncate_to_int(least)]

    def _trip_count(self, loops: Sequence[str]) -> SSAValue:
        """Return the number of iterations of nested loops."""
        out = self._out
        zero, total = out.indices.emit_constant(0), out.indices.emit_constant(1)
        for loop in loops:
            length = out.indices.emit_linear(self._product.ranges[loop].length)
            total = out.add(arith.MuliOp(total, out.add(arith.MaxSIOp(length, zero))))
        return total

    def _part_address(self, factor: Factor) -> SSAValue:
        """Return the address of the first element that the loops access."""
        out = self._out
        address = out.add(memref.ExtractAlignedPointerAsIndexOp.get(out.memory[factor.array]))
        for loop in factor.loops:
            first = self._product.ranges[loop].first
            if first != Linear():
                stride = self._loop_stride(factor, loop)
                offset = out.add(arith.MuliOp(out.indices.emit_linear(first), stride))
                address = out.add(arith.AddiOp(address, self._byte_count(factor, offset)))
        return address

    def _byte_count(self, factor: Factor, elements: SSAValue) -> SSAValue:
        size = self._out.indices.emit_constant(factor.array.type.bits // 8)
        return self._out.add(arith.MuliOp(elements, size))

    def _row_stride(self, factor: Factor) -> SSAValue:
        """Return the distance between the rows of a matrix, in elements."""
        return self._dimensions_product(factor, self._inner_loops(factor))

    def _loop_stride(self, factor: Factor, loop: str) -> SSAValue:
        """Return the distance between iterations of a loop, in elements."""
        return self._dimensions_product(factor, factor.loops[factor.loops.index(loop) + 1 :])

    def _inner_loops(self, factor: Factor) -> tuple[str, ...]:
        """Return the loops that are the inner dimension of a matrix."""
        product = self._product
        groups = (product.rows, product.columns, product.depth)
        return next(group for group in groups if factor.loops[-1] in group)

    def _dimensions_product(self, factor: Factor, loops: Sequence[str]) -> SSAValue:
        """Return the product of the lengths of array dimensions."""
        out = self._out
        total = out.indices.emit_constant(1)
        for loop in loops:
            dimension = out.indices.emit_constant(factor.loops.index(loop))
            length = out.add(memref.DimOp(out.memory[factor.array], dimension))
            total = out.add(arith.MuliOp(total, length))
        return total
