"""A sharpened image: the difference to its blur is added to it."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def blurred(w: rl.Array) -> rl.Array:
    a, b, c, d, e = (w | rl.at(rl.clamp_idx(5, i)) for i in range(5))
    return 0.0625 * (a + e + 4.0 * (b + d) + 6.0 * c)


@rl.jit(sizes="symbolic")
def unsharp_mask(
    amount: Annotated[rl.Array, rl.f32], image: Annotated[rl.Array, "N + 4", "M + 4", rl.f32]
) -> rl.Array:
    def sharper(p: rl.Array) -> rl.Array:
        return rl.fst(p) + amount * (rl.fst(p) - blurred(rl.snd(p)))

    def line(rows: rl.Array) -> rl.Array:
        middle = rows | rl.at(rl.clamp_idx(5, 2)) | rl.drop(2) | rl.take("M")
        columns = rows | rl.transpose | rl.map(blurred) | rl.slide(5, 1)
        return rl.zip(middle, columns) | rl.map(sharper)

    return image | rl.slide(5, 1) | rl.map(line)


def inputs() -> tuple[Any, ...]:
    return np.float32(1.5), np.random.default_rng(21).random((9, 10), np.float32)


def expected(amount: Any, image: Any) -> Any:
    weights = np.array([1, 4, 6, 4, 1], np.float32) / 16
    windows = np.lib.stride_tricks.sliding_window_view(image, (5, 5))
    middle = image[2:-2, 2:-2]
    return middle + amount * (middle - np.einsum("nmij,i,j->nm", windows, weights, weights))
