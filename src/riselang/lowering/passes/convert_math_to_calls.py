"""Pass `convert-math-to-calls`: converts math ops to calls of the math library.

MLIR would turn them into LLVM intrinsics, which LLVM evaluates at compile time with another
precision than the library has at run time. Ops that the CPU computes exactly (sqrt, floor, fma)
stay in the math dialect. An op on vectors calls a function that calls the library for each lane,
so that the code around it stays vectorized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    ModuleOp,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.lowering.lane_functions import lane_function
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack
from riselang.term.mathlib import LIBRARY_FUNCTIONS


@dataclass(frozen=True)
class ConvertMathToCallsPass(ModulePass):
    """Replaces math ops such as exp and sin with calls to the math library."""

    name = "convert-math-to-calls"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions: dict[str, func.FuncOp] = {}
        for inner in list(walk(op)):
            name = LIBRARY_FUNCTIONS.get(inner.name)
            if name is None:
                continue
            type = inner.results[0].type
            if isinstance(type, Float16Type | BFloat16Type | Float32Type | Float64Type):
                _replace_by_call(inner, name, functions)
            elif isinstance(type, VectorType):
                _replace_by_lane_calls(inner, name, functions)
        function_names = {f.sym_name.data for f in op.ops if isinstance(f, func.FuncOp)}
        op.body.block.add_ops(
            each for name, each in functions.items() if name not in function_names
        )


def _replace_by_call(op: Operation, function: str, functions: dict[str, func.FuncOp]) -> None:
    builder = builder_at(InsertPoint.before(op), op.location)
    type = op.results[0].type
    # The library has no half-precision functions; the single-precision result is rounded.
    wide: Attribute = type if isinstance(type, Float64Type) else Float32Type()
    operands = [_convert_float(builder, operand, wide) for operand in op.operands]
    name = _declare(function, wide, len(operands), functions)
    result = builder.insert(func.CallOp(name, operands, [wide])).results[0]
    _replace(op, _convert_float(builder, result, type))


def _replace(op: Operation, value: SSAValue) -> None:
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _declare(function: str, type: Attribute, arity: int, functions: dict[str, func.FuncOp]) -> str:
    """Declare the library function for a type, and return its name."""
    name = function if isinstance(type, Float64Type) else f"{function}f"
    if name not in functions:
        functions[name] = func.FuncOp.external(name, [type] * arity, [type])
    return name


def _replace_by_lane_calls(op: Operation, function: str, functions: dict[str, func.FuncOp]) -> None:
    type = op.results[0].type
    assert isinstance(type, VectorType)
    (lanes,) = type.get_shape()
    scalar_name = _declare(function, type.element_type, len(op.operands), functions)
    name = f"rise_lanes_{scalar_name}_{lanes}"
    if name not in functions:
        element = type.element_type

        def emit_call(inner: Builder, operands: Sequence[SSAValue]) -> SSAValue:
            return inner.insert(func.CallOp(scalar_name, operands, [element])).results[0]

        functions[name] = lane_function(name, [type] * len(op.operands), type, emit_call)
    builder = builder_at(InsertPoint.before(op), op.location)
    _replace(op, builder.insert(func.CallOp(name, list(op.operands), [type])).results[0])


def _convert_float(builder: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    if value.type == type:
        return value
    widens = isinstance(value.type, Float16Type | BFloat16Type)
    op = arith.ExtFOp(value, type) if widens else arith.TruncFOp(value, type)
    return builder.insert(op).results[0]
