"""Shares the memory of temporaries that are not needed at the same time.

A chain of steps, each of which stores its result, then works on two buffers, which stay in the
cache, instead of one for each step.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from riselang.dialects.module import walk
from riselang.lowering.temporaries import op_in_block
from riselang.lowering.translation import TEMPORARY


@dataclass
class _Lifetime:
    """The first and the last op of a block that use a temporary, by their positions."""

    op: memref.AllocaOp
    first: int
    last: int


def share_temporaries(function: Operation) -> None:
    """Replace each temporary with an earlier one of the same type and block that is not used any
    more. In a loop, a temporary is filled before it is read in each iteration."""
    temporaries: dict[Block, list[memref.AllocaOp]] = {}
    for op in walk(function):
        if isinstance(op, memref.AllocaOp) and TEMPORARY in op.attributes and _can_share(op):
            assert op.parent is not None
            temporaries.setdefault(op.parent, []).append(op)
    for block, ops in temporaries.items():
        if len(ops) > 1:
            _share_in_block(block, ops)


def _can_share(op: memref.AllocaOp) -> bool:
    """Whether a temporary has a fixed size, and no op makes another name for it."""
    users = [use.operation for use in op.memref.uses]
    return not op.dynamic_sizes and not any(
        user.has_trait(IsTerminator)
        or any(isinstance(result.type, MemRefType) for result in user.results)
        for user in users
    )


def _share_in_block(block: Block, ops: list[memref.AllocaOp]) -> None:
    positions = {op: position for position, op in enumerate(block.ops)}
    lifetimes: list[_Lifetime] = []
    for op in ops:
        used = [positions[op_in_block(use.operation, block)] for use in op.memref.uses]
        if used:
            lifetimes.append(_Lifetime(op, min(used), max(used)))
    owners: list[_Lifetime] = []
    for lifetime in sorted(lifetimes, key=lambda each: each.first):
        free = [
            owner
            for owner in owners
            if owner.last < lifetime.first and owner.op.memref.type == lifetime.op.memref.type
        ]
        if not free:
            owners.append(lifetime)
            continue
        # The one that was used last is most likely in the cache.
        owner = max(free, key=lambda each: each.last)
        owner.last = lifetime.last
        lifetime.op.memref.replace_all_uses_with(owner.op.memref)
        lifetime.op.detach()
        lifetime.op.erase()
