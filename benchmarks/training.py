"""LeNet trained on digits with Adam, beside the same program in JAX, on one core.

    python benchmarks/training.py [EPOCHS]

Both start from the same weights and read the same batches. The accuracies are those for the images
that are held out.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np
from reporting import report
from rivals import has, is_small, pin

from riselang.tools.figures import Rival

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "training"))

import digits
import losses

RATE = 1e-3
NETWORK = "lenet"


def jax_step() -> Callable[..., Any]:
    """Return one step of Adam in JAX."""
    jax: Any = import_module("jax")
    twins: Any = import_module("derivatives_jax")

    @jax.jit
    def step(state: Any, images: Any, labels: Any) -> Any:
        weights, means, squares, count = state
        value, slopes = jax.value_and_grad(twins.lenet)(weights, images, labels)
        count = count + 1
        means = [0.9 * mean + 0.1 * s for mean, s in zip(means, slopes, strict=True)]
        squares = [0.999 * each + 0.001 * s * s for each, s in zip(squares, slopes, strict=True)]
        factor, correction = RATE / (1 - 0.9**count), 1 / (1 - 0.999**count)
        weights = [
            w - factor * mean / (jax.numpy.sqrt(square * correction) + 1e-8)
            for w, mean, square in zip(weights, means, squares, strict=True)
        ]
        return value, (weights, means, squares, count)

    return lambda *arguments: jax.block_until_ready(step(*arguments))


def main(epochs: int) -> None:
    os.environ["RISE_NUM_THREADS"] = "1"
    pin(1)
    images, labels, test_images, test_labels = digits.load(NETWORK)
    start, own_step = digits.adam(losses.lenet, RATE)
    steps = {"riselang": own_step, **({"JAX": jax_step()} if has("jax") else {})}
    states = {name: start(digits.initial_weights(NETWORK)) for name in steps}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step(states["riselang"], images[: digits.BATCH], labels[: digits.BATCH])
    source = np.random.default_rng(0)
    for _ in range(epochs):
        order = source.permutation(len(images))
        for name, step in steps.items():
            begin = time.process_time()
            _, states[name] = digits.train_epoch(step, states[name], images, labels, order)
            times[name].append(time.process_time() - begin)
    rival = Rival("JAX", tuple(times["JAX"])) if "JAX" in times else None
    report("an epoch of LeNet", times["riselang"], rival, bound=1.0)
    for name, state in states.items():
        weights: Sequence[Any] = [np.asarray(each) for each in state[0]]
        fraction = digits.accuracy(NETWORK, weights, test_images, test_labels)
        print(f"{name}: {fraction:.1%} of the held-out images are right")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2 if is_small() else 20)
