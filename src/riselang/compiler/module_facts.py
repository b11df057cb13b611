"""Facts about a lowered module that code generation needs, collected in one walk over its ops."""

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

PARALLEL_OPS = ("affine.parallel", "scf.parallel", "scf.forall")
"""Ops whose iterations may run in parallel."""
STRUCTURED_PREFIXES = ("linalg.", "tensor.", "bufferization.")
"""Prefixes of the names of ops on tensors or whole buffers."""
BLAS_PREFIX = "cblas_"
"""The prefix of the names of BLAS routines."""


@dataclass(frozen=True)
class ModuleFacts:
    """Properties of a module."""

    has_parallel_loops: bool = False
    is_structured: bool = False
    """Whether it has tensors, or ops on whole buffers."""
    has_bf16: bool = False
    has_short_floats: bool = False
    """Whether it has 16-bit floats, for which not every CPU has conversion instructions."""
    calls_blas: bool = False
    may_end_early: bool = False
    """Whether a call can return early: at a signal, or if an allocation fails."""
    has_descriptors: bool = False
    """Whether functions take buffers with a descriptor, as those with dynamic dimensions have."""

    def __or__(self, other: ModuleFacts) -> ModuleFacts:
        names = [each.name for each in fields(self)]
        return ModuleFacts(*(getattr(self, name) or getattr(other, name) for name in names))


def collect_facts(module: Operation) -> ModuleFacts:
    """Collect the facts about a module for native MLIR."""
    types: set[Attribute] = set()
    callees: set[str] = set()
    has_descriptors = False
    has_parallel_loops = is_structured = allocates = False
    for op in walk(module):
        name = op.name
        has_parallel_loops |= name in PARALLEL_OPS
        is_structured |= name.startswith(STRUCTURED_PREFIXES)
        allocates |= isinstance(op, memref.AllocOp)
        if isinstance(op, CallOp):
            callees.add(op.callee.root_reference.data)
        elif isinstance(op, FuncOp):
            types.add(op.function_type)
            has_descriptors |= not all(map(_is_pointer, op.function_type.inputs))
            has_descriptors |= bool(op.function_type.outputs.data)
        types.update(result.type for result in op.results)
        for region in op.regions:
            for block in region.blocks:
                types.update(block.arg_types)
    parts = set(_nested_types(types))
    is_structured |= any(isinstance(type, TensorType) for type in parts)
    has_bf16 = BFloat16Type() in parts
    return ModuleFacts(
        has_parallel_loops,
        is_structured,
        has_bf16,
        has_bf16 or Float16Type() in parts,
        any(each.startswith(BLAS_PREFIX) for each in callees),
        # Bufferization of tensors allocates later.
        allocates or is_structured or not callees.isdisjoint(FUNCTIONS),
        has_descriptors or is_structured,
    )


def _is_pointer(type: Attribute) -> bool:
    """Return whether a value is passed as a scalar or as a bare pointer.

    MLIR passes a contiguous buffer of static shape as a pointer, unless it is empty.
    """
    if not isinstance(type, MemRefType):
        return not isinstance(type, TensorType)
    is_known = type.has_static_shape() and 0 not in type.get_shape()
    return is_known and isinstance(type.layout, NoneAttr)


def _nested_types(types: Iterable[Attribute]) -> Iterator[Attribute]:
    """Yield types, and the types that they contain."""
    stack, visited = list(types), set[Attribute]()
    while stack:
        type = stack.pop()
        if type in visited:
            continue
        visited.add(type)
        yield type
        if isinstance(type, FunctionType):
            stack += [*type.inputs, *type.outputs]
        elif isinstance(type, ParametrizedAttribute):
            stack += [each for each in type.parameters if isinstance(each, TypeAttribute)]
