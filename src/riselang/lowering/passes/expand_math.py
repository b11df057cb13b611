"""Pass `expand-math`: computes math functions by arith ops, for devices without a math library.

f16, bf16 and f32 are computed as f64, and rounded. `lowering.accurate_math` has the functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    FloatAttr,
    ModuleOp,
    VectorType,
    f32,
    f64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.lowering.accurate_math.functions import FUNCTIONS
from riselang.lowering.accurate_math.values import Double
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Computes math functions by arith ops, for devices without a math library."""

    name = "expand-math"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(walk(op)):
            if inner.name in FUNCTIONS:
                _expand(inner)


def _expand(op: Operation) -> None:
    builder = builder_at(InsertPoint.before(op), op.location)
    type = op.results[0].type
    if isinstance(type, VectorType):
        value = _expand_lanes(op, type, builder)
    else:
        assert isinstance(type, AnyFloat)
        value = _scalar(op.name, op.operands, type, builder)
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _expand_lanes(op: Operation, type: VectorType, builder: Builder) -> SSAValue:
    element = type.element_type
    assert isinstance(element, AnyFloat)
    (count,) = type.get_shape()
    zero = builder.insert(arith.ConstantOp(FloatAttr(0.0, element))).result
    result = builder.insert(vector.BroadcastOp(zero, type)).results[0]
    for lane in range(count):
        operands = [
            builder.insert(vector.ExtractOp(each, [lane], element)).results[0]
            for each in op.operands
        ]
        value = _scalar(op.name, operands, element, builder)
        result = builder.insert(vector.InsertOp(value, result, [lane])).results[0]
    return result


def _scalar(name: str, operands: Sequence[SSAValue], type: AnyFloat, builder: Builder) -> SSAValue:
    """Compute a function of scalars as f64; the result is rounded to f32, and then to f16."""
    values = [Double(builder, _extended(each, builder)) for each in operands]
    result = FUNCTIONS[name](*values).ssa
    for narrow in (f32, type):
        if not isinstance(type, Float64Type) and narrow != result.type:
            result = builder.insert(arith.TruncFOp(result, narrow)).result
    return result


def _extended(value: SSAValue, builder: Builder) -> SSAValue:
    if not isinstance(value.type, Float32Type | Float64Type):
        value = builder.insert(arith.ExtFOp(value, f32)).result
    return value if value.type == f64 else builder.insert(arith.ExtFOp(value, f64)).result
