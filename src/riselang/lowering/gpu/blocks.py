"""What the threads of a block do together.

They all go through what a block does, one statement after the other. A loop over threads is shared
out among them; what stores something beside such loops is done by the first thread alone; what only
reads, by each for itself. Between two statements that read or store, all wait for each other.
"""

from __future__ import annotations

from xdsl.dialects import gpu, memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, Operation, Region, SSAValue

from riselang.dialects.module import location_of
from riselang.lowering.gpu.parts import Numbers, is_of_threads, level_of, part_of, shown
from riselang.support.errors import LimitationError

READS, STORES = "reads", "stores"


def share_out_block(block: Block, numbers: Numbers) -> None:
    """Arrange what a block of threads does, in a kernel, between its loops over blocks."""
    for op in list(block.ops):
        part = part_of(op)
        if isinstance(op, scf.ParallelOp) and part is not None and level_of(part) == "block":
            _refuse_beside(block, op)
            share_out_block(op.body.block, numbers)
            numbers.share_out(op)
        elif numbers.launch.threads > 1:
            _share_out(op, numbers)


def _share_out(op: Operation, numbers: Numbers) -> None:
    block = op.parent
    assert block is not None
    if isinstance(op, scf.ParallelOp):
        _share_out_threads(op, numbers)
    elif contains_threads(op):
        _share_out_inside(op, numbers)
        return
    elif effect_of(op) == STORES:
        _by_first(op, numbers)
    elif effect_of(op) == READS and not _reads_on(op):
        block.insert_op_after(gpu.BarrierOp(), op)


def _reads_on(op: Operation) -> bool:
    """Whether what follows reads, too, so that there is nothing to wait for before."""
    following = op.next_op
    while following is not None and effect_of(following) is None:
        following = following.next_op
    is_read = following is not None and effect_of(following) == READS
    return is_read and following is not None and not contains_threads(following)


def _share_out_inside(op: Operation, numbers: Numbers) -> None:
    """A loop that all threads go through, since there are loops over them in it."""
    if not isinstance(op, scf.ForOp):
        raise LimitationError(
            "loops over threads cannot stand in a while or an if of a block", location_of(op)
        )
    for inner in list(op.body.block.ops):
        _share_out(inner, numbers)


def _share_out_threads(loop: scf.ParallelOp, numbers: Numbers) -> None:
    block = loop.parent
    assert block is not None
    block.insert_op_after(gpu.BarrierOp(), loop)
    loops = [loop]
    while (found := _only_threads(loops[-1])) is not None:
        loops.append(found)
    idle = numbers.idle_beside([part for each in loops if (part := part_of(each)) is not None])
    if idle:
        # What one thread stores, another one must not, even if it is the same.
        _guard(loop, numbers.are_first(idle))
    for each in loops:
        numbers.share_out(each)


def _guard(op: Operation, condition: SSAValue) -> None:
    """Let those threads alone do something for which a condition holds."""
    block = op.parent
    assert block is not None
    body = Block()
    guarded = scf.IfOp(condition, [], Region(body))
    guarded.location = op.location
    block.insert_op_before(guarded, op)
    op.detach()
    body.add_ops([op, scf.YieldOp()])


def _only_threads(loop: scf.ParallelOp) -> scf.ParallelOp | None:
    """The loop over threads in a loop over threads, beside which nothing is stored."""
    found = [op for op in loop.body.block.ops if contains_threads(op)]
    if not found:
        return None
    inner = found[0]
    stored = [op for op in loop.body.block.ops if op is not inner and effect_of(op) == STORES]
    own = [op for op in loop.body.block.ops if isinstance(op, memref.AllocaOp)]
    if len(found) > 1 or stored or own or not isinstance(inner, scf.ParallelOp):
        part, other = part_of(loop), part_of(found[0])
        assert part is not None
        raise LimitationError(
            f"inside {shown(part)} beside {shown(other or 'thread_x')}: what is stored there "
            "cannot be waited for; store it before both, in the block",
            location_of(loop),
        )
    return inner


def _by_first(op: Operation, numbers: Numbers) -> None:
    """Let the first thread do something, for which the others wait."""
    if any(True for result in op.results for _ in result.uses):
        raise LimitationError(
            "what a block stores beside its threads cannot give a value as well", location_of(op)
        )
    block = op.parent
    assert block is not None
    block.insert_op_after(gpu.BarrierOp(), op)
    _guard(op, numbers.is_first())


def _refuse_beside(block: Block, loop: scf.ParallelOp) -> None:
    """Blocks cannot wait for each other, so nothing may stand beside a loop over them."""
    for op in block.ops:
        if op is not loop and effect_of(op) is not None:
            part = part_of(loop)
            assert part is not None
            raise LimitationError(
                f"beside {shown(part)} something is computed, for which other blocks cannot wait; "
                "compute it in a kernel before",
                location_of(op) or location_of(loop),
            )


def contains_threads(op: Operation) -> bool:
    return any(is_of_threads(inner) for inner in op.walk())


def effect_of(op: Operation) -> str | None:
    """Whether an op, or one in it, stores or reads something."""
    names = {_effect(inner) for inner in op.walk()}
    return STORES if STORES in names else READS if READS in names else None


def _effect(op: Operation) -> str | None:
    if op.name in READING:
        return READS
    if isinstance(op, CallOp):
        # Most functions that are called compute a number; those that are given memory write to it.
        takes_memory = any(isinstance(value.type, MemRefType) for value in op.operands)
        return STORES if takes_memory else None
    return None if op.name not in STORING and op.name.startswith(PURE) else STORES


READING = (
    "memref.load", "affine.load", "affine.vector_load", "vector.load", "vector.transfer_read",
)  # fmt: skip
STORING = (
    "memref.store", "affine.store", "affine.vector_store", "vector.store", "vector.transfer_write",
)  # fmt: skip
PURE = (
    "arith.", "math.", "scf.", "gpu.", "vector.", "memref.alloc", "memref.dealloc", "memref.cast",
    "memref.get_global", "memref.memory_space_cast", "memref.prefetch", "affine.",
)  # fmt: skip
"""How the names of ops begin that touch no memory."""
