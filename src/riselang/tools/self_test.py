"""The self-tests of `rise doctor`: run a small program on every back end, and compare with NumPy.

    python -m riselang.tools.self_test [BACK END ...]

They run in a separate process, since a broken back end may crash it. Each back end prints one line
of JSON: its name, the problem (or null), and the seconds it took.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from riselang.support.config import CACHE, NUM_THREADS
from riselang.support.errors import InternalError

ROWS, INNER, COLUMNS = 12, 20, 32
PROGRAM = f"""fun((A : {ROWS}.{INNER}.f32, B : {INNER}.{COLUMNS}.f32),
  A |> MAP(fun(row, B |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
TOLERANCE = 1e-5


def _run_back_end(*, backend: str = "compile", loops: str = "affine", threads: int = 1) -> None:
    """Multiply two matrices and compare with NumPy."""
    from riselang.api.entry import loads

    os.environ[NUM_THREADS.variable] = str(threads)
    os.environ[CACHE.variable] = "0"  # the test is for the compiler
    text = PROGRAM.replace("MAP", "mapPar" if threads > 1 else "map")
    program: Any = loads(text, name="self_test.rise", backend=backend, loops=loops, float="strict")
    generator = np.random.default_rng(0)
    a, b = generator.random((ROWS, INNER), "f4"), generator.random((INNER, COLUMNS), "f4")
    error = np.max(np.abs(program.main(a, b) - a @ b) / (a @ b))
    if not error < TOLERANCE:
        raise InternalError(f"the relative error is {error:.1e}, compared with NumPy")


BACK_ENDS: Mapping[str, Callable[[], None]] = {
    "interpreter": lambda: _run_back_end(backend="interpret"),
    "affine loops": _run_back_end,
    "scf loops": lambda: _run_back_end(loops="scf"),
    "polyhedral loops": lambda: _run_back_end(loops="polyhedral"),
    "parallel loops": lambda: _run_back_end(threads=2),
}


def main(names: Sequence[str]) -> None:
    for name in names or BACK_ENDS:
        start = time.perf_counter()
        problem: str | None = None
        try:
            BACK_ENDS[name]()
        except Exception as error:  # any exception is a finding
            problem = " ".join(f"{type(error).__name__}: {error}".split())
        print(json.dumps([name, problem, time.perf_counter() - start]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
