"""Train networks that recognize handwritten digits, with gradients that riselang computes.

    python examples/training/digits.py [mlp | lenet] [sgd | adam] [EPOCHS]

The images are the 500 in `examples/digits`; every fifth one is held out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import losses
import numpy as np

import riselang as rl

DIGITS = Path(__file__).parents[1] / "digits" / "held_out.npz"
BATCH = 20
SHAPES = {
    "mlp": ((784, 64), (64,), (64, 10), (10,)),
    "lenet": ((5, 5, 1, 8), (8,), (5, 5, 8, 16), (16,), (256, 64), (64,), (64, 10), (10,)),
}
SCORES = {"mlp": losses.mlp_scores, "lenet": losses.lenet_scores}
LOSSES = {"mlp": losses.mlp, "lenet": losses.lenet}
Arrays = Sequence[Any]
Step = Callable[..., Any]
"""Returns the loss and the next state, given the state, images and labels."""


def load(network: str) -> tuple[Any, Any, Any, Any]:
    """Return images and labels for training, and others to test the network."""
    with np.load(DIGITS) as kept:
        images = (kept["images"] / 255).astype(np.float32)
        labels = np.eye(10, dtype=np.float32)[kept["labels"]]
    images = images.reshape(-1, 784) if network == "mlp" else images[..., None]
    held_out = np.arange(len(images)) % 5 == 0
    return images[~held_out], labels[~held_out], images[held_out], labels[held_out]


def initial_weights(network: str) -> list[Any]:
    """Return random matrices and filters, and zeros for the biases."""
    weights: list[Any] = []
    for number, shape in enumerate(SHAPES[network]):
        key = rl.random.key(number)
        scale = np.float32(np.sqrt(2 / np.prod(shape[:-1])))
        is_bias = len(shape) == 1
        weights.append(
            np.zeros(shape, np.float32) if is_bias else rl.random.normal(key, shape) * scale
        )
    return weights


def sgd(loss: Callable[..., Any], rate: float) -> tuple[Callable[[Arrays], Any], Step]:
    """Gradient descent: the state is the list of the weights."""

    @rl.jit(float="relaxed")
    def step(weights: Any, images: Any, labels: Any) -> Any:
        value, slopes = rl.value_and_grad(loss)(weights, images, labels)
        return value, [w - rate * slope for w, slope in zip(weights, slopes, strict=True)]

    return list, step


def adam(loss: Callable[..., Any], rate: float) -> tuple[Callable[[Arrays], Any], Step]:
    """Adam: the state also has means of the slopes and of their squares, and counts the steps."""

    def start(weights: Arrays) -> Any:
        zeros = [np.zeros_like(each) for each in weights]
        return list(weights), zeros, list(zeros), np.float32(0)

    @rl.jit(float="relaxed")
    def step(state: Any, images: Any, labels: Any) -> Any:
        weights, means, squares, count = state
        value, slopes = rl.value_and_grad(loss)(weights, images, labels)
        count = count + 1.0
        means = [0.9 * mean + 0.1 * s for mean, s in zip(means, slopes, strict=True)]
        squares = [0.999 * each + 0.001 * s * s for each, s in zip(squares, slopes, strict=True)]
        factor = rate / (1.0 - rl.math.pow(0.9, count))
        correction = 1.0 / (1.0 - rl.math.pow(0.999, count))
        weights = [
            w - factor * mean / (rl.math.sqrt(square * correction) + 1e-8)
            for w, mean, square in zip(weights, means, squares, strict=True)
        ]
        return value, (weights, means, squares, count)

    return start, step


OPTIMIZERS = {"sgd": (sgd, 0.1), "adam": (adam, 1e-3)}


def train_epoch(step: Step, state: Any, images: Any, labels: Any, order: Any) -> tuple[Any, Any]:
    """Run one step for each batch of images, in this order."""
    value: Any = None
    for first in range(0, len(order) - BATCH + 1, BATCH):
        batch = order[first : first + BATCH]
        value, state = step(state, images[batch], labels[batch])
    return value, state


def accuracy(network: str, weights: Arrays, images: Any, labels: Any) -> float:
    """Return the fraction of images that a network recognizes."""
    scores = rl.jit(SCORES[network])(list(weights), images)
    return float((scores.argmax(axis=1) == labels.argmax(axis=1)).mean())


def train(network: str, optimizer: str, epochs: int) -> tuple[list[float], float]:
    """Return the loss after each epoch, and the accuracy for the images that are held out."""
    images, labels, test_images, test_labels = load(network)
    method, rate = OPTIMIZERS[optimizer]
    start, step = method(LOSSES[network], rate)
    state = start(initial_weights(network))
    source = np.random.default_rng(0)
    values: list[float] = []
    for _ in range(epochs):
        value, state = train_epoch(step, state, images, labels, source.permutation(len(images)))
        values.append(float(value))
    weights = state if optimizer == "sgd" else state[0]
    return values, accuracy(network, weights, test_images, test_labels)


def main(network: str = "lenet", optimizer: str = "adam", epochs: str = "20") -> None:
    values, fraction = train(network, optimizer, int(epochs))
    for number, value in enumerate(values, 1):
        print(f"epoch {number}: loss {value:.4f}")
    print(f"held out: {fraction:.1%} are right")


if __name__ == "__main__":
    main(*sys.argv[1:])
