"""Fast Fourier transform of complex numbers, whose count is the square of a power of two.

The four-step method transforms the columns of a square matrix twice, each time with Stockham's
method, so that all loops run along contiguous rows.
"""

from typing import Annotated, Any

import numpy as np

import riselang as rl


def twiddles(rows: int, columns: int, length: int) -> Any:
    angles = np.outer(np.arange(rows), np.arange(columns)) * (-2 * np.pi / length)
    return np.exp(1j * angles).astype(np.complex64)


def transform_columns(x: rl.Array) -> rl.Array:
    width = x.shape[1]
    x = x[:, None]
    while len(x) > 1:
        half = len(x) // 2
        even, odd = x[:half], x[half:]
        turned = (even - odd) * twiddles(half, 2, len(x))[:, 1, None, None]
        x = rl.stack([even + odd, turned], axis=1).reshape(half, -1, width)
    return x.reshape(-1, width)


@rl.jit
def fft(x: Annotated[rl.Array, "N", rl.complex64]) -> rl.Array:
    side = round(len(x) ** 0.5)
    first = transform_columns(x.reshape(side, side))
    return transform_columns((first * twiddles(side, side, len(x))).T).reshape(-1)


def expected(x: Any) -> Any:
    return np.fft.fft(x)


def example_inputs(size: int = 64) -> tuple[Any, ...]:
    random = np.random.default_rng(8)
    return (random.standard_normal((size * size, 2), np.float32).view(np.complex64)[:, 0],)
