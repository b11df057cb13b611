"""Finds arrays that are computed where they are read, but should be stored in a buffer.

After phase 1, the elements of a `map` that is only read are computed at each read. This saves the
buffer, but reading an element often repeats its computation, and reading a part of an element
repeats all loops that compute the element. Both are counted here: ops are visited from the last to
the first, so that all reads of an array are known when its op is visited. An array is stored if
this reduces the work: the operations, and the bytes that are loaded and stored.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.dialects.func import CallOp
from xdsl.ir import Attribute, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import READ_OPS
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.pattern_registry import AS_SCALAR
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    contains_array,
    leaves,
)
from riselang.lowering.loop_counts import NOMINAL_LENGTH, constant_value, is_parallel, trip_count
from riselang.lowering.loop_work import buffer_bytes, scalar_bytes
from riselang.nat import Nat
from riselang.term.work import operation_work

MIN_GAIN = 1.05
"""How many times as much work reads without a buffer must be for a buffer to pay off."""

SLOW_OPS = {
    "arith.divf": 8, "math.sqrt": 8, "arith.divsi": 8, "arith.divui": 8, "arith.remsi": 8,
    "arith.remui": 8, "arith.remf": 8,
}  # fmt: skip
"""Operations that take as long as many others, also in vectors."""

ElementsOp = codegen.MapReadOp | codegen.GenerateOp
"""The ops whose elements are computed where they are read."""
IndirectOp = ElementsOp | codegen.GatherOp
"""The ops whose elements cost more to read than those of a buffer."""
Positions = tuple[int, ...]
"""The positions in pairs that a read selects, the innermost first."""


def _operation_work(op: str) -> int:
    return SLOW_OPS.get(op, operation_work(op))


@dataclass
class _Reads:
    """How many scalars of each component of a value are read."""

    counts: dict[Positions, float] = field(default_factory=dict[Positions, float])
    """Those that are computed, if the value is not stored."""
    loads: dict[Positions, float] = field(default_factory=dict[Positions, float])
    """Those that are loaded, if it is: one lane, where all lanes of a vector are computed."""
    in_parallel: bool = False
    """Whether a parallel loop reads it."""

    @property
    def total(self) -> float:
        return sum(self.counts.values())

    def add(self, positions: Positions, count: float, loads: float, in_parallel: bool) -> None:
        self.counts[positions] = self.counts.get(positions, 0) + count
        self.loads[positions] = self.loads.get(positions, 0) + loads
        self.in_parallel |= in_parallel


@dataclass(frozen=True)
class Recomputed:
    """An array that should be stored, and the work to compute it once."""

    op: IndirectOp
    work: float
    in_parallel: bool
    """Whether a parallel loop reads it, and no parallel loop contains it."""


def recomputed_arrays(
    ops: Sequence[Operation], candidates: Container[Operation]
) -> list[Recomputed]:
    """Return the arrays among `candidates` that should be stored; `ops` are those of a program."""
    counter = _Counter(candidates)
    counter.count(ops, 1)
    return counter.recomputed


class _Counter:
    """Counts reads and work, from the last op of a program to the first."""

    def __init__(self, candidates: Container[Operation]):
        self.recomputed: list[Recomputed] = []
        self._candidates = candidates
        self._reads: dict[SSAValue, _Reads] = {}
        self._parallel_loops = 0

    def count(self, ops: Sequence[Operation], times: float) -> float:
        """Count the reads of ops that run `times` times, and return their work."""
        return sum([self._count_op(op, times) for op in reversed(ops)])

    def _count_op(self, op: Operation, times: float) -> float:
        match op:
            case codegen.MapReadOp() | codegen.GenerateOp():
                return self._count_elements(op, times)[0]
            case codegen.GatherOp() if op in self._candidates:
                return self._count_gather(op, times)
            case EmbedOp():
                for operand in op.arguments:
                    self._read(operand, (), times * _lanes(operand.type))
                operations = sum([_operation_work(inner.name) for inner in op.body.block.ops])
                return times * operations * _lanes(op.result.type)
            case codegen.AssignOp():
                self._read(op.value, (), times * _lanes(op.value.type))
                return times * _component_bytes(op.value.type, ())
            case CallOp():
                # A function reads and writes its buffers at least once.
                return times * sum([_buffer_bytes(operand.type) for operand in op.operands])
            case codegen.CastOp():
                if not isinstance(op.result.type, RiseType):
                    for source in op.sources:
                        self._read(source, (), times * _lanes(source.type))
                return 0
            case _:
                return self._count_view(op, times) if op.results else self._count_loop(op, times)

    def _count_loop(self, op: Operation, times: float) -> float:
        self._parallel_loops += is_parallel(op)
        inner_times = times * trip_count(op)
        blocks = [block for region in op.regions for block in region.blocks]
        work = sum([self.count(list(block.ops), inner_times) for block in blocks])
        self._parallel_loops -= is_parallel(op)
        return work

    def _count_view(self, op: Operation, times: float) -> float:
        """Count what an op reads that selects or rearranges parts of arrays."""
        if op.regions:
            return self._count_loop(op, times)
        reads, type = self._reads.pop(op.results[0], None), op.results[0].type
        if reads is None:
            return 0
        # A value that contains no array is read once, where it is defined.
        is_scalar = isinstance(type, RiseType) and not contains_array(type)
        for positions, count in reads.counts.items():
            for operand, inner, fraction in _sources(op, positions):
                count_here, loads = count, reads.loads[positions]
                if is_scalar:
                    # An element of an array, or the component of a pair that is read.
                    is_element = contains_array(_rise_type(operand))
                    part, path = (type, positions) if is_element else (operand.type, inner)
                    count_here = loads = times * _component_size(part, path)
                loads *= min(fraction, 1)
                self._read(operand, inner, count_here * fraction, reads.in_parallel, loads)
        return 0

    def _read(
        self,
        value: SSAValue,
        positions: Positions,
        count: float,
        in_parallel: bool = False,
        loads: float | None = None,
    ) -> None:
        in_parallel |= self._parallel_loops > 0
        loads = count if loads is None else loads
        self._reads.setdefault(value, _Reads()).add(positions, count, loads, in_parallel)

    def _count_elements(self, op: ElementsOp, times: float) -> tuple[float, float]:
        """Return the work of computing the elements, and that of computing each of them once."""
        reads = self._reads.pop(op.result, None)
        if reads is None or not reads.total:
            return 0, 0
        outer_reads, self._reads = self._reads, {}
        loop_work, nested_work, nested_once = self._count_body(op, reads)
        inner_reads, self._reads = self._reads, outer_reads
        type = op.result.type
        assert isinstance(type, ArrayType)
        scalars = sum(_component_size(type, positions) for positions in reads.counts) * times
        fraction = scalars / reads.total
        elements = _length(type) * times / reads.total * _lanes(type)
        loads = self._outside_loads(op, inner_reads)
        stores = sum(_component_bytes(type, positions) for positions in reads.counts) * times
        if _returns_buffer(op):
            # The loops in the body store the elements, wherever the buffer is.
            stores = 0
        # A loop that stores the elements stores the arrays in them by loops as well.
        once = loop_work * elements + min(nested_work * fraction, nested_once * elements)
        stored_work = once + stores
        reloads = _read_bytes(type, reads)
        work = loop_work + nested_work
        # A body with loops loads all that an element needs, even if only a part of it is read, and
        # so do the loops in the arrays that it reads.
        scale = once / work if work else fraction
        pays_off = work + loads > MIN_GAIN * (stored_work + loads * scale + reloads)
        is_stored = op in self._candidates and pays_off
        self._read_outside(op, inner_reads, scale if is_stored else 1)
        if not is_stored:
            return work, once
        in_parallel = reads.in_parallel and not self._parallel_loops
        self.recomputed.append(Recomputed(op, stored_work, in_parallel))
        return stored_work + reloads, stored_work + reloads

    def _count_gather(self, op: codegen.GatherOp, times: float) -> float:
        """Count the reads of elements at indices, and return the work of storing them, if any.

        The index of a row is loaded once for all of its elements.
        """
        reads = self._reads.get(op.result)
        type = op.result.type
        if reads is None or not reads.total:
            return self._count_view(op, times)
        size = sum(_component_size(type, positions) for positions in reads.counts)
        stores = sum(_component_bytes(type, positions) for positions in reads.counts) * times
        index_bytes = _length(type) * times * scalar_bytes(IndexType())
        repetitions = reads.total / max(size * times, 1)
        # The elements are loaded from the source and stored, and their indices are loaded once.
        if index_bytes * repetitions <= MIN_GAIN * (index_bytes + 2 * stores):
            return self._count_view(op, times)
        del self._reads[op.result]
        for positions in reads.counts:
            self._read(op.source, positions, _component_size(type, positions) * times)
        self._read(op.indices, (), _length(type) * times)
        in_parallel = reads.in_parallel and not self._parallel_loops
        self.recomputed.append(Recomputed(op, index_bytes + 2 * stores, in_parallel))
        return index_bytes + 2 * stores

    def _outside_loads(self, op: ElementsOp, reads: dict[SSAValue, _Reads]) -> float:
        """Return the bytes that the body reads from arrays outside of it."""
        is_map = isinstance(op, codegen.MapReadOp)
        return sum([
            _read_bytes(value.type, inner)
            for value, inner in reads.items()
            if contains_array(_rise_type(value)) or (is_map and value.owner is op.body.block)
        ])  # fmt: skip

    def _count_body(self, op: ElementsOp, reads: _Reads) -> tuple[float, float, float]:
        """Return the work of the loops in the body, and that of arrays it reads lazily.

        The last result is the work of computing each element of these arrays once.
        """
        body, evaluations = op.body.block, reads.total / _lanes(op.result.type)
        loop_work = nested_work = nested_once = 0.0
        for inner in reversed(body.ops):
            if isinstance(inner, ReturnOp):
                for positions, count in reads.counts.items():
                    loads = reads.loads[positions]
                    self._read(inner.values[0], positions, count, reads.in_parallel, loads)
            elif isinstance(inner, ElementsOp):
                work, once = self._count_elements(inner, evaluations)
                nested_work, nested_once = nested_work + work, nested_once + once
            else:
                loop_work += self._count_op(inner, evaluations)
        return loop_work, nested_work, nested_once

    def _read_outside(self, op: ElementsOp, reads: dict[SSAValue, _Reads], scale: float) -> None:
        """Add the reads of values from outside of the body, and those of the mapped array."""
        for value, inner in reads.items():
            if value.owner is op.body.block:
                if not isinstance(op, codegen.MapReadOp):
                    continue
                value = op.source
            for positions, count in inner.counts.items():
                loads = inner.loads[positions] * scale
                self._read(value, positions, count * scale, inner.in_parallel, loads)


def _returns_buffer(op: ElementsOp) -> bool:
    """Whether the loops in a body store its result in a buffer."""
    end = op.body.block.last_op
    owner = end.operands[0].owner if isinstance(end, ReturnOp) else None
    return isinstance(owner, codegen.CastOp) and owner.parent is op.body.block


def _sources(op: Operation, positions: Positions) -> Iterator[tuple[SSAValue, Positions, float]]:
    """Yield the operands that a read leads to, and which fraction of the reads leads to each."""
    operands = [operand for operand in op.operands if isinstance(operand.type, RiseType)]
    if isinstance(op, codegen.FstOp | codegen.SndOp):
        yield operands[0], (*positions, int(isinstance(op, codegen.SndOp))), 1
    elif positions and isinstance(op, codegen.ZipOp | codegen.TupleOp):
        yield operands[positions[-1]], positions[:-1], 1
    elif isinstance(op, READ_OPS[AS_SCALAR.name]):
        # Each lane that is read computes all of its vector, unless it is at a constant index: LLVM
        # merges the computations of one vector in a block.
        is_unrolled = _is_read_at_constants(op.results[0])
        yield operands[0], positions, 1 if is_unrolled else _lanes(operands[0].type)
    elif isinstance(op, codegen.GatherOp):
        yield op.indices, (), 1
        yield op.source, positions, 1
    elif isinstance(op, codegen.ListOp | codegen.ConcatOp):
        sizes = [_component_size(operand.type, ()) for operand in operands]
        for operand, size in zip(operands, sizes, strict=True):
            yield operand, positions, size / max(sum(sizes), 1)
    elif isinstance(op, codegen.PadConstOp):
        fraction = _length(op.source.type) / max(_length(op.result.type), 1)
        yield op.value, positions, 1 - fraction
        yield op.source, positions, fraction
    else:
        for operand in operands:
            yield operand, positions, 1


def _is_read_at_constants(array: SSAValue) -> bool:
    """Whether only elements at constant indices of an array are read."""
    users = [use.operation for use in array.uses]
    return all(
        isinstance(user, codegen.IdxOp) and constant_value(user.index) is not None for user in users
    )


def _buffer_bytes(type: Attribute) -> int:
    return buffer_bytes(type) if isinstance(type, MemRefType) else 0


def _rise_type(value: SSAValue) -> RiseType:
    assert isinstance(value.type, RiseType)
    return value.type


def _read_bytes(type: object, reads: _Reads) -> float:
    """The number of bytes that reads of a value in a buffer load."""
    return sum([
        count * _component_bytes(type, positions) / max(_component_size(type, positions), 1)
        for positions, count in reads.loads.items()
    ])  # fmt: skip


def _lanes(type: object) -> int:
    """The number of lanes of the vectors in a type; 1 if it contains no vectors."""
    while isinstance(type, ArrayType):
        type = type.element
    return _value(type.length) if isinstance(type, VectorType) else 1


def _length(type: object) -> int:
    assert isinstance(type, ArrayType)
    return _value(type.length)


def _component_size(type: object, positions: Positions) -> int:
    """The number of scalars in a component of a value."""
    return sum(count for count, _ in _component_leaves(type, positions))


def _component_bytes(type: object, positions: Positions) -> int:
    """The size of a component of a value in memory."""
    return sum(
        count * scalar_bytes(scalar.element) for count, scalar in _component_leaves(type, positions)
    )


def _component_leaves(type: object, positions: Positions) -> Iterator[tuple[int, ScalarType]]:
    """Yield the scalars in a component of a value, each with how many there are."""
    assert isinstance(type, RiseType)
    count = 1
    remaining = list(positions)
    while remaining and isinstance(type, ArrayType | VectorType | TupleType):
        if isinstance(type, TupleType):
            type = components(type)[remaining.pop()]
        else:
            count, type = count * _value(type.length), type.element
    for lengths, scalar in leaves(type):
        yield count * prod(map(_value, lengths)), scalar


def _value(length: Nat) -> int:
    return length.constant if length.is_constant else NOMINAL_LENGTH
