"""Marks buffers that share no memory with other buffers of a function, for LLVM.

A call checks this for the buffers that a RISE program writes; temporaries are distinct by
construction. Without the marks, LLVM keeps loads and stores in order and cannot vectorize loops.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, SSAValue

from riselang.dialects.module import functions, walk
from riselang.lowering.runtime_checks import mark_argument

NOALIAS = "llvm.noalias"


def mark_noalias(function: FuncOp, positions: Iterable[int]) -> None:
    """Mark parameters whose buffers overlap no other buffer."""
    for position in positions:
        mark_argument(function, position, NOALIAS)


def is_noalias(value: SSAValue) -> bool:
    """Whether a buffer is known to overlap no other buffer."""
    owner = value.owner
    if not isinstance(owner, Block):
        return isinstance(owner, memref.AllocOp | memref.AllocaOp)
    function = owner.parent_op()
    return isinstance(function, FuncOp) and value in _noalias_parameters(function)


def _noalias_parameters(function: FuncOp) -> list[SSAValue]:
    if function.arg_attrs is None:
        return []
    arguments = zip(function.body.blocks[0].args, function.arg_attrs.data, strict=True)
    return [argument for argument, attributes in arguments if NOALIAS in attributes.data]


def noalias_pointers(module: ModuleOp) -> dict[str, list[int]]:
    """Return, for each function, the positions of noalias pointers among its LLVM parameters.

    A memref is passed as two pointers, an offset, and a length and a stride for each dimension;
    accesses go through the second pointer. MLIR marks memrefs that are passed as one pointer.
    """
    pointers: dict[str, list[int]] = {}
    for function in functions(module):
        distinct = _noalias_parameters(function)
        position, positions = 0, list[int]()
        for argument in function.body.blocks[0].args:
            positions += [position + 1] if argument in distinct else []
            position += _llvm_parameter_count(argument.type)
        if positions:
            pointers[function.sym_name.data] = positions
    return pointers


def _llvm_parameter_count(type: Attribute) -> int:
    return 3 + 2 * type.get_num_dims() if isinstance(type, MemRefType) else 1


def called_functions(module: ModuleOp) -> set[str]:
    """Return the functions that others call, perhaps with the same buffer twice."""
    return {op.callee.root_reference.data for op in walk(module) if isinstance(op, CallOp)}
