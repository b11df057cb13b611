"""Fit a stencil, a mixture of Gaussians and clusters to data, by derivatives.

python examples/training/fits.py
"""

from __future__ import annotations

from typing import Any

import losses
import numpy as np

import riselang as rl


def fit_heat(size: int = 24, steps: int = 200) -> tuple[float, float]:
    """Find the rate of each point of a plate from its temperatures after 20 steps.

    Returns the first and the last error.
    """
    source = np.random.default_rng(0)
    rate = np.full((size - 2, size - 2), 0.1, np.float32)
    rate[size // 3 : size // 2, size // 4 : size // 2] = 0.2
    plate = source.random((size, size), np.float32)
    measured = rl.jit(lambda rate, plate: losses.diffuse(rate, plate, 20))(rate, plate)
    slope = rl.jit(rl.value_and_grad(losses.heat), float="relaxed")
    guess, errors = np.full_like(rate, 0.15), []
    for _ in range(steps):
        error, change = slope(guess, plate, measured)
        guess = np.clip(guess - 20 * change, 0, 0.25)
        errors.append(float(error))
    return errors[0], errors[-1]


def fit_mixture(points: Any, components: int, steps: int = 100, rate: float = 1e-3) -> Any:
    """Maximize the likelihood of points by gradient ascent; returns the likelihoods."""
    count, size = points.shape
    params = (
        np.zeros(components, points.dtype),
        points[:: count // components][:components].copy(),
        np.zeros((components, size * (size + 1) // 2), points.dtype),
    )
    slope = rl.jit(rl.value_and_grad(losses.mixture), float="relaxed")
    values: list[float] = []
    for _ in range(steps):
        value, change = slope(params, points)
        params = tuple(each + rate * own for each, own in zip(params, change, strict=True))
        values.append(float(value))
    return values


@rl.jit
def newton_step(centers: Any, points: Any) -> Any:
    """One step of Newton's method for k-means, whose matrix of second derivatives is diagonal.

    Its diagonal is the derivative of the gradient in the direction of ones.
    """
    slope = rl.grad(losses.clusters)
    ones = rl.ones(centers.shape)
    change, curvature = rl.jvp(lambda centers: slope(centers, points), (centers,), (ones,))
    return centers - change / rl.max(curvature, 1.0)


def fit_clusters(points: Any, centers: Any, steps: int = 10) -> Any:
    for _ in range(steps):
        centers = newton_step(centers, points)
    return centers


def main() -> None:
    first, last = fit_heat()
    print(f"heat equation: the error decreases from {first:.1e} to {last:.1e}")
    source = np.random.default_rng(1)
    middles = np.array([[0, 0], [4, 0], [0, 4]], np.float32)
    points = np.repeat(middles, 100, axis=0) + source.standard_normal((300, 2), np.float32)
    values = fit_mixture(points, 3)
    print(f"mixture: the likelihood increases from {values[0]:.1f} to {values[-1]:.1f}")
    print("centers of clusters:")
    print(fit_clusters(points, points[::100].copy()).round(2))


if __name__ == "__main__":
    main()
