"""The work of loops: the scalar operations that they perform, and the bytes that they access.

It is counted at the affine stage, where each operation and access is explicit. An operation or a
load whose operands do not change in a loop counts once, before the loop: LLVM moves it there. A
load does not move out of a loop that writes to its buffer. An operation or a load that is repeated
counts once, too, unless its buffer is written in between; one whose result is not used does not
count, nor do accesses to a buffer at constant indices only, which LLVM keeps in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects import affine, func, memref, scf
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    IndexType,
    MemRefType,
    ModuleOp,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from riselang.dialects.memref import PrefetchOp
from riselang.lowering.loop_counts import NOMINAL_LENGTH, has_known_trip_count, trip_count
from riselang.lowering.runtime_checks import REPORT_FUNCTION
from riselang.term.cost import INDEX_BITS
from riselang.term.work import CALL_WORK, NO_WORK, Work, operation_work

LOAD_OPS = {
    "affine.load", "affine.vector_load", "memref.load", "vector.load", "vector.transfer_read",
    "vector.maskedload", "vector.gather",
}  # fmt: skip
STORE_OPS = {
    "affine.store", "affine.vector_store", "memref.store", "vector.store",
    "vector.transfer_write", "vector.maskedstore", "vector.scatter",
}  # fmt: skip
COMPUTING_DIALECTS = ("arith", "math", "vector")
INDEX_OPS = {"affine.apply", "affine.min", "affine.max"}
VECTOR_OPS = {"vector.fma": 2, "vector.reduction": 1}
"""The operations of each lane of a vector op; other vector ops only move lanes."""
LOOP_OPS = affine.ForOp | affine.ParallelOp | scf.ForOp | scf.ParallelOp | scf.WhileOp


def module_work(module: ModuleOp, name: str) -> Work:
    """Return the work of one call to a function of a module at the affine stage."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    return _Functions(functions).work(name)


class _Functions:
    """Counts the work of functions, and of each function only once."""

    def __init__(self, functions: dict[str, func.FuncOp]):
        self._functions = functions
        self._works: dict[str, Work] = {}

    def work(self, name: str) -> Work:
        if name not in self._works:
            self._works[name] = self._compute_work(name)
        return self._works[name]

    def _compute_work(self, name: str) -> Work:
        function = self._functions.get(name)
        if name == REPORT_FUNCTION:
            # A check that fails is the exception.
            return NO_WORK
        if function is None or function.is_declaration:
            return Work(CALL_WORK, 0)
        takes_buffers = any(isinstance(each, MemRefType) for each in function.function_type.inputs)
        if takes_buffers:
            return _LoopCounter(self).count(function.body.block)
        # A function on scalars is one operation whose result is defined for all operands.
        return NO_WORK if any(map(_is_uncounted, function.function_type.outputs)) else Work(1, 0)


@dataclass(frozen=True)
class _Loop:
    """A loop around the ops that are counted."""

    trip_count: int
    is_exact: bool
    written: frozenset[SSAValue]
    """The buffers that the loop writes."""


@dataclass(frozen=True)
class _Computation:
    """What an op without effects computes; equal ones have equal results."""

    op: str
    operands: tuple[SSAValue, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    type: Attribute
    buffers: frozenset[SSAValue]
    """The buffers that it reads."""


class _LoopCounter:
    """Counts the work of a function; each op counts in the outermost loop it can move to."""

    def __init__(self, functions: _Functions):
        self._functions = functions
        self._loops: list[_Loop] = []
        self._depths: dict[SSAValue, int] = {}
        """The number of loops in which a value changes, counted from the outermost."""
        self._buffers: dict[SSAValue, frozenset[SSAValue]] = {}
        self._available: dict[_Computation, SSAValue] = {}
        """The results of the ops before the current one that need not be computed again."""
        self._equals: dict[SSAValue, SSAValue] = {}
        """The result of an earlier op for the result of an equal one."""

    def count(self, block: Block) -> Work:
        for argument in block.args:
            self._depths[argument] = len(self._loops)
        outer, self._available = self._available, dict(self._available)
        work = sum([self._op_work(op) for op in block.ops], NO_WORK)
        self._available = outer
        return work

    def _op_work(self, op: Operation) -> Work:
        written = self._written_roots(op)
        self._forget_loads(written)
        if isinstance(op, LOOP_OPS):
            work = self._loop_work(op, written)
        elif op.regions:
            # The first branch of a conditional is not the exception.
            work = sum([self.count(block) for block in op.regions[0].blocks], NO_WORK)
        elif self._is_available(op):
            return NO_WORK
        else:
            depth = self._depth(op)
            for result in op.results:
                self._depths[result] = depth
            return self._repeat(self._single_work(op), depth)
        for result in op.results:
            self._depths[result] = len(self._loops)
        return work

    def _written_roots(self, op: Operation) -> frozenset[SSAValue]:
        return frozenset(each for buffer in _written(op) for each in self._roots(buffer))

    def _forget_loads(self, written: frozenset[SSAValue]) -> None:
        if written:
            self._available = {
                computation: value
                for computation, value in self._available.items()
                if written.isdisjoint(computation.buffers)
            }

    def _is_available(self, op: Operation) -> bool:
        """Whether an op need not be performed: its result is not used, or that of an earlier op.

        Otherwise, its result is available from now on.
        """
        if not _is_movable(op) or len(op.results) != 1:
            return False
        if op.results[0].first_use is None:
            return True
        operands = tuple(self._equals.get(operand, operand) for operand in op.operands)
        attributes = (*op.properties.items(), *op.attributes.items())
        buffers = frozenset(each for operand in op.operands for each in self._roots(operand))
        computation = _Computation(op.name, operands, attributes, op.results[0].type, buffers)
        value = self._available.setdefault(computation, op.results[0])
        self._equals[op.results[0]] = value
        self._depths[op.results[0]] = self._depths.get(value, len(self._loops))
        return value is not op.results[0]

    def _loop_work(self, op: Operation, written: frozenset[SSAValue]) -> Work:
        self._loops.append(_Loop(trip_count(op), has_known_trip_count(op), written))
        work = sum([self.count(block) for region in op.regions for block in region.blocks], NO_WORK)
        self._loops.pop()
        return work

    def _depth(self, op: Operation) -> int:
        """Return the number of loops around an op that it cannot leave."""
        if not _is_movable(op):
            return len(self._loops)
        depth = max([self._depths.get(operand, 0) for operand in op.operands], default=0)
        if op.name not in LOAD_OPS:
            return depth
        buffers = {each for operand in op.operands for each in self._roots(operand)}
        writing = [
            number
            for number, loop in enumerate(self._loops, 1)
            if not buffers.isdisjoint(loop.written)
        ]
        return max([depth, *writing])

    def _repeat(self, work: Work, depth: int) -> Work:
        if not work.total:
            return work
        loops = self._loops[:depth]
        runs = all(loop.trip_count for loop in self._loops)
        count = prod(loop.trip_count for loop in loops) if runs else 0
        return work.repeat(count, is_exact=all(loop.is_exact for loop in loops))

    def _roots(self, value: SSAValue) -> frozenset[SSAValue]:
        """Return the allocations and parameters that a buffer may be."""
        if not isinstance(value.type, MemRefType):
            return frozenset()
        if value not in self._buffers:
            owner = value.owner
            # A loop that carries buffers exchanges them.
            op = owner.parent_op() if isinstance(owner, Block) else owner
            sources = () if op is None or isinstance(op, func.FuncOp) else op.operands
            roots = frozenset(root for source in sources for root in self._roots(source))
            self._buffers[value] = roots or frozenset((value,))
        return self._buffers[value]

    def _single_work(self, op: Operation) -> Work:
        if isinstance(op, func.CallOp):
            return self._functions.work(op.callee.string_value())
        if op.name in LOAD_OPS:
            is_free = _is_in_registers(op.operands[0])
            return NO_WORK if is_free else Work(0, scalar_bytes(op.results[0].type))
        if op.name in STORE_OPS:
            is_free = _is_in_registers(op.operands[1])
            return NO_WORK if is_free else Work(0, scalar_bytes(op.operands[0].type))
        if isinstance(op, memref.CopyOp):
            return Work(0, 2 * buffer_bytes(op.source.type))
        return Work(_scalar_operations(op), 0)


def _is_in_registers(buffer: SSAValue) -> bool:
    """Whether a buffer on the stack is accessed only by affine ops at constant indices."""
    if not isinstance(buffer.owner, memref.AllocaOp):
        return False
    users = [use.operation for use in buffer.uses]
    return all(
        user.name.startswith("affine.")
        and user.name in LOAD_OPS | STORE_OPS
        and len(user.operands) == (1 if user.results else 2)
        for user in users
    )


def _is_movable(op: Operation) -> bool:
    """Whether an op has no effects."""
    if isinstance(op, func.CallOp):
        return not any(isinstance(operand.type, MemRefType) for operand in op.operands)
    is_computing = op.name.partition(".")[0] in COMPUTING_DIALECTS and op.name not in STORE_OPS
    return is_computing or op.name in LOAD_OPS or op.name in INDEX_OPS


def _written(loop: Operation) -> Iterator[SSAValue]:
    """Yield the buffers that the ops in a loop write, or may write."""
    for op in loop.walk():
        if isinstance(op, memref.CopyOp):
            yield op.destination
        elif not op.results and not isinstance(op, LOOP_OPS | PrefetchOp):
            operands = () if op.has_trait(IsTerminator) else op.operands
            yield from (each for each in operands if isinstance(each.type, MemRefType))


def _scalar_operations(op: Operation) -> int:
    dialect = op.name.partition(".")[0]
    if dialect not in COMPUTING_DIALECTS or not op.results:
        return 0
    types = [each.type for each in op.results]
    if _is_uncounted(op.results[0].type):
        return 0
    count = VECTOR_OPS.get(op.name, 0) if dialect == "vector" else operation_work(op.name)
    return count * max(map(_lanes, types))


def _is_uncounted(type: Attribute) -> bool:
    element = type.get_element_type() if isinstance(type, VectorType) else type
    return isinstance(element, IndexType) or element == i1


def _lanes(type: Attribute) -> int:
    return prod(type.get_shape()) if isinstance(type, VectorType) else 1


def scalar_bytes(type: Attribute) -> int:
    """The size of a scalar or vector in memory."""
    element = type.get_element_type() if isinstance(type, VectorType) else type
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else INDEX_BITS
    return _lanes(type) * ((bits + 7) // 8)


def buffer_bytes(type: Attribute) -> int:
    """The size of a buffer; the assumed size if it is known only at run time."""
    assert isinstance(type, MemRefType)
    lengths = (length if length >= 0 else NOMINAL_LENGTH for length in type.get_shape())
    return prod(lengths) * scalar_bytes(type.get_element_type())
