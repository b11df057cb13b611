"""Triangular matrices: Cholesky decomposition, and triangular systems.

Both are reductions over the columns of a matrix, or the unknowns of a system, whose state is the
columns or unknowns computed so far; the others are zero, so sums include all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, i64
from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, fill_array, materialize, whole_tensor
from riselang.frontends.term_builder import Builder, length_of
from riselang.term.build import Node


@lowers_op("stablehlo.cholesky", summary="for each matrix, `reduce` over the columns")
def _cholesky(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    """Compute L of A = L L^T, or L^T; the other triangle of the result is zero."""
    result = op.result
    if not result.element.is_float:
        raise op.unsupported(f"elements {result.element.name} have no square roots")
    lower = bool(op.attributes.get("lower", False))
    return cholesky_factor(regions.builder, result, operands[0], lower)


def cholesky_factor(builder: Builder, result: TensorType, tensor: Tensor, lower: bool) -> Tensor:
    """Compute the Cholesky factor of each matrix."""

    def decompose(matrix: Node) -> Node:
        given = matrix if lower else builder.transpose(matrix)
        found = _lower_cholesky_factor(
            builder, result.element.scalar, builder.store_if_computed(given)
        )
        return found if lower else builder.transpose(builder.store_if_computed(found))

    depth = len(result.shape) - 2
    node = builder.map_at(depth, decompose, materialize(builder, tensor))
    return whole_tensor(result.element, result.shape, builder.store_if_computed(node))


def _lower_cholesky_factor(builder: Builder, scalar: ScalarType, matrix: Node) -> Node:
    size = length_of(matrix).constant
    positions = index_array(builder, size)

    def column(found: Node, j: Node) -> Node:
        position = builder.clamp_idx(size, j)
        own = builder.at(position, found)
        diagonal = builder.operation(
            "math.sqrt",
            [_subtract_products(builder, scalar, builder.at(position, matrix), position, own, own)],
            scalar,
        )

        def row(parts: Node) -> Node:
            i, given, known = builder.unpack_tuple(parts, 3)
            rest = _subtract_products(builder, scalar, given, position, known, own)
            quotient = builder.operation("arith.divf", [rest, diagonal], scalar)
            below = builder.select(
                builder.compare("gt", i, j), quotient, builder.literal(0.0, scalar)
            )
            value = builder.select(builder.compare("eq", i, j), diagonal, below)
            return replace_element(builder, known, positions, j, value)

        return builder.map(row, builder.zip_all([positions, matrix, found]))

    zeros = fill_array(builder, builder.literal(0.0, scalar), [size, size])
    return builder.reduce(column, zeros, positions)


def index_array(builder: Builder, size: int) -> Node:
    return builder.generate(size, lambda i: builder.convert(builder.from_idx(i, size), i64))


def _subtract_products(
    builder: Builder, scalar: ScalarType, row: Node, at: Node, first: Node, second: Node
) -> Node:
    """Subtract the products of known elements from an element of a row."""

    def step(total: Node, pair: Node) -> Node:
        product = builder.operation("arith.mulf", builder.unpack_tuple(pair, 2), scalar)
        return builder.operation("arith.addf", [total, product], scalar)

    zero = builder.literal(0.0, scalar)
    total = builder.reduce(step, zero, builder.zip(first, second))
    return builder.operation("arith.subf", [builder.at(at, row), total], scalar)


def first_position(builder: Builder, size: int, holds: Callable[[Node], Node]) -> Node:
    """Return the first position at which a condition holds, counted from 1; 0 if there is none."""
    none = builder.literal(0, i64)

    def step(before: Node, k: Node) -> Node:
        number = builder.operation("arith.addi", [k, builder.literal(1, i64)], i64)
        here = builder.select(holds(k), number, none)
        return builder.select(builder.compare("eq", before, none), here, before)

    return builder.reduce(step, none, index_array(builder, size))


def replace_element(builder: Builder, xs: Node, positions: Node, at: Node, value: Node) -> Node:
    """Replace the value at a position of an array."""

    def element(parts: Node) -> Node:
        k, old = builder.unpack_tuple(parts, 2)
        return builder.select(builder.compare("eq", k, at), value, old)

    return builder.map(element, builder.zip(positions, xs))


@lowers_op("stablehlo.triangular_solve", summary="for each matrix, `reduce` over the unknowns")
def _triangular_solve(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    if not op.result.element.is_float:
        raise op.unsupported(f"elements {op.result.element.name} have no division")
    left, lower, unit = (
        bool(op.attributes[name]) for name in ("left_side", "lower", "unit_diagonal")
    )
    system = TriangularSystem(left, lower, _is_transposed(op), unit)
    return solve_systems(regions.builder, op.result, operands, system)


@dataclass(frozen=True)
class TriangularSystem:
    """The kind of system: op(a) X = b or X op(a) = b, for a triangle of a."""

    is_left: bool
    is_lower: bool
    is_transposed: bool
    is_unit: bool
    """Whether the diagonal is assumed to be ones."""


def solve_systems(
    builder: Builder, result: TensorType, operands: Sequence[Tensor], system: TriangularSystem
) -> Tensor:
    """Solve each system."""
    is_left, is_unit = system.is_left, system.is_unit
    # X op(a) = b is equivalent to op(a)^T X^T = b^T.
    turned = system.is_transposed != (not is_left)
    is_lower = system.is_lower != turned

    def solve(pair: Node) -> Node:
        matrix, given = builder.unpack_tuple(pair, 2)
        matrix = builder.transpose(matrix) if turned else matrix
        columns = builder.transpose(given) if is_left else given
        if not is_lower:
            matrix = builder.reverse(builder.map(builder.reverse, matrix))
            columns = builder.map(builder.reverse, columns)
        matrix = builder.store_if_computed(matrix)
        found = builder.map(
            lambda column: _forward_substitution(
                builder, result.element.scalar, matrix, column, is_unit
            ),
            columns,
        )
        found = (
            found if is_lower else builder.map(builder.reverse, builder.store_if_computed(found))
        )
        return builder.transpose(builder.store_if_computed(found)) if is_left else found

    matrices, rights = (materialize(builder, each) for each in operands)
    depth = len(result.shape) - 2

    node = builder.map_pairs_at(depth, solve, matrices, rights)
    return whole_tensor(result.element, result.shape, builder.store_if_computed(node))


def _is_transposed(op: TypedOp) -> bool:
    kind = op.attributes["transpose_a"]
    if kind not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
        raise op.unsupported(f"transpose_a = {kind} is not supported")
    return kind != "NO_TRANSPOSE"


def _forward_substitution(
    builder: Builder, scalar: ScalarType, matrix: Node, column: Node, is_unit: bool
) -> Node:
    """Solve a lower triangular system by forward substitution; the upper triangle is ignored."""
    size = length_of(matrix).constant
    positions = index_array(builder, size)
    zero = builder.literal(0.0, scalar)

    def unknown(known: Node, parts: Node) -> Node:
        i, row, right = builder.unpack_tuple(parts, 3)

        def counted(total: Node, each: Node) -> Node:
            k, factor, found = builder.unpack_tuple(each, 3)
            # Elements beyond the diagonal may have any value.
            product = builder.operation("arith.mulf", [factor, found], scalar)
            part = builder.select(builder.compare("lt", k, i), product, zero)
            return builder.operation("arith.addf", [total, part], scalar)

        total = builder.reduce(counted, zero, builder.zip_all([positions, row, known]))
        value = builder.operation("arith.subf", [right, total], scalar)
        if not is_unit:
            diagonal = builder.at(builder.clamp_idx(size, i), row)
            value = builder.operation("arith.divf", [value, diagonal], scalar)
        return replace_element(builder, known, positions, i, value)

    rows = builder.zip_all([positions, matrix, column])
    return builder.reduce(unknown, fill_array(builder, zero, [size]), rows)
