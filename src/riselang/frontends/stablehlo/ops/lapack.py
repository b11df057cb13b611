"""The LAPACK calls that JAX generates for CPUs, as patterns.

The calls have LAPACK's own character arguments, as numbers: `uplo = 76 : ui8` is L.
"""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.types import i1
from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.ops.lu_decomposition import Elimination
from riselang.frontends.stablehlo.ops.triangular_solve import (
    System,
    first_where,
    positions_of,
    solution,
    triangle,
)
from riselang.frontends.stablehlo.registry import Op, Regions, lowers
from riselang.frontends.stablehlo.tensors import Tensor, node_of, whole
from riselang.term.build import Node


def _calls(name: str) -> list[str]:
    """Return the call targets of LAPACK's routine for f32 and for f64."""
    return [f"stablehlo.custom_call @lapack_{kind}{name}_ffi" for kind in "sd"]


def _letter(op: Op, name: str, known: str) -> str:
    given = op.attributes.get("mhlo.backend_config")
    number = given.get(name) if isinstance(given, dict) else None
    letter = chr(number) if isinstance(number, int) and 0 < number < 128 else "?"
    if letter not in known:
        raise op.refused(f"its {name} is not one of {', '.join(known)}")
    return letter


@lowers(*_calls("potrf"), summary="as `stablehlo.cholesky`, with its info result")
def _potrf(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    """Outside the computed triangle, the matrix is unchanged."""
    builder, (result, info) = regions.builder, op.results
    lower = _letter(op, "uplo", "LU") == "L"
    found = triangle(builder, result, operands[0], lower)
    size, depth = result.shape[-1], len(result.shape) - 2
    positions = positions_of(builder, size)

    def row(parts: Node) -> Node:
        i, found, given = builder.parts(parts, 3)

        def element(parts: Node) -> Node:
            j, found, given = builder.parts(parts, 3)
            return builder.select(builder.compare("ge" if lower else "le", i, j), found, given)

        return builder.map(element, builder.zip_all([positions, found, given]))

    def overwritten(pair: Node) -> Node:
        return builder.map(row, builder.zip_all([positions, *builder.parts(pair, 2)]))

    def failed(matrix: Node) -> Node:
        """Return the first minor that is not positive, counted from 1; 0 if all are."""
        zero = builder.literal(0.0, result.element.scalar)
        yes, no = builder.literal(1, i1), builder.literal(0, i1)

        def is_bad(i: Node) -> Node:
            at = builder.clamp_idx(size, i)
            pivot = builder.at(at, builder.at(at, matrix))
            # NaN is not positive either.
            return builder.select(builder.compare("gt", pivot, zero), no, yes)

        number = first_where(builder, size, is_bad)
        return builder.convert(number, info.element.scalar)

    matrices = node_of(builder, found)
    given = node_of(builder, operands[0])
    node = builder.map_pairs_at(depth, overwritten, matrices, given)
    numbers = builder.map_at(depth, failed, matrices)
    return [
        whole(result.element, result.shape, builder.stored(node)),
        whole(info.element, info.shape, builder.stored(numbers) if depth else numbers),
    ]


@lowers(*_calls("trsm"), summary="as `stablehlo.triangular_solve`")
def _trsm(regions: Regions, op: Op, operands: Sequence[Tensor]) -> Tensor:
    system = System(
        is_left=_letter(op, "side", "LR") == "L",
        is_lower=_letter(op, "uplo", "LU") == "L",
        is_transposed=_letter(op, "trans_x", "NTC") != "N",
        is_unit=_letter(op, "diag", "NU") == "U",
    )
    return solution(regions.builder, op.result, operands, system)


@lowers(*_calls("getrf"), summary="`reduce` over the columns, with rows swapped, under `map`")
def _getrf(regions: Regions, op: Op, operands: Sequence[Tensor]) -> list[Tensor]:
    """Compute L and U of P A = L U in one matrix, the row swaps, and the first zero pivot."""
    builder, (result, swaps, info) = regions.builder, op.results
    rows, columns = result.shape[-2:]
    elimination = Elimination(builder, result.element.scalar, rows, columns)
    depth = len(result.shape) - 2
    found = builder.map_at(depth, elimination.run, node_of(builder, operands[0]))
    found = builder.stored(found)

    def part(number: int) -> Node:
        return builder.map_at(depth, lambda each: builder.parts(each, 2)[number], found)

    def narrowed(type: TensorType, node: Node) -> Tensor:
        converted = builder.map_at(
            len(type.shape), lambda value: builder.convert(value, type.element.scalar), node
        )
        return whole(type.element, type.shape, converted)

    return [
        whole(result.element, result.shape, part(0)),
        narrowed(swaps, part(1)),
        narrowed(info, builder.map_at(depth, elimination.failed, part(0))),
    ]
