"""Phase 2: lower access paths to loads and stores.

Section 4.2.2 of the paper "Integrating a Functional Pattern-Based IR into MLIR" describes this
phase. For each scalar that is needed, the chain of views is followed back to a buffer, collecting a
path of indices and tuple positions; at the buffer, the path becomes one load or store. A value that
contains no array is resolved once, right after its definition, so nothing is loaded or computed
twice. To resolve a RISE value is to replace it with *builtin* scalars or vectors, that is, with
values of MLIR types such as `f32`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ShiftedPadOp, ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lane_types import builtin_vector_type
from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    contains_array,
    element_of,
)
from riselang.lowering import defined_arith
from riselang.lowering.buffer_access import (
    Anchor,
    Branch,
    Path,
    Side,
    array_type_of,
    as_index,
    prefetch_locality,
    rise_type_of,
)
from riselang.lowering.flat_loads import flatten_loads
from riselang.lowering.index_expressions import (
    first_min_max,
)
from riselang.lowering.lane_access import (
    depends_on_lane,
    path_at_lane,
    vector_type_at,
)
from riselang.lowering.origins import builder_at, builder_like
from riselang.lowering.path_steps import (
    PREFETCHED_OPS,
    Body,
    PaddedOp,
    is_in_empty_array,
    is_plain_step,
    leaf_type,
)
from riselang.lowering.runtime_checks import is_failure_report
from riselang.lowering.stores import Stores, has_computed_index
from riselang.lowering.tile_operands import resolve_tile_product
from riselang.nat import (
    Nat,
    is_less,
    is_nonnegative,
    simplify,
)
from riselang.support.errors import InternalError


def resolve_accesses(
    function: Operation, helpers: defined_arith.Helpers, *, flattens: bool = False
) -> None:
    """Add loads and stores for every access path in `function`; the path ops are then unused.

    Functions that the new code calls are added to `helpers`. With `flattens`, inputs may have views
    of one dimension.
    """
    resolver = _Resolver(helpers)
    for op in walk(function):
        resolver.can_fail |= is_failure_report(op)
        if isinstance(op, codegen.SizeOp):
            resolver.declare_size(op)
            op.result.replace_all_uses_with(op.value)
    for region in function.regions:
        for block in region.blocks:
            resolver.process(list(block.ops))
    resolver.emit_guarded_stores()
    if flattens:
        flatten_loads(resolver.flat_loads, resolver.affine_map)


def _can_sink_stores_past(op: Operation) -> bool:
    """Whether an op reads no memory, so that pending vector stores may move past it."""
    if isinstance(op, codegen.AssignOp):
        owner = op.value.owner
        return isinstance(owner, codegen.CastOp) and not isinstance(
            owner.sources[0].type, MemRefType
        )
    return isinstance(op, codegen.IdxOp | codegen.CastOp | codegen.ListOp | arith.ConstantOp)


def is_direct_step(op: Operation) -> bool:
    """Whether a path through an op leads to one buffer element, whatever its indices are."""
    if isinstance(op, codegen.PrefetchOp):
        return True
    return is_plain_step(op) and not isinstance(op, codegen.ListOp) and not has_computed_index(op)


class _Resolver(Stores):
    def __init__(self, helpers: defined_arith.Helpers) -> None:
        super().__init__()
        self.helpers = helpers
        self.resolved_values: dict[tuple[SSAValue, Path], SSAValue] = {}
        self.inlined_elements: dict[tuple[Anchor, SSAValue, Nat], SSAValue] = {}
        self.builders: dict[Operation, Builder] = {}

    # Ops that need values

    def process(self, ops: Sequence[Operation]) -> None:
        """Resolve what these ops store or pass to other dialects; views are resolved where read."""
        for op in ops:
            if self.pending_columns and not _can_sink_stores_past(op):
                self.store_columns()
            if isinstance(op, codegen.ElementsOp | codegen.GenerateOp):
                continue
            if isinstance(op, codegen.AssignOp):
                value = self.resolve_value(op.value, ())
                self.store(value, op.target, builder_at(InsertPoint.before(op), op.location))
            elif isinstance(op, codegen.CastOp) and not isinstance(op.result.type, RiseType):
                if op.sources:
                    op.result.replace_all_uses_with(self.resolve_value(op.sources[0], ()))
            elif isinstance(op, codegen.TensorMmaOp):
                resolve_tile_product(op, self, builder_at(InsertPoint.before(op), op.location))
            elif not isinstance(op, EmbedOp):
                for region in op.regions:
                    for block in region.blocks:
                        self.process(list(block.ops))
        if self.pending_columns:
            self.store_columns()

    def resolve_value(self, value: SSAValue, path: Path) -> SSAValue:
        """Return the builtin scalar at `path`, which contains only tuple positions, in `value`."""
        while True:
            owner = value.owner
            if isinstance(owner, (codegen.FstOp, codegen.SndOp)):
                if contains_array(rise_type_of(owner.source)):
                    break
                side = Side.FIRST if isinstance(owner, codegen.FstOp) else Side.SECOND
                value, path = owner.source, (side, *path)
            elif isinstance(owner, codegen.TupleOp):
                value = owner.first if path[0] is Side.FIRST else owner.second
                path = path[1:]
            else:
                break
        key = (value, path)
        if key not in self.resolved_values:
            self.resolved_values[key] = self.compute_value(value, path)
        return self.resolved_values[key]

    def compute_value(self, value: SSAValue, path: Path) -> SSAValue:
        owner = value.owner
        assert isinstance(owner, Operation), "a RISE value is never a block argument here"
        if isinstance(owner, EmbedOp):
            return self.inline_embed(owner)
        if isinstance(owner, codegen.CastOp) and not isinstance(owner.sources[0].type, MemRefType):
            return owner.sources[0]
        vector_type = vector_type_at(rise_type_of(value), path)
        if vector_type is not None:
            lane = self.lane_variable(vector_type.length)
            return self.follow_lanes(
                value, (*path, lane), lane, vector_type, self.builder_after(owner), value
            )
        return self.follow(value, path, value, self.builder_after(owner))

    def builder_after(self, op: Operation) -> Builder:
        """Return the one builder that inserts after an op, so that inserted ops stay in order."""
        if op not in self.builders:
            self.builders[op] = builder_at(InsertPoint.after(op), op.location)
        return self.builders[op]

    def inline_embed(self, op: EmbedOp) -> SSAValue:
        """Insert the ops of an embed before it, applied to builtin scalars; return their result."""
        mapping: dict[SSAValue, SSAValue] = {}
        body = self.body_of(op).block
        for argument, operand in zip(body.args, op.arguments, strict=True):
            mapping[argument] = self.resolve_value(operand, ())
        builder = builder_at(InsertPoint.before(op), op.location)
        for inner in body.ops:
            if isinstance(inner, ReturnOp):
                return mapping[inner.values[0]]
            if defined_arith.needs_replacement(inner):
                operands = [mapping[operand] for operand in inner.operands]
                located = builder_at(InsertPoint.before(op), inner.location)
                mapping[inner.results[0]] = defined_arith.emit_total(
                    inner, operands, lambda new, to=located: to.insert(new).results[0], self.helpers
                )
                continue
            builder.insert(_clone_op(inner, mapping))
        raise InternalError("an embed without return passed the verifier")

    # Paths

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

        At the end of the array, this is an element after it: a prefetch never fails.
        """
        end = self.follow_direct(op.source, (as_index(path[0]) + op.size("d"), *path[1:]))
        if end is not None:
            element = element_of(rise_type_of(op.source))
            self.prefetch(*end, prefetch_locality(element, op.size("d")), builder)

    def follow_direct(self, value: SSAValue, path: Path) -> tuple[codegen.CastOp, Path] | None:
        """Return the buffer that a path leads to; None if the element is computed or depends on
        the index."""
        while not isinstance(value.owner, codegen.CastOp):
            op = value.owner
            assert isinstance(op, Operation), "a RISE value is never a block argument here"
            if isinstance(op, codegen.MapReadOp):
                source = self.look_through_map(op, path, PREFETCHED_OPS)
                if source is None:
                    return None
                value, path = source
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

    def compute_generated(
        self, op: codegen.GenerateOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute the element of a generated array at an index."""
        body = self.body_of(op)
        argument = body.block.args[0]
        if not argument.uses:
            return self.inline_body(body, argument, builder)
        (position,) = self.emit_indices([simplify(index, self.facts(index))], builder)
        wrapped = builder.insert(codegen.CastOp([position], argument.type)).results[0]
        return self.inline_body(body, wrapped, builder)

    def compute_mapped(
        self, op: codegen.MapReadOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute an element of a map whose result is not stored: inline its function body."""
        index = simplify(index, self.facts(index))
        key = (anchor, op.result, index)
        if key in self.inlined_elements:
            return self.inlined_elements[key]
        position = builder.insert(codegen.CastOp([], IndexType())).results[0]
        self.expressions[position] = index
        element = builder.insert(codegen.IdxOp(op.source, position)).results[0]
        self.inlined_elements[key] = self.inline_body(self.body_of(op), element, builder)
        return self.inlined_elements[key]

    def inline_body(self, body: Body, argument: SSAValue, builder: Builder) -> SSAValue:
        """Inline the body of a region for an argument, and return its result."""
        block = body.block
        mapping: dict[SSAValue, SSAValue] = {**body.captured_values, block.args[0]: argument}
        copies: list[Operation] = []
        for inner in block.ops:
            if isinstance(inner, ReturnOp):
                self.process(copies)
                return mapping.get(inner.values[0], inner.values[0])
            copies.append(builder.insert(self.copy_op(inner, mapping)))
        raise InternalError("a region without return passed the verifier")

    def copy_op(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
        """Copy an op of a region that is inlined; its own regions are copied when it is read."""
        if not isinstance(op, EmbedOp | codegen.MapReadOp | codegen.GenerateOp):
            return _clone_op(op, mapping)
        copy = op.clone_without_regions(mapping)
        # An embed is isolated from above, so it captures nothing.
        captured_values = (
            {} if isinstance(op, EmbedOp) else {**self.body_of(op).captured_values, **mapping}
        )
        self.bodies[copy] = Body(self.body_of(op).block, captured_values)
        return copy


def _clone_op(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    """Clone an op with mapped operands, and add its results to the mapping."""
    return op.clone(mapping) if op.regions else op.clone_without_regions(mapping)
