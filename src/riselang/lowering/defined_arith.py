"""Total versions of scalar ops whose result MLIR leaves undefined for some operands.

The reference interpreter defines the results: `a / 0` is 0 and `a rem 0` is `a`; the smallest
integer divided by -1 wraps; a shift by the width or more shifts all bits out; a float outside
the range of an integer type saturates, and NaN becomes 0; for the operands 0.0 and -0.0, in either
order, `maxnumf` returns 0.0 and `minnumf` returns -0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.term.scalar_embedding import create_scalar_op
from riselang.term.scalar_ops import CMPF_PREDICATES

InsertOp = Callable[[Operation], SSAValue]
"""Inserts an op and returns its result."""
Helpers = dict[str, func.FuncOp]
"""Functions that the emitted code calls, by name."""

DIVISIONS = {
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui",
    "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui",
}  # fmt: skip
SHIFTS = {"arith.shli", "arith.shrsi", "arith.shrui"}
FLOAT_TO_INTEGER = {"arith.fptosi", "arith.fptoui"}
NAN_IGNORING_OPS = {"arith.maxnumf": "arith.maximumf", "arith.minnumf": "arith.minimumf"}
"""Ops that ignore a NaN, each with the op that propagates it and orders -0.0 before 0.0.

For ops that ignore a NaN, the order of zeros depends on the target.
"""


def needs_replacement(op: Operation) -> bool:
    """Whether the op must be replaced before MLIR lowers it."""
    is_partial = op.name in DIVISIONS or op.name in SHIFTS or op.name in FLOAT_TO_INTEGER
    return is_partial or op.name in NAN_IGNORING_OPS or _constant_result(op) is not None


def _constant_result(op: Operation) -> bool | None:
    """Return the result of a comparison if it does not depend on the operands, else None.

    MLIR's canonicalizer turns such a comparison into `!=` if one operand is an integer converted
    to a float and the other is a constant.
    """
    if not isinstance(op, arith.CmpfOp):
        return None
    predicate = CMPF_PREDICATES[op.predicate.value.data]
    return {"false": False, "true": True}.get(predicate)


def emit_total(
    op: Operation, operands: Sequence[SSAValue], insert: InsertOp, helpers: Helpers
) -> SSAValue:
    """Emit the replacement of `op`, applied to `operands`; `needs_replacement(op)` must be true."""
    type = op.results[0].type
    if (constant := _constant_result(op)) is not None:
        return insert(arith.ConstantOp(IntegerAttr(int(constant), IntegerType(1))))
    if op.name in DIVISIONS and not _is_safe_divisor(operands[1]):
        # Out of line (`native.llvm.ir_text` prevents inlining): CPUs have no vector integer
        # division, and LLVM's vectorizer takes exponential time for the selects of a chain of
        # divisions.
        name = f"rise_{op.name.removeprefix('arith.')}_{type}"
        if name not in helpers:
            helpers[name] = _division_function(name, op.name, type)
        return insert(func.CallOp(name, list(operands), [type]))
    builder = _TotalOpBuilder(insert, type)
    if op.name in DIVISIONS:
        return builder.emit(op.name, *operands)
    if op.name in SHIFTS:
        return builder.emit_shift(op.name, operands[0], operands[1])
    if op.name in NAN_IGNORING_OPS:
        return builder.emit_ignoring_nan(NAN_IGNORING_OPS[op.name], operands[0], operands[1])
    return builder.emit_float_to_integer(op.name, operands[0])


def _is_safe_divisor(divisor: SSAValue) -> bool:
    """Whether a divisor is a constant other than 0 and -1: division by -1 may overflow."""
    owner = divisor.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
        return False
    return owner.value.value.data not in (0, -1)


def _division_function(name: str, op: str, type: Attribute) -> func.FuncOp:
    block = Block(arg_types=[type, type])
    builder = Builder(InsertPoint.at_end(block))
    total = _TotalOpBuilder(lambda op: builder.insert(op).results[0], type)
    block.add_op(func.ReturnOp(total.emit_division(op, block.args[0], block.args[1])))
    types = FunctionType.from_lists([type, type], [type])
    return func.FuncOp(name, types, Region(block), visibility=StringAttr("private"))


def _bit_width(type: Attribute) -> int:
    element = type.element_type if isinstance(type, VectorType) else type
    return 64 if isinstance(element, IndexType) else cast(IntegerType, element).width.data


def _mask_type(like: Attribute) -> Attribute:
    """The type of comparisons of values of a type: a scalar, or a vector, lane by lane."""
    boolean = IntegerType(1)
    return VectorType(boolean, like.get_shape()) if isinstance(like, VectorType) else boolean


class _TotalOpBuilder:
    def __init__(self, insert: InsertOp, type: Attribute):
        self.insert = insert
        self.type = type

    def emit(
        self,
        name: str,
        *operands: SSAValue,
        type: Attribute | None = None,
        predicate: str | None = None,
    ) -> SSAValue:
        return self.insert(create_scalar_op(name, operands, type or operands[-1].type, predicate))

    def integer_constant(self, number: int) -> SSAValue:
        if isinstance(self.type, VectorType):
            type = cast("VectorType[IntegerType]", self.type)
            return self.insert(arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, [number])))
        return self.insert(arith.ConstantOp(IntegerAttr(number, cast(IntegerType, self.type))))

    def emit_compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        type = _mask_type(left.type)
        return self.emit("arith.cmpi", left, right, type=type, predicate=predicate)

    def emit_division(self, name: str, dividend: SSAValue, divisor: SSAValue) -> SSAValue:
        zero, one = self.integer_constant(0), self.integer_constant(1)
        is_zero = self.emit_compare("eq", divisor, zero)
        needs_safe_divisor = is_zero
        if not name.endswith("ui"):
            smallest = self.integer_constant(-(1 << (_bit_width(self.type) - 1)))
            overflows = self.emit(
                "arith.andi",
                self.emit_compare("eq", dividend, smallest),
                self.emit_compare("eq", divisor, self.integer_constant(-1)),
            )
            needs_safe_divisor = self.emit("arith.ori", is_zero, overflows)
        # In the overflow case, dividing by 1 yields the wrapped quotient and the remainder 0.
        result = self.emit(
            name, dividend, self.emit("arith.select", needs_safe_divisor, one, divisor)
        )
        result_for_zero = dividend if "rem" in name else zero
        return self.emit("arith.select", is_zero, result_for_zero, result)

    def emit_shift(self, name: str, value: SSAValue, amount: SSAValue) -> SSAValue:
        width = _bit_width(self.type)
        if width == 1:
            is_in_range = self.emit_compare("eq", amount, self.integer_constant(0))
        else:
            is_in_range = self.emit_compare("ult", amount, self.integer_constant(width))
        if name == "arith.shrsi":
            max_amount = self.integer_constant(width - 1 if width > 1 else 0)
            return self.emit(
                name, value, self.emit("arith.select", is_in_range, amount, max_amount)
            )
        zero = self.integer_constant(0)
        shifted = self.emit(name, value, self.emit("arith.select", is_in_range, amount, zero))
        return self.emit("arith.select", is_in_range, shifted, zero)

    def emit_ignoring_nan(self, name: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """Emit an op that propagates NaN, and select the other operand if one of them is NaN."""
        result = self.emit(name, left, right)
        result = self.emit(
            "arith.select", self.emit_float_compare("uno", right, right), left, result
        )
        return self.emit("arith.select", self.emit_float_compare("uno", left, left), right, result)

    def emit_float_to_integer(self, name: str, value: SSAValue) -> SSAValue:
        width = _bit_width(self.type)
        signed = name == "arith.fptosi"
        low = -(1 << (width - 1)) if signed else 0
        high = (1 << (width - 1)) if signed else (1 << width)
        is_nan = self.emit_float_compare("uno", value, value)
        too_low = self.emit_float_compare(
            "ole", value, self.float_constant(low - 1 if not signed else low, value)
        )
        too_high = self.emit_float_compare("oge", value, self.float_constant(high, value))
        out_of_range = self.emit("arith.ori", self.emit("arith.ori", is_nan, too_low), too_high)
        in_range_value = self.emit(
            "arith.select", out_of_range, self.float_constant(0, value), value
        )
        if width == 1:
            result = self._float_to_bit(in_range_value, signed=signed)
        else:
            result = self.emit(name, in_range_value, type=self.type)
        result = self.emit("arith.select", too_low, self.integer_constant(low), result)
        highest = high - 1 if signed else -1
        return self.emit("arith.select", too_high, self.integer_constant(highest), result)

    def _float_to_bit(self, value: SSAValue, *, signed: bool) -> SSAValue:
        """Convert a float to i1 with a comparison.

        LLVM's own conversion, for GPUs, returns 1 for every float that is not 0, such as 0.5.
        """
        if signed:
            return self.integer_constant(0)  # between -1 and 1
        return self.emit_float_compare("oge", value, self.float_constant(1, value))

    def float_constant(self, number: int, like: SSAValue) -> SSAValue:
        value = float(number)
        type = cast(AnyFloat, like.type)
        if type.bitwidth == 16 and abs(value) > 65504 and str(type) == "f16":
            value = float("inf") if value > 0 else float("-inf")
        return self.insert(arith.ConstantOp(FloatAttr(value, type)))

    def emit_float_compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        return self.emit("arith.cmpf", left, right, type=IntegerType(1), predicate=predicate)
