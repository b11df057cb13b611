"""Overlaps copies to shared memory with the computation that uses them.

A loop of a block copies the operands of each iteration to shared memory, and then computes with
them. If the program prefetches the operands, each iteration loads those of the next one to
registers before it computes, and stores them to shared memory afterwards. A buffer in shared memory
has two halves: an iteration computes with one of them while the other one is filled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, gpu, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, StringAttr, UnitAttr, VectorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from riselang.dialects.constants import index_constant
from riselang.lowering.gpu.barriers import CURRENT, NEXT, STAGE
from riselang.lowering.gpu.mapping import (
    Launch,
    constant_of,
    constant_trip_count,
    is_thread_loop,
    mapping_of,
)
from riselang.lowering.gpu.privatization import PRIVATE, access_indices, with_indices

PREFETCH = "memref.prefetch"
Load = memref.LoadOp | vector.LoadOp
Store = memref.StoreOp | vector.StoreOp


def pipeline_copies(kernel: gpu.FuncOp, launch: Launch) -> bool:
    """Pipeline the loops of a kernel that prefetch what they copy, and erase all prefetches.

    Returns whether there was such a loop.
    """
    loops = [op for op in kernel.walk() if isinstance(op, scf.ForOp)]
    pipelines = [_Pipeline(loop, _copies(loop, kernel, launch)) for loop in loops]
    pipelines = [pipeline for pipeline in pipelines if pipeline.copies]
    for pipeline in pipelines:
        pipeline.build()
    for op in list(kernel.walk()):
        if op.name == PREFETCH:
            op.detach()
            op.erase()
    return bool(pipelines)


@dataclass(frozen=True)
class _Copy:
    """A statement that copies from global memory to a buffer in shared memory."""

    statement: scf.ParallelOp
    target: SSAValue


def _copies(loop: scf.ForOp, kernel: gpu.FuncOp, launch: Launch) -> list[_Copy]:
    """Return the statements at the start of a loop that copy prefetched elements."""
    bounds = [constant_of(value) for value in (loop.lb, loop.ub, loop.step)]
    if loop.iter_args or bounds[0] != 0 or bounds[2] != 1 or (bounds[1] or 0) < 2:
        return []
    arguments = set(kernel.body.block.args)
    if any(_target(op) in arguments for op in loop.walk()):
        return []
    copies: list[_Copy] = []
    for op in loop.body.block.ops:
        if not isinstance(op, scf.ParallelOp):
            if op.regions:
                break
            continue
        target = _copy_target(op, arguments, launch)
        if target is None or not _is_used_only_in(target, loop):
            break
        copies.append(_Copy(op, target))
    return copies


def _target(op: Operation) -> SSAValue | None:
    """Return the buffer that an op stores to."""
    if isinstance(op, memref.StoreOp):
        return op.memref
    return op.base if isinstance(op, vector.StoreOp) else None


def _copy_target(
    statement: scf.ParallelOp, arguments: set[BlockArgument], launch: Launch
) -> SSAValue | None:
    """Return the buffer that a statement fills with prefetched elements of the arguments."""
    ops = list(statement.walk())
    for op in ops:
        if isinstance(op, scf.ParallelOp):
            part = mapping_of(op)
            if part is None or not is_thread_loop(op):
                return None
            if constant_trip_count(op) > launch.count(part):
                return None
        elif isinstance(op, Load):
            if _source(op) not in arguments:
                return None
        elif not isinstance(op, Store) and not op.name.startswith(COPY_PREFIXES):
            return None
    targets = {_target(op) for op in ops if isinstance(op, Store)}
    has_prefetch = any(op.name == PREFETCH for op in ops)
    return targets.pop() if has_prefetch and len(targets) == 1 else None


COPY_PREFIXES = ("arith.", "vector.extract", "scf.reduce", PREFETCH)
"""Prefixes of the names of ops in a copy, besides loads and stores."""


def _source(op: Load) -> SSAValue:
    return op.memref if isinstance(op, memref.LoadOp) else op.base


def _is_used_only_in(buffer: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a temporary is only loaded from and stored to in a loop."""
    inside = set(loop.walk())
    is_temporary = isinstance(buffer.owner, memref.AllocaOp | memref.AllocOp)
    accesses = all(
        use.operation in inside and access_indices(use) is not None
        for use in buffer.uses
        if not isinstance(use.operation, memref.DeallocOp)
    )
    return is_temporary and accesses


@dataclass(frozen=True)
class _Pipeline:
    loop: scf.ForOp
    copies: Sequence[_Copy]

    def build(self) -> None:
        """Rewrite the loop."""
        body = self.loop.body.block
        half, other, following = self._add_indices(body)
        zero = self._add_before_loop(index_constant(0)).results[0]
        last = body.last_op
        assert last is not None
        for copy in self.copies:
            halves = self._allocate(copy.target)
            self._clone(copy, zero, _store_to(halves, zero, CURRENT), self._add_before_loop)
            registers: list[SSAValue] = []
            self._clone_fetch(copy, following, registers)
            self._clone_store(copy, halves, other, registers, last)
            copy.statement.detach()
            copy.statement.erase()
            for use in list(copy.target.uses):
                if isinstance(use.operation, memref.DeallocOp):
                    use.operation.detach()
                    use.operation.erase()
                else:
                    _replace(use.operation, halves, half, CURRENT)
            allocation = copy.target.owner
            assert isinstance(allocation, Operation)
            allocation.detach()
            allocation.erase()

    def _add_before_loop(self, op: Operation) -> Operation:
        block = self.loop.parent
        assert block is not None
        block.insert_op_before(op, self.loop)
        return op

    def _add_indices(self, body: Block) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Return the halves of this iteration and of the next, and the next iteration itself.

        The last iteration copies its own operands once more, which are in bounds.
        """
        first = body.first_op
        assert first is not None
        end = constant_of(self.loop.ub)
        assert end is not None
        one, two, last = (index_constant(number) for number in (1, 2, end - 1))
        index = body.args[0]
        half = arith.RemUIOp(index, two)
        other = arith.SubiOp(one, half)
        successor = arith.AddiOp(index, one)
        following = arith.MinUIOp(successor, last)
        body.insert_ops_before([one, two, last, half, other, successor, following], first)
        return half.results[0], other.results[0], following.results[0]

    def _allocate(self, buffer: SSAValue) -> SSAValue:
        """Allocate a buffer with two halves."""
        type = buffer.type
        assert isinstance(type, MemRefType)
        halves = memref.AllocaOp.get(type.element_type, 64, [2, *type.get_shape()])
        halves.location = self.loop.location
        return self._add_before_loop(halves).results[0]

    def _clone(
        self,
        copy: _Copy,
        iteration: SSAValue,
        change: Callable[[Operation], None],
        add: Callable[[Operation], Operation],
    ) -> None:
        """Add a copy of a statement for another iteration, and change the ops in it."""
        clone = copy.statement.clone({self.loop.body.block.args[0]: iteration})
        clone.attributes |= copy.statement.attributes
        add(clone)
        for op in list(clone.walk()):
            if op.name == PREFETCH:
                op.detach()
                op.erase()
            else:
                change(op)

    def _clone_fetch(self, copy: _Copy, following: SSAValue, registers: list[SSAValue]) -> None:
        """Load the elements of the next iteration to registers."""

        def fetch(op: Operation) -> None:
            block = op.parent
            assert block is not None
            if isinstance(op, Store):
                op.detach()
                op.erase()
            elif isinstance(op, Load):
                register, store = _register_store(op)
                self._add_before_loop(register)
                registers.append(register.results[0])
                block.insert_ops_after(store, op)

        def add(op: Operation) -> Operation:
            block = copy.statement.parent
            assert block is not None
            block.insert_op_before(op, self._compute())
            return op

        self._clone(copy, following, fetch, add)

    def _compute(self) -> Operation:
        """Return the first statement after the copies."""
        after = self.copies[-1].statement.next_op
        while after is not None and not after.regions and after.next_op is not None:
            after = after.next_op
        assert after is not None
        return after

    def _clone_store(
        self,
        copy: _Copy,
        halves: SSAValue,
        other: SSAValue,
        registers: Sequence[SSAValue],
        last: Operation,
    ) -> None:
        """Store the registers to the half for the next iteration."""
        remaining = iter(registers)
        store = _store_to(halves, other, NEXT)

        def change(op: Operation) -> None:
            if isinstance(op, Load):
                _load_register(op, next(remaining))
            else:
                store(op)

        def add(op: Operation) -> Operation:
            block = last.parent
            assert block is not None
            block.insert_op_before(op, last)
            return op

        self._clone(copy, self.loop.body.block.args[0], change, add)


def _register_store(op: Load) -> tuple[Operation, list[Operation]]:
    """Return a private buffer for a loaded value, and ops that store the value to it."""
    type = op.results[0].type
    zero = index_constant(0)
    if isinstance(type, VectorType):
        register = memref.AllocaOp.get(type.element_type, 64, type.get_shape())
        store: Operation = vector.StoreOp(op.results[0], register.memref, [zero])
    else:
        register = memref.AllocaOp.get(type, 64, [1])
        store = memref.StoreOp.get(op.results[0], register.memref, [zero])
    register.attributes[PRIVATE] = UnitAttr()
    return register, [zero, store]


def _load_register(op: Load, register: SSAValue) -> None:
    """Replace a load with one from a private buffer."""
    block = op.parent
    assert block is not None
    zero = index_constant(0)
    load = with_indices(op, register, [zero.result])
    block.insert_ops_before([zero, load], op)
    op.results[0].replace_all_uses_with(load.results[0])
    op.detach()
    op.erase()


def _store_to(halves: SSAValue, half: SSAValue, stage: str) -> Callable[[Operation], None]:
    """Return a function that lets stores go to one half of a buffer."""

    def change(op: Operation) -> None:
        if isinstance(op, Store):
            _replace(op, halves, half, stage)

    return change


def _replace(op: Operation, halves: SSAValue, half: SSAValue, stage: str) -> None:
    """Let a load or store access one half of a buffer."""
    block = op.parent
    assert block is not None
    assert isinstance(op, Load | Store)
    access = with_indices(op, halves, [half, *op.indices])
    access.attributes[STAGE] = StringAttr(stage)
    access.location = op.location
    block.insert_op_before(access, op)
    for old, new in zip(op.results, access.results, strict=True):
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()
