"""The LAPACK decompositions that JAX generates for CPUs, as the patterns of `rl.linalg`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.dsl.arrays import constructors
from riselang.dsl.arrays.shapes import literal_of
from riselang.dsl.symbolic_values import Value
from riselang.frontends.stablehlo.character_arguments import character_argument
from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor
from riselang.frontends.traced_functions import apply_traced
from riselang.numpy import linalg
from riselang.numpy.linalg.decompositions import make_tuple, map_matrices
from riselang.numpy.linalg.householder import pack_reflections, unpack_reflections

Result = Sequence[Value]


def _call_targets(*names: str) -> list[str]:
    return [f"stablehlo.custom_call @lapack_{name}_ffi" for name in names]


def _decompose(
    regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor],
    function: Callable[..., Result],
) -> list[Tensor]:  # fmt: skip
    """Apply a function of arrays of matrices; results for empty matrices are zeros."""
    is_empty = any(0 in each.shape for each in operands)

    def apply(*values: Value) -> Result:
        return [_zeros(each) for each in op.results] if is_empty else function(*values)

    return apply_traced(regions, apply, operands, op.results)


def _zeros(type: TensorType) -> Value:
    if not type.shape:
        return literal_of(0, type.element.scalar)
    return constructors.full(tuple(type.shape), 0, type.element.scalar)


@lowers_op(
    *_call_targets("sgeqrf", "dgeqrf", "cgeqrf", "zgeqrf"), summary="`rl.linalg.qr`, as reflections"
)
def _geqrf(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    """Compute R above the vectors of the reflections, and their factors."""

    def factor(x: Value) -> Result:
        return map_matrices("qr", lambda matrix: make_tuple(pack_reflections(matrix)), [x], (2,), 2)

    return _decompose(regions, op, operands, factor)


@lowers_op(
    *_call_targets("sorgqr", "dorgqr", "cungqr", "zungqr"),
    summary="the product of the reflections of a QR decomposition",
)
def _orgqr(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    def form(packed: Value, taus: Value) -> Result:
        return map_matrices("qr", unpack_reflections, [packed, taus], (2, 1))

    return _decompose(regions, op, operands, form)


@lowers_op(*_call_targets("ssyevd", "dsyevd", "cheevd", "zheevd"), summary="`rl.linalg.eigh`")
def _eigh(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    triangle = character_argument(op, "uplo", "LU")
    has_vectors = character_argument(op, "mode", "NV") == "V"

    def decompose(x: Value) -> Result:
        info = _zeros(op.results[2])
        if not has_vectors:
            return [x, linalg.eigvalsh(x, triangle), info]
        values, vectors = linalg.eigh(x, triangle)
        return [vectors, values, info]

    return _decompose(regions, op, operands, decompose)


@lowers_op(*_call_targets("sgesdd", "dgesdd", "cgesdd", "zgesdd"), summary="`rl.linalg.svd`")
def _svd(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    mode = character_argument(op, "mode", "NSA")

    def decompose(x: Value) -> Result:
        _, _, u, v, info = (_zeros(each) for each in op.results)
        if mode == "N":
            return [x, linalg.svdvals(x), u, v, info]
        found = linalg.svd(x, full_matrices=mode == "A")
        return [x, found.S, found.U, found.Vh, info]

    return _decompose(regions, op, operands, decompose)
