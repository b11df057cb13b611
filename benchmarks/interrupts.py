"""What it costs that Ctrl-C ends a long loop: the same kernels with polls for signals and without.

python benchmarks/interrupts.py
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang import pipelines  # noqa: E402
from riselang.support.config import CACHE  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

KERNELS: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "product of 512 squared": (
        "fun((a : 512.512.f32, b : 512.512.f32), a |> map(fun(r, b |> transpose "
        "|> map(fun(k, zip(r, k) |> map(mult) |> reduce(add, 0.0))))))",
        [(512, 512), (512, 512)],
    ),
    "iterate over 16 elements": (
        "fun((x : 16.f32), x |> iterate(4000000, fun(y, y |> map(fun(e, e * 0.5 + 1.0)))))",
        [(16,)],
    ),
    "iterate over a scalar": (
        "fun((x : 1.f32), x |> map(fun(s, s |> iterate(100000000, fun(y, y * 0.5 + 1.0)))))",
        [(1,)],
    ),
    "while for each of 10,000": (
        "fun((x : 10000.f32), x |> map(fun(s, s |> while(fun(y, y < 1000.0), "
        "fun(y, y * 1.01 + 1.0)))))",
        [(10_000,)],
    ),
}


def compiled(text: str, passes: tuple[str, ...]) -> Callable[..., Any]:
    """A kernel whose last passes are these."""
    kept, pipelines.POLL_SIGNALS = pipelines.POLL_SIGNALS, passes
    try:
        program: Any = rl.loads(f"def f = {text}", name="kernel.rise")
        program.f.lower().compile()
        return program.f
    finally:
        pipelines.POLL_SIGNALS = kept


def main() -> None:
    for name, (text, shapes) in KERNELS.items():
        arrays = [np.random.default_rng(1).random(shape, np.float32) for shape in shapes]
        kernels = [compiled(text, passes) for passes in (pipelines.POLL_SIGNALS, ())]
        ours, theirs = samples([partial(each, *arrays) for each in kernels], rounds=15)
        report(f"{name}, with polls", ours, Rival("without", theirs))


if __name__ == "__main__":
    import os

    os.environ[CACHE.variable] = "0"  # the cache knows nothing of passes that are left out
    main()
