"""Phase 2, scalars: follow an access path to the buffer or the function that it ends at."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import (
    MemRefType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import op_error
from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.types import (
    contains_array,
    element_of,
)
from riselang.lowering.buffer_access import (
    Anchor,
    Branch,
    Path,
    array_type_of,
    as_index,
    prefetch_locality,
    rise_type_of,
)
from riselang.lowering.function_inlining import FunctionInlining
from riselang.lowering.index_expressions import (
    first_min_max,
)
from riselang.lowering.origins import builder_like
from riselang.lowering.path_steps import (
    PREFETCHED_OPS,
    PassedPadding,
    is_in_empty_array,
    is_plain_step,
    leaf_type,
)
from riselang.lowering.stores import has_computed_index
from riselang.nat import (
    Nat,
    is_less,
    is_nonnegative,
    simplify,
)


def is_direct_step(op: Operation) -> bool:
    """Whether a path through an op leads to one buffer element, whatever its indices are."""
    if isinstance(op, codegen.PrefetchOp):
        return True
    return is_plain_step(op) and not isinstance(op, codegen.ListOp) and not has_computed_index(op)


def _is_padding_at_end(op: Operation, path: Path) -> bool:
    return isinstance(op, codegen.PadConstOp) and op.left.data == Nat.const(0)


class ScalarReads(FunctionInlining):
    """Reads the scalars at the ends of access paths."""

    def follow(self, value: SSAValue, path: Path, anchor: Anchor, builder: Builder) -> SSAValue:
        """Walk from `value` to the buffer that holds the scalar at `path`, and load it."""
        while True:
            if not contains_array(rise_type_of(value)) and value is not anchor:
                return self.read_scalar(value, path, builder)
            if is_in_empty_array(rise_type_of(value), path):
                return self.placeholder(leaf_type(rise_type_of(value), path), builder)
            op = value.owner
            assert isinstance(op, Operation)
            if isinstance(op, codegen.CastOp):
                return self.load(op, path, builder)
            if isinstance(op, codegen.MapReadOp):
                source = self.look_through_map(op, path)
                if source is None:
                    index = as_index(path[0])
                    source = self.compute_mapped(op, index, anchor, builder), path[1:]
                value, path = source
                path = self.shorten_path(rise_type_of(value), path, builder)
            elif isinstance(op, codegen.GenerateOp):
                value, path = (
                    self.compute_generated(op, as_index(path[0]), anchor, builder),
                    path[1:],
                )
            elif isinstance(op, codegen.GatherOp):
                position = self.follow(op.indices, path[:1], anchor, builder)
                index = self.new_variable(position, array_type_of(op.source).length)
                value, path = op.source, (index, *path[1:])
                if self.can_be_empty(value):
                    return self.read_unless_empty(value, path, builder)
            elif has_computed_index(op) and self.can_be_empty(op.operands[0]):
                return self.read_unless_empty(*self.follow_op(op, path), builder)
            elif isinstance(op, codegen.ConcatOp):
                return self.read_concat(op, path, builder)
            elif isinstance(op, codegen.PrefetchOp):
                self.prefetch_path(op, path, builder)
                value = op.source
            elif isinstance(op, codegen.PadConstOp):
                return self.read_padded(op, path, builder)
            elif isinstance(op, codegen.ListOp) and not as_index(path[0]).is_constant:
                return self.select_list_element(
                    op, path, lambda each, path: self.follow(each, path, anchor, builder), builder
                )
            else:
                value, path = self.follow_op(op, path)
                path = self.shorten_path(rise_type_of(value), path, builder)

    def prefetch_path(self, op: ViewOp, path: Path, builder: Builder) -> None:
        """Prefetch the element some iterations ahead of `path`, if it is stored in a buffer.

        At the end of the array, or in padding after it, this is an element after it: a prefetch
        never fails.
        """
        distance = op.size("d")
        for name in sorted(distance.variables - self.bounds.keys()):
            problem = (
                f"prefetches {distance} elements ahead, but the size {name} is not determined by "
                "the shapes of the arrays; specify its value"
            )
            raise op_error(op, problem)
        later = (as_index(path[0]) + distance, *path[1:])
        end = self.follow_direct(op.source, later, _is_padding_at_end)
        if end is not None:
            element = element_of(rise_type_of(op.source))
            self.prefetch(*end, prefetch_locality(element, distance), builder)

    def follow_direct(
        self, value: SSAValue, path: Path, passed: PassedPadding | None = None
    ) -> tuple[codegen.CastOp, Path] | None:
        """Return the buffer that a path leads to; None if the element is computed or depends on
        the index. Paddings that are `passed` are taken for their array."""
        while not isinstance(value.owner, codegen.CastOp):
            op = value.owner
            assert isinstance(op, Operation), "a RISE value is never a block argument here"
            if isinstance(op, codegen.MapReadOp | codegen.GenerateOp):
                source = self.look_through(op, path, PREFETCHED_OPS, passed)
                if source is None:
                    return None
                value, path = source
            elif passed is not None and passed(op, path) and isinstance(op, codegen.PadConstOp):
                value = op.source
            elif isinstance(op, EmbedOp) or not is_direct_step(op):
                return None
            else:
                value, path = self.follow_op(op, path)
        if not all(isinstance(each.type, MemRefType) for each in value.owner.sources):
            return None
        return value.owner, path

    def read_scalar(self, value: SSAValue, path: Path, builder: Builder) -> SSAValue:
        """Return a scalar of a value without arrays; it may be one lane of a vector."""
        if path and isinstance(path[-1], Nat):
            return self.extract_lane(self.resolve_value(value, path[:-1]), path[-1], builder)
        return self.resolve_value(value, path)

    def read_unless_empty(self, array: SSAValue, path: Path, builder: Builder) -> SSAValue:
        """Read the scalar at `path` if the array is not empty at run time."""
        leaf = leaf_type(rise_type_of(array), path)
        return self.emit_choice(
            array_type_of(array).length - 1,
            leaf,
            lambda block, inner: self.follow(array, path, block, inner),
            lambda block, inner: self.placeholder(leaf, inner),
            builder,
        )

    def read_concat(self, op: codegen.ConcatOp, path: Path, builder: Builder) -> SSAValue:
        index, length = as_index(path[0]), array_type_of(op.first).length
        return self.emit_choice(
            length - 1 - index,
            leaf_type(rise_type_of(op.result), path),
            lambda block, inner: self.follow(op.first, path, block, inner),
            lambda block, inner: self.follow(op.second, (index - length, *path[1:]), block, inner),
            builder,
        )

    def read_padded(self, op: codegen.PadConstOp, path: Path, builder: Builder) -> SSAValue:
        index = as_index(path[0]) - op.left.data
        leaf = leaf_type(rise_type_of(op.result), path)

        def read_padding(block: Block, inner: Builder) -> SSAValue:
            return self.follow(op.value, path[1:], block, inner)

        def read_before_end(block: Block, inner: Builder) -> SSAValue:
            return self.emit_choice(
                array_type_of(op.source).length - 1 - index,
                leaf,
                lambda block, inner: self.follow(op.source, (index, *path[1:]), block, inner),
                read_padding,
                inner,
            )

        return self.emit_choice(index, leaf, read_before_end, read_padding, builder)

    def emit_choice(
        self, gap: Nat, type: Attribute, then_branch: Branch, else_branch: Branch, builder: Builder
    ) -> SSAValue:
        """Emit `then_branch` if `gap >= 0`, else `else_branch`; an if op if the sign is unknown."""
        gap = simplify(gap, self.facts(gap))
        if is_nonnegative(gap, self.facts(gap)):
            return then_branch(Block(), builder)
        if is_less(gap, Nat.const(0), self.facts(gap)):
            return else_branch(Block(), builder)
        regions: list[Region] = []
        is_affine = self.is_affine([gap]) and first_min_max(gap) is None
        for branch in (then_branch, else_branch):
            block = Block()
            value = branch(block, builder_like(builder, InsertPoint.at_end(block)))
            block.add_op(affine.YieldOp.get(value) if is_affine else scf.YieldOp(value))
            regions.append(Region(block))
        if is_affine:
            return self.affine_if(gap, type, regions, builder)
        (distance, zero) = self.emit_indices([gap, Nat.const(0)], builder)
        condition = builder.insert(arith.CmpiOp(distance, zero, "sge")).results[0]
        return builder.insert(scf.IfOp(condition, [type], regions[0], regions[1])).results[0]

    def select_list_element(
        self,
        op: codegen.ListOp,
        path: Path,
        read: Callable[[SSAValue, Path], SSAValue],
        builder: Builder,
    ) -> SSAValue:
        """Read from the list element that an index chooses at run time, with selects."""
        index = as_index(path[0])
        (position,) = self.emit_indices([simplify(index, self.facts(index))], builder)
        first, *other_values = [read(each, path[1:]) for each in op.elements]
        result = first
        for number, value in enumerate(other_values, 1):
            (element_position,) = self.emit_indices([Nat.const(number)], builder)
            is_selected = builder.insert(arith.CmpiOp(position, element_position, "eq")).results[0]
            result = builder.insert(arith.SelectOp(is_selected, value, result)).results[0]
        return result
