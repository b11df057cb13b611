"""Contractions: dot and dot_general, and what they share with convolution.

A contraction is a `map` for each free dimension and a `reduce` for each contracted one, which
passes the accumulator from the outer to the inner ones. Operands are views if possible, and stored
in memory if they are computed; the results are stored, too, so that they may be computed in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from riselang.dialects.rise.types import ArrayType
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType
from riselang.frontends.stablehlo.ops.data_movement import permute_dimensions
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, materialize, whole_tensor, zero_literal
from riselang.frontends.term_builder import Builder, drop_widening, length_of, scalar_of
from riselang.term.build import Node


def store_if_computed(builder: Builder, tensor: Tensor) -> Node:
    """Return the whole array; stored in memory if it is computed, since its elements are read
    often."""
    if not tensor.varying:
        return materialize(builder, tensor)
    base = tensor.make()
    kept = builder.store_if_computed(base)
    return materialize(builder, Tensor(tensor.element, tensor.shape, tensor.varying, lambda: kept))


def contract_arrays(
    builder: Builder, depth: int, left: Node, right: Node, sum: Accumulation
) -> Node:
    """Contract two arrays of `depth` dimensions."""

    def reduce_dimension(depth: int, left: Node, right: Node, start: Node) -> Node:
        pairs = builder.zip(left, right)
        if depth == 1:
            products = builder.map(lambda pair: sum.multiply(builder.unpack_tuple(pair, 2)), pairs)
            return builder.reduce(sum.add, start, products)

        def body(total: Node, pair: Node) -> Node:
            first, second = builder.unpack_tuple(pair, 2)
            return reduce_dimension(depth - 1, first, second, total)

        return builder.reduce(body, start, pairs)

    if depth == 0:
        return sum.convert_result(sum.multiply([left, right]))
    return sum.convert_result(
        reduce_dimension(depth, left, right, zero_literal(builder, sum.total))
    )


class Accumulation:
    """How products are computed and accumulated: halves are accumulated as f32."""

    def __init__(self, builder: Builder, result: ElementType):
        self._builder = builder
        self._result = result
        self.total = ELEMENT_TYPES["f32"] if result.is_half else result

    def multiply(self, factors: Sequence[Node]) -> Node:
        given = [self._builder.convert(factor, self.total.scalar) for factor in factors]
        return self._apply_op("mulf", "muli", given)

    def add(self, total: Node, product: Node) -> Node:
        return self._apply_op("addf", "addi", [total, product])

    def convert_result(self, total: Node) -> Node:
        return self._builder.convert(total, self._result.scalar)

    def _apply_op(self, on_floats: str, on_integers: str, operands: Sequence[Node]) -> Node:
        total = self.total
        if total.is_complex:
            generic = {"mulf": "mult", "addf": "add"}[on_floats]
            return self._builder.operation(generic, operands, total.scalar)
        name = on_floats if total.is_float else on_integers
        if total.is_boolean:
            name = {"muli": "andi", "addi": "ori"}[on_integers]
        return self._builder.operation(f"arith.{name}", operands, total.scalar)


@lowers_op("stablehlo.dot", summary="nested `map`s with a `reduce` over `zip` inside")
def _dot(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    return _lower_contraction(regions, op, operands, (), (), (operands[0].rank - 1,), (0,))


@lowers_op("stablehlo.dot_general", summary="nested `map`s with a `reduce` over `zip` inside")
def _dot_general(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    numbers = op.attributes["dot_dimension_numbers"]
    return _lower_contraction(
        regions, op, operands,
        numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"],
        numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"],
    )  # fmt: skip


def _without_dimensions(tensor: Tensor, dropped: Sequence[int]) -> Tensor:
    """Drop dimensions along which a tensor is broadcast."""
    kept = [k for k in range(tensor.rank) if k not in dropped]
    varying = tuple(kept.index(k) for k in tensor.varying)
    return Tensor(tensor.element, tuple(tensor.shape[k] for k in kept), varying, tensor.make)


def _as_halves(left: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    """Drop the last conversion of both operands, if it is from halves to f32: products are added
    as f32 anyway."""
    sources = [drop_widening(each.make()) for each in (left, right)]
    types = {None if source is None else scalar_of(source.type) for source in sources}
    if len(types) != 1 or None in types:
        return left, right
    (type,) = types
    element = next(each for each in ELEMENT_TYPES.values() if each.is_half and each.scalar == type)

    def with_source(tensor: Tensor, source: Node | None) -> Tensor:
        assert source is not None
        return replace(tensor, element=element, make=lambda: source)

    return with_source(left, sources[0]), with_source(right, sources[1])


def _lower_contraction(
    regions: RegionLowering,
    op: TypedOp,
    operands: Sequence[Tensor],
    left_batch: Sequence[int],
    right_batch: Sequence[int],
    left_contracted: Sequence[int],
    right_contracted: Sequence[int],
) -> Tensor:
    builder = regions.builder
    left, right = _as_halves(*operands)
    left_kept = [k for k in range(left.rank) if k not in (*left_batch, *left_contracted)]
    right_kept = [k for k in range(right.rank) if k not in (*right_batch, *right_contracted)]
    if left_batch and not any(k in right.varying for k in right_batch):
        # All matrices of the batch are multiplied by the same one: their rows are those of one.
        left_kept, left_batch = [*left_batch, *left_kept], ()
        kept = [k for k in range(right.rank) if k not in right_batch]
        right = _without_dimensions(right, right_batch)
        right_kept = [kept.index(k) for k in right_kept]
        right_contracted = [kept.index(k) for k in right_contracted]
        right_batch = ()
    lefts = permute_dimensions(
        builder, store_if_computed(builder, left), [*left_batch, *left_kept, *left_contracted]
    )
    rights = permute_dimensions(
        builder, store_if_computed(builder, right), [*right_batch, *right_kept, *right_contracted]
    )
    sum = Accumulation(builder, op.result.element)

    def map_batch(depth: int, left: Node, right: Node) -> Node:
        if depth == 0:
            return map_rows(len(left_kept), left, right)

        def body(pair: Node) -> Node:
            return map_batch(depth - 1, *builder.unpack_tuple(pair, 2))

        return builder.map(body, builder.zip(left, right))

    def map_rows(depth: int, left: Node, right: Node) -> Node:
        # Rows may have any number of dimensions.
        for _ in range(depth - 1):
            left = builder.join(left)
        if depth:
            return builder.map(lambda row: map_columns(len(right_kept), row, right), left, "row")
        return map_columns(len(right_kept), left, right)

    def split_rows(rows: Node) -> Node:
        for k in reversed(left_kept[1:]):
            length = left.shape[k]
            rows = builder.split(length, length_of(rows) // length, rows)
        return rows

    def map_columns(depth: int, row: Node, right: Node) -> Node:
        if depth:
            return builder.map(lambda column: map_columns(depth - 1, row, column), right, "column")
        return contract_arrays(builder, len(left_contracted), row, right, sum)

    node = map_batch(len(left_batch), lefts, rights)
    if isinstance(node.type, ArrayType) and left_contracted:
        node = builder.to_mem(node)
    node = builder.map_at(len(left_batch), split_rows, node)
    return whole_tensor(op.result.element, op.result.shape, node)
