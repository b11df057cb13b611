"""Phase 2, vectors: follow the access path of all lanes of a vector at once, where possible."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    MemRefType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ShiftedPadOp
from riselang.dialects.rise.lane_types import builtin_vector_type
from riselang.dialects.rise.types import (
    VectorType,
    contains_array,
)
from riselang.lowering.buffer_access import (
    Anchor,
    Path,
    array_type_of,
    as_index,
    rise_type_of,
)
from riselang.lowering.lane_access import (
    depends_on_lane,
    path_at_lane,
)
from riselang.lowering.path_steps import (
    PaddedOp,
    is_in_empty_array,
    is_plain_step,
)
from riselang.lowering.scalar_reads import ScalarReads, is_direct_step
from riselang.nat import (
    Nat,
    is_nonnegative,
)


class LaneReads(ScalarReads):
    """Reads the vectors at the ends of access paths."""

    def follow_lanes(
        self,
        value: SSAValue,
        path: Path,
        lane: Nat,
        type: VectorType,
        builder: Builder,
        anchor: Anchor,
    ) -> SSAValue:
        """Walk from `value` to the value or buffer that holds the vector at `path`, and read it."""
        start, builtin_type = value, builtin_vector_type(type)

        def read(path: Path) -> SSAValue:
            return self.follow(value, path, anchor, builder)

        while True:
            if not contains_array(rise_type_of(value)) and value is not start:
                return self.read_lanes(value, path, lane, builtin_type, builder)
            op = value.owner
            assert isinstance(op, Operation)
            if is_in_empty_array(rise_type_of(value), path):
                empty_value = self.placeholder(builtin_type.element_type, builder)
                return self.broadcast_scalar(empty_value, builtin_type, builder)
            if isinstance(op, codegen.CastOp):
                return self.load_lanes(op, path, lane, read, builder)
            index = path[0] if path else None
            is_uniform = isinstance(index, Nat) and not depends_on_lane((index,), lane)
            if isinstance(op, codegen.MapReadOp) and (source := self.look_through_map(op, path)):
                value, path = source
            elif isinstance(op, codegen.MapReadOp) and isinstance(index, Nat) and is_uniform:
                value, path = self.compute_mapped(op, index, anchor, builder), path[1:]
            elif isinstance(op, codegen.GenerateOp) and isinstance(index, Nat) and is_uniform:
                value, path = self.compute_generated(op, index, anchor, builder), path[1:]
            elif isinstance(op, codegen.PrefetchOp):
                self.prefetch_path(op, path_at_lane(path, lane, 0), builder)
                value = op.source
            elif isinstance(op, PaddedOp) and not is_uniform and not self.can_fail:
                return self.read_padded_lanes(op, path, lane, type, builder)
            elif isinstance(op, codegen.ConcatOp) and is_uniform:
                return self.read_concat_lanes(op, path, lane, type, builder)
            elif isinstance(op, codegen.PadConstOp) and is_uniform:
                return self.read_padding_lanes(op, path, lane, type, builder)
            elif isinstance(op, codegen.ListOp) and not is_uniform:
                return self.gather_lanes(path, lane, builtin_type, read, builder)
            elif isinstance(op, codegen.ListOp) and not as_index(path[0]).is_constant:

                def read_element(element: SSAValue, path: Path) -> SSAValue:
                    if not contains_array(rise_type_of(element)):
                        return self.read_lanes(element, path, lane, builtin_type, builder)
                    return self.follow_lanes(element, path, lane, type, builder, anchor)

                return self.select_list_element(op, path, read_element, builder)
            elif is_plain_step(op) and not self.can_fail:
                value, path = self.follow_op(op, path)
            else:
                return self.gather_lanes(path, lane, builtin_type, read, builder)

    def read_lanes(
        self,
        value: SSAValue,
        path: Path,
        lane: Nat,
        type: Attribute,
        builder: Builder,
    ) -> SSAValue:
        """Return the vector at a path in a value without arrays."""
        if path and path[-1] == lane:
            return self.resolve_value(value, path[:-1])
        if not depends_on_lane(path, lane):
            return self.broadcast_scalar(self.read_scalar(value, path, builder), type, builder)
        return self.gather_lanes(
            path, lane, type, lambda path: self.read_scalar(value, path, builder), builder
        )

    def read_padded_lanes(
        self, op: PaddedOp, path: Path, lane: Nat, type: VectorType, builder: Builder
    ) -> SSAValue:
        """Read a vector of a padded array: as a whole if no lane is padding, else lane by lane."""
        builtin_type = builtin_vector_type(type)
        index = as_index(path[0]) - op.left.data

        def read_lane_by_lane(block: Block, inner: Builder) -> SSAValue:
            first = self.value_at_first_lane(index, lane)
            if isinstance(op, codegen.PadConstOp) and is_nonnegative(first, self.facts(first)):
                address = self.contiguous_address(op.source, (index, *path[1:]), lane)
                if address is not None and not depends_on_lane(path[1:], lane):
                    mask = self.mask_below(array_type_of(op.source).length - first, lane, inner)
                    scalar = self.follow(op.value, path[1:], block, inner)
                    padding = self.broadcast_scalar(scalar, builtin_type, inner)
                    return self.load_masked_vector(*address, mask, padding, inner)
            if isinstance(op, ShiftedPadOp):
                return self.follow_lanes(*self.follow_op(op, path), lane, type, inner, block)

            def read(path: Path) -> SSAValue:
                return self.follow(op.result, path, block, inner)

            return self.gather_lanes(path, lane, builtin_type, read, inner)

        if not self.has_unit_stride(index, lane):
            return read_lane_by_lane(Block(), builder)
        gap_to_end = array_type_of(op.source).length - 1 - self.value_at_last_lane(index, lane)

        def read_vector(block: Block, inner: Builder) -> SSAValue:
            return self.follow_lanes(op.source, (index, *path[1:]), lane, type, inner, block)

        def read_before_end(block: Block, inner: Builder) -> SSAValue:
            return self.emit_choice(gap_to_end, builtin_type, read_vector, read_lane_by_lane, inner)

        return self.emit_choice(
            self.value_at_first_lane(index, lane),
            builtin_type,
            read_before_end,
            read_lane_by_lane,
            builder,
        )

    def read_concat_lanes(
        self, op: codegen.ConcatOp, path: Path, lane: Nat, type: VectorType, builder: Builder
    ) -> SSAValue:
        """Read a vector that is an element, or in an element, of one of two arrays."""
        index, length = as_index(path[0]), array_type_of(op.first).length
        inner_path = (index - length, *path[1:])
        return self.emit_choice(
            length - 1 - index,
            builtin_vector_type(type),
            lambda block, inner: self.follow_lanes(op.first, path, lane, type, inner, block),
            lambda block, inner: self.follow_lanes(op.second, inner_path, lane, type, inner, block),
            builder,
        )

    def read_padding_lanes(
        self, op: codegen.PadConstOp, path: Path, lane: Nat, type: VectorType, builder: Builder
    ) -> SSAValue:
        """Read a vector that is an element, or in an element, of an array or of its padding."""
        index, builtin_type = as_index(path[0]) - op.left.data, builtin_vector_type(type)

        def read_padding(block: Block, inner: Builder) -> SSAValue:
            if not contains_array(rise_type_of(op.value)):
                return self.read_lanes(op.value, path[1:], lane, builtin_type, inner)
            return self.follow_lanes(op.value, path[1:], lane, type, inner, block)

        def read_element(block: Block, inner: Builder) -> SSAValue:
            return self.follow_lanes(op.source, (index, *path[1:]), lane, type, inner, block)

        def read_before_end(block: Block, inner: Builder) -> SSAValue:
            gap_to_end = array_type_of(op.source).length - 1 - index
            return self.emit_choice(gap_to_end, builtin_type, read_element, read_padding, inner)

        return self.emit_choice(index, builtin_type, read_before_end, read_padding, builder)

    def contiguous_address(
        self, value: SSAValue, path: Path, lane: Nat
    ) -> tuple[SSAValue, list[Nat]] | None:
        """Return the buffer and the first index of lanes that views map to consecutive elements of
        a buffer which supports masks; None for others."""
        while not isinstance(op := value.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            if isinstance(op, codegen.MapReadOp):
                source = self.look_through_map(op, path)
                if source is None:
                    return None
                value, path = source
            elif is_direct_step(op):
                value, path = self.follow_op(op, path)
            else:
                return None
        if not all(isinstance(each.type, MemRefType) for each in op.sources):
            return None
        buffer, indices = self.address(op, path)
        start = self.contiguous_start(indices, lane)
        return (buffer, start) if start is not None and self.can_mask(buffer) else None
