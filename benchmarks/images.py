"""Convolutions and image pipelines, beside numba and Halide; on one thread and on two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from reporting import report
from rivals import (
    Version,
    compare,
    in_numba,
    is_small,
    on_threads,
    ours,
    say_what_is_missing,
    theirs,
    threads_to_try,
)

from riselang.tools.figures import Rival

DIRECT, SEPARATED = "convolution.direct", "convolution.by_lines"


def in_python(width: int, threads: int) -> dict[str, Callable[..., object]]:
    """The loops of a convolution as people write them for numba."""
    from numba import prange

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


def rivals(
    inputs: Sequence[Any], shape: tuple[int, ...], width: int, threads: int
) -> Iterator[Version]:
    if find_spec("numba") is not None:
        for name, loops in in_python(width, threads).items():
            yield theirs(name, loops, inputs, shape)
    if find_spec("halide") is not None:
        from in_halide import convolution

        yield from convolution(inputs, shape)


def measure_convolution(size: int, width: int, threads: int, rounds: int) -> None:
    source, shape = np.random.default_rng(0), (size, size)
    weights = [source.random(width, np.float32) for _ in range(2)]
    image = source.random((size + width - 1, size + width - 1), np.float32)
    inputs = [*weights, image]
    name = f"convolution {width}x{width} of {size}x{size}, {_threads(threads)}"
    with on_threads(threads):
        versions = [ours("blur", each, inputs, shape, "relaxed") for each in (DIRECT, SEPARATED)]
        taken = compare(name, versions, list(rivals(inputs, shape, width, threads)), rounds)
    bound = 0.5 if width == 9 else None
    separated, direct = taken[SEPARATED], taken[DIRECT]
    report(f"{name}, separated", separated, Rival("direct", direct), bound=bound)


def _threads(count: int) -> str:
    return f"{count} thread{'s' * (count > 1)}"


def main() -> None:
    say_what_is_missing()
    for threads in threads_to_try():
        for width in (9, 3):
            for size in (20,) if is_small() else (1024, 2048, 4096):
                measure_convolution(size, width, threads, 3 if is_small() else 7)


if __name__ == "__main__":
    main()
