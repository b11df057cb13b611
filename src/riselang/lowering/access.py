"""Phase 2: lower access paths to loads and stores (seed 000, section 4.2.2).

Each scalar that is needed is followed from its definition back to a buffer, collecting a path of
indices and tuple positions; at the buffer the path becomes one load or store. A value without
arrays is resolved once, right after its definition, so nothing is loaded or computed twice.
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
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lanes import builtin_vector
from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    contains_array,
)
from riselang.lowering import defined_arith
from riselang.lowering.checks import is_report
from riselang.lowering.indices import (
    first_choice,
)
from riselang.lowering.lane_access import (
    at_lane,
    depends_on_lane,
    vector_at,
)
from riselang.lowering.memory import (
    Anchor,
    Branch,
    Path,
    Side,
    array_of,
    data_of,
    index_at,
)
from riselang.lowering.origins import builder_at, builder_like
from riselang.lowering.steps import Body, PaddedOp, is_nowhere, is_plain_step, leaf_type
from riselang.lowering.stores import Stores, is_chosen
from riselang.nat import (
    Nat,
    is_less,
    is_nonnegative,
    nat_min,
    simplify,
)
from riselang.support.errors import InternalError


def resolve_accesses(function: Operation, helpers: defined_arith.Helpers) -> None:
    """Add loads and stores for every access path in `function`; the path ops are then unused.

    Functions that the new code calls are added to `helpers`.
    """
    resolver = _Resolver(helpers)
    for op in walk(function):
        resolver.can_fail |= is_report(op)
        if isinstance(op, codegen.SizeOp):
            resolver.declare(op)
            op.result.replace_all_uses_with(op.value)
    for region in function.regions:
        for block in region.blocks:
            resolver.process(list(block.ops))


def _may_wait(op: Operation) -> bool:
    """Whether vector stores may move past an op: it reads no memory."""
    if isinstance(op, codegen.AssignOp):
        owner = op.value.owner
        return isinstance(owner, codegen.CastOp) and not isinstance(
            owner.sources[0].type, MemRefType
        )
    return isinstance(op, codegen.IdxOp | codegen.CastOp | codegen.ListOp | arith.ConstantOp)


def leads_on(op: Operation) -> bool:
    """Whether a path through an op leads to one buffer element, whatever its indices are."""
    if isinstance(op, codegen.PrefetchOp):
        return True
    return is_plain_step(op) and not isinstance(op, codegen.ListOp) and not is_chosen(op)


class _Resolver(Stores):
    def __init__(self, helpers: defined_arith.Helpers) -> None:
        super().__init__()
        self.helpers = helpers
        self.natives: dict[tuple[SSAValue, Path], SSAValue] = {}
        self.copies: dict[tuple[Anchor, SSAValue, Nat], SSAValue] = {}
        self.places: dict[Operation, Builder] = {}

    # Ops that need values

    def process(self, ops: Sequence[Operation]) -> None:
        """Resolve the values that these ops store or pass to other dialects; skip unread views."""
        for op in ops:
            if self.columns and not _may_wait(op):
                self.store_columns()
            if isinstance(op, codegen.ElementsOp | codegen.GenerateOp):
                continue
            if isinstance(op, codegen.AssignOp):
                value = self.native(op.value, ())
                self.store(value, op.target, builder_at(InsertPoint.before(op), op.location))
            elif isinstance(op, codegen.CastOp) and not isinstance(op.result.type, RiseType):
                if op.sources:
                    op.result.replace_all_uses_with(self.native(op.sources[0], ()))
            elif not isinstance(op, EmbedOp):
                for region in op.regions:
                    for block in region.blocks:
                        self.process(list(block.ops))
        if self.columns:
            self.store_columns()

    def native(self, value: SSAValue, path: Path) -> SSAValue:
        """Resolve the builtin scalar at `path`, which has only tuple positions, in `value`."""
        while True:
            owner = value.owner
            if isinstance(owner, (codegen.FstOp, codegen.SndOp)):
                if contains_array(data_of(owner.source)):
                    break
                side = Side.FIRST if isinstance(owner, codegen.FstOp) else Side.SECOND
                value, path = owner.source, (side, *path)
            elif isinstance(owner, codegen.TupleOp):
                value = owner.first if path[0] is Side.FIRST else owner.second
                path = path[1:]
            else:
                break
        key = (value, path)
        if key not in self.natives:
            self.natives[key] = self.compute(value, path)
        return self.natives[key]

    def compute(self, value: SSAValue, path: Path) -> SSAValue:
        owner = value.owner
        assert isinstance(owner, Operation), "a RISE value is never a block argument here"
        if isinstance(owner, EmbedOp):
            return self.inline(owner)
        if isinstance(owner, codegen.CastOp) and not isinstance(owner.sources[0].type, MemRefType):
            return owner.sources[0]
        whole = vector_at(data_of(value), path)
        if whole is not None:
            lane = self.lane(whole.length)
            return self.follow_lanes(value, (*path, lane), lane, whole, self.behind(owner), value)
        return self.follow(value, path, value, self.behind(owner))

    def behind(self, op: Operation) -> Builder:
        """Return the builder after an op; ops that it inserts keep their order."""
        if op not in self.places:
            self.places[op] = builder_at(InsertPoint.after(op), op.location)
        return self.places[op]

    def inline(self, op: EmbedOp) -> SSAValue:
        """Inline the ops of an embed before it, on builtin scalars."""
        mapping: dict[SSAValue, SSAValue] = {}
        body = self.body_of(op).block
        for argument, operand in zip(body.args, op.arguments, strict=True):
            mapping[argument] = self.native(operand, ())
        builder = builder_at(InsertPoint.before(op), op.location)
        for inner in body.ops:
            if isinstance(inner, ReturnOp):
                return mapping[inner.values[0]]
            if defined_arith.is_partial(inner):
                operands = [mapping[operand] for operand in inner.operands]
                place = builder_at(InsertPoint.before(op), inner.location)
                mapping[inner.results[0]] = defined_arith.emit_total(
                    inner, operands, lambda op, at=place: at.insert(op).results[0], self.helpers
                )
                continue
            builder.insert(_copy(inner, mapping))
        raise InternalError("an embed without return passed the verifier")

    # Paths

    def follow(self, value: SSAValue, path: Path, anchor: Anchor, builder: Builder) -> SSAValue:
        """Walk from `value` to the buffer that holds the scalar at `path`, and load it."""
        while True:
            if not contains_array(data_of(value)) and value is not anchor:
                return self.part(value, path, builder)
            if is_nowhere(data_of(value), path):
                return self.nothing(leaf_type(data_of(value), path), builder)
            op = value.owner
            assert isinstance(op, Operation)
            if isinstance(op, codegen.CastOp):
                return self.load(op, path, builder)
            if isinstance(op, codegen.MapReadOp):
                seen = self.seen_through(op, path)
                if seen is None:
                    index = index_at(path[0])
                    seen = self.computed(op, index, anchor, builder), path[1:]
                value, path = seen
                path = self.shortened(data_of(value), path, builder)
            elif isinstance(op, codegen.GenerateOp):
                value, path = self.generated(op, index_at(path[0]), anchor, builder), path[1:]
            elif isinstance(op, codegen.GatherOp):
                place = self.follow(op.indices, path[:1], anchor, builder)
                index = self.variable(place, array_of(op.source).length)
                value, path = op.source, (index, *path[1:])
                if self.may_be_empty(value):
                    return self.unless_empty(value, path, builder)
            elif is_chosen(op) and self.may_be_empty(op.operands[0]):
                return self.unless_empty(*self.step(op, path), builder)
            elif isinstance(op, codegen.ConcatOp):
                return self.concatenated(op, path, builder)
            elif isinstance(op, codegen.PrefetchOp):
                self.fetch_later(op, path, builder)
                value = op.source
            elif isinstance(op, codegen.PadConstOp):
                return self.padded(op, path, builder)
            elif isinstance(op, codegen.ListOp) and not index_at(path[0]).is_constant:
                return self.selected(
                    op, path, lambda each, path: self.follow(each, path, anchor, builder), builder
                )
            else:
                value, path = self.step(op, path)
                path = self.shortened(data_of(value), path, builder)

    def fetch_later(self, op: ViewOp, path: Path, builder: Builder) -> None:
        """Prefetch the element some iterations ahead of `path`, if it is stored in a buffer."""
        last = array_of(op.source).length - 1
        value: SSAValue = op.source
        path = (nat_min(index_at(path[0]) + op.size("d"), last), *path[1:])
        while not isinstance(value.owner, codegen.CastOp):
            step = value.owner
            assert isinstance(step, Operation), "a RISE value is never a block argument here"
            if isinstance(step, codegen.MapReadOp):
                seen = self.seen_through(step, path)
                if seen is None:
                    return
                value, path = seen
            elif not leads_on(step):
                return
            else:
                value, path = self.step(step, path)
        self.prefetch(value.owner, path, builder)

    def part(self, value: SSAValue, path: Path, builder: Builder) -> SSAValue:
        """Return a scalar of a value without arrays; it may be one lane of a vector."""
        if path and isinstance(path[-1], Nat):
            return self.extracted(self.native(value, path[:-1]), path[-1], builder)
        return self.native(value, path)

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
        start, plain = value, builtin_vector(type)

        def read(path: Path) -> SSAValue:
            return self.follow(value, path, anchor, builder)

        while True:
            if not contains_array(data_of(value)) and value is not start:
                return self.lanes_in(value, path, lane, plain, builder)
            op = value.owner
            assert isinstance(op, Operation)
            if is_nowhere(data_of(value), path):
                nothing = self.nothing(plain.element_type, builder)
                return self.repeated(nothing, plain, builder)
            if isinstance(op, codegen.CastOp):
                return self.load_lanes(op, path, lane, read, builder)
            index = path[0] if path else None
            is_same = isinstance(index, Nat) and not depends_on_lane((index,), lane)
            if isinstance(op, codegen.MapReadOp) and (seen := self.seen_through(op, path)):
                value, path = seen
            elif isinstance(op, codegen.MapReadOp) and isinstance(index, Nat) and is_same:
                value, path = self.computed(op, index, anchor, builder), path[1:]
            elif isinstance(op, codegen.GenerateOp) and isinstance(index, Nat) and is_same:
                value, path = self.generated(op, index, anchor, builder), path[1:]
            elif isinstance(op, codegen.PrefetchOp):
                self.fetch_later(op, at_lane(path, lane, 0), builder)
                value = op.source
            elif isinstance(op, PaddedOp) and not is_same and not self.can_fail:
                return self.padded_lanes(op, path, lane, type, builder)
            elif isinstance(op, codegen.ListOp) and not is_same:
                return self.gathered(path, lane, plain, read, builder)
            elif isinstance(op, codegen.ListOp) and not index_at(path[0]).is_constant:

                def lanes(each: SSAValue, path: Path) -> SSAValue:
                    if not contains_array(data_of(each)):
                        return self.lanes_in(each, path, lane, plain, builder)
                    return self.follow_lanes(each, path, lane, type, builder, anchor)

                return self.selected(op, path, lanes, builder)
            elif is_plain_step(op) and not self.can_fail:
                value, path = self.step(op, path)
            else:
                return self.gathered(path, lane, plain, read, builder)

    def lanes_in(
        self,
        value: SSAValue,
        path: Path,
        lane: Nat,
        type: Attribute,
        builder: Builder,
    ) -> SSAValue:
        """Return the vector at a path in a value without arrays."""
        if path and path[-1] == lane:
            return self.native(value, path[:-1])
        if not depends_on_lane(path, lane):
            return self.repeated(self.part(value, path, builder), type, builder)
        return self.gathered(
            path, lane, type, lambda path: self.part(value, path, builder), builder
        )

    def padded_lanes(
        self, op: PaddedOp, path: Path, lane: Nat, type: VectorType, builder: Builder
    ) -> SSAValue:
        """Read a vector of a padded array: as a whole if no lane is padding, else lane by lane."""
        plain = builtin_vector(type)
        index = index_at(path[0]) - op.left.data

        def lanes(block: Block, inner: Builder) -> SSAValue:
            def read(path: Path) -> SSAValue:
                return self.follow(op.result, path, block, inner)

            return self.gathered(path, lane, plain, read, inner)

        if not self.rises_with(index, lane):
            return lanes(Block(), builder)
        last = array_of(op.source).length - 1 - self.at_last_lane(index, lane)

        def whole(block: Block, inner: Builder) -> SSAValue:
            return self.follow_lanes(op.source, (index, *path[1:]), lane, type, inner, block)

        def before_end(block: Block, inner: Builder) -> SSAValue:
            return self.choice(last, plain, whole, lanes, inner)

        return self.choice(self.at_first_lane(index, lane), plain, before_end, lanes, builder)

    def unless_empty(self, array: SSAValue, path: Path, builder: Builder) -> SSAValue:
        """Read the scalar at `path` if the array is not empty at run time."""
        leaf = leaf_type(data_of(array), path)
        return self.choice(
            array_of(array).length - 1,
            leaf,
            lambda block, inner: self.follow(array, path, block, inner),
            lambda block, inner: self.nothing(leaf, inner),
            builder,
        )

    def concatenated(self, op: codegen.ConcatOp, path: Path, builder: Builder) -> SSAValue:
        index, length = index_at(path[0]), array_of(op.first).length
        return self.choice(
            length - 1 - index,
            leaf_type(data_of(op.result), path),
            lambda block, inner: self.follow(op.first, path, block, inner),
            lambda block, inner: self.follow(op.second, (index - length, *path[1:]), block, inner),
            builder,
        )

    def padded(self, op: codegen.PadConstOp, path: Path, builder: Builder) -> SSAValue:
        index = index_at(path[0]) - op.left.data
        leaf = leaf_type(data_of(op.result), path)

        def outside(block: Block, inner: Builder) -> SSAValue:
            return self.follow(op.value, path[1:], block, inner)

        def inside(block: Block, inner: Builder) -> SSAValue:
            return self.choice(
                array_of(op.source).length - 1 - index,
                leaf,
                lambda block, inner: self.follow(op.source, (index, *path[1:]), block, inner),
                outside,
                inner,
            )

        return self.choice(index, leaf, inside, outside, builder)

    def choice(
        self, gap: Nat, type: Attribute, chosen: Branch, other: Branch, builder: Builder
    ) -> SSAValue:
        """Return `chosen` if `gap >= 0`, else `other`; emit an if only where this is not known."""
        gap = simplify(gap, self.facts(gap))
        if is_nonnegative(gap, self.facts(gap)):
            return chosen(Block(), builder)
        if is_less(gap, Nat.const(0), self.facts(gap)):
            return other(Block(), builder)
        regions: list[Region] = []
        is_affine = self.is_affine([gap]) and first_choice(gap) is None
        for branch in (chosen, other):
            block = Block()
            value = branch(block, builder_like(builder, InsertPoint.at_end(block)))
            block.add_op(affine.YieldOp.get(value) if is_affine else scf.YieldOp(value))
            regions.append(Region(block))
        if is_affine:
            return self.affine_if(gap, type, regions, builder)
        (distance, zero) = self.arithmetic([gap, Nat.const(0)], builder)
        condition = builder.insert(arith.CmpiOp(distance, zero, "sge")).results[0]
        return builder.insert(scf.IfOp(condition, [type], regions[0], regions[1])).results[0]

    def selected(
        self,
        op: codegen.ListOp,
        path: Path,
        read: Callable[[SSAValue, Path], SSAValue],
        builder: Builder,
    ) -> SSAValue:
        """Read from the list element that an index chooses at run time, with selects."""
        index = index_at(path[0])
        (position,) = self.arithmetic([simplify(index, self.facts(index))], builder)
        first, *others = [read(each, path[1:]) for each in op.elements]
        result = first
        for number, other in enumerate(others, 1):
            (here,) = self.arithmetic([Nat.const(number)], builder)
            is_here = builder.insert(arith.CmpiOp(position, here, "eq")).results[0]
            result = builder.insert(arith.SelectOp(is_here, other, result)).results[0]
        return result

    def generated(
        self, op: codegen.GenerateOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute the element of a generated array at an index."""
        body = self.body_of(op)
        argument = body.block.args[0]
        if not argument.uses:
            return self.copied(body, argument, builder)
        (place,) = self.arithmetic([simplify(index, self.facts(index))], builder)
        wrapped = builder.insert(codegen.CastOp([place], argument.type)).results[0]
        return self.copied(body, wrapped, builder)

    def computed(
        self, op: codegen.MapReadOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """Compute an element of a map that is only read: inline its function body here."""
        index = simplify(index, self.facts(index))
        key = (anchor, op.result, index)
        if key in self.copies:
            return self.copies[key]
        place = builder.insert(codegen.CastOp([], IndexType())).results[0]
        self.expressions[place] = index
        element = builder.insert(codegen.IdxOp(op.source, place)).results[0]
        self.copies[key] = self.copied(self.body_of(op), element, builder)
        return self.copies[key]

    def copied(self, body: Body, argument: SSAValue, builder: Builder) -> SSAValue:
        """Inline the body of a region for an argument, and return its result."""
        block = body.block
        mapping: dict[SSAValue, SSAValue] = {**body.outside, block.args[0]: argument}
        copies: list[Operation] = []
        for inner in block.ops:
            if isinstance(inner, ReturnOp):
                self.process(copies)
                return mapping.get(inner.values[0], inner.values[0])
            copies.append(builder.insert(self.copy(inner, mapping)))
        raise InternalError("a region without return passed the verifier")

    def copy(self, op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
        """Copy an op of a region that is inlined; its own regions are copied when it is read."""
        if not isinstance(op, EmbedOp | codegen.MapReadOp | codegen.GenerateOp):
            return _copy(op, mapping)
        made = op.clone_without_regions(mapping)
        # An embed is isolated from above, so it captures nothing.
        outside = {} if isinstance(op, EmbedOp) else {**self.body_of(op).outside, **mapping}
        self.bodies[made] = Body(self.body_of(op).block, outside)
        return made


def _copy(op: Operation, mapping: dict[SSAValue, SSAValue]) -> Operation:
    """Clone an op with mapped operands, and add its results to the mapping."""
    return op.clone(mapping) if op.regions else op.clone_without_regions(mapping)
