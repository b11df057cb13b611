"""Contractions: dot and dot_general, and what they share with convolution.

A contraction is a `map` for each free dimension and a `reduce` for each contracted one, which
passes the accumulator from the outer to the inner ones. Operands are views if possible, and stored
in memory if they are computed; the results are stored, too, so that they may be computed in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from riselang.dialects.rise.types import ArrayType
from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import (
    Tensor,
    broadcast_tensor,
    broadcast_unit_dimensions,
    materialize,
    permute_dimensions,
    whole_tensor,
    without_dimensions,
    zero_literal,
)
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


@dataclass(frozen=True)
class _Operand:
    """A tensor, and the roles of its dimensions."""

    tensor: Tensor
    batch: Sequence[int]
    kept: Sequence[int]
    contracted: Sequence[int]

    @property
    def result_dimensions(self) -> Sequence[int]:
        return [*self.batch, *self.kept]

    def without(self, dropped: Sequence[int]) -> _Operand:
        """Drop dimensions along which it is broadcast."""
        rest = [k for k in range(self.tensor.rank) if k not in dropped]
        batch, kept, contracted = (
            [rest.index(k) for k in each if k in rest]
            for each in (self.batch, self.kept, self.contracted)
        )
        return _Operand(without_dimensions(self.tensor, dropped), batch, kept, contracted)

    def array(self, builder: Builder) -> Node:
        order = [*self.batch, *self.kept, *self.contracted]
        return permute_dimensions(builder, store_if_computed(builder, self.tensor), order)


def _lower_contraction(
    regions: RegionLowering,
    op: TypedOp,
    operands: Sequence[Tensor],
    left_batch: Sequence[int],
    right_batch: Sequence[int],
    left_contracted: Sequence[int],
    right_contracted: Sequence[int],
) -> Tensor:
    left, right = (
        _Operand(
            tensor, batch, [k for k in range(tensor.rank) if k not in (*batch, *contracted)],
            contracted,
        )
        for tensor, batch, contracted in zip(
            _as_halves(*operands), (left_batch, right_batch), (left_contracted, right_contracted),
            strict=True,
        )
    )  # fmt: skip
    if left.batch and not any(k in right.tensor.varying for k in right.batch):
        # All matrices of the batch are multiplied by the same one: their rows are those of one.
        left = replace(left, batch=(), kept=[*left.batch, *left.kept])
        right = right.without(right.batch)
    builder = regions.builder
    left, right, computed = _without_broadcasts(builder, left, right)
    node = _contract(builder, left, right, Accumulation(builder, op.result.element))
    shape = [op.result.shape[k] for k in computed]
    return broadcast_tensor(whole_tensor(op.result.element, shape, node), op.result.shape, computed)


def _without_broadcasts(
    builder: Builder, left: _Operand, right: _Operand
) -> tuple[_Operand, _Operand, list[int]]:
    """Drop the dimensions along which the result is broadcast; return the others of the result."""
    units = [
        (a, b)
        for a, b in zip(left.batch, right.batch, strict=True)
        if left.tensor.shape[a] == 1
        and not (a in left.tensor.varying and b in right.tensor.varying)
    ]
    left, right = (
        replace(
            each,
            tensor=broadcast_unit_dimensions(builder, each.tensor, [pair[n] for pair in units]),
        )
        for n, each in enumerate((left, right))
    )
    constant_batch = [
        (a, b)
        for a, b in zip(left.batch, right.batch, strict=True)
        if a not in left.tensor.varying and b not in right.tensor.varying
    ]
    constant = [
        [*(pair[n] for pair in constant_batch), *_constant_rows(each)]
        for n, each in enumerate((left, right))
    ]
    is_computed = [
        *(k not in constant[0] for k in left.result_dimensions),
        *(k not in constant[1] for k in right.kept),
    ]
    computed = [k for k, each in enumerate(is_computed) if each]
    return left.without(constant[0]), right.without(constant[1]), computed


def _constant_rows(operand: _Operand) -> Sequence[int]:
    """The kept dimensions along which an operand is broadcast. One of length 1 stays if there is no
    other: schedules of matrix multiplications also suit those of one row."""
    constant = [k for k in operand.kept if k not in operand.tensor.varying]
    is_one_row = len(constant) == len(operand.kept) and constant
    return constant[:-1] if is_one_row else constant


def _contract(builder: Builder, left: _Operand, right: _Operand, sum: Accumulation) -> Node:
    def map_batch(depth: int, left_array: Node, right_array: Node) -> Node:
        if depth == 0:
            return map_rows(len(left.kept), left_array, right_array)

        def body(pair: Node) -> Node:
            return map_batch(depth - 1, *builder.unpack_tuple(pair, 2))

        return builder.map(body, builder.zip(left_array, right_array))

    def map_rows(depth: int, rows: Node, right_array: Node) -> Node:
        # Rows may have any number of dimensions.
        for _ in range(depth - 1):
            rows = builder.join(rows)
        columns = len(right.kept)
        if depth:
            return builder.map(lambda row: map_columns(columns, row, right_array), rows, "row")
        return map_columns(columns, rows, right_array)

    def split_rows(rows: Node) -> Node:
        for k in reversed(left.kept[1:]):
            length = left.tensor.shape[k]
            rows = builder.split(length, length_of(rows) // length, rows)
        return rows

    def map_columns(depth: int, row: Node, columns: Node) -> Node:
        if depth:
            return builder.map(lambda each: map_columns(depth - 1, row, each), columns, "column")
        return contract_arrays(builder, len(left.contracted), row, columns, sum)

    node = map_batch(len(left.batch), left.array(builder), right.array(builder))
    if isinstance(node.type, ArrayType) and left.contracted:
        node = builder.to_mem(node)
    return builder.map_at(len(left.batch), split_rows, node)
