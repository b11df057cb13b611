"""Phase 2: from access paths to loads and stores (seed 000, section 4.2.2).

Each scalar that is needed is followed from its definition back to a buffer, collecting a path of
indices and tuple positions; at the buffer the path becomes one load or store. A value without
arrays is resolved once, right behind its definition, so nothing is loaded or computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise import codegen
from riselang.dialects.rise.functional import EmbedOp, ReturnOp
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    components,
    contains_array,
    leaves,
)
from riselang.errors import InternalError
from riselang.lowering import total
from riselang.lowering.indices import (
    IndexEmitter,
    affine_expression,
    first_choice,
    is_small,
    replace_atom,
)
from riselang.nat import (
    Facts,
    Min,
    Nat,
    is_less,
    is_nonnegative,
    nat_max,
    nat_min,
    simplify,
)


class Side(Enum):
    FIRST = 0
    SECOND = 1


MAXIMUM_DEPTH = 12
"""Indices nested deeper than this are computed step by step, so that code stays linear."""

Path: TypeAlias = "tuple[Nat | Side, ...]"
Anchor: TypeAlias = "SSAValue | Block"
"""The value or the branch for which a path is followed; copies are shared within one."""
Branch: TypeAlias = "Callable[[Block, Builder], SSAValue]"


def resolve_accesses(function: Operation, helpers: total.Helpers) -> None:
    """Replace every access path in `function` by loads and stores.

    Functions that the new code calls are added to `helpers`.
    """
    resolver = _Resolver(helpers)
    for region in function.regions:
        for block in region.blocks:
            resolver.process(list(block.ops))
    _erase_rise_ops(function)


def _erase_rise_ops(function: Operation) -> None:
    """What is left of RISE has no effect; uses come after definitions, so erase from the end."""
    found: list[Operation] = []
    stack = [block for region in function.regions for block in region.blocks]
    while stack:
        for op in stack.pop().ops:
            if op.name.startswith("rise."):
                found.append(op)
            else:
                stack.extend(block for region in op.regions for block in region.blocks)
    # Blocks further inside were found later, and in each block uses stand behind definitions.
    for op in reversed(found):
        for result in op.results:
            if any(True for _ in result.uses):
                raise InternalError(f"{op.name} is still used after access resolution")
        op.detach()
        op.erase()


class _Resolver:
    def __init__(self, helpers: total.Helpers) -> None:
        self.helpers = helpers
        self.natives: dict[tuple[SSAValue, Path], SSAValue] = {}
        self.copies: dict[tuple[Anchor, SSAValue, Nat], SSAValue] = {}
        self.expressions: dict[SSAValue, Nat] = {}
        self.variables: dict[str, SSAValue] = {}
        self.bounds: dict[str, int] = {}
        self.places: dict[Operation, Builder] = {}

    # Where values are needed

    def process(self, ops: Sequence[Operation]) -> None:
        """Resolve what these ops store or hand to other dialects; views wait to be read."""
        for op in ops:
            if isinstance(op, codegen.MapReadOp | codegen.GenerateOp):
                continue
            if isinstance(op, codegen.AssignOp):
                value = self.native(op.value, ())
                self.store(value, op.target, Builder(InsertPoint.before(op)))
            elif isinstance(op, codegen.CastOp) and not isinstance(op.result.type, RiseType):
                if op.sources:
                    op.result.replace_all_uses_with(self.native(op.sources[0], ()))
            elif not isinstance(op, EmbedOp):
                for region in op.regions:
                    for block in region.blocks:
                        self.process(list(block.ops))

    def native(self, value: SSAValue, path: Path) -> SSAValue:
        """The plain scalar at the end of `path`, which has only tuple positions, in `value`."""
        while True:
            owner = value.owner
            if isinstance(owner, codegen.FstOp | codegen.SndOp):
                if contains_array(_data(owner.source)):
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
        return self.follow(value, path, value, self.behind(owner))

    def behind(self, op: Operation) -> Builder:
        """The place behind an op; what is added there keeps its order."""
        if op not in self.places:
            self.places[op] = Builder(InsertPoint.after(op))
        return self.places[op]

    def inline(self, op: EmbedOp) -> SSAValue:
        """The ops of an embed, in its place, on plain scalars."""
        mapping: dict[SSAValue, SSAValue] = {}
        for argument, operand in zip(op.body.block.args, op.arguments, strict=True):
            mapping[argument] = self.native(operand, ())
        builder = Builder(InsertPoint.before(op))
        for inner in op.body.block.ops:
            if isinstance(inner, ReturnOp):
                return mapping[inner.values[0]]
            if total.is_partial(inner):
                operands = [mapping[operand] for operand in inner.operands]
                mapping[inner.results[0]] = total.emit_total(
                    inner, operands, lambda op: builder.insert(op).results[0], self.helpers
                )
                continue
            clone = builder.insert(inner.clone(mapping))
            mapping.update(zip(inner.results, clone.results, strict=True))
        raise InternalError("an embed without return passed the verifier")

    # Paths

    def follow(self, value: SSAValue, path: Path, anchor: Anchor, builder: Builder) -> SSAValue:
        """Walk from `value` to the buffer that holds the scalar at `path`, and load it."""
        while True:
            if not contains_array(_data(value)) and value is not anchor:
                return self.native(value, path)
            op = value.owner
            assert isinstance(op, Operation)
            if isinstance(op, codegen.CastOp):
                return self.load(op, path, builder)
            if isinstance(op, codegen.MapReadOp):
                index = path[0]
                assert isinstance(index, Nat)
                value, path = self.computed(op, index, anchor, builder), path[1:]
            elif isinstance(op, codegen.GenerateOp):
                value, path = self.generated(op, _nat(path[0]), anchor, builder), path[1:]
            elif isinstance(op, codegen.GatherOp):
                place = self.follow(op.indices, path[:1], anchor, builder)
                index = self.variable(place, _array(op.source).length.constant)
                value, path = op.source, (index, *path[1:])
            elif isinstance(op, codegen.ConcatOp):
                return self.concatenated(op, path, builder)
            elif isinstance(op, codegen.PadConstOp):
                return self.padded(op, path, builder)
            else:
                value, path = self.step(op, path)
                path = self.shortened(_data(value), path, builder)

    def concatenated(self, op: codegen.ConcatOp, path: Path, builder: Builder) -> SSAValue:
        index, length = _nat(path[0]), _array(op.first).length
        return self.choice(
            length - 1 - index,
            _leaf(_data(op.result), path),
            lambda block, inner: self.follow(op.first, path, block, inner),
            lambda block, inner: self.follow(op.second, (index - length, *path[1:]), block, inner),
            builder,
        )

    def padded(self, op: codegen.PadConstOp, path: Path, builder: Builder) -> SSAValue:
        index = _nat(path[0]) - op.left.data
        leaf = _leaf(_data(op.result), path)

        def outside(block: Block, inner: Builder) -> SSAValue:
            return self.follow(op.value, path[1:], block, inner)

        def inside(block: Block, inner: Builder) -> SSAValue:
            return self.choice(
                _array(op.source).length - 1 - index,
                leaf,
                lambda block, inner: self.follow(op.source, (index, *path[1:]), block, inner),
                outside,
                inner,
            )

        return self.choice(index, leaf, inside, outside, builder)

    def choice(
        self, gap: Nat, type: Attribute, chosen: Branch, other: Branch, builder: Builder
    ) -> SSAValue:
        """One of two scalars, by whether `gap` is not negative; decided here where it can be."""
        gap = simplify(gap, self.facts(gap))
        if is_nonnegative(gap, self.facts(gap)):
            return chosen(Block(), builder)
        if is_less(gap, Nat.const(0), self.facts(gap)):
            return other(Block(), builder)
        regions: list[Region] = []
        is_affine = self.is_affine([gap]) and first_choice(gap) is None
        for branch in (chosen, other):
            block = Block()
            value = branch(block, Builder(InsertPoint.at_end(block)))
            block.add_op(affine.YieldOp.get(value) if is_affine else scf.YieldOp(value))
            regions.append(Region(block))
        if is_affine:
            return self.affine_if(gap, type, regions, builder)
        (distance, zero) = self.arithmetic([gap, Nat.const(0)], builder)
        condition = builder.insert(arith.CmpiOp(distance, zero, "sge")).results[0]
        return builder.insert(scf.IfOp(condition, [type], regions[0], regions[1])).results[0]

    def affine_if(
        self, gap: Nat, type: Attribute, regions: list[Region], builder: Builder
    ) -> SSAValue:
        map, operands = self.affine_map([gap])
        constraint = AffineConstraintExpr(
            AffineConstraintKind.ge, map.data.results[0], AffineExpr.constant(0)
        )
        condition = AffineSetAttr(AffineSet(map.data.num_dims, 0, (constraint,)))
        op = affine.IfOp.build(
            operands=[operands],
            result_types=[[type]],
            properties={"condition": condition},
            regions=regions,
        )
        return builder.insert(op).results[0]

    def generated(
        self, op: codegen.GenerateOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """The element of an array that is computed from its indices."""
        (place,) = self.arithmetic([simplify(index, self.facts(index))], builder)
        argument = op.body.block.args[0]
        wrapped = builder.insert(codegen.CastOp([place], argument.type)).results[0]
        return self.copied(op.body.block, wrapped, builder)

    def shortened(self, type: RiseType, path: Path, builder: Builder) -> Path:
        """The path with each index that has grown deep computed here, once, and named."""
        parts: list[Nat | Side] = []
        for part in path:
            if isinstance(part, Side):
                type = components(type)[part.value]
            else:
                assert isinstance(type, ArrayType)
                if part.depth > MAXIMUM_DEPTH:
                    part = self.named(part, type.length.constant, builder)
                type = type.element
            parts.append(part)
        return tuple(parts)

    def named(self, index: Nat, length: int, builder: Builder) -> Nat:
        (value,) = self.arithmetic([simplify(index, self.facts(index))], builder)
        self.expressions[value] = variable = self.variable(value, length)
        return variable

    def variable(self, value: SSAValue, length: int) -> Nat:
        """A new name for an index into an array of `length` elements."""
        # Sorted by name, the indices of outer loops come first.
        name = f"${_depth(value):03}.{len(self.variables)}"
        self.variables[name] = value
        self.bounds[name] = length - 1
        return Nat.var(name)

    def step(self, op: Operation, path: Path) -> tuple[SSAValue, Path]:
        """One step of figure 8 of seed 000."""
        match op:
            case codegen.IdxOp():
                return op.array, (self.index(op), *path)
            case codegen.FstOp():
                return op.source, (Side.FIRST, *path)
            case codegen.SndOp():
                return op.source, (Side.SECOND, *path)
            case codegen.TupleOp():
                return (op.first if path[0] is Side.FIRST else op.second), path[1:]
            case codegen.ZipOp():
                chosen = op.first if path[1] is Side.FIRST else op.second
                return chosen, (path[0], *path[2:])
            case codegen.ZipAccOp():
                return op.target, (path[0], Side(op.POSITION), *path[1:])
            case codegen.UnzipOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.UnzipAccOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.TransposeOp() | codegen.TransposeAccOp():
                return op.source, (path[1], path[0], *path[2:])
            case codegen.SplitOp():
                return op.source, (_joined(path, _inner_length(op.result)), *path[2:])
            case codegen.JoinAccOp():
                return op.source, (_joined(path, _inner_length(op.result)), *path[2:])
            case codegen.JoinOp() | codegen.SplitAccOp():
                # In an empty array there is nothing to read, so any index will do.
                length = nat_max(_inner_length(op.source), Nat.const(1))
                return op.source, (_nat(path[0]) // length, _nat(path[0]) % length, *path[1:])
            case codegen.SlideOp():
                start = _nat(path[0]) * op.step.data
                return op.source, (start + _nat(path[1]), *path[2:])
            case codegen.ReverseOp() | codegen.ReverseAccOp():
                return op.source, (_array(op.source).length - 1 - _nat(path[0]), *path[1:])
            case codegen.SliceAtOp():
                starts = _array(op.source).length - _array(op.result).length + 1
                start = self.known_index(op.index, starts.constant)
                return op.source, (start + _nat(path[0]), *path[1:])
            case codegen.TakeOp():
                return op.source, path
            case codegen.DropOp():
                dropped = _array(op.source).length - _array(op.result).length
                return op.source, (_nat(path[0]) + dropped, *path[1:])
            case codegen.ShiftedPadOp():
                length = _array(op.source).length
                return op.source, (_padded_index(op, _nat(path[0]), length), *path[1:])
            case _:
                raise InternalError(f"{op.name} is no step of an access path")

    def index(self, op: codegen.IdxOp) -> Nat:
        """The index as an expression; by its type it is below the length of the array."""
        return self.known_index(op.index, _array(op.array).length.constant)

    def known_index(self, value: SSAValue, bound: int) -> Nat:
        known = self.expressions.get(value)
        if known is not None:
            return known
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return Nat.const(owner.value.value.data)
        self.expressions[value] = self.variable(value, bound)
        return self.expressions[value]

    def computed(
        self, op: codegen.MapReadOp, index: Nat, anchor: Anchor, builder: Builder
    ) -> SSAValue:
        """The element of a map that is only read: its function body, copied to this place."""
        index = simplify(index, self.facts(index))
        key = (anchor, op.result, index)
        if key in self.copies:
            return self.copies[key]
        place = builder.insert(codegen.CastOp([], IndexType())).results[0]
        self.expressions[place] = index
        element = builder.insert(codegen.IdxOp(op.source, place)).results[0]
        self.copies[key] = self.copied(op.body.block, element, builder)
        return self.copies[key]

    def copied(self, body: Block, argument: SSAValue, builder: Builder) -> SSAValue:
        """What a region computes for its argument, copied to this place."""
        mapping: dict[SSAValue, SSAValue] = {body.args[0]: argument}
        copies: list[Operation] = []
        for inner in body.ops:
            if isinstance(inner, ReturnOp):
                self.process(copies)
                return mapping.get(inner.values[0], inner.values[0])
            copy = builder.insert(inner.clone(mapping))
            mapping.update(zip(inner.results, copy.results, strict=True))
            copies.append(copy)
        raise InternalError("a region without return passed the verifier")

    # Memory

    def facts(self, *expressions: Nat) -> Facts:
        facts = Facts()
        for name in sorted({name for part in expressions for name in part.variables}):
            facts = facts.with_bounds(name, 0, self.bounds[name])
        return facts

    def load(self, op: codegen.CastOp, path: Path, builder: Builder) -> SSAValue:
        buffer, indices = self.place(op, path)
        if self.is_affine(indices):
            return self.affine_load(buffer, indices, builder)
        values = self.arithmetic(indices, builder)
        return builder.insert(memref.LoadOp.get(buffer, values)).results[0]

    def store(self, value: SSAValue, target: SSAValue, builder: Builder) -> None:
        path: Path = ()
        while not isinstance(op := target.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            target, path = self.step(op, path)
            path = self.shortened(_data(target), path, builder)
        buffer, indices = self.place(op, path)
        if self.is_affine(indices):
            map, operands = self.affine_map(indices)
            builder.insert(affine.StoreOp(value, buffer, operands, map))
        else:
            values = self.arithmetic(indices, builder)
            builder.insert(memref.StoreOp.get(value, buffer, values))

    def place(self, op: codegen.CastOp, path: Path) -> tuple[SSAValue, list[Nat]]:
        """The buffer and the indices that a path means."""
        position, type = 0, _data(op.result)
        indices: list[Nat] = []
        for part in path:
            if isinstance(part, Side):
                assert isinstance(type, TupleType)
                first, second = components(type)
                position += 0 if part is Side.FIRST else len(list(leaves(first)))
                type = first if part is Side.FIRST else second
            else:
                assert isinstance(type, ArrayType)
                indices.append(simplify(part, self.facts(part)))
                type = type.element
        buffer = op.sources[position]
        assert isinstance(buffer.type, MemRefType)
        if len(buffer.type.get_shape()) == 1 and not indices:
            indices = [Nat.const(0)]
        return buffer, indices

    def is_affine(self, indices: Sequence[Nat]) -> bool:
        names = {name for index in indices for name in index.variables}
        if not all(_is_affine_index(self.variables[name]) for name in names):
            return False
        if not is_small(indices):
            return False
        return all(_without_choices(index).is_affine_in(names) for index in indices)

    def affine_map(self, indices: Sequence[Nat]) -> tuple[AffineMapAttr, list[SSAValue]]:
        names = sorted({name for index in indices for name in index.variables})
        dimensions = {name: position for position, name in enumerate(names)}
        results = tuple(affine_expression(index, dimensions) for index in indices)
        map = AffineMapAttr(AffineMap(len(names), 0, results))
        return map, [self.variables[name] for name in names]

    def affine_load(self, buffer: SSAValue, indices: Sequence[Nat], builder: Builder) -> SSAValue:
        """One load; where an index has a min or max, one in each branch of an `affine.if`."""
        choice = next((c for index in indices if (c := first_choice(index)) is not None), None)
        if choice is None:
            map, operands = self.affine_map(indices)
            return builder.insert(affine.LoadOp(buffer, operands, map)).results[0]
        first, *others = choice.arguments
        second = nat_min(*others) if isinstance(choice, Min) else nat_max(*others)
        regions: list[Region] = []
        for chosen in (first, second):
            block = Block()
            inner = Builder(InsertPoint.at_end(block))
            decided = [replace_atom(index, choice, chosen) for index in indices]
            decided = [simplify(index, self.facts(index)) for index in decided]
            value = self.affine_load(buffer, decided, inner)
            block.add_op(affine.YieldOp.get(value))
            regions.append(Region(block))
        gap = second - first if isinstance(choice, Min) else first - second
        assert isinstance(buffer.type, MemRefType)
        return self.affine_if(gap, buffer.type.element_type, regions, builder)

    def arithmetic(self, indices: Sequence[Nat], builder: Builder) -> list[SSAValue]:
        emitter = IndexEmitter(lambda op: builder.insert(op).results[0], self.variables)
        return [emitter.value(index) for index in indices]


def _is_affine_index(value: SSAValue) -> bool:
    """Whether MLIR takes the value as a dimension of an affine map."""
    if not isinstance(value, BlockArgument):
        return False
    loop = value.block.parent_op()
    # Behind the index of a loop stand the values it carries, which may be of type index too.
    return isinstance(loop, affine.ParallelOp) or (
        isinstance(loop, affine.ForOp) and value.index == 0
    )


def _without_choices(expression: Nat) -> Nat:
    """Each min and max replaced by the sum of its arguments, which is affine when all are."""
    while (choice := first_choice(expression)) is not None:
        total_of_arguments = Nat.const(0)
        for argument in choice.arguments:
            total_of_arguments = total_of_arguments + argument
        expression = replace_atom(expression, choice, total_of_arguments)
    return expression


def _depth(index: SSAValue) -> int:
    """How many ops stand around the definition of an index."""
    owner = index.owner
    parent = owner.parent_op()
    depth = 0
    while parent is not None:
        depth += 1
        parent = parent.parent_op()
    return depth


def _data(value: SSAValue) -> RiseType:
    assert isinstance(value.type, RiseType)
    return value.type


def _array(value: SSAValue) -> ArrayType:
    assert isinstance(value.type, ArrayType)
    return value.type


def _inner_length(value: SSAValue) -> Nat:
    inner = _array(value).element
    assert isinstance(inner, ArrayType)
    return inner.length


def _nat(part: Nat | Side) -> Nat:
    assert isinstance(part, Nat)
    return part


def _leaf(type: RiseType, path: Path) -> Attribute:
    """The plain type of the scalar at the end of a path."""
    for part in path:
        if isinstance(part, Side):
            type = components(type)[part.value]
        else:
            assert isinstance(type, ArrayType)
            type = type.element
    return IndexType() if isinstance(type, IdxType) else _scalar(type).element


def _scalar(type: RiseType) -> ScalarType:
    assert isinstance(type, ScalarType)
    return type


def _padded_index(op: codegen.ShiftedPadOp, index: Nat, length: Nat) -> Nat:
    """Where in an array of `length` elements a padded array has its element `index`."""
    if isinstance(op, codegen.PadWrapOp):
        # The left pad is at most the length, so adding the length once makes it positive.
        return (index - op.left.data + length) % nat_max(length, Nat.const(1))
    inside, last = index - op.left.data, length - 1
    if isinstance(op, codegen.PadReflectOp):
        distance = nat_max(inside, -inside)
        return nat_min(distance, last * 2 - distance)
    return nat_max(nat_min(inside, last), Nat.const(0))


def _joined(path: Path, length: Nat) -> Nat:
    return _nat(path[0]) * length + _nat(path[1])
