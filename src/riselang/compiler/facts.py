"""What the rest of the way has to know of a lowered module, found in one walk over its ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    FunctionType,
    MemRefType,
    NoneAttr,
    TensorType,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute

from riselang.dialects.module import walk
from riselang.native.llvm.guard import FUNCTIONS

PARALLEL = ("affine.parallel", "scf.parallel", "scf.forall", "omp.parallel")
"""Ops whose iterations may run on threads."""
STRUCTURED = ("linalg.", "tensor.", "bufferization.")
"""How the names of ops begin that work on tensors, or whole buffers."""
BLAS = "cblas_"
"""How the names of BLAS routines begin."""


@dataclass(frozen=True)
class Facts:
    """What is in a module."""

    has_parallel_loops: bool = False
    is_structured: bool = False
    """Whether it has tensors, or ops that work on whole buffers."""
    has_bf16: bool = False
    has_short_floats: bool = False
    """Whether it has floats of 16 bits, which not every processor converts."""
    calls_blas: bool = False
    may_end_early: bool = False
    """Whether a call can end before its work is done: at a signal, or where memory is missing."""
    has_descriptors: bool = False
    """Whether functions take buffers whose pointer does not say all, as one of dynamic lengths."""

    def __or__(self, other: Facts) -> Facts:
        names = [each.name for each in fields(self)]
        return Facts(*(getattr(self, name) or getattr(other, name) for name in names))


def facts_of(module: Operation) -> Facts:
    """What is in a module that MLIR gets."""
    types: set[Attribute] = set()
    called: set[str] = set()
    has_descriptors = False
    has_parallel_loops = is_structured = allocates = False
    for op in walk(module):
        name = op.name
        has_parallel_loops |= name in PARALLEL
        is_structured |= name.startswith(STRUCTURED)
        allocates |= isinstance(op, memref.AllocOp)
        if isinstance(op, CallOp):
            called.add(op.callee.root_reference.data)
        elif isinstance(op, FuncOp):
            types.add(op.function_type)
            has_descriptors |= not all(map(_is_pointer, op.function_type.inputs))
            has_descriptors |= bool(op.function_type.outputs.data)
        types.update(result.type for result in op.results)
        for region in op.regions:
            for block in region.blocks:
                types.update(block.arg_types)
    parts = set(_parts(types))
    is_structured |= any(isinstance(type, TensorType) for type in parts)
    has_bf16 = BFloat16Type() in parts
    return Facts(
        has_parallel_loops,
        is_structured,
        has_bf16,
        has_bf16 or Float16Type() in parts,
        any(each.startswith(BLAS) for each in called),
        # Tensors become buffers later on.
        allocates or is_structured or not called.isdisjoint(FUNCTIONS),
        has_descriptors or is_structured,
    )


def _is_pointer(type: Attribute) -> bool:
    """Whether a scalar, or a contiguous buffer of known lengths, is passed.

    MLIR passes none that is empty as a pointer.
    """
    if not isinstance(type, MemRefType):
        return not isinstance(type, TensorType)
    is_known = type.has_static_shape() and 0 not in type.get_shape()
    return is_known and isinstance(type.layout, NoneAttr)


def _parts(types: Iterable[Attribute]) -> Iterator[Attribute]:
    """Types, and those that they are made of."""
    stack, seen = list(types), set[Attribute]()
    while stack:
        type = stack.pop()
        if type in seen:
            continue
        seen.add(type)
        yield type
        if isinstance(type, FunctionType):
            stack += [*type.inputs, *type.outputs]
        elif isinstance(type, ParametrizedAttribute):
            stack += [each for each in type.parameters if isinstance(each, TypeAttribute)]
