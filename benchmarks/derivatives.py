"""Gradients beside JAX, on one core; both may reorder sums.

    python benchmarks/derivatives.py [--work] [NAME ...]

With `--work`, only the operations of each function and of its gradient are counted.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from reporting import report
from rivals import has, is_small, pin

import riselang as rl
from gallery import cpu_samples
from riselang.tools.figures import Rival

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "training"))

import losses

BOUND = 1.03
MAX_WORK = 4.0
TOLERANCE = 1e-4
LENET = ((5, 5, 1, 8), (8,), (5, 5, 8, 16), (16,), (256, 64), (64,), (64, 10), (10,))


def normal(source: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    return (source.standard_normal(shape) * scale).astype(np.float32)


def labels(source: np.random.Generator, count: int) -> Any:
    return np.eye(10, dtype=np.float32)[source.integers(0, 10, count)]


def mixture(source: np.random.Generator, components: int, points: int, size: int) -> Any:
    factors = normal(source, components, size * (size + 1) // 2, scale=0.1)
    params = (normal(source, components), normal(source, components, size), factors)
    return params, normal(source, points, size)


def inputs() -> dict[str, tuple[str, tuple[Any, ...]]]:
    """Return the function of each case, and its arguments."""
    s = np.random.default_rng(0)
    mlp = [normal(s, 784, 128, scale=0.05), normal(s, 128), normal(s, 128, 10), normal(s, 10)]
    lenet = [normal(s, *shape, scale=0.1) for shape in LENET]
    lstm = (normal(s, 32, 256, scale=0.2), normal(s, 64, 256, scale=0.1), np.zeros(256, np.float32))
    plate = s.random((128, 128), np.float32)
    return {
        "MLP 64": ("mlp", (mlp, s.random((64, 784), np.float32), labels(s, 64))),
        "LeNet 32": ("lenet", (lenet, s.random((32, 28, 28, 1), np.float32), labels(s, 32))),
        "attention": ("attention", (tuple(normal(s, 512, 64) for _ in range(3)),)),
        "GMM 1000 x 10, 25": ("mixture", mixture(s, 25, 1000, 10)),
        "GMM 1000 x 64, 10": ("mixture", mixture(s, 10, 1000, 64)),
        "k-means": ("clusters", (normal(s, 5, 35), normal(s, 20_000, 35))),
        "heat equation": ("heat", (np.full((126, 126), 0.2, np.float32), plate, plate.T.copy())),
        "LSTM": ("lstm", (lstm, normal(s, 64, 16, 32))),
    }  # fmt: skip


def count_work(name: str, function: Any, arguments: Any) -> None:
    """Print the operations of a gradient for each one of its function."""
    counts: list[float] = []
    for each in (function, rl.value_and_grad(function)):
        work = rl.jit(each).trace(*arguments).cost_analysis().work
        assert work is not None
        counts.append(float(str(work.operations)))
    print(f"{name}: {counts[1] / counts[0]:.2f} times the work (at most {MAX_WORK})", flush=True)


def arrays(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [each for part in value for each in arrays(part)]
    return [np.asarray(value)]


def check_agreement(name: str, result: Any, other: Any) -> None:
    for own, expected in zip(arrays(result), arrays(other), strict=True):
        if np.abs(own - expected).max() > TOLERANCE * (1 + np.abs(expected).max()):
            sys.exit(f"error: {name}: JAX computes something else")


def measure(name: str, function: str, arguments: Any) -> None:
    ours = rl.jit(rl.value_and_grad(getattr(losses, function)), float="relaxed")
    rounds = 2 if is_small() else 15
    if not has("jax"):
        report(name, cpu_samples([lambda: ours(*arguments)], rounds)[0])
        return
    jax: Any = import_module("jax")
    theirs = jax.jit(jax.value_and_grad(getattr(import_module("derivatives_jax"), function)))
    given = jax.tree.map(jax.numpy.asarray, arguments)
    check_agreement(name, ours(*arguments), theirs(*given))
    calls = [lambda: ours(*arguments), lambda: jax.block_until_ready(theirs(*given))]
    own, rival = cpu_samples(calls, rounds)
    report(name, own, Rival("JAX", rival), bound=BOUND)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure gradients beside JAX.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--work", action="store_true", help="count operations only")
    options = parser.parse_args()
    os.environ["RISE_NUM_THREADS"] = "1"
    pin(1)
    for name, (function, arguments) in inputs().items():
        if options.names and name.split()[0] not in options.names:
            continue
        if options.work:
            count_work(name, getattr(losses, function), arguments)
        else:
            measure(name, function, arguments)


if __name__ == "__main__":
    main()
