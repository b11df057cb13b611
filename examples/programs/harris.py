"""Harris corner detection: how much the brightness changes in all directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

import riselang as rl


def slopes(w: rl.Array) -> rl.Array:
    def at2d(i: int, j: int) -> rl.Array:
        return w | rl.at(rl.clamp_idx(3, i)) | rl.at(rl.clamp_idx(3, j))

    def slope(
        a: rl.Array, b: rl.Array, c: rl.Array, d: rl.Array, e: rl.Array, f: rl.Array
    ) -> rl.Array:
        return 0.083333336 * (b - a + 2.0 * (d - c) + f - e)

    across = slope(at2d(0, 0), at2d(0, 2), at2d(1, 0), at2d(1, 2), at2d(2, 0), at2d(2, 2))
    down = slope(at2d(0, 0), at2d(2, 0), at2d(0, 1), at2d(2, 1), at2d(0, 2), at2d(2, 2))
    return rl.tuple(across, down)


def corner(w: rl.Array) -> rl.Array:
    def sum_of(product: Callable[[rl.Array], rl.Array]) -> rl.Array:
        return w | rl.join | rl.map(product) | rl.reduce(rl.add, 0.0)

    xx = sum_of(lambda p: rl.fst(p) * rl.fst(p))
    xy = sum_of(lambda p: rl.fst(p) * rl.snd(p))
    yy = sum_of(lambda p: rl.snd(p) * rl.snd(p))
    return xx * yy - xy * xy - 0.04 * (xx + yy) * (xx + yy)


@rl.jit
def harris(image: Annotated[rl.Array, 3, "N + 4", "M + 4", rl.f32]) -> rl.Array:
    def gray(pixel: rl.Array) -> rl.Array:
        red, green, blue = (pixel | rl.at(rl.clamp_idx(3, colour)) for colour in range(3))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    grays = image | rl.transpose | rl.map(rl.transpose) | rl.map2d(gray)
    return grays | rl.slide2d(3, 1) | rl.map2d(slopes) | rl.slide2d(3, 1) | rl.map2d(corner)


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(18).random((3, 8, 9), np.float32),)


def expected(image: Any) -> Any:
    gray = np.tensordot(np.array([0.299, 0.587, 0.114]), image.astype(np.float64), 1)
    windows = np.lib.stride_tricks.sliding_window_view(gray, (3, 3))
    across = np.outer([1, 2, 1], [-1, 0, 1]) / 12
    x, y = (np.einsum("nmij,ij->nm", windows, each) for each in (across, across.T))

    def sum_of(products: Any) -> Any:
        return np.lib.stride_tricks.sliding_window_view(products, (3, 3)).sum(axis=(2, 3))

    xx, xy, yy = sum_of(x * x), sum_of(x * y), sum_of(y * y)
    return (xx * yy - xy * xy - 0.04 * (xx + yy) ** 2).astype(np.float32)
