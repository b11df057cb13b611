"""Distributes the code of a block among its threads.

All threads execute the statements of a block in order. Each thread executes its own iterations of
a thread loop; a statement outside of such loops is executed by the first thread alone if it
stores, and by every thread if it only reads. `barriers.py` has inserted the barriers between them.
"""

from __future__ import annotations

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from riselang.dialects.module import location_of
from riselang.lowering.gpu.barriers import READING_OPS, STORING_OPS, memory_operands
from riselang.lowering.gpu.mapping import (
    GpuIds,
    format_mapping,
    is_thread_loop,
    mapping_level,
    mapping_of,
)
from riselang.support.errors import LimitationError

READS, STORES = "reads", "stores"


def distribute_block(block: Block, ids: GpuIds) -> None:
    """Distribute the code inside of a kernel's block loops among the block's threads."""
    for op in list(block.ops):
        part = mapping_of(op)
        if isinstance(op, scf.ParallelOp) and part is not None and mapping_level(part) == "block":
            _check_only_loop(block, op)
            distribute_block(op.body.block, ids)
            ids.distribute_loop(op)
        elif ids.launch.threads > 1:
            _distribute_op(op, ids)


def _distribute_op(op: Operation, ids: GpuIds) -> None:
    if isinstance(op, scf.ParallelOp):
        _distribute_thread_loops(op, ids)
    elif has_thread_loop(op):
        _distribute_loop_body(op, ids)
    elif effect_of(op) == STORES:
        _run_in_first_thread(op, ids)


def _distribute_loop_body(op: Operation, ids: GpuIds) -> None:
    """Distribute the body of a sequential loop, which all threads execute."""
    if not isinstance(op, scf.ForOp):
        raise LimitationError(
            "thread loops inside of a while or an if of a block are not supported", location_of(op)
        )
    for inner in list(op.body.block.ops):
        _distribute_op(inner, ids)


def _distribute_thread_loops(loop: scf.ParallelOp, ids: GpuIds) -> None:
    loops = [loop]
    while (inner_loop := _inner_thread_loop(loops[-1])) is not None:
        loops.append(inner_loop)
    idle = ids.idle_dimensions(
        [part for nested_loop in loops if (part := mapping_of(nested_loop)) is not None]
    )
    if idle:
        # Only one thread may store an element, even if others would store the same value.
        _guard(loop, ids.have_id_zero(idle))
    for nested_loop in loops:
        ids.distribute_loop(nested_loop)


def _guard(op: Operation, condition: SSAValue) -> None:
    """Execute an op only in the threads for which a condition holds."""
    block = op.parent
    assert block is not None
    body = Block()
    guarded = scf.IfOp(condition, [], Region(body))
    guarded.location = op.location
    block.insert_op_before(guarded, op)
    op.detach()
    body.add_ops([op, scf.YieldOp()])


def _inner_thread_loop(loop: scf.ParallelOp) -> scf.ParallelOp | None:
    """Return the thread loop inside of a thread loop, if any; nothing else there may store."""
    thread_loops = [op for op in loop.body.block.ops if has_thread_loop(op)]
    if not thread_loops:
        return None
    inner = thread_loops[0]
    stores = [op for op in loop.body.block.ops if op is not inner and effect_of(op) == STORES]
    allocations = [op for op in loop.body.block.ops if isinstance(op, memref.AllocaOp)]
    if len(thread_loops) > 1 or stores or allocations or not isinstance(inner, scf.ParallelOp):
        mapping, inner_mapping = mapping_of(loop), mapping_of(thread_loops[0])
        assert mapping is not None
        raise LimitationError(
            f"inside {format_mapping(mapping)}, a value is stored next to "
            f"{format_mapping(inner_mapping or 'thread_x')}, where threads cannot wait for "
            "it; store it before both, in the block",
            location_of(loop),
        )
    return inner


def _run_in_first_thread(op: Operation, ids: GpuIds) -> None:
    """Execute an op in the first thread only."""
    if any(True for result in op.results for _ in result.uses):
        raise LimitationError(
            "code of a block that stores outside of its thread loops cannot also return a value",
            location_of(op),
        )
    _guard(op, ids.is_first_thread())


def _check_only_loop(block: Block, loop: scf.ParallelOp) -> None:
    """Report code next to a block loop: blocks cannot wait for each other.

    Each block may read what an earlier kernel has stored.
    """
    for op in block.ops:
        if op is not loop and effect_of(op) is not None and not _reads_other_memory(op, loop):
            part = mapping_of(loop)
            assert part is not None
            raise LimitationError(
                f"next to {format_mapping(part)}, a value is computed for which other blocks "
                "cannot wait; compute it in an earlier kernel",
                location_of(op) or location_of(loop),
            )


def _reads_other_memory(op: Operation, loop: scf.ParallelOp) -> bool:
    """Whether an op only reads parameters of the kernel that a loop does not store to."""
    if effect_of(op) != READS:
        return False
    read = {value for inner in op.walk() for value in memory_operands(inner)}
    stored = {
        value
        for inner in loop.walk()
        if inner.name not in READING_OPS
        for value in memory_operands(inner)
    }
    return not read & stored and all(isinstance(value, BlockArgument) for value in read)


def has_thread_loop(op: Operation) -> bool:
    return any(is_thread_loop(inner) for inner in op.walk())


def effect_of(op: Operation) -> str | None:
    """Return whether an op, or one in it, stores or reads memory."""
    names = {_op_effect(inner) for inner in op.walk()}
    return STORES if STORES in names else READS if READS in names else None


def _op_effect(op: Operation) -> str | None:
    if op.name in READING_OPS:
        return READS
    if isinstance(op, CallOp):
        # Most called functions compute a scalar; those that take a buffer write to it.
        takes_memory = any(isinstance(value.type, MemRefType) for value in op.operands)
        return STORES if takes_memory else None
    return None if op.name not in STORING_OPS and op.name.startswith(PURE_PREFIXES) else STORES


PURE_PREFIXES = (
    "arith.", "math.", "scf.", "gpu.", "vector.", "memref.alloc", "memref.dealloc", "memref.cast",
    "memref.get_global", "memref.memory_space_cast", "memref.prefetch", "affine.",
    "tile.shuffle",
)  # fmt: skip
"""Prefixes of the names of ops that access no memory."""
