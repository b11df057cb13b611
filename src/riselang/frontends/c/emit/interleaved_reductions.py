"""Vectorization of interleaved reductions: one lane for each, so that each keeps its order.

Innermost loops whose iterations add to several elements, one for each of the unrolled iterations of
an outer loop, keep these elements in the lanes of vectors. What an iteration reads in another row
for each lane is loaded for several iterations at a time, row by row, and transposed in registers:
loading the lanes one by one takes longer. Lanes compute what iterations did, so results are bitwise
identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter, substitute_names
from riselang.frontends.c.emit.loop_vectorization import (
    StatementInstance,
    VectorEmitter,
    access_stride,
    is_vectorizable,
    walk_values,
)
from riselang.frontends.c.emit.registers import register_elements
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Assign
from riselang.lowering.tiles import ELEMENT_SIZES, chunk_length, extract_column
from riselang.support.machine import this_machine


class LaneElements(Enum):
    """Which elements an access reads for the lanes of a vector."""

    SAME = "the same element for all"
    CONTIGUOUS = "contiguous elements"
    ROWS = "elements of different rows"


@dataclass(frozen=True)
class ReductionGroup:
    """Instances of a statement that are the lanes of one vector."""

    instances: tuple[StatementInstance, ...]

    @property
    def body(self) -> Assign:
        body = self.instances[0].statement.body
        assert isinstance(body, Assign)
        return body

    def rows(self, access: Access) -> list[list[Linear]]:
        """Return the indices of an access in each lane."""
        found = [instance.indices(access) for instance in self.instances]
        return [indices for indices in found if indices is not None]

    def lane_elements(self, access: Access) -> LaneElements:
        first, *others = self.rows(access)
        if all(indices == first for indices in others):
            return LaneElements.SAME
        lanes = enumerate(others, start=1)
        if all(indices == [*first[:-1], first[-1] + Linear(lane)] for lane, indices in lanes):
            return LaneElements.CONTIGUOUS
        return LaneElements.ROWS


def reduction_groups(
    scop: Scop, instances: Sequence[StatementInstance], loop: str
) -> list[ReductionGroup] | None:
    """Return the vectors of an innermost loop over interleaved reductions; None if it is not."""
    statement = instances[0].statement
    body, count = statement.body, len(instances)
    if count < 2 or any(each.statement is not statement for each in instances):
        return None
    if not is_vectorizable(statement) or not isinstance(body, Assign):
        return None
    size = body.target.type.bits // 8
    lanes = min(count, this_machine().lanes(size))
    if size not in ELEMENT_SIZES or lanes < 2 or count % lanes or lanes & (lanes - 1):
        return None
    written = {each.element for each in register_elements(scop, instances, loop) if each.is_written}
    targets = [instance.indices(body.target) for instance in instances]
    elements = {(body.target.variable, tuple(each)) for each in targets if each is not None}
    if len(elements) < count or not elements <= written:
        return None
    groups = [
        ReductionGroup(tuple(instances[start : start + lanes])) for start in range(0, count, lanes)
    ]
    return groups if all(_are_rows_contiguous(group, loop) for group in groups) else None


def _are_rows_contiguous(group: ReductionGroup, loop: str) -> bool:
    """Whether each lane reads contiguous elements of its row, or the same one."""
    instance, rows = group.instances[0], list[Access]()
    for part in walk_values(group.body.value):
        if isinstance(part, Access) and part in instance.statement.access_relations:
            if access_stride(instance, part, loop) is None:
                if group.lane_elements(part) is LaneElements.ROWS:
                    return False
            elif group.lane_elements(part) is LaneElements.ROWS:
                rows.append(part)
    strides = [access_stride(instance, row, loop) for row in rows]
    return 1 in strides and all(stride in (0, 1) for stride in strides)


class ReductionEmitter(VectorEmitter):
    """Emits iterations of interleaved reductions."""

    def __init__(self, emitter: ExpressionEmitter, group: ReductionGroup, loop: str):
        super().__init__(emitter, len(group.instances), loop, {})
        self._group = group
        self._instance = group.instances[0]
        self._invariants: dict[Access, SSAValue] = {}
        """Vectors of elements that do not change in the loop."""
        self._rows: dict[Access, list[SSAValue]] = {}
        """For each access to rows, the elements of several iterations, row by row."""
        self._column = 0
        self._value: SSAValue | None = None
        body = group.body
        self.columns = min(self._lanes, chunk_length(self._vector_type(body.target.type)))
        """The number of iterations whose elements are transposed together."""

    def load_invariants(self) -> SSAValue:
        """Load what does not change before the loop, and return the elements to add to."""
        for access in self._array_reads():
            if not self._is_target(access) and self._stride(access) == 0:
                self._invariants[access] = self._load_lanes(access)
        return self._load_lanes(self._group.body.target)

    def emit_columns(self, value: SSAValue, count: int) -> SSAValue:
        """Emit `count` iterations, given the elements to add to; return the sums."""
        self._rows = {
            access: self._load_rows(access, count)
            for access in self._array_reads()
            if count > 1 and self._needs_rows(access)
        }
        for self._column in range(count):
            self._value = value
            value = self._emit_value(self._group.body.value)
        return value

    def store_sums(self, value: SSAValue) -> None:
        target = self._group.body.target
        buffer = self._out.memory[target.variable]
        if self._group.lane_elements(target) is LaneElements.CONTIGUOUS:
            indices = self._indices_at(self._group.rows(target)[0], 0)
            self._out.insert(vector.StoreOp(value, buffer, indices))
            return
        for lane, indices in enumerate(self._group.rows(target)):
            element = self._out.add(vector.ExtractOp(value, [lane], target.type.mlir_type))
            self._out.insert(memref.StoreOp.get(element, buffer, self._indices_at(indices, 0)))

    def _array_reads(self) -> list[Access]:
        relations = self._group.instances[0].statement.access_relations
        parts = walk_values(self._group.body.value)
        return [each for each in parts if isinstance(each, Access) and each in relations]

    def _stride(self, access: Access) -> int | None:
        return access_stride(self._group.instances[0], access, self._loop)

    def _is_target(self, access: Access) -> bool:
        target = self._group.body.target
        return access.variable is target.variable and (
            self._group.rows(access) == self._group.rows(target)
        )

    def _needs_rows(self, access: Access) -> bool:
        return (
            self._group.lane_elements(access) is LaneElements.ROWS
            and not self._is_target(access)
            and self._stride(access) == 1
        )

    def _indices_at(self, indices: Sequence[Linear], column: int) -> list[SSAValue]:
        """Emit indices, in an iteration after the current one."""
        later = {self._loop: Linear.of(self._loop) + Linear(column)}
        return [self._out.indices.emit_linear(substitute_names(each, later)) for each in indices]

    def _load_rows(self, access: Access, count: int) -> list[SSAValue]:
        buffer = self._out.memory[access.variable]
        type: VectorType[Attribute] = VectorType(access.type.mlir_type, [count])
        return [
            self._out.add(vector.LoadOp(buffer, self._indices_at(indices, 0), type))
            for indices in self._group.rows(access)
        ]

    def _load_lanes(self, access: Access) -> SSAValue:
        """Load the elements of an access for all lanes in the current iteration."""
        buffer, rows = self._out.memory[access.variable], self._group.rows(access)
        type = self._vector_type(access.type)
        kind = self._group.lane_elements(access)
        if kind is LaneElements.CONTIGUOUS:
            indices = self._indices_at(rows[0], self._column)
            return self._out.add(vector.LoadOp(buffer, indices, type))
        loads = rows[:1] if kind is LaneElements.SAME else rows
        elements = [
            self._out.add(memref.LoadOp.get(buffer, self._indices_at(each, self._column)))
            for each in loads
        ]
        lanes = self._broadcast(elements[0], access.type)
        for lane, element in enumerate(elements[1:], start=1):
            lanes = self._out.add(vector.InsertOp(element, lanes, [lane]))
        return lanes

    def _emit_access(self, access: Access) -> SSAValue:
        if access not in self._group.instances[0].statement.access_relations:
            return self._broadcast(self._out.emit_value(access), access.type)
        if self._is_target(access):
            assert self._value is not None
            return self._value
        if access in self._invariants:
            return self._invariants[access]
        if access in self._rows:
            return extract_column(self._rows[access], self._column, self._out)
        return self._load_lanes(access)
