"""Buffers that share no memory with any other that a function knows, as LLVM is told it.

A buffer that a RISE program writes is checked at the call to be one; so is each temporary. Without
that, LLVM keeps loads and stores in their order and computes one element after the other.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from riselang.dialects.module import functions, walk
from riselang.lowering.checks import mark_argument

NOALIAS = "llvm.noalias"


def mark_distinct(function: FuncOp, positions: Iterable[int]) -> None:
    """Say of parameters that nothing else is where they are."""
    for position in positions:
        mark_argument(function, position, NOALIAS)


def is_distinct(value: SSAValue) -> bool:
    """Whether a buffer is known to be a place of its own."""
    owner = value.owner
    if not isinstance(owner, Block):
        return isinstance(owner, memref.AllocOp | memref.AllocaOp)
    function = owner.parent_op()
    return isinstance(function, FuncOp) and value in _distinct_parameters(function)


def _distinct_parameters(function: FuncOp) -> list[SSAValue]:
    if function.arg_attrs is None:
        return []
    arguments = zip(function.body.blocks[0].args, function.arg_attrs.data, strict=True)
    return [argument for argument, attributes in arguments if NOALIAS in attributes.data]


def distinct_pointers(module: ModuleOp) -> dict[str, list[int]]:
    """For each function, the positions of such pointers among the parameters that LLVM sees.

    A memref is passed as two pointers, an offset, and a length and a stride for each dimension;
    accesses go through the second pointer. MLIR marks memrefs that are passed as one pointer.
    """
    found: dict[str, list[int]] = {}
    for function in functions(module):
        distinct = _distinct_parameters(function)
        at, positions = 0, list[int]()
        for argument in function.body.blocks[0].args:
            positions += [at + 1] if argument in distinct else []
            at += _width(argument.type)
        if positions:
            found[function.sym_name.data] = positions
    return found


def _width(type: Attribute) -> int:
    return 3 + 2 * type.get_num_dims() if isinstance(type, MemRefType) else 1


def called_functions(module: ModuleOp) -> set[str]:
    """The functions that others call, perhaps with the same buffer twice."""
    return {op.callee.root_reference.data for op in walk(module) if isinstance(op, CallOp)}
