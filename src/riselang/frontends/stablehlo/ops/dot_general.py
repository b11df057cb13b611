"""Contractions: dot and dot_general, and what they share with convolution.

A contraction is a `map` for each free dimension and a `reduce` for each contracted one, which
passes the accumulator from the outer to the inner ones. Operands are views if possible, and stored
in memory if they are computed; the results are stored, too, so that they may be computed in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.types import ArrayType
from riselang.frontends.building import Builder, length_of
from riselang.frontends.stablehlo.elements import ELEMENTS, Element
from riselang.frontends.stablehlo.ops.data_movement import permuted
from riselang.frontends.stablehlo.ops.elementwise import converted
from riselang.frontends.stablehlo.registry import Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, node_of, whole, zero
from riselang.term.build import Node


def stored(builder: Builder, tensor: Tensor) -> Node:
    """Return the whole array; stored in memory if it is computed, since its elements are read
    often."""
    if not tensor.varying:
        return node_of(builder, tensor)
    base = tensor.make()
    kept = builder.stored(base)
    return node_of(builder, Tensor(tensor.element, tensor.shape, tensor.varying, lambda: kept))


def summed(builder: Builder, depth: int, left: Node, right: Node, sum: Summing) -> Node:
    """Contract two arrays of `depth` dimensions."""

    def fold(depth: int, left: Node, right: Node, start: Node) -> Node:
        pairs = builder.zip(left, right)
        if depth == 1:
            products = builder.map(lambda pair: sum.product(builder.parts(pair, 2)), pairs)
            return builder.reduce(sum.add, start, products)

        def body(total: Node, pair: Node) -> Node:
            first, second = builder.parts(pair, 2)
            return fold(depth - 1, first, second, total)

        return builder.reduce(body, start, pairs)

    if depth == 0:
        return sum.finished(sum.product([left, right]))
    return sum.finished(fold(depth, left, right, zero(builder, sum.total)))


class Summing:
    """How products are computed and accumulated: halves are accumulated as f32."""

    def __init__(self, builder: Builder, left: Element, right: Element, result: Element):
        self._builder = builder
        self._elements = (left, right)
        self._result = result
        self.total = ELEMENTS["f32"] if result.is_half else result

    def product(self, factors: Sequence[Node]) -> Node:
        given = [
            converted(self._builder, factor, element, self.total)
            for factor, element in zip(factors, self._elements, strict=True)
        ]
        return self._operation("mulf", "muli", given)

    def add(self, total: Node, product: Node) -> Node:
        return self._operation("addf", "addi", [total, product])

    def finished(self, total: Node) -> Node:
        return self._builder.convert(total, self._result.scalar)

    def _operation(self, on_floats: str, on_integers: str, operands: Sequence[Node]) -> Node:
        total = self.total
        name = on_floats if total.is_float else on_integers
        if total.is_boolean:
            name = {"muli": "andi", "addi": "ori"}[on_integers]
        return self._builder.operation(f"arith.{name}", operands, total.scalar)


@lowers("stablehlo.dot", summary="`map`, `map`, `reduce` over `zip`")
def _dot(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    return _dot_general_of(regions, op, operands, (), (), (operands[0].rank - 1,), (0,))


@lowers("stablehlo.dot_general", summary="`map`, `map`, `reduce` over `zip`")
def _dot_general(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    numbers = op.attributes["dot_dimension_numbers"]
    return _dot_general_of(
        regions, op, operands,
        numbers["lhs_batching_dimensions"], numbers["rhs_batching_dimensions"],
        numbers["lhs_contracting_dimensions"], numbers["rhs_contracting_dimensions"],
    )  # fmt: skip


def _dot_general_of(
    regions: Regions,
    op: Op,
    operands: Sequence[Tensor],
    left_batch: Sequence[int],
    right_batch: Sequence[int],
    left_gone: Sequence[int],
    right_gone: Sequence[int],
) -> Tensor:
    builder = regions.builder
    left, right = operands
    left_kept = [k for k in range(left.rank) if k not in (*left_batch, *left_gone)]
    right_kept = [k for k in range(right.rank) if k not in (*right_batch, *right_gone)]
    lefts = permuted(builder, stored(builder, left), [*left_batch, *left_kept, *left_gone])
    rights = permuted(builder, stored(builder, right), [*right_batch, *right_kept, *right_gone])
    sum = Summing(builder, left.element, right.element, op.result.element)

    def batched(depth: int, left: Node, right: Node) -> Node:
        if depth == 0:
            return kept(len(left_kept), left, right)

        def body(pair: Node) -> Node:
            return batched(depth - 1, *builder.parts(pair, 2))

        return builder.map(body, builder.zip(left, right))

    def kept(depth: int, left: Node, right: Node) -> Node:
        # Rows may have any number of dimensions.
        for _ in range(depth - 1):
            left = builder.join(left)
        if depth:
            return builder.map(lambda row: columns(len(right_kept), row, right), left, "row")
        return columns(len(right_kept), left, right)

    def apart(rows: Node) -> Node:
        for k in reversed(left_kept[1:]):
            length = left.shape[k]
            rows = builder.split(length, length_of(rows) // length, rows)
        return rows

    def columns(depth: int, row: Node, right: Node) -> Node:
        if depth:
            return builder.map(lambda column: columns(depth - 1, row, column), right, "column")
        return summed(builder, len(left_gone), row, right, sum)

    node = batched(len(left_batch), lefts, rights)
    if isinstance(node.type, ArrayType) and left_gone:
        node = builder.to_mem(node)
    node = builder.map_at(len(left_batch), apart, node)
    return whole(op.result.element, op.result.shape, node)
