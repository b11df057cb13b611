"""Phase 2, stores: one store at the end of a path, under the guards that the path collects.

A vector is stored as a whole if its lanes are contiguous, and lane by lane if the end of the array
may be inside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref
from xdsl.ir import Block, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import (
    VectorType,
)
from riselang.lowering.buffer_access import (
    Path,
    array_type_of,
    rise_type_of,
)
from riselang.lowering.guarded_stores import GuardedStore, GuardedStores
from riselang.lowering.lane_access import depends_on_lane, substitute_lane
from riselang.lowering.path_steps import is_in_empty_array
from riselang.lowering.tiles import tile_height, transpose_columns
from riselang.nat import (
    Nat,
    is_less,
    is_nonnegative,
)


@dataclass(frozen=True)
class _Column:
    """A vector to be stored whose lanes are not contiguous."""

    value: SSAValue
    buffer: SSAValue
    indices: Sequence[Nat]
    """The last index does not depend on the lane; others do."""
    lane: Nat
    builder: Builder
    is_nontemporal: bool = False

    def follows(self, previous: _Column) -> bool:
        """Whether each lane is stored right after the same lane of the other vector."""
        is_same = self.buffer is previous.buffer and self.value.type == previous.value.type
        *outer, last = self.indices
        *previous_outer, end = previous.indices
        return is_same and outer == previous_outer and last == end + 1


class Stores(GuardedStores):
    """Stores through access paths."""

    def __init__(self) -> None:
        super().__init__()
        self.can_fail = False
        """Whether the function has checks that may fail."""
        self.pending_columns: list[_Column] = []
        """Pending vectors, to be stored together with the following columns; they must be stored
        before the next op that reads memory."""

    def can_be_empty(self, array: SSAValue) -> bool:
        """Whether the array may be empty: then index 0, used after a failed check, is invalid."""
        least = array_type_of(array).length - 1
        return self.can_fail and not is_nonnegative(least, self.facts(least))

    def store(self, value: SSAValue, target: SSAValue, builder: Builder, path: Path = ()) -> None:
        """Store a scalar, or a vector: as a whole, or lane by lane."""
        type = rise_type_of(target)
        if isinstance(type, VectorType) and not path:
            self.store_vector(value, target, type, builder)
            return
        self.store_columns()
        self.guards = []
        while not isinstance(op := target.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            target, path = self.follow_op(op, path)
            if is_in_empty_array(rise_type_of(target), path):
                return
            if has_computed_index(op) and self.can_be_empty(target):
                builder = self.emit_unless_empty(target, builder)
            path = self.shorten_path(rise_type_of(target), path, builder)
        buffer, indices = self.address(op, path)

        def store_element(builder: Builder) -> None:
            self.store_scalar(value, buffer, indices, builder)

        guards = tuple(self.unproven_guards(self.guards))
        self.store_under_guards(GuardedStore(guards, (), buffer, store_element), builder)

    def store_vector(
        self, value: SSAValue, target: SSAValue, type: VectorType, builder: Builder
    ) -> None:
        lane = self.lane_variable(type.length)
        address, path = target, (lane,)
        self.guards, self.is_nontemporal = [], False
        while not isinstance(op := address.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            if self.can_fail and has_computed_index(op):
                break
            address, path = self.follow_op(op, path)
        is_somewhere = not is_in_empty_array(rise_type_of(address), path) and not self.is_deep(path)
        if isinstance(op, codegen.CastOp) and is_somewhere:
            self.store_lanes(value, op, path, lane, builder)
            return
        self.store_columns()
        for number in range(type.length.constant):
            index = Nat.const(number)
            self.store(self.extract_lane(value, index, builder), target, builder, (index,))

    def store_lanes(
        self, value: SSAValue, op: codegen.CastOp, path: Path, lane: Nat, builder: Builder
    ) -> None:
        """Store a vector along the path of its lanes: as a whole, or each lane that is in bounds.

        Some lanes are out of bounds if the end of a padded array is inside of the vector.
        """
        buffer, indices = self.address(op, path)
        unproven, start = self.unproven_guards(self.guards), None
        if self.has_addressable_lanes(buffer):
            start = self.contiguous_start(indices, lane)
        if not unproven and start is None and not depends_on_lane((indices[-1],), lane):
            self.defer_column(_Column(value, buffer, indices, lane, builder, self.is_nontemporal))
            return
        self.store_columns()
        shared = tuple(guard for guard in unproven if not depends_on_lane((guard,), lane))
        ends = tuple(guard for guard in unproven if guard not in shared)
        column = _Column(value, buffer, indices, lane, builder, self.is_nontemporal)
        if start is None or len(ends) > 1:

            def store_each_lane(builder: Builder) -> None:
                self.store_each_lane(replace(column, builder=builder), ends)

            store = GuardedStore(shared, (), buffer, None, store_each_lane)
        else:
            store = self.contiguous_store(column, start, shared, ends)
        self.store_under_guards(store, builder)

    def contiguous_store(
        self,
        column: _Column,
        start: Sequence[Nat],
        guards: tuple[Nat, ...],
        ends: tuple[Nat, ...],
    ) -> GuardedStore:
        """Return the store of a vector to consecutive elements, which has at most one end."""
        value, buffer, lane = column.value, column.buffer, column.lane

        def store_all(builder: Builder) -> None:
            self.store_contiguous_vector(
                value, buffer, start, builder, is_nontemporal=column.is_nontemporal
            )

        def store_some(builder: Builder) -> None:
            (end,) = ends
            if not self.has_unit_stride(-end, lane) or not self.can_mask(buffer):
                self.store_each_lane(replace(column, builder=builder), ends)
                return
            mask = self.mask_below(self.value_at_first_lane(end, lane) + 1, lane, builder)
            self.store_masked_vector(value, buffer, start, mask, builder)

        last_ends = tuple(self.value_at_last_lane(end, lane) for end in ends)
        if any(is_less(last, Nat.const(0), self.facts(last)) for last in last_ends):
            return GuardedStore(guards, (), buffer, None, store_some)
        is_whole = all(self.is_uniform_over_lanes(end, lane) for end in ends)
        return GuardedStore(guards, last_ends, buffer, store_all, None if is_whole else store_some)

    def defer_column(self, column: _Column) -> None:
        """Defer storing a column, to store it together with the columns that follow it."""
        if self.pending_columns and not column.follows(self.pending_columns[-1]):
            self.store_columns()
        self.pending_columns.append(column)

    def store_each_lane(self, column: _Column, ends: Sequence[Nat] = ()) -> None:
        """Store the lanes of a vector one by one, each only if it is in bounds."""
        lane = column.lane
        for number in range(self.lane_count(lane)):
            guards = self.unproven_guards([substitute_lane(end, lane, number) for end in ends])
            if any(is_less(guard, Nat.const(0), self.facts(guard)) for guard in guards):
                continue
            guarded = self.emit_guards(guards, column.builder)
            scalar = self.extract_lane(column.value, Nat.const(number), guarded)
            indices = self.indices_at_lane(column.indices, lane, number)
            self.store_scalar(scalar, column.buffer, indices, guarded)

    def store_columns(self) -> None:
        """Store the pending columns: row by row where they form a tile."""
        columns, self.pending_columns = self.pending_columns, []
        while columns:
            first, builder = columns[0], columns[-1].builder
            count = tile_height(first.value.type, len(columns))
            tile, columns = columns[:count], columns[count:]
            starts = [self.indices_at_lane(first.indices, first.lane, number)
                      for number in range(self.lane_count(first.lane))]  # fmt: skip
            if count == 1 or not all(map(self.is_single_affine_map, starts)):
                for column in tile:
                    self.store_each_lane(column)
                continue
            rows = transpose_columns([column.value for column in tile], builder)
            for row, start in zip(rows, starts, strict=True):
                self.store_contiguous_vector(
                    row, first.buffer, start, builder, is_nontemporal=first.is_nontemporal
                )

    def store_scalar(
        self, value: SSAValue, buffer: SSAValue, indices: Sequence[Nat], builder: Builder
    ) -> None:
        if self.is_affine(indices):
            map, operands = self.affine_map(indices)
            store_operands = [value, buffer, *operands]
            builder.insert(affine.StoreOp.create(operands=store_operands, properties={"map": map}))
        else:
            values = self.emit_indices(indices, builder)
            builder.insert(memref.StoreOp.create(operands=[value, buffer, *values]))

    def emit_unless_empty(self, array: SSAValue, builder: Builder) -> Builder:
        """Return a builder for code that runs if the array is not empty."""
        return self.emit_guards([array_type_of(array).length - 1], builder)


def has_computed_index(op: Operation) -> bool:
    """Whether the op selects an element by a computed index rather than a loop index."""
    if not isinstance(op, codegen.IdxOp):
        return False
    owner = op.index.owner
    if isinstance(owner, Block | arith.ConstantOp):
        return False
    # A cast without operands represents an expression over other indices.
    return not isinstance(owner, codegen.CastOp) or len(owner.sources) > 0
