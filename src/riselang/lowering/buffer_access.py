"""Phase 2, the end of a path: indices into buffers, as affine maps or as arith ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    AnyFloat,
    FixedBitwidthType,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Region, SSAValue
from xdsl.ir.affine import (
    AffineConstraintExpr,
    AffineConstraintKind,
    AffineExpr,
    AffineMap,
    AffineSet,
)
from xdsl.rewriter import InsertPoint

from riselang.dialects.memref import PrefetchOp
from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    TupleType,
    VectorType,
    components,
    leaves,
)
from riselang.dialects.rise.view_routes import Path, Side
from riselang.lowering.constant_buffers import constant_element
from riselang.lowering.flat_loads import flat_index
from riselang.lowering.index_expressions import (
    IndexEmitter,
    affine_expression,
    first_min_max,
    fits_affine_map,
    replace_atom,
)
from riselang.lowering.origins import builder_like
from riselang.nat import (
    Facts,
    Min,
    Nat,
    nat_max,
    nat_min,
    simplify,
)

CACHE_LINE_BYTES = 64
"""The number of bytes in a cache line."""
L1_LOCALITY, L2_LOCALITY = 3, 2
"""The localities of prefetches into the L1 cache, and into the L2 cache."""
NEAR_BYTES = 4096
"""The largest distance of elements that are prefetched into the L1 cache, which is small, and in
which rows of large arrays conflict."""
MAX_INDEX_DEPTH = 12
"""Indices nested deeper than this are computed in steps, so that code size stays linear."""

Anchor: TypeAlias = "SSAValue | Block"
"""The value or the branch for which a path is followed; copies are shared within it."""
Branch: TypeAlias = "Callable[[Block, Builder], SSAValue]"


class Memory:
    """Loads from buffers, and the facts that are known about their indices."""

    def __init__(self) -> None:
        self.expressions: dict[SSAValue, Nat] = {}
        self.variables: dict[str, SSAValue] = {}
        self.bounds: dict[str, Nat | None] = {}
        self.facts_cache: dict[frozenset[str], Facts] = {}
        """Facts from the bounds, which never change, cached by the names that they are about."""
        self.sizes: set[str] = set()
        """The variables that are sizes of the function."""
        self.prefetched_indices: dict[tuple[Block, SSAValue], list[list[Nat]]] = {}
        """The indices that have been prefetched in a block, for each buffer."""
        self.flat_loads: dict[affine.LoadOp, Nat] = {}
        """Loads that can read a flattened input instead, and the positions of the elements."""

    def declare_size(self, op: codegen.SizeOp) -> None:
        """Declare a size that types refer to by name."""
        name = op.size.data
        self.variables[name] = op.value
        self.bounds[name] = None
        self.sizes.add(name)

    def affine_if(
        self, gap: Nat, type: Attribute, regions: list[Region], builder: Builder
    ) -> SSAValue:
        map, operands = self.affine_map([gap])
        constraint = AffineConstraintExpr(
            AffineConstraintKind.ge, map.data.results[0], AffineExpr.constant(0)
        )
        condition = AffineSetAttr(AffineSet(map.data.num_dims, map.data.num_symbols, (constraint,)))
        op = affine.IfOp.build(
            operands=[operands],
            result_types=[[type]],
            properties={"condition": condition},
            regions=regions,
        )
        return builder.insert(op).results[0]

    def shorten_path(self, type: RiseType, path: Path, builder: Builder) -> Path:
        """Replace each deeply nested index of a path by a variable that is computed here."""
        if not self.is_deep(path):
            return path
        parts: list[Nat | Side] = []
        for part in path:
            if isinstance(part, Side):
                type = components(type)[part.value]
            else:
                assert isinstance(type, ArrayType | VectorType)
                if part.depth > MAX_INDEX_DEPTH:
                    part = self.name_index(part, type.length, builder)
                type = type.element
            parts.append(part)
        return tuple(parts)

    def is_deep(self, path: Path) -> bool:
        """Whether an index of a path is nested so deeply that it is computed in steps."""
        return any(isinstance(part, Nat) and part.depth > MAX_INDEX_DEPTH for part in path)

    def name_index(self, index: Nat, length: Nat, builder: Builder) -> Nat:
        (value,) = self.emit_indices([simplify(index, self.facts(index))], builder)
        self.expressions[value] = variable = self.new_variable(value, length)
        return variable

    def new_variable(self, value: SSAValue, length: Nat) -> Nat:
        """Create a variable for an index into an array of `length` elements."""
        # Sorted by name, the indices of outer loops come first.
        name = f"${_nesting_depth(value):03}.{len(self.variables)}"
        self.variables[name] = value
        self.bounds[name] = length - 1
        return Nat.var(name)

    def known_index(self, value: SSAValue, bound: Nat) -> Nat:
        known = self.expressions.get(value)
        if known is not None:
            return known
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
            return Nat.const(owner.value.value.data)
        self.expressions[value] = self.new_variable(value, bound)
        return self.expressions[value]

    def facts(self, *expressions: Nat) -> Facts:
        names = frozenset[str]().union(*(part.variables for part in expressions))
        known = self.facts_cache.get(names)
        if known is None:
            known = Facts()
            for name in sorted(names):
                known = known.with_bounds(name, 0, self.bounds[name])
            self.facts_cache[names] = known
        return known

    def load(self, op: codegen.CastOp, path: Path, builder: Builder) -> SSAValue:
        buffer, indices = self.address(op, path)
        if (known := constant_element(buffer, indices)) is not None:
            return builder.insert(known).result
        if self.is_affine(indices):
            return self.affine_load(buffer, indices, builder)
        values = self.emit_indices(indices, builder)
        type = buffer_element_type(buffer)
        load = memref.LoadOp.create(operands=[buffer, *values], result_types=[type])
        return builder.insert(load).results[0]

    def prefetch(self, op: codegen.CastOp, path: Path, locality: int, builder: Builder) -> None:
        """Prefetch the element at a path, unless its cache line is already prefetched here."""
        buffer, indices = self.address(op, path)
        assert isinstance(buffer.type, MemRefType)
        key = (builder.insertion_point.block, buffer)
        known = self.prefetched_indices.setdefault(key, [])
        if any(_share_cache_line(indices, each, buffer.type) for each in known):
            return
        known.append(indices)
        builder.insert(PrefetchOp(buffer, self.emit_indices(indices, builder), locality))

    def placeholder(self, type: Attribute, builder: Builder) -> SSAValue:
        """Return a placeholder for an element that does not exist."""
        if isinstance(type, IntegerType | IndexType):
            return builder.insert(arith.ConstantOp(IntegerAttr(0, type))).results[0]
        return builder.insert(arith.ConstantOp(FloatAttr(0.0, cast(AnyFloat, type)))).results[0]

    def address(self, op: codegen.CastOp, path: Path) -> tuple[SSAValue, list[Nat]]:
        """Return the buffer and the indices that a path refers to."""
        position, type = 0, rise_type_of(op.result)
        indices: list[Nat] = []
        for part in path:
            if isinstance(part, Side):
                assert isinstance(type, TupleType)
                first, second = components(type)
                position += 0 if part is Side.FIRST else len(list(leaves(first)))
                type = first if part is Side.FIRST else second
            else:
                assert isinstance(type, ArrayType | VectorType)
                indices.append(simplify(part, self.facts(part)))
                type = type.element
        buffer = op.sources[position]
        assert isinstance(buffer.type, MemRefType)
        if len(buffer.type.get_shape()) == 1 and not indices:
            indices = [Nat.const(0)]
        return buffer, indices

    def is_affine(self, indices: Sequence[Nat]) -> bool:
        names = {name for index in indices for name in index.variables}
        if not all(_is_affine_index(self.variables[name]) for name in names - self.sizes):
            return False
        if not fits_affine_map(indices):
            return False
        return all(_replace_min_max_by_sums(index).is_affine_in(names) for index in indices)

    def affine_map(self, indices: Sequence[Nat]) -> tuple[AffineMapAttr, list[SSAValue]]:
        names = {name for index in indices for name in index.variables}
        # A size may be a dimension or a symbol; xDSL prints symbols with the wrong names.
        ordered = sorted(names - self.sizes) + sorted(names & self.sizes)
        dimensions = {name: position for position, name in enumerate(ordered)}
        results = tuple(affine_expression(index, dimensions) for index in indices)
        map = AffineMapAttr(AffineMap(len(ordered), 0, results))
        return map, [self.variables[name] for name in ordered]

    def affine_load(self, buffer: SSAValue, indices: Sequence[Nat], builder: Builder) -> SSAValue:
        """Emit one load, or one in each branch of an `affine.if` if an index has a min or max."""
        choice = next((c for index in indices if (c := first_min_max(index)) is not None), None)
        if choice is None:
            map, operands = self.affine_map(indices)
            # `create` takes the lists unchanged; a constructor would inspect each operand.
            load = affine.LoadOp.create(
                operands=[buffer, *operands],
                result_types=[buffer_element_type(buffer)],
                properties={"map": map},
            )
            position = flat_index(buffer, indices)
            if position is not None:
                self.flat_loads[load] = position
            return builder.insert(load).results[0]
        # The condition compares two arguments; the branches decide about the others.
        first, second, *other_arguments = choice.arguments
        extremum = nat_min if isinstance(choice, Min) else nat_max
        regions: list[Region] = []
        for argument in (first, second):
            block = Block()
            inner = builder_like(builder, InsertPoint.at_end(block))
            result = extremum(argument, *other_arguments) if other_arguments else argument
            branch_indices = [replace_atom(index, choice, result) for index in indices]
            branch_indices = [simplify(index, self.facts(index)) for index in branch_indices]
            value = self.affine_load(buffer, branch_indices, inner)
            block.add_op(affine.YieldOp.get(value))
            regions.append(Region(block))
        gap = second - first if isinstance(choice, Min) else first - second
        assert isinstance(buffer.type, MemRefType)
        return self.affine_if(gap, buffer.type.element_type, regions, builder)

    def emit_indices(self, indices: Sequence[Nat], builder: Builder) -> list[SSAValue]:
        emitter = self.index_emitter(builder)
        return [emitter.value(index) for index in indices]

    def index_emitter(self, builder: Builder) -> IndexEmitter:
        return IndexEmitter(lambda op: builder.insert(op).results[0], self.variables, self.facts)


def prefetch_locality(element: RiseType, distance: Nat) -> int:
    """Return the locality of prefetches of elements of an array at a distance."""
    lengths, scalar = next(leaves(element))
    count = prod(lengths, start=distance)
    type = scalar.element
    size = type.size if isinstance(type, FixedBitwidthType) else 8
    is_near = count.is_constant and count.constant * size <= NEAR_BYTES
    return L1_LOCALITY if is_near else L2_LOCALITY


def _share_cache_line(
    first: Sequence[Nat], second: Sequence[Nat], type: MemRefType[Attribute]
) -> bool:
    """Whether two elements are likely to share a cache line."""
    distance = first[-1] - second[-1]
    if list(first[:-1]) != list(second[:-1]) or not distance.is_constant:
        return False
    size = type.element_type.size if isinstance(type.element_type, FixedBitwidthType) else 8
    return abs(distance.constant) * size < CACHE_LINE_BYTES


def _is_affine_index(value: SSAValue) -> bool:
    """Whether MLIR accepts the value as a dimension of an affine map."""
    if not isinstance(value, BlockArgument):
        return False
    loop = value.block.parent_op()
    # Loop-carried values follow the index, and may be of type index too.
    return isinstance(loop, affine.ParallelOp) or (
        isinstance(loop, affine.ForOp) and value.index == 0
    )


def _replace_min_max_by_sums(expression: Nat) -> Nat:
    """Replace each min and max by the sum of its arguments, which is affine if they all are."""
    while (choice := first_min_max(expression)) is not None:
        total_of_arguments = Nat.const(0)
        for argument in choice.arguments:
            total_of_arguments = total_of_arguments + argument
        expression = replace_atom(expression, choice, total_of_arguments)
    return expression


def _nesting_depth(index: SSAValue) -> int:
    """Return the nesting depth of the definition of an index."""
    owner = index.owner
    parent = owner.parent_op()
    depth = 0
    while parent is not None:
        depth += 1
        parent = parent.parent_op()
    return depth


def buffer_element_type(buffer: SSAValue) -> Attribute:
    assert isinstance(buffer.type, MemRefType)
    return buffer.type.element_type


def rise_type_of(value: SSAValue) -> RiseType:
    assert isinstance(value.type, RiseType)
    return value.type


def array_type_of(value: SSAValue) -> ArrayType:
    assert isinstance(value.type, ArrayType)
    return value.type


def as_index(part: Nat | Side) -> Nat:
    assert isinstance(part, Nat)
    return part
