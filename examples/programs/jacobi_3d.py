"""One step of Jacobi's method in a volume: each element and its six neighbors, weighted."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

import riselang as rl


def slide3d(xsss: rl.Array) -> rl.Array:
    windows = xsss | rl.map(rl.slide2d(3, 1)) | rl.slide(3, 1)
    return windows | rl.map(rl.transpose) | rl.map(rl.map(rl.transpose))


@rl.jit
def jacobi_3d(volume: Annotated[rl.Array, "N + 2", "M + 2", "K + 2", rl.f32]) -> rl.Array:
    def weighted(window: rl.Array) -> rl.Array:
        def at3d(*place: int) -> rl.Array:
            found = window
            for index in place:
                found = found | rl.at(rl.clamp_idx(3, index))
            return found

        beside = at3d(0, 1, 1) + at3d(2, 1, 1) + at3d(1, 0, 1) + at3d(1, 2, 1)
        return 0.4 * at3d(1, 1, 1) + 0.1 * (beside + at3d(1, 1, 0) + at3d(1, 1, 2))

    return slide3d(volume) | rl.map(rl.map(rl.map(weighted)))


def inputs() -> tuple[Any, ...]:
    return (np.random.default_rng(17).random((5, 6, 7), np.float32),)


def expected(volume: Any) -> Any:
    beside = volume[:-2, 1:-1, 1:-1] + volume[2:, 1:-1, 1:-1]
    beside = beside + volume[1:-1, :-2, 1:-1] + volume[1:-1, 2:, 1:-1]
    beside = beside + volume[1:-1, 1:-1, :-2] + volume[1:-1, 1:-1, 2:]
    return 0.4 * volume[1:-1, 1:-1, 1:-1] + 0.1 * beside
