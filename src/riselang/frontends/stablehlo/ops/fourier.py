"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from riselang.dsl.symbolic_values import Value
from riselang.frontends.stablehlo.registry import RegionLowering, TypedOp, lowers_op
from riselang.frontends.stablehlo.tensors import Tensor
from riselang.frontends.traced_functions import apply_traced
from riselang.numpy import fft

TRANSFORMS: Mapping[str, Callable[..., Value]] = {
    "FFT": fft.fftn, "IFFT": fft.ifftn, "RFFT": fft.rfftn, "IRFFT": fft.irfftn,
}  # fmt: skip


@lowers_op("stablehlo.fft", summary="the patterns of `rl.fft`, along the last dimensions")
def _fft(regions: RegionLowering, op: TypedOp, operands: Sequence[Tensor]) -> list[Tensor]:
    kind, lengths = op.attributes["fft_type"], op.integer_list("fft_length")
    axes = range(-len(lengths), 0)

    def transform(x: Value) -> list[Value]:
        return [TRANSFORMS[kind](x, lengths, axes)]

    return apply_traced(regions, transform, operands, op.results)
