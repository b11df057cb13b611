"""Phase 2 for vectors: one access path for all lanes, in which the lane is a variable.

If the lanes are contiguous, the path becomes one vector load or store; if all of them are the same
scalar, it is broadcast; a column is merged from parts of its rows; lanes whose indices are clamped,
as at the border of a padded array, are gathered; otherwise, each lane is read or written
separately.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    MemRefType,
    i1,
    i64,
)
from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ArrayType, RiseType, VectorType, components
from riselang.dialects.vector import GatherOp
from riselang.lowering.buffer_access import Memory, Path, Side, rise_type_of
from riselang.lowering.index_expressions import LaneIndexEmitter, first_min_max
from riselang.lowering.tiles import chunk_length, extract_column
from riselang.nat import Max, Min, Nat, Variable, is_nonnegative, simplify

ReadLane = Callable[[Path], SSAValue]
"""Reads the scalar at an access path."""


class LaneAccess(Memory):
    """Loads and stores of vectors."""

    def lane_variable(self, length: Nat) -> Nat:
        """Return the variable that ranges over the lanes of vectors of the given length."""
        name = f"$lane{length}"
        self.bounds[name] = length - 1
        return Nat.var(name)

    def load_lanes(
        self, op: codegen.CastOp, path: Path, lane: Nat, read: ReadLane, builder: Builder
    ) -> SSAValue:
        """Load a vector from the buffers that `op` casts; its lanes are at access path `path`."""
        buffer, indices = self.address(op, path)
        type = self.vector_type(buffer, lane)
        if not any(_depends_on(index, lane) for index in indices):
            return self.broadcast_scalar(read(path_at_lane(path, lane, 0)), type, builder)
        if not self.has_addressable_lanes(buffer):
            return self.gather_lanes(path, lane, type, read, builder)
        start = self.contiguous_start(indices, lane)
        if start is not None:
            return self.load_contiguous_vector(buffer, start, type, builder)
        length = _last_length(rise_type_of(op.result), path)
        position = self.column_position(buffer, indices, length, lane)
        if position is not None:
            return self.load_column(buffer, indices, lane, position, builder)
        if self.is_clamped(indices, lane):
            return self.gather_row(buffer, indices, lane, type, builder)
        return self.gather_lanes(path, lane, type, read, builder)

    def is_clamped(self, indices: Sequence[Nat], lane: Nat) -> bool:
        """Whether the lanes are in one row, at indices with min or max, but without division."""
        *outer, last = indices
        if any(_depends_on(index, lane) for index in outer) or first_min_max(last) is None:
            return False
        return _has_no_division(last, lane)

    def gather_row(
        self,
        buffer: SSAValue,
        indices: Sequence[Nat],
        lane: Nat,
        type: BuiltinVectorType[Attribute],
        builder: Builder,
    ) -> SSAValue:
        """Gather lanes that are in one row of a buffer."""
        *outer, last = indices
        scalars = self.index_emitter(builder)
        offsets = [scalars.value(index) for index in (*outer, Nat.const(0))]
        (name,) = lane.variables
        lanes = self.lane_count(lane)
        positions = LaneIndexEmitter(scalars, name, lanes).value(last)
        true = DenseIntOrFPElementsAttr.from_list(BuiltinVectorType(i1, [lanes]), [1] * lanes)
        mask = builder.insert(arith.ConstantOp(true)).results[0]
        nothing = self.broadcast_scalar(self.placeholder(type.element_type, builder), type, builder)
        return builder.insert(GatherOp(buffer, offsets, positions, mask, nothing)).results[0]

    def load_contiguous_vector(
        self, buffer: SSAValue, start: Sequence[Nat], type: Attribute, builder: Builder
    ) -> SSAValue:
        assert isinstance(type, BuiltinVectorType)
        if self.is_single_affine_map(start):
            map, operands = self.affine_map(start)
            load = affine.VectorLoadOp.create(
                operands=[buffer, *operands], properties={"map": map}, result_types=[type]
            )
            return builder.insert(load).results[0]
        indices = self.emit_indices(start, builder)
        return builder.insert(vector.LoadOp(buffer, indices, type)).results[0]

    def is_single_affine_map(self, indices: Sequence[Nat]) -> bool:
        """Whether a single affine map without min and max describes an access."""
        return self.is_affine(indices) and all(first_min_max(each) is None for each in indices)

    def column_position(
        self, buffer: SSAValue, indices: Sequence[Nat], row_length: Nat, lane: Nat
    ) -> tuple[int, int] | None:
        """Return the length of the parts of rows that are loaded to read a column, and the position
        of the column in them; None if the lanes are not a column, or if its rows, of `row_length`
        elements, are too short.

        The lanes are a column if each is in a different row, at the same position. The other
        columns are likely to be read too, with the same loads.
        """
        last = indices[-1]
        length = self.part_length(buffer, lane)
        if length is None or _depends_on(last, lane):
            return None
        remainder = last % Nat.const(length)
        position = simplify(remainder, self.facts(remainder))
        if not position.is_constant:
            return None
        elements_after = row_length - length - last + position
        if not is_nonnegative(elements_after, self.facts(elements_after)):
            return None
        return length, position.constant

    def part_length(self, buffer: SSAValue, lane: Nat) -> int | None:
        """Return the length of the parts of rows that are loaded to read a column, if known.

        The rows of a small temporary array are likely to be in registers, so they are not divided.
        """
        assert isinstance(buffer.type, MemRefType)
        shape, lanes = buffer.type.get_shape(), self.lane_count(lane)
        if lanes.bit_count() != 1 or lanes == 1:
            return None
        is_static = DYNAMIC_INDEX not in shape
        is_small = is_static and prod(shape) <= MAX_VECTORS * lanes and shape[-1] == lanes
        if isinstance(buffer.owner, memref.AllocaOp) and is_small:
            return lanes
        return min(lanes, chunk_length(self.vector_type(buffer, lane)))

    def load_column(
        self,
        buffer: SSAValue,
        indices: Sequence[Nat],
        lane: Nat,
        position: tuple[int, int],
        builder: Builder,
    ) -> SSAValue:
        """Load a part of the row of each lane, and merge one column of these parts."""
        *outer, last = indices
        length, number = position
        type = BuiltinVectorType(self.vector_type(buffer, lane).element_type, [length])
        rows = [
            [*(substitute_lane(index, lane, row) for index in outer), last - number]
            for row in range(self.lane_count(lane))
        ]
        parts = [self.load_contiguous_vector(buffer, row, type, builder) for row in rows]
        return extract_column(parts, number, builder)

    def store_contiguous_vector(
        self,
        value: SSAValue,
        buffer: SSAValue,
        start: Sequence[Nat],
        builder: Builder,
        *,
        is_nontemporal: bool = False,
    ) -> None:
        """Store a vector to consecutive elements of a buffer, beginning at index `start`."""
        if is_nontemporal:
            indices = self.emit_indices(start, builder)
            builder.insert(vector.StoreOp(value, buffer, indices, BoolAttr.from_bool(True)))
            return
        if self.is_single_affine_map(start):
            map, operands = self.affine_map(start)
            store = affine.VectorStoreOp.create(
                operands=[value, buffer, *operands], properties={"map": map}
            )
            builder.insert(store)
            return
        builder.insert(vector.StoreOp(value, buffer, self.emit_indices(start, builder)))

    def has_addressable_lanes(self, buffer: SSAValue) -> bool:
        """Whether the elements of a buffer can be the lanes of a vector in memory: LLVM packs
        Booleans, of which a buffer has one per byte."""
        assert isinstance(buffer.type, MemRefType)
        type = buffer.type.element_type
        return not isinstance(type, FixedBitwidthType) or type.bitwidth >= 8

    def can_mask(self, buffer: SSAValue) -> bool:
        """Whether LLVM supports masked loads and stores of the elements of a buffer."""
        assert isinstance(buffer.type, MemRefType)
        has_width = isinstance(buffer.type.element_type, FixedBitwidthType)
        return has_width and self.has_addressable_lanes(buffer)

    def mask_below(self, count: Nat, lane: Nat, builder: Builder) -> SSAValue:
        """Return the mask of the first `count` lanes; `count` may be any integer."""
        (value,) = self.emit_indices([simplify(count, self.facts(count))], builder)
        type = BuiltinVectorType(i1, [self.lane_count(lane)])
        return builder.insert(vector.CreateMaskOp([value], type)).results[0]

    def load_masked_vector(
        self,
        buffer: SSAValue,
        start: Sequence[Nat],
        mask: SSAValue,
        padding: SSAValue,
        builder: Builder,
    ) -> SSAValue:
        """Load the lanes of a mask from consecutive elements, and the others from `padding`."""
        indices = self.emit_indices(start, builder)
        return builder.insert(vector.MaskedLoadOp(buffer, indices, mask, padding)).results[0]

    def store_masked_vector(
        self,
        value: SSAValue,
        buffer: SSAValue,
        start: Sequence[Nat],
        mask: SSAValue,
        builder: Builder,
    ) -> None:
        """Store the lanes of a mask to consecutive elements of a buffer."""
        indices = self.emit_indices(start, builder)
        builder.insert(vector.MaskedStoreOp(buffer, indices, mask, value))

    def indices_at_lane(self, indices: Sequence[Nat], lane: Nat, number: int) -> list[Nat]:
        """Return the buffer indices of lane `number`."""
        lane_indices = [substitute_lane(index, lane, number) for index in indices]
        return [simplify(index, self.facts(index)) for index in lane_indices]

    def value_at_last_lane(self, expression: Nat, lane: Nat) -> Nat:
        return substitute_lane(expression, lane, self.lane_count(lane) - 1)

    def is_uniform_over_lanes(self, guard: Nat, lane: Nat) -> bool:
        """Whether a guard that decreases with the lane is negative for all lanes or for none.

        A guard is an expression that must not be negative for a store to run.
        """
        count = Nat.const(self.lane_count(lane))
        remainder = (substitute_lane(guard, lane, 0) + 1) % count
        return simplify(remainder, self.facts(remainder)) == Nat.const(0)

    def contiguous_start(self, indices: Sequence[Nat], lane: Nat) -> list[Nat] | None:
        """Return the indices of the first lane if the lanes are contiguous, else None."""
        *outer, last = indices
        if any(_depends_on(index, lane) for index in outer) or not self.has_unit_stride(last, lane):
            return None
        return [*outer, self.value_at_first_lane(last, lane)]

    def has_unit_stride(self, index: Nat, lane: Nat) -> bool:
        """Whether consecutive lanes have consecutive indices."""
        difference = index - self.value_at_first_lane(index, lane) - lane
        return simplify(difference, self.facts(difference)) == Nat.const(0)

    def value_at_first_lane(self, expression: Nat, lane: Nat) -> Nat:
        return substitute_lane(expression, lane, 0)

    def vector_type(self, buffer: SSAValue, lane: Nat) -> BuiltinVectorType[Attribute]:
        assert isinstance(buffer.type, MemRefType)
        return BuiltinVectorType(buffer.type.element_type, [self.lane_count(lane)])

    def lane_count(self, lane: Nat) -> int:
        """Return the number of lanes that a lane variable ranges over."""
        (name,) = lane.variables
        last = self.bounds[name]
        assert last is not None
        return last.constant + 1

    def broadcast_scalar(self, scalar: SSAValue, type: Attribute, builder: Builder) -> SSAValue:
        assert isinstance(type, BuiltinVectorType)
        return builder.insert(vector.BroadcastOp(scalar, type)).results[0]

    def gather_lanes(
        self, path: Path, lane: Nat, type: Attribute, read: ReadLane, builder: Builder
    ) -> SSAValue:
        """Build a vector from scalars that are read one by one."""
        result = self.broadcast_scalar(read(path_at_lane(path, lane, 0)), type, builder)
        for number in range(1, self.lane_count(lane)):
            scalar = read(path_at_lane(path, lane, number))
            result = builder.insert(_insert_lane(scalar, result, number)).results[0]
        return result

    def extract_lane(self, value: SSAValue, index: Nat, builder: Builder) -> SSAValue:
        """Extract one lane of a vector."""
        assert isinstance(value.type, BuiltinVectorType)
        index = simplify(index, self.facts(index))
        position = index.constant if index.is_constant else DYNAMIC_POSITION
        dynamic = [] if index.is_constant else self.emit_indices([index], builder)
        op = vector.ExtractOp.create(
            operands=[value, *dynamic],
            properties={"static_position": DenseArrayBase.from_list(i64, [position])},
            result_types=[value.type.element_type],
        )
        return builder.insert(op).results[0]


MAX_VECTORS = 32
"""The maximum number of vectors in a small array: the number of vector registers."""
DYNAMIC_POSITION = -(1 << 63)
"""Marks a position that is an SSA value."""


def _insert_lane(scalar: SSAValue, dest: SSAValue, position: int) -> Operation:
    return vector.InsertOp.build(
        operands=[scalar, dest, []],
        properties={"static_position": DenseArrayBase.from_list(i64, [position])},
        result_types=[dest.type],
    )


def _has_no_division(index: Nat, lane: Nat) -> bool:
    """Whether an index, as a function of a lane, consists of sums, products, min and max."""
    for atom in index.atoms():
        if isinstance(atom, Variable) or not Nat.from_atom(atom).variables & lane.variables:
            continue
        if not isinstance(atom, Min | Max):
            return False
        if not all(_has_no_division(argument, lane) for argument in atom.arguments):
            return False
    return True


def _last_length(type: RiseType, path: Path) -> Nat:
    """Return the length of the innermost array or vector that a path indexes."""
    length = Nat.const(0)
    for part in path:
        if isinstance(part, Side):
            type = components(type)[part.value]
        else:
            assert isinstance(type, ArrayType | VectorType)
            length, type = type.length, type.element
    return length


def vector_type_at(type: RiseType, path: Path) -> VectorType | None:
    """Return the vector type at an access path of tuple positions; None if there is none."""
    for part in path:
        if not isinstance(part, Side):
            return None
        type = components(type)[part.value]
    return type if isinstance(type, VectorType) else None


def depends_on_lane(path: Path, lane: Nat) -> bool:
    return any(isinstance(part, Nat) and _depends_on(part, lane) for part in path)


def path_at_lane(path: Path, lane: Nat, number: int) -> Path:
    """Return the access path of lane `number`."""
    return tuple(
        substitute_lane(part, lane, number) if isinstance(part, Nat) else part for part in path
    )


def substitute_lane(expression: Nat, lane: Nat, number: int) -> Nat:
    """Replace the lane variable in an expression with `number`."""
    (name,) = lane.variables
    return expression.substitute({name: Nat.const(number)})


def _depends_on(index: Nat, lane: Nat) -> bool:
    return bool(index.variables & lane.variables)
