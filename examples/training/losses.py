"""Functions that the programs in this folder minimize, by gradients that riselang computes."""

from __future__ import annotations

from typing import Any

import riselang as rl

m = rl.math


def log_sum_exp(x: Any, axis: int) -> Any:
    """Return the logarithms of sums of exponentials, which do not overflow."""
    largest = rl.stop_gradient(x.max(axis=axis))
    return m.log(m.exp(x - rl.numpy.expand_dims(largest, axis)).sum(axis=axis)) + largest


def cross_entropy(scores: Any, labels: Any) -> Any:
    """Return the mean of the negative logarithms of the probabilities of the right classes.

    `labels` has a row for each example, with a one for the right class.
    """
    return (log_sum_exp(scores, 1) - (scores * labels).sum(axis=1)).mean()


def relu(x: Any) -> Any:
    return rl.where(x > 0.0, x, 0.0)


def mlp(weights: Any, images: Any, labels: Any) -> Any:
    """A network with one hidden layer, for images as rows of pixels."""
    return cross_entropy(mlp_scores(weights, images), labels)


def mlp_scores(weights: Any, images: Any) -> Any:
    w1, b1, w2, b2 = weights
    return relu(images @ w1 + b1) @ w2 + b2


def features(images: Any, kernel: Any, bias: Any) -> Any:
    """A convolution of images with channels, ReLU, and the maximum of each 2 x 2 block."""
    size, _, channels, outputs = kernel.shape
    count, height, width = images.shape[0], images.shape[1] - size + 1, images.shape[2] - size + 1
    windows = images | rl.map(rl.slide2d(size, 1))
    patches = windows.reshape(count * height * width, size * size * channels)
    convolved = rl.to_mem("heap", patches) @ kernel.reshape(size * size * channels, outputs)
    blocks = relu(convolved + bias).reshape(count, height // 2, 2, width // 2, 2, outputs)
    return blocks.max(axis=(2, 4))


def lenet_scores(weights: Any, images: Any) -> Any:
    k1, b1, k2, b2, w3, b3, w4, b4 = weights
    hidden = features(features(images, k1, b1), k2, b2)
    hidden = relu(hidden.reshape(images.shape[0], w3.shape[0]) @ w3 + b3)
    return hidden @ w4 + b4


def lenet(weights: Any, images: Any, labels: Any) -> Any:
    """A network with two convolutions and two dense layers."""
    return cross_entropy(lenet_scores(weights, images), labels)


def diffuse(rate: Any, plate: Any, steps: int) -> Any:
    """Explicit steps of the heat equation on a plate with fixed edges; each point has a rate."""

    def step(plate: Any) -> Any:
        inner = plate[1:-1, 1:-1]
        neighbors = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        return plate.at[1:-1, 1:-1].set(inner + rate * (neighbors - 4.0 * inner))

    return rl.iterate(steps, step, plate)


def heat(rate: Any, plate: Any, measured: Any) -> Any:
    """The mean squared distance of a plate after 20 steps from a measured one."""
    error = diffuse(rate, plate, 20) - measured
    return (error * error).mean()


def mixture(params: Any, points: Any) -> Any:
    """The logarithm of the likelihood of points under a mixture of Gaussians, with a prior.

    This is the function GMM of the benchmark suite ADBench. The inverse covariances are products of
    triangular matrices: `factors` has the logarithms of the diagonals, followed by the elements
    below them, row by row.
    """
    alphas, means, factors = params
    size = points.shape[1]
    logarithms, below = factors[:, :size], factors[:, size:]
    triangles = below | rl.map(lambda row: triangle(row, size))
    centered = points - means[:, None]
    scaled = m.exp(logarithms)[:, None] * centered
    scaled = scaled + rl.einsum("kij,knj->kni", triangles, centered)
    terms = (alphas + logarithms.sum(axis=1))[:, None] - 0.5 * (scaled * scaled).sum(axis=2)
    likelihood = log_sum_exp(terms, 0).sum() - points.shape[0] * log_sum_exp(alphas, 0)
    squares = (m.exp(logarithms) ** 2.0).sum() + (below * below).sum()
    return likelihood - 0.5 * squares + logarithms.sum()


def triangle(elements: Any, size: int) -> Any:
    """Return the matrix with these elements below its diagonal, row by row."""

    def element(i: Any, j: Any) -> Any:
        row, column = rl.from_idx(i), rl.from_idx(j)
        position = rl.clamp_idx(elements.shape[0], row * (row - 1) // 2 + column)
        return rl.where(column < row, elements[position], 0.0)

    return rl.generate(lambda i: rl.generate(lambda j: element(i, j), n=size), n=size)


def clusters(centers: Any, points: Any) -> Any:
    """The sum of the squared distances of all points from the nearest center."""
    return ((points[:, None] - centers) ** 2.0).sum(axis=2).min(axis=1).sum()


def attention(arguments: Any) -> Any:
    Q, K, V = arguments
    scores = Q @ K.T / Q.shape[1] ** 0.5
    weights = m.exp(scores - scores.max(axis=1, keepdims=True))
    result = (weights / weights.sum(axis=1, keepdims=True)) @ V
    return (result * result).sum()


def lstm(weights: Any, inputs: Any) -> Any:
    """The square of the last state of a recurrent layer."""
    input_weights, recurrent, bias = weights
    batch, units = inputs.shape[1], recurrent.shape[0]

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + m.exp(-x))

    def step(state: Any, x: Any) -> Any:
        hidden, cell = state
        gates = x @ input_weights + hidden @ recurrent + bias
        keep, add, show = (sigmoid(gates[:, k * units : (k + 1) * units]) for k in range(3))
        cell = keep * cell + add * m.tanh(gates[:, 3 * units :])
        return show * m.tanh(cell), cell

    zeros = rl.zeros((batch, units))
    hidden = rl.reduce(step, (zeros, zeros), inputs)[0]
    return (hidden * hidden).sum()
