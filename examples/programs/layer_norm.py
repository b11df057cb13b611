"""Each row normalized to mean 0 and variance 1, then scaled and shifted."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def total(xs: rl.Array) -> rl.Array:
    return xs | rl.reduce(rl.add, 0.0)


def normalise(gain: rl.Array, bias: rl.Array, row: rl.Array) -> rl.Array:
    count = row | rl.map(lambda e: 1.0) | total
    mean = total(row) / count
    centred = row | rl.map(lambda e: e - mean)
    deviation = rl.math.sqrt((centred | rl.map(lambda e: e * e) | total) / count + 0.00001)
    return rl.zip(centred, rl.zip(gain, bias)) | rl.map(lambda e, g, b: e / deviation * g + b)


@rl.jit
def layer_norm(
    gain: Annotated[rl.Array, "M", rl.f32],
    bias: Annotated[rl.Array, "M", rl.f32],
    x: Annotated[rl.Array, "N", "M", rl.f32],
) -> rl.Array:
    """A size is not a scalar value, so the elements of a row are counted."""
    return x | rl.map(lambda row: normalise(gain, bias, row))


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(19)
    gain, bias, x = (random.standard_normal(shape, np.float32) for shape in (8, 8, (3, 8)))
    return gain, bias, x


def expected(gain: Any, bias: Any, x: Any) -> Any:
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(1e-5)) * gain + bias
