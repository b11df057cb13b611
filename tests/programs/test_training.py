"""The programs of examples/training minimize their functions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "training"))

import digits
import fits
import losses


def test_clusters_by_newton() -> None:
    points = np.array([[0, 0], [0, 2], [9, 9], [9, 7]], np.float32)
    step = rl.jit(lambda centers, points: fits.newton_step(centers, points), backend="interpret")
    centers = step(points[[0, 3]].copy(), points)
    np.testing.assert_allclose(centers, [[0, 1], [9, 8]])


@pytest.mark.rotating(3)
def test_gradient_of_a_mixture() -> None:
    source = np.random.default_rng(0)
    params = (source.normal(size=2), source.normal(size=(2, 3)), source.normal(size=(2, 6)))
    points = source.normal(size=(4, 3))
    function = rl.jit(losses.mixture, backend="interpret")
    slopes = rl.jit(rl.grad(losses.mixture), backend="interpret")(params, points)
    for position, slope in enumerate(slopes):
        direction = source.normal(size=slope.shape)

        def move(step: float, position: int = position, direction: Any = direction) -> Any:
            moved = [*params]
            moved[position] = moved[position] + step * direction
            return function(tuple(moved), points)

        difference = (move(1e-6) - move(-1e-6)) / 2e-6
        np.testing.assert_allclose((slope * direction).sum(), difference, rtol=1e-6)


@pytest.mark.nightly
def test_fitted_stencil_and_mixture() -> None:
    first, last = fits.fit_heat(steps=60)
    assert last < first / 2
    points = np.random.default_rng(1).standard_normal((60, 2), np.float32)
    values = fits.fit_mixture(points, 2, steps=20)
    assert values[-1] > values[0]


@pytest.mark.nightly
@pytest.mark.parametrize("optimizer", digits.OPTIMIZERS)
@pytest.mark.parametrize("network", digits.SHAPES)
def test_digits(network: str, optimizer: str) -> None:
    values, fraction = digits.train(network, optimizer, epochs=6)
    assert values[-1] < values[0]
    assert fraction > 0.6
