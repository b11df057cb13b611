"""Models beside the frameworks that run them: the latency of a call, on one thread of one core.

Every system gets the same weights once, and the same input at each call, from Python. Rivals are
those that are installed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402, threads are pinned before
from model_rivals import RIVALS, Call, Network  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

MODELS = Path(__file__).parent.parent / "examples/models"
LEVEL, LEADER = 1.0, 1.25
"""Times that we may take as long as a rival; as long as onnxruntime, which leads."""
Case = tuple[str, int, tuple[int, ...]]
"""A model, the batch that its file has, and those that are measured."""
CASES: tuple[Case, ...] = (("mlp", 4, (1, 64)), ("lenet", 2, (1, 32)))


def network(name: str, kept: int, batch: int) -> Network:
    """A model of the examples for another batch; its weights are those of the examples."""
    text = (MODELS / f"{name}.mlir").read_text().replace(f"tensor<{kept}x", f"tensor<{batch}x")
    with np.load(MODELS / f"{name}.npz") as arrays:
        weights = [arrays[f"arg{k}"] for k in range(sum(each.startswith("arg") for each in arrays))]
        (example,) = [arrays[each] for each in arrays if each.startswith("set0_arg")]
    shape = (batch, *example.shape[1:])
    x = np.random.default_rng(0).random(shape, np.float32)
    return Network(name, text, tuple(weights), x)


def ours(model: Network) -> Call:
    bound: Any = rl.from_stablehlo(model.text).bind(*model.weights)
    return lambda: bound(model.x)


def measure(model: Network, rounds: int, rivals: Sequence[str]) -> None:
    found = {name: call for name in rivals if (call := RIVALS[name](model)) is not None}
    mine = ours(model)
    expected = np.asarray(mine())
    for name, call in found.items():
        result = np.asarray(call())
        assert np.allclose(result, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max()), name
    calls = 10 if len(model.x) == 1 else 1
    taken, *others = samples([mine, *found.values()], rounds=rounds, calls=calls)
    title = f"{model.name}, batch {len(model.x)}"
    for name, samples_of in zip(found, others, strict=True):
        bound = LEADER if name == "onnxruntime" else LEVEL
        report(f"{title}, beside {name}", taken, Rival(name, samples_of), bound=bound)
    if not found:
        report(title, taken)


def main(cases: Sequence[Case], rounds: int, rivals: Sequence[str]) -> None:
    for name, kept, batches in cases:
        for batch in batches:
            measure(network(name, kept, batch), rounds, rivals)


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        main([("mlp", 4, (1,))], 3, ["numpy"])
    else:
        main(CASES, 101, list(RIVALS))
