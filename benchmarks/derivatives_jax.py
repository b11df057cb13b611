"""The functions of examples/training/losses.py in JAX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

jax: Any = import_module("jax")
jnp: Any = jax.numpy
lax: Any = jax.lax


def cross_entropy(scores, labels):
    return (jax.nn.logsumexp(scores, axis=1) - (scores * labels).sum(axis=1)).mean()


def mlp_scores(weights, images):
    w1, b1, w2, b2 = weights
    return jax.nn.relu(images @ w1 + b1) @ w2 + b2


def mlp(weights, images, labels):
    return cross_entropy(mlp_scores(weights, images), labels)


def features(images, kernel, bias):
    layout = ("NHWC", "HWIO", "NHWC")
    h = lax.conv_general_dilated(images, kernel, (1, 1), "VALID", dimension_numbers=layout)
    h = jax.nn.relu(h + bias)
    return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def lenet_scores(weights, images):
    k1, b1, k2, b2, w3, b3, w4, b4 = weights
    hidden = features(features(images, k1, b1), k2, b2)
    hidden = jax.nn.relu(hidden.reshape(hidden.shape[0], -1) @ w3 + b3)
    return hidden @ w4 + b4


def lenet(weights, images, labels):
    return cross_entropy(lenet_scores(weights, images), labels)


def attention(arguments):
    Q, K, V = arguments
    result = jax.nn.softmax(Q @ K.T / Q.shape[1] ** 0.5, axis=1) @ V
    return (result * result).sum()


def mixture(params, points):
    alphas, means, factors = params
    size = points.shape[1]
    logarithms, below = factors[:, :size], factors[:, size:]
    triangles = jnp.zeros((len(alphas), size, size))
    triangles = triangles.at[:, *jnp.tril_indices(size, -1)].set(below)
    centered = points - means[:, None]
    scaled = jnp.exp(logarithms)[:, None] * centered
    scaled = scaled + jnp.einsum("kij,knj->kni", triangles, centered)
    terms = (alphas + logarithms.sum(axis=1))[:, None] - 0.5 * (scaled * scaled).sum(axis=2)
    likelihood = jax.nn.logsumexp(terms, axis=0).sum() - len(points) * jax.nn.logsumexp(alphas)
    squares = (jnp.exp(logarithms) ** 2).sum() + (below * below).sum()
    return likelihood - 0.5 * squares + logarithms.sum()


def clusters(centers, points):
    return ((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum()


def heat(rate, plate, measured):
    def step(_, plate):
        inner = plate[1:-1, 1:-1]
        neighbors = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        return plate.at[1:-1, 1:-1].set(inner + rate * (neighbors - 4 * inner))

    error = lax.fori_loop(0, 20, step, plate) - measured
    return (error * error).mean()


def lstm(weights, inputs):
    inputs_weights, recurrent, bias = weights
    units = recurrent.shape[0]

    def step(state, x):
        hidden, cell = state
        gates = x @ inputs_weights + hidden @ recurrent + bias
        keep, add, show = (jax.nn.sigmoid(gates[:, k * units : (k + 1) * units]) for k in range(3))
        cell = keep * cell + add * jnp.tanh(gates[:, 3 * units :])
        return (show * jnp.tanh(cell), cell), None

    zeros = jnp.zeros((inputs.shape[1], units), inputs.dtype)
    hidden = lax.scan(step, (zeros, zeros), inputs)[0][0]
    return (hidden * hidden).sum()
