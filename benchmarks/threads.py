"""What threads give: programs with mapPar and reducePar on one thread and on two, same bits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from reporting import report
from timing import samples

import riselang as rl
from riselang.tools.figures import Rival

MATMUL = """fun((A : {n}.{n}.f32, B : {n}.{n}.f32),
  A |> mapPar(fun(row, B |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
SUM = "fun((x : {n}.f32), x |> map(fun(a, a * a)) |> reducePar(add, 0.0))"
THREADS = (1, 2)


def kernels(program: str, inputs: list[Any]) -> list[Any]:
    """The program for each number of threads; it is compiled when it is first called."""
    made: list[Any] = []
    for threads in THREADS:
        os.environ["RISE_NUM_THREADS"] = str(threads)
        loaded: Any = rl.loads(program, name="program.rise")
        loaded.main(*inputs)
        made.append(loaded.main)
    return made


def measure(
    name: str, program: str, inputs: list[Any], rounds: int, bound: float | None = None
) -> None:
    one, two = kernels(program, inputs)
    assert np.array_equal(one(*inputs), two(*inputs)), "the two differ"
    alone, together = samples([lambda: one(*inputs), lambda: two(*inputs)], rounds=rounds)
    report(f"{name}, 2 threads", together, Rival("1 thread", alone), bound=bound)


def main(size: int, rounds: int) -> None:
    source = np.random.default_rng(0)
    a, b = (source.random((size, size), np.float32) for _ in range(2))
    name = f"mapPar, matmul {size}x{size}x{size}"
    measure(name, MATMUL.format(n=size), [a, b], rounds, bound=1 / 1.7)
    length = size * size * 16
    x = source.random(length, np.float32)
    measure(f"reducePar, sum of {length}", SUM.format(n=length), [x], rounds)


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        main(32, 3)
    else:
        main(1024, 5)
