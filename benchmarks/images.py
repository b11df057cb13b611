"""Convolutions and image pipelines, beside numba and Halide; on one thread and on two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from reporting import report
from rivals import (
    Version,
    compare,
    for_each_count_of_threads,
    has,
    in_numba,
    is_small,
    ours,
    pin,
    theirs,
    with_threads,
)

from riselang.tools.figures import Rival

BOUND = 1.02
DIRECT, SEPARATED = "convolution.direct", "convolution.by_lines"


def in_python(width: int, threads: int) -> dict[str, Callable[..., object]]:
    """The loops of a convolution as people write them for numba."""
    prange: Any = import_module("numba").prange

    def direct(vertical: Any, horizontal: Any, image: Any, out: Any) -> None:
        for i in prange(out.shape[0]):
            for j in range(out.shape[1]):
                total = np.float32(0)
                for a in range(width):
                    for b in range(width):
                        total += vertical[a] * horizontal[b] * image[i + a, j + b]
                out[i, j] = total

    def separated(vertical: Any, horizontal: Any, image: Any, out: Any) -> None:
        for i in prange(out.shape[0]):
            line = np.zeros(image.shape[1], np.float32)
            for a in range(width):
                for j in range(image.shape[1]):
                    line[j] += vertical[a] * image[i + a, j]
            for j in range(out.shape[1]):
                total = np.float32(0)
                for b in range(width):
                    total += horizontal[b] * line[j + b]
                out[i, j] = total

    loops = {"numba, direct": direct, "numba, separated": separated}
    return {name: in_numba(each, threads) for name, each in loops.items()}


def corners_in_python(threads: int) -> Callable[..., object]:
    """Harris' corners as people write them for numba: a stage after the other."""
    prange: Any = import_module("numba").prange

    share = np.float32(1 / 12)

    def corners(image: Any, out: Any) -> None:
        rows, columns = image.shape[1], image.shape[2]
        gray = np.empty((rows, columns), np.float32)
        x = np.empty((rows - 2, columns - 2), np.float32)
        y = np.empty((rows - 2, columns - 2), np.float32)
        for i in prange(rows):
            for j in range(columns):
                gray[i, j] = (
                    np.float32(0.299) * image[0, i, j]
                    + np.float32(0.587) * image[1, i, j]
                    + np.float32(0.114) * image[2, i, j]
                )
        for i in prange(rows - 2):
            for j in range(columns - 2):
                a, b, c = gray[i, j], gray[i, j + 2], gray[i + 2, j]
                d = gray[i + 2, j + 2]
                across = gray[i + 1, j + 2] - gray[i + 1, j]
                down = gray[i + 2, j + 1] - gray[i, j + 1]
                x[i, j] = share * (b - a + d - c + across + across)
                y[i, j] = share * (c - a + d - b + down + down)
        for i in prange(rows - 4):
            for j in range(columns - 4):
                xx, xy, yy = np.float32(0), np.float32(0), np.float32(0)
                for k in range(3):
                    for m in range(3):
                        xx += x[i + k, j + m] * x[i + k, j + m]
                        xy += x[i + k, j + m] * y[i + k, j + m]
                        yy += y[i + k, j + m] * y[i + k, j + m]
                out[i, j] = xx * yy - xy * xy - np.float32(0.04) * (xx + yy) * (xx + yy)

    return in_numba(corners, threads)


def rivals(
    inputs: Sequence[Any], shape: tuple[int, ...], width: int, threads: int
) -> Iterator[Version]:
    if has("numba"):
        for name, loops in in_python(width, threads).items():
            yield theirs(name, loops, inputs, shape)
    if has("halide"):
        from in_halide import convolution

        yield from convolution(inputs, shape)


def rivals_of_corners(image: Any, shape: tuple[int, ...], threads: int) -> Iterator[Version]:
    if has("numba"):
        yield theirs("numba", corners_in_python(threads), [image], shape)
    if has("halide"):
        from in_halide import harris

        yield from harris(image, shape)


def measure_convolution(size: int, width: int, threads: int) -> None:
    source, shape = np.random.default_rng(0), (size, size)
    weights = [source.random(width, np.float32) for _ in range(2)]
    image = source.random((size + width - 1, size + width - 1), np.float32)
    inputs = [*weights, image]
    name = with_threads(f"convolution {width}x{width} of {size}x{size}", threads)
    versions = [ours("blur", each, inputs, shape, "relaxed") for each in (DIRECT, SEPARATED)]
    others = list(rivals(inputs, shape, width, threads))
    taken = compare(name, versions, others, 3 if is_small() else 9, bound=BOUND)
    bound = 0.5 if width == 9 else None
    report(f"{name}, separated", taken[SEPARATED], Rival("direct", taken[DIRECT]), bound=bound)


def measure_corners(size: int, threads: int) -> None:
    shape = (size, size)
    image = np.random.default_rng(0).random((3, size + 4, size + 4), np.float32)
    name = with_threads(f"harris of {size}x{size}", threads)
    version = ours("harris", "images.line_buffers", [image], shape)
    others = list(rivals_of_corners(image, shape, threads))
    compare(name, [version], others, 3 if is_small() else 9, bound=BOUND)


def measure(threads: int) -> None:
    pin(threads)
    for width in (3,) if is_small() else (9, 3):
        for size in (20,) if is_small() else (1024, 2048, 4096):
            measure_convolution(size, width, threads)
    for size in (20,) if is_small() else (1024, 2048, 4096):
        measure_corners(size, threads)


if __name__ == "__main__":
    for_each_count_of_threads(measure)
