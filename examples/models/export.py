"""Export the models of this folder from JAX: module texts, inputs and expected results.

    pip install jax
    python examples/models/export.py [NAME ...]

Each model is a function of its weights and inputs. `NAME.mlir` is the output of `jax.export`, and
`NAME.npz` contains three sets of random arguments (`set0_arg0`, ...) and the results that JAX
computes from them (`set0_result0`, ...). Arguments that are the same in all sets, such as large
weights, are stored once (`arg0`, ...).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

jax: Any = importlib.import_module("jax")
export: Any = importlib.import_module("jax.export")
jnp: Any = importlib.import_module("jax.numpy")
lax: Any = importlib.import_module("jax.lax")

# The texts name their parameters, but not the files of the machine they were made on.
jax.config.update("jax_traceback_in_locations_limit", 0)
HERE = Path(__file__).parent
SETS = 3
ROUNDING = 64
"""Weights are multiples of 1/64, so that they take little space in a compressed file."""
Arrays = Sequence[Any]


@dataclass(frozen=True)
class Example:
    """A model: its function, the shapes of its weights, and a generator of inputs."""

    function: Callable[..., Any]
    weights: Sequence[tuple[int, ...]]
    inputs: Callable[[np.random.Generator], Arrays]


def dense(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight + bias


def mlp(w1: Any, b1: Any, w2: Any, b2: Any, x: Any) -> Any:
    return dense(jax.nn.relu(dense(x, w1, b1)), w2, b2)


def convolution(x: Any, kernel: Any, padding: str, stride: int = 1) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=layout)


def max_pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def lenet(k1: Any, b1: Any, k2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, w5: Any,
          b5: Any, x: Any) -> Any:  # fmt: skip
    """LeNet-5 with ReLU and max pooling, ending in a softmax."""
    h = max_pool(jax.nn.relu(convolution(x, k1, "SAME") + b1))
    h = max_pool(jax.nn.relu(convolution(h, k2, "VALID") + b2))
    h = h.reshape(h.shape[0], -1)
    h = jax.nn.relu(dense(h, w3, b3))
    h = jax.nn.relu(dense(h, w4, b4))
    return jax.nn.softmax(dense(h, w5, b5))


def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any) -> Any:
    return (x - mean) * lax.rsqrt(jnp.abs(variance) + 1e-3) * scale + shift


def resnet_block(k1: Any, n1: Any, k2: Any, n2: Any, k3: Any, n3: Any, x: Any) -> Any:
    """Two convolutions with batch norms, and a shortcut with stride 2."""
    h = jax.nn.relu(batch_norm(convolution(x, k1, "SAME", 2), *n1))
    h = batch_norm(convolution(h, k2, "SAME"), *n2)
    shortcut = batch_norm(convolution(x, k3, "SAME", 2), *n3)
    return jax.nn.relu(h + shortcut)


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + 1e-5) * scale + shift


def encoder(wq: Any, wk: Any, wv: Any, wo: Any, norms: Any, w1: Any, b1: Any, w2: Any, b2: Any,
            x: Any) -> Any:  # fmt: skip
    """A transformer encoder block: attention with four heads, layer norms, and gelu."""
    heads = 4
    batch, length, width = x.shape

    def split(h: Any) -> Any:
        return h.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3)

    h = layer_norm(x, norms[0], norms[1])
    queries, keys, values = split(h @ wq), split(h @ wk), split(h @ wv)
    scores = jnp.einsum("bhqd,bhkd->bhqk", queries, keys) / np.sqrt(width // heads)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), values)
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ wo
    h = layer_norm(x, norms[2], norms[3])
    return x + dense(jax.nn.gelu(dense(h, w1, b1), approximate=False), w2, b2)


def cross_entropy(logits: Any, labels: Any) -> Any:
    chosen = jax.nn.one_hot(labels, logits.shape[-1])
    return -(chosen * jax.nn.log_softmax(logits)).sum(axis=-1).mean()


def descended(model: Any, loss: Any, weights: Sequence[Any], x: Any, labels: Any) -> Any:
    """Run one step of gradient descent; return the loss and the new weights."""
    value, slopes = jax.value_and_grad(lambda weights: loss(model(*weights, x), labels))(weights)
    return value, *(w - 0.1 * slope for w, slope in zip(weights, slopes, strict=True))


def mlp_train(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any) -> Any:
    return descended(mlp, cross_entropy, [w1, b1, w2, b2], x, labels)


def surprise(probabilities: Any, labels: Any) -> Any:
    return -jnp.log(jnp.take_along_axis(probabilities, labels[:, None], 1)).mean()


def lenet_train(k1: Any, b1: Any, k2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, w5: Any,
                b5: Any, x: Any, labels: Any) -> Any:  # fmt: skip
    weights = [k1, b1, k2, b2, w3, b3, w4, b4, w5, b5]
    return descended(lenet, surprise, weights, x, labels)


def train_loop(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, labels: Any, steps: Any) -> Any:
    """Run gradient descent for a number of steps, or until the loss is small."""

    def more(state: Any) -> Any:
        step, loss, _ = state
        return (step < steps) & (loss > 0.01)

    def step(state: Any) -> Any:
        count, _, weights = state
        loss, *weights = descended(mlp, cross_entropy, list(weights), x, labels)
        return count + 1, loss, tuple(weights)

    start = (jnp.int32(0), jnp.float32(jnp.inf), (w1, b1, w2, b2))
    count, loss, weights = lax.while_loop(more, step, start)
    return count, loss, *weights


def images(*shape: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda random: [random.random(shape, np.float32)]


def labelled(*shape: int) -> Callable[[np.random.Generator], Arrays]:
    return lambda random: [
        random.random(shape, np.float32),
        random.integers(0, 10, shape[0]).astype(np.int32),
    ]


MLP = [(784, 128), (128,), (128, 10), (10,)]
LENET = [(5, 5, 1, 6), (6,), (5, 5, 6, 16), (16,), (400, 120), (120,), (120, 84), (84,),
         (84, 10), (10,)]  # fmt: skip
SMALL_LENET = [*LENET[:4], (400, 40), (40,), (40, 30), (30,), (30, 10), (10,)]
RESNET = [(3, 3, 8, 16), (4, 16), (3, 3, 16, 16), (4, 16), (1, 1, 8, 16), (4, 16)]
ENCODER = [(32, 32), (32, 32), (32, 32), (32, 32), (4, 32), (32, 64), (64,), (64, 32), (32,)]
SMALL_MLP = [(16, 12), (12,), (12, 10), (10,)]

EXAMPLES = {
    "mlp": Example(mlp, MLP, images(4, 784)),
    "lenet": Example(lenet, LENET, images(2, 28, 28, 1)),
    "resnet_block": Example(resnet_block, RESNET, images(2, 8, 8, 8)),
    "encoder": Example(encoder, ENCODER, images(2, 6, 32)),
    "mlp_train": Example(mlp_train, SMALL_MLP, labelled(8, 16)),
    "lenet_train": Example(lenet_train, SMALL_LENET, labelled(2, 28, 28, 1)),
    "train_loop": Example(
        train_loop, SMALL_MLP, lambda random: [*labelled(8, 16)(random), np.int32(5)]
    ),
}


def weight(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    scale = np.sqrt(2.0 / max(1, int(np.prod(shape[:-1]))))
    values = random.standard_normal(shape) * scale
    return np.asarray(np.round(values * ROUNDING) / ROUNDING, np.float32)


def write(name: str, example: Example) -> None:
    random = np.random.default_rng(sorted(EXAMPLES).index(name))
    weights = [weight(random, shape) for shape in example.weights]
    sets = [[*weights, *example.inputs(random)] for _ in range(SETS)]
    exported = export.export(jax.jit(example.function))(*sets[0])
    (HERE / f"{name}.mlir").write_text(str(exported.mlir_module()))
    arrays: dict[str, Any] = {f"arg{k}": each for k, each in enumerate(weights)}
    for number, arguments in enumerate(sets):
        for k in range(len(weights), len(arguments)):
            arrays[f"set{number}_arg{k}"] = arguments[k]
        results = jax.tree.leaves(jax.jit(example.function)(*arguments))
        for k, result in enumerate(results):
            arrays[f"set{number}_result{k}"] = np.asarray(result)
    np.savez_compressed(HERE / f"{name}.npz", allow_pickle=False, **arrays)
    print(f"wrote {name}.mlir and {name}.npz")


if __name__ == "__main__":
    for each in sys.argv[1:] or EXAMPLES:
        write(each, EXAMPLES[each])
