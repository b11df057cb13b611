"""The choice of the length of vectors, for functions that are also bound by scalar code.

CPUs with AVX-512 lower their clock frequency while they multiply vectors of 512 bits, and for some
time afterwards. A loop that computes one sum in its order is bound by the latency of additions, so
it takes longer by the same factor, and nothing makes up for that. Functions with such loops use
half as long vectors.
"""

from __future__ import annotations

from xdsl.dialects import affine, memref, scf
from xdsl.dialects.builtin import AnyFloat, MemRefType, ModuleOp
from xdsl.ir import Operation

from riselang.dialects.module import walk
from riselang.support.machine import this_machine


def max_vector_bits(module: ModuleOp) -> int | None:
    """Return the length of the longest vectors that a module should use; None if it may be any."""
    machine = this_machine()
    if not machine.lowers_clock or not any(map(_is_single_reduction, walk(module))):
        return None
    return machine.vector_bytes * 8 // 2


def _is_single_reduction(op: Operation) -> bool:
    """Whether an op is a loop that computes one float, each time from the one before."""
    if not isinstance(op, scf.ForOp | affine.ForOp):
        return False
    if len(op.results) == 1:
        return isinstance(op.results[0].type, AnyFloat)
    return any(map(_is_scalar_store, op.body.block.ops))


def _is_scalar_store(op: Operation) -> bool:
    """Whether an op assigns a float variable, not an element of an array."""
    if not isinstance(op, memref.StoreOp | affine.StoreOp) or not isinstance(
        op.memref.type, MemRefType
    ):
        return False
    return not op.memref.type.get_shape() and isinstance(op.memref.type.element_type, AnyFloat)
