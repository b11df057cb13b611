"""Pass `convert-math-to-calls`: converts math ops to calls of the math library.

MLIR would turn them into LLVM intrinsics, which LLVM evaluates at compile time with another
precision than the library has at run time. Ops that the CPU computes exactly (sqrt, floor, fma)
stay in the math dialect.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FunctionType,
    ModuleOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack
from riselang.term.mathlib import LIBRARY_FUNCTIONS


@dataclass(frozen=True)
class ConvertMathToCallsPass(ModulePass):
    """Replaces math ops such as exp and sin by math library calls."""

    name = "convert-math-to-calls"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        declared: dict[str, FunctionType] = {}
        for inner in list(walk(op)):
            if inner.name in LIBRARY_FUNCTIONS and isinstance(
                inner.results[0].type, Float16Type | BFloat16Type | Float32Type | Float64Type
            ):
                _replace_by_call(inner, LIBRARY_FUNCTIONS[inner.name], declared)
        function_names = {f.sym_name.data for f in op.ops if isinstance(f, func.FuncOp)}
        for name, type in declared.items():
            if name not in function_names:
                op.body.block.add_op(
                    func.FuncOp.external(name, list(type.inputs.data), list(type.outputs.data))
                )


def _replace_by_call(op: Operation, function: str, declared: dict[str, FunctionType]) -> None:
    builder = builder_at(InsertPoint.before(op), op.location)
    type = op.results[0].type
    # The library has no half-precision functions; the single-precision result is rounded.
    wide: Attribute = type if isinstance(type, Float64Type) else Float32Type()
    operands = [_convert_float(builder, operand, wide) for operand in op.operands]
    name = function if isinstance(wide, Float64Type) else f"{function}f"
    declared[name] = FunctionType.from_lists([wide] * len(operands), [wide])
    result = builder.insert(func.CallOp(name, operands, [wide])).results[0]
    op.results[0].replace_all_uses_with(_convert_float(builder, result, type))
    op.detach()
    op.erase()


def _convert_float(builder: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    if value.type == type:
        return value
    widens = isinstance(value.type, Float16Type | BFloat16Type)
    op = arith.ExtFOp(value, type) if widens else arith.TruncFOp(value, type)
    return builder.insert(op).results[0]
