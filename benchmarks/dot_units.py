"""Products of 16-bit floats with instructions for dot products, beside torch (oneDNN).

Sums are reordered, as torch does: the programs are relaxed. Results are floats of 32 bits; torch
rounds its own to 16.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
from blas import program
from reporting import report
from rivals import has, is_small, pin
from timing import samples

from riselang.tools.figures import Rival

PRODUCT = """fun((A : {0}.{0}.bf16, B : {0}.{0}.bf16), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column)
    |> map(fun(p, cast[f32](fst(p)) * cast[f32](snd(p)))) |> reduce(add, 0.0))))))"""
BOUND = 1.15


def measure(size: int, rounds: int) -> None:
    source = np.random.default_rng(0)
    given = [source.random((size, size), np.float32) for _ in range(2)]
    a, b = (each.astype(ml_dtypes.bfloat16) for each in given)
    ours = program(PRODUCT.format(size), "relaxed")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(ours(a, b), exact, rtol=1e-2)
    name = f"matmul {size}x{size}x{size} bf16, relaxed"
    if not has("torch"):
        report(name, samples([lambda: ours(a, b)], rounds)[0])
        return
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    x, y = (torch.from_numpy(each).to(torch.bfloat16) for each in given)
    taken = samples([lambda: ours(a, b), lambda: x @ y], rounds, 1 if is_small() else 5)
    report(name, taken[0], Rival("torch", taken[1]), bound=BOUND)


if __name__ == "__main__":
    os.environ["RISE_NUM_THREADS"] = "1"
    pin(1)
    measure(32 if is_small() else 1024, 3 if is_small() else 15)
