"""Phase 2, padding: skips the iterations of a loop whose results are all padding.

A loop over padded tiles stores only elements that are in bounds: each store has a guard, an
expression that is negative if the element is padding. If one of these guards is negative only if
all of them are, the complete iteration runs only if that guard is not negative.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.ir import Block, BlockArgument, Operation, Region
from xdsl.rewriter import InsertPoint

from riselang.lowering.buffer_access import Memory
from riselang.nat import Nat, is_nonnegative, simplify

GuardedStores = dict[Block, list[tuple[Operation, Nat]]]
"""The ops of a block that store under a guard, with the guard."""
LOOPS = (affine.ForOp, scf.ForOp)
PURE_DIALECTS = ("arith", "math", "vector", "affine", "scf")
STORING_OPS = ("affine.store", "affine.vector_store", "vector.store", "vector.maskedstore")


def skip_padded_iterations(memory: Memory, guarded_stores: GuardedStores) -> None:
    """Put the bodies of loops that store only under guards into an if, where this is possible."""
    for block, stores in guarded_stores.items():
        loop = block.parent_op()
        if not isinstance(loop, LOOPS) or loop.results or not _is_worth_skipping(block, stores):
            continue
        guard = _weakest_guard(memory, [guard for _, guard in stores])
        if guard is not None and _is_known_at(memory, guard):
            _run_if(memory, guard, block)


def _is_worth_skipping(block: Block, stores: Sequence[tuple[Operation, Nat]]) -> bool:
    """Whether a loop body contains loops, and has no effect apart from the guarded stores."""
    guarded_ops = {op for op, _ in stores}
    other_ops = [op for op in block.ops if op not in guarded_ops]
    return any(isinstance(op, LOOPS) for op in other_ops) and all(map(_has_no_effect, other_ops))


def _has_no_effect(op: Operation) -> bool:
    """Whether an op and the ops in it only compute and load. The ops of access paths are removed
    later; their stores are separate ops."""
    if op.name.startswith("rise."):
        return True
    if op.name.partition(".")[0] not in PURE_DIALECTS and op.name != "memref.load":
        return False
    if op.name in STORING_OPS:
        return False
    for inner in (each for region in op.regions for block in region.blocks for each in block.ops):
        if not _has_no_effect(inner):
            return False
    return True


def _weakest_guard(memory: Memory, guards: Sequence[Nat]) -> Nat | None:
    """Return the guard that is not negative if any of them is not."""
    for guard in guards:
        differences = [guard - other for other in guards]
        if all(is_nonnegative(each, memory.facts(each)) for each in differences):
            return guard
    return None


def _is_known_at(memory: Memory, guard: Nat) -> bool:
    """Whether a guard depends only on the indices of loops, and on sizes."""
    return all(
        name in memory.sizes or isinstance(memory.variables[name], BlockArgument)
        for name in guard.variables
    )


def _run_if(memory: Memory, guard: Nat, block: Block) -> None:
    """Move the body of a loop into an if."""
    *ops, end = list(block.ops)
    body = Block()
    for op in ops:
        op.detach()
        body.add_op(op)
    body.add_op(scf.YieldOp())
    builder = Builder(InsertPoint.before(end))
    gap, zero = memory.emit_indices([simplify(guard, memory.facts(guard)), Nat.const(0)], builder)
    condition = builder.insert(arith.CmpiOp(gap, zero, "sge")).results[0]
    builder.insert(scf.IfOp(condition, [], Region(body)))
