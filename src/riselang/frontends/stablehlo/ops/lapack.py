"""The LAPACK calls for systems of equations that JAX generates for CPUs, as patterns."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.types import i1
from riselang.frontends.stablehlo.character_arguments import character_argument
from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.ops.lu_decomposition import LuDecomposition
from riselang.frontends.stablehlo.ops.triangular_solve import (
    TriangularSystem,
    cholesky_factor,
    first_position,
    index_array,
    solve_systems,
)
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor, materialize, whole_tensor
from riselang.term.build import Node


def _call_targets(name: str) -> list[str]:
    """Return the call targets of LAPACK's routine for f32 and for f64."""
    return [f"stablehlo.custom_call @lapack_{kind}{name}_ffi" for kind in "sd"]


@lowers_op(
    *_call_targets("potrf"), summary="like `stablehlo.cholesky`, with the info result of LAPACK"
)
def _potrf(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    """Outside the computed triangle, the matrix is unchanged."""
    builder, (result, info) = regions.builder, op.results
    lower = character_argument(op, "uplo", "LU") == "L"
    found = cholesky_factor(builder, result, operands[0], lower)
    size, depth = result.shape[-1], len(result.shape) - 2
    positions = index_array(builder, size)

    def row(parts: Node) -> Node:
        i, found, given = builder.unpack_tuple(parts, 3)

        def element(parts: Node) -> Node:
            j, found, given = builder.unpack_tuple(parts, 3)
            return builder.select(builder.compare("ge" if lower else "le", i, j), found, given)

        return builder.map(element, builder.zip_all([positions, found, given]))

    def overwrite_triangle(pair: Node) -> Node:
        return builder.map(row, builder.zip_all([positions, *builder.unpack_tuple(pair, 2)]))

    def first_failed_minor(matrix: Node) -> Node:
        """Return the first minor that is not positive, counted from 1; 0 if all are."""
        zero = builder.literal(0.0, result.element.scalar)
        yes, no = builder.literal(1, i1), builder.literal(0, i1)

        def is_bad(i: Node) -> Node:
            position = builder.clamp_idx(size, i)
            pivot = builder.at(position, builder.at(position, matrix))
            # NaN is not positive either.
            return builder.select(builder.compare("gt", pivot, zero), no, yes)

        number = first_position(builder, size, is_bad)
        return builder.convert(number, info.element.scalar)

    matrices = materialize(builder, found)
    given = materialize(builder, operands[0])
    node = builder.map_pairs_at(depth, overwrite_triangle, matrices, given)
    numbers = builder.map_at(depth, first_failed_minor, matrices)
    return [
        whole_tensor(result.element, result.shape, builder.store_if_computed(node)),
        whole_tensor(
            info.element, info.shape, builder.store_if_computed(numbers) if depth else numbers
        ),
    ]


@lowers_op(*_call_targets("trsm"), summary="like `stablehlo.triangular_solve`")
def _trsm(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> Tensor:
    system = TriangularSystem(
        is_left=character_argument(op, "side", "LR") == "L",
        is_lower=character_argument(op, "uplo", "LU") == "L",
        is_transposed=character_argument(op, "trans_x", "NTC") != "N",
        is_unit=character_argument(op, "diag", "NU") == "U",
    )
    return solve_systems(regions.builder, op.result, operands, system)


@lowers_op(
    *_call_targets("getrf"),
    summary="for each matrix, `reduce` over the columns, with partial pivoting",
)
def _getrf(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    """Compute L and U of P A = L U in one matrix, the row swaps, and the first zero pivot."""
    builder, (result, swaps, info) = regions.builder, op.results
    rows, columns = result.shape[-2:]
    elimination = LuDecomposition(builder, result.element.scalar, rows, columns)
    depth = len(result.shape) - 2
    found = builder.map_at(depth, elimination.decompose, materialize(builder, operands[0]))
    found = builder.store_if_computed(found)

    def part(number: int) -> Node:
        return builder.map_at(depth, lambda each: builder.unpack_tuple(each, 2)[number], found)

    def narrow_integers(type: TensorType, node: Node) -> Tensor:
        converted = builder.map_at(
            len(type.shape), lambda value: builder.convert(value, type.element.scalar), node
        )
        return whole_tensor(type.element, type.shape, converted)

    return [
        whole_tensor(result.element, result.shape, part(0)),
        narrow_integers(swaps, part(1)),
        narrow_integers(info, builder.map_at(depth, elimination.first_zero_pivot, part(0))),
    ]
