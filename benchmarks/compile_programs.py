"""Programs that take long to compile, for `compile_time.py`: each gives a kernel and its arguments.

Models come as StableHLO text, which JAX writes; the others are Python functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import riselang as rl

Array = np.ndarray[Any, Any]


def _random(*shape: int) -> Array:
    return (np.random.default_rng(0).standard_normal(shape) / 8).astype(np.float32)


def _product(rows: Any, matrix: Any) -> Any:
    return rows | rl.map(
        lambda row: (
            matrix
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def dense(layers: int, size: int = 64, batch: int = 32) -> tuple[Any, list[Array]]:
    """Dense layers, each a product, a bias and a rectifier, as a Python function."""

    def network(x: Any, weights: Any, biases: Any) -> Any:
        for layer in range(layers):
            weight, bias = weights[layer], biases[layer]
            x = _product(x, weight) | rl.map(
                lambda row, bias=bias: (
                    rl.zip(row, bias) | rl.map(lambda pair: rl.max(pair.fst + pair.snd, 0.0))
                )
            )
        return x

    network.__annotations__ = {
        "x": rl.Array[batch, size, rl.f32],
        "weights": rl.Array[layers, size, size, rl.f32],
        "biases": rl.Array[layers, size, rl.f32],
    }
    arrays = [_random(batch, size), _random(layers, size, size), _random(layers, size)]
    return rl.jit(network), arrays


def bilateral(size: int = 512, width: int = 5) -> tuple[Any, list[Array]]:
    """A bilateral filter: each weight depends on how far away a pixel is, and how different."""
    half = width // 2
    square = (np.arange(width) - half) ** 2
    near = np.exp(-(square[:, None] + square) / 8.0).astype(np.float32)

    def filtered(image: Any, near: Any) -> Any:
        def pixel(window: Any) -> Any:
            centre = window[half][half]

            def weighted(pair: Any) -> Any:
                difference = pair.fst - centre
                weight = rl.math.exp(difference * difference * -8.0) * pair.snd
                return rl.tuple(weight * pair.fst, weight)

            sums = (
                rl.zip(window | rl.join, near | rl.join)
                | rl.map(weighted)
                | rl.reduce(
                    lambda total, each: rl.tuple(total.fst + each.fst, total.snd + each.snd),
                    rl.tuple(rl.literal(0.0, rl.f32), rl.literal(0.0, rl.f32)),
                )
            )
            return sums.fst / sums.snd

        return image | rl.pad2d(half, half) | rl.slide2d(width, 1) | rl.map2d(pixel)

    filtered.__annotations__ = {
        "image": rl.Array[size, size, rl.f32],
        "near": rl.Array[width, width, rl.f32],
    }
    return rl.jit(filtered), [_random(size, size), near]


def fft(size: int = 256) -> tuple[Any, list[Array]]:
    """A Fourier transform by recursion, on arrays of real and imaginary parts."""

    def halves(x: Any, length: int) -> tuple[Any, Any]:
        pairs = x | rl.split(2) | rl.transpose
        return pairs[0], pairs[1]

    def transform(re: Any, im: Any, length: int) -> tuple[Any, Any]:
        if length == 1:
            return re, im
        even_re, odd_re = halves(re, length)
        even_im, odd_im = halves(im, length)
        a_re, a_im = transform(even_re, even_im, length // 2)
        b_re, b_im = transform(odd_re, odd_im, length // 2)
        step = -2.0 * np.pi / length

        def angle(k: Any) -> Any:
            return rl.cast(rl.from_idx(k), rl.f32) * step

        cos = rl.generate(lambda k: rl.math.cos(angle(k)))
        sin = rl.generate(lambda k: rl.math.sin(angle(k)))
        turns = rl.zip(rl.zip(cos, sin), rl.zip(b_re, b_im))
        c_re = turns | rl.map(lambda t: t.fst.fst * t.snd.fst - t.fst.snd * t.snd.snd)
        c_im = turns | rl.map(lambda t: t.fst.fst * t.snd.snd + t.fst.snd * t.snd.fst)
        plus = lambda x, y: rl.zip(x, y) | rl.map(lambda p: p.fst + p.snd)  # noqa: E731
        minus = lambda x, y: rl.zip(x, y) | rl.map(lambda p: p.fst - p.snd)  # noqa: E731
        return (
            rl.to_mem("heap", rl.concat(plus(a_re, c_re), minus(a_re, c_re))),
            rl.to_mem("heap", rl.concat(plus(a_im, c_im), minus(a_im, c_im))),
        )

    def whole(re: Any, im: Any) -> Any:
        return transform(re, im, size)

    whole.__annotations__ = {"re": rl.Array[size, rl.f32], "im": rl.Array[size, rl.f32]}
    return rl.jit(whole), [_random(size), _random(size)]
