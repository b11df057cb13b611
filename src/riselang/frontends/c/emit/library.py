"""Matrix multiplications as calls of BLAS routines, for sizes that are known at the call.

Matrices are row-major; a column-major one is passed as its transpose.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.parse.syntax import Access, Expression, Literal
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.products import Product
from riselang.lowering.library_code import AS_IT_IS, ROW_MAJOR, TRANSPOSED, symbol

UPLO = {"upper": 121, "lower": 122}
"""The values of CBLAS's enumeration."""


class Routines:
    """Emits calls of routines, and their arguments."""

    def __init__(self, out: Emitter, type: Attribute):
        self._out = out
        self._type = type

    def _invoke(
        self, routine: str, arguments: Sequence[SSAValue], result: Attribute | None = None
    ) -> SSAValue | None:
        name = symbol(routine, self._type)
        self._out.called[name] = ([value.type for value in arguments], result)
        results = [] if result is None else [result]
        call = self._out.insert(func.CallOp(name, arguments, results))
        return None if result is None else call.results[0]

    def _number(self, parts: Sequence[Expression]) -> SSAValue:
        value: SSAValue | None = None
        for part in parts:
            if isinstance(part, Literal):
                factor = self._constant(float(part.value))
            else:
                assert isinstance(part, Access)
                factor = self._out.value(part)
            value = factor if value is None else self._out.add(arith.MulfOp(value, factor))
        return self._constant(1.0) if value is None else value

    def _constant(self, value: float) -> SSAValue:
        assert isinstance(self._type, Float32Type | Float64Type)
        return self._out.add(arith.ConstantOp(FloatAttr(value, self._type)))

    def _flag(self, is_turned: bool) -> SSAValue:
        return self._integer(TRANSPOSED if is_turned else AS_IT_IS)

    def _integer(self, value: int) -> SSAValue:
        return self._out.add(arith.ConstantOp(IntegerAttr(value, i32)))

    def _narrow(self, value: SSAValue) -> SSAValue:
        return self._out.add(arith.IndexCastOp(value, i32))


class CallEmitter(Routines):
    """Emits the call that computes a matrix multiplication."""

    def __init__(self, out: Emitter, product: Product):
        super().__init__(out, product.target.array.type.mlir)
        self._product = product

    def run(self) -> None:
        if not self._product.batch:
            self._call(None)
            return
        out = self._out
        block = Block(arg_types=[INDEX])
        count = self._length(self._product.target, self._product.batch)
        with out.inside(block):
            self._call(block.args[0])
            out.insert(scf.YieldOp())
        zero, one = out.indices.constant(0), out.indices.constant(1)
        out.insert(scf.ForOp(zero, count, one, [], Region(block)))

    def _call(self, batch: SSAValue | None) -> None:
        product = self._product
        rows = self._length(product.left, product.rows)
        columns = self._length(product.right, product.columns)
        depth = self._length(product.left, product.depth)
        alpha = self._number(product.scale)
        beta = self._constant(0.0 if product.begins_with_zero else 1.0)
        left, right = self._operand(product.left, batch), self._operand(product.right, batch)
        target = self._operand(product.target, batch)
        # The columns of the right factor are its rows here: it is transposed if they are
        # contiguous.
        is_turned = product.left.loops[-1] not in product.depth
        is_right_turned = product.right.loops[-1] in product.depth
        order = self._integer(ROW_MAJOR)
        if product.half:
            flags = [self._integer(UPLO[product.half]), self._flag(is_turned)]
            lengths = [self._narrow(each) for each in (rows, depth)]
            factors = [*left, *right] if product.is_both else left
            routine = "syr2k" if product.is_both else "syrk"
        else:
            flags = [self._flag(is_turned), self._flag(is_right_turned)]
            lengths = [self._narrow(each) for each in (rows, columns, depth)]
            factors, routine = [*left, *right], "gemm"
        self._invoke(routine, [order, *flags, *lengths, alpha, *factors, beta, *target])

    # Arguments

    def _operand(self, factor: Factor, batch: SSAValue | None) -> list[SSAValue]:
        """Return the address of a matrix, and its leading dimension."""
        out, product = self._out, self._product
        start = memref.ExtractAlignedPointerAsIndexOp.get(out.memory[factor.array])
        address = out.add(start)
        inner = self._inner(factor)
        if batch is not None and product.batch[0] in factor.loops:
            loops = tuple(loop for loop in factor.loops if loop not in product.batch)
            size = out.indices.constant(factor.array.type.bits // 8)
            distance = out.add(arith.MuliOp(self._length(factor, loops), size))
            moved = out.add(arith.MuliOp(batch, distance))
            address = out.add(arith.AddiOp(address, moved))
        one = out.indices.constant(1)
        stride = out.add(arith.MaxSIOp(self._length(factor, inner), one))
        return [out.add(arith.IndexCastOp(address, i64)), self._narrow(stride)]

    def _inner(self, factor: Factor) -> tuple[str, ...]:
        """Return the loops that are the inner dimension of a matrix."""
        product = self._product
        groups = (product.rows, product.columns, product.depth)
        return next(group for group in groups if factor.loops[-1] in group)

    def _length(self, factor: Factor, loops: Sequence[str]) -> SSAValue:
        """Return the product of the lengths of array dimensions."""
        out = self._out
        total: SSAValue | None = None
        for loop in loops:
            place = out.indices.constant(factor.loops.index(loop))
            length = out.add(memref.DimOp(out.memory[factor.array], place))
            total = length if total is None else out.add(arith.MuliOp(total, length))
        assert total is not None
        return total
