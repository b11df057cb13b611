"""Functions of a module that call a function of scalars for each lane of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, VectorType
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

EmitCall = Callable[[Builder, Sequence[SSAValue]], SSAValue]
"""Emits the call for one lane, and returns its result."""


def lane_function(
    name: str, inputs: Sequence[VectorType], result: VectorType, emit_call: EmitCall
) -> func.FuncOp:
    """Return a function on vectors, whose lanes it passes through memory."""
    (lanes,) = result.get_shape()
    block = Block(arg_types=inputs)
    builder = Builder(InsertPoint.at_end(block))
    zero, one, end = (
        builder.insert(arith.ConstantOp(IntegerAttr(number, IndexType()))).result
        for number in (0, 1, lanes)
    )
    buffers: list[SSAValue] = []
    for argument, type in zip(block.args, inputs, strict=True):
        alloca = memref.AllocaOp.get(type.element_type, shape=[lanes])
        buffers.append(builder.insert(alloca).results[0])
        builder.insert(vector.StoreOp(argument, buffers[-1], [zero]))
    alloca = memref.AllocaOp.get(result.element_type, shape=[lanes])
    results = builder.insert(alloca).results[0]
    body = Block(arg_types=[IndexType()])
    inner = Builder(InsertPoint.at_end(body))
    operands = [inner.insert(memref.LoadOp.get(each, [body.args[0]])).res for each in buffers]
    inner.insert(memref.StoreOp.get(emit_call(inner, operands), results, [body.args[0]]))
    inner.insert(scf.YieldOp())
    builder.insert(scf.ForOp(zero, end, one, [], Region(body)))
    value = builder.insert(vector.LoadOp(results, [zero], result)).results[0]
    builder.insert(func.ReturnOp(value))
    types = FunctionType.from_lists(inputs, [result])
    return func.FuncOp(name, types, Region(block), visibility="private")
