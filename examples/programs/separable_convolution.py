"""Three weights applied along the rows, then along the columns, with repeated edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

import riselang as rl


def convolve(weights: rl.Array) -> Callable[[rl.Array], rl.Array]:
    def weighted(window: rl.Array) -> rl.Array:
        return rl.zip(window, weights) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    return lambda xs: xs | rl.pad(1, 1) | rl.slide(3, 1) | rl.map(weighted)


@rl.jit
def separable_convolution(
    weights: Annotated[rl.Array, 3, rl.f32], image: Annotated[rl.Array, "N", "M", rl.f32]
) -> rl.Array:
    along_rows = image | rl.map(convolve(weights))
    return along_rows | rl.transpose | rl.map(convolve(weights)) | rl.transpose


def inputs() -> tuple[Any, ...]:
    weights = np.array([0.25, 0.5, 0.25], np.float32)
    return weights, np.random.default_rng(12).random((5, 6), np.float32)


def expected(weights: Any, image: Any) -> Any:
    padded = np.pad(image, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    return np.einsum("nmij,ij->nm", windows, np.outer(weights, weights))
