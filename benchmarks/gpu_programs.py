"""The programs that `gpu.py` measures."""

from __future__ import annotations

from typing import Any

import riselang as rl


@rl.jit(loops="gpu")
def scaled_sum(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda pair: pair[0] * 2.0 + pair[1])


@rl.jit(loops="gpu")
def copy(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: e)


@rl.jit(loops="gpu", float="relaxed")
def activation(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: rl.math.tanh(e) + rl.math.exp(e * 0.5))


@rl.jit(loops="gpu", float="relaxed")
def total(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.reduce(rl.add, 0.0)


@rl.jit(loops="gpu", float="relaxed")
def row_sums(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.map(lambda row: row | rl.reduce(rl.add, 0.0))


@rl.jit(loops="gpu", float="relaxed")
def column_sums(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.transpose | rl.map(lambda column: column | rl.reduce(rl.add, 0.0))


@rl.jit(loops="gpu", float="relaxed")
def softmax(a: rl.Array["N", "M", rl.f32]) -> Any:
    def of_row(row: Any) -> Any:
        largest = row | rl.reduce(rl.max, float("-inf"))
        powers = row | rl.map(lambda e: rl.math.exp(e - largest))
        total = powers | rl.reduce(rl.add, 0.0)
        return powers | rl.map(lambda e: e / total)

    return a | rl.map(of_row)


@rl.jit(loops="gpu", float="relaxed")
def layer_norm(a: rl.Array["N", "M", rl.f32]) -> Any:
    def of_row(row: Any) -> Any:
        mean = row.mean()
        centered = row | rl.map(lambda e: e - mean)
        variance = (centered | rl.map(lambda e: e * e)).mean()
        scale = 1.0 / rl.math.sqrt(variance + 1e-5)
        return centered | rl.map(lambda e: e * scale)

    return a | rl.map(of_row)


@rl.jit(loops="gpu", float="relaxed")
def rms_norm(a: rl.Array["N", "M", rl.f32], weights: rl.Array["M", rl.f32]) -> Any:
    def of_row(row: Any) -> Any:
        scale = 1.0 / rl.math.sqrt((row | rl.map(lambda e: e * e)).mean() + 1e-5)
        return rl.zip(row, weights) | rl.map(lambda e, weight: e * scale * weight)

    return a | rl.map(of_row)


@rl.jit(loops="gpu")
def transposed(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.transpose


@rl.jit(loops="gpu", float="relaxed")
def scan_rows(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.map(lambda row: row | rl.scan(rl.add, 0.0))


@rl.jit(loops="gpu", float="relaxed")
def scan_columns(a: rl.Array["N", "M", rl.f32]) -> Any:
    columns = a | rl.transpose
    return columns | rl.map(lambda column: column | rl.scan(rl.add, 0.0)) | rl.transpose


@rl.jit(loops="gpu")
def product(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]) -> Any:
    return a @ b


@rl.jit(loops="gpu")
def jacobi_2d(a: rl.Array["N", "M", rl.f32]) -> Any:
    return (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]) * 0.25


@rl.jit(loops="gpu")
def jacobi_3d(a: rl.Array["N", "M", "K", rl.f32]) -> Any:
    rows = a[:-2, 1:-1, 1:-1] + a[2:, 1:-1, 1:-1]
    columns = a[1:-1, :-2, 1:-1] + a[1:-1, 2:, 1:-1]
    return (rows + columns + a[1:-1, 1:-1, :-2] + a[1:-1, 1:-1, 2:]) * (1 / 6)


@rl.jit(loops="gpu")
def separated_convolution(a: rl.Array["N", "M", rl.f32], weights: rl.Array[9, rl.f32]) -> Any:
    def dot(window: Any) -> Any:
        return rl.zip(window, weights) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    rows = a | rl.slide(9, 1) | rl.map(lambda rows: rows | rl.transpose | rl.map(dot))
    return rows | rl.map(lambda row: row | rl.slide(9, 1) | rl.map(dot))


def window_sum(image: Any) -> Any:
    rows = image[:-2] + image[1:-1] + image[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]


def corner_strength(image: Any) -> Any:
    """Harris' corner detector, on arrays of riselang, torch and NumPy."""
    smooth_y = image[:-2] + 2 * image[1:-1] + image[2:]
    smooth_x = image[:, :-2] + 2 * image[:, 1:-1] + image[:, 2:]
    dx, dy = smooth_y[:, 2:] - smooth_y[:, :-2], smooth_x[2:] - smooth_x[:-2]
    xx, xy, yy = window_sum(dx * dx), window_sum(dx * dy), window_sum(dy * dy)
    return xx * yy - xy * xy - 0.05 * (xx + yy) ** 2


@rl.jit(loops="gpu")
def harris(image: rl.Array["N", "M", rl.f32]) -> Any:
    return corner_strength(image)
