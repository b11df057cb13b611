"""Lowers conversions of floats of 8 bits in kernels to calls of device functions.

Some GPUs have instructions for them. Calls also keep loops short enough to be unrolled, so that the
sums of a matrix multiplication stay in registers.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import arith, func, gpu, vector
from xdsl.dialects.builtin import VectorType, f32, i8
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.lowering.origins import builder_at
from riselang.lowering.passes.expand_small_floats import is_small_float

EXTEND, ROUND = "rise_extend_", "rise_round_"
"""The start of the names of device functions; MLIR's name of the small type follows."""


def lower_small_floats(kernels: gpu.ModuleOp) -> None:
    """Replace conversions between f32 and floats of 8 bits with calls."""
    called: dict[str, tuple[Attribute, Attribute]] = {}
    for op in list(kernels.walk()):
        if isinstance(op, arith.ExtFOp) and is_small_float(op.input.type):
            _replace(op, EXTEND, _element(op.input.type), (i8, f32), called)
        elif isinstance(op, arith.TruncFOp) and is_small_float(op.result.type):
            _replace(op, ROUND, _element(op.result.type), (f32, i8), called)
    for name, (source, target) in called.items():
        kernels.body.block.add_op(func.FuncOp(name, ([source], [target]), Region(), "private"))


def _element(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, VectorType) else type


def _replace(
    op: arith.ExtFOp | arith.TruncFOp, prefix: str, small: Attribute,
    types: tuple[Attribute, Attribute], called: dict[str, tuple[Attribute, Attribute]],
) -> None:  # fmt: skip
    name = f"{prefix}{small}"
    called[name] = types
    builder = builder_at(InsertPoint.before(op), op.location)

    def call(value: SSAValue) -> SSAValue:
        if prefix == EXTEND:
            value = builder.insert(arith.BitcastOp(value, i8)).result
        result = builder.insert(func.CallOp(name, [value], [types[1]])).results[0]
        if prefix == ROUND:
            return builder.insert(arith.BitcastOp(result, small)).result
        return result

    op.result.replace_all_uses_with(_for_each_lane(builder, op.input, op.result.type, call))
    op.detach()
    op.erase()


def _for_each_lane(
    builder: Builder, value: SSAValue, type: Attribute, call: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    if not isinstance(type, VectorType):
        return call(value)
    result: SSAValue | None = None
    (count,) = type.get_shape()
    element = _element(value.type)
    for lane in range(count):
        converted = call(builder.insert(vector.ExtractOp(value, [lane], element)).result)
        if result is None:
            result = builder.insert(vector.BroadcastOp(converted, type)).results[0]
        else:
            result = builder.insert(vector.InsertOp(converted, result, [lane])).result
    assert result is not None
    return result
