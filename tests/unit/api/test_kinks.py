"""Derivatives where a function has none: the conventions of the guide, which are those of JAX.

The expected values are stored; if JAX is installed, they are compared with its derivatives, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl

GUIDE = Path(__file__).parents[3] / "docs/how-to/derivatives.md"
INF, NAN = float("inf"), float("nan")
WEIGHTS = np.array([1.0, 10.0, 100.0, 1000.0])


@dataclass(frozen=True)
class Kink:
    """A function, arguments, and its derivative by each of them."""

    function: Callable[..., Any]
    """Takes `rl.numpy` or `jax.numpy`, and the arguments."""
    arguments: Sequence[Any]
    expected: Sequence[Any]
    in_jax: Sequence[Any] | None = None
    """The derivative in JAX, if it differs."""


def kink(function: Callable[..., Any], arguments: Any, expected: Any, in_jax: Any = None) -> Kink:
    """Return the kink of a function of numbers, or of one array, which is a list."""
    if isinstance(arguments, list):
        values = [np.array(arguments)]
        return Kink(function, values, [expected], None if in_jax is None else [in_jax])
    return Kink(function, arguments, expected, in_jax)


ROWS: dict[str, list[Kink]] = {
    "`abs(x)` for x = 0": [
        kink(lambda m, x: m.abs(x), (0.0,), (1,)),
        kink(lambda m, x: m.abs(x), (-0.0,), (1,)),
    ],
    "`maximum(x, y)` and `minimum(x, y)` for x = y": [
        kink(lambda m, x, y: m.maximum(x, y), (1.0, 1.0), (0.5, 0.5)),
        kink(lambda m, x, y: m.minimum(x, y), (1.0, 1.0), (0.5, 0.5)),
        kink(lambda m, x, y: m.maximum(x, y), (0.0, -0.0), (0.5, 0.5)),
        kink(lambda m, x: m.maximum(x, 0.0), (0.0,), (0.5,)),
        kink(lambda m, x: m.maximum(x, x), (1.0,), (1,)),
    ],
    "`maximum(x, y)` and `minimum(x, y)` if an argument is NaN": [
        kink(lambda m, x, y: m.maximum(x, y), (NAN, 1.0), (0, 0)),
        kink(lambda m, x, y: m.minimum(x, y), (1.0, NAN), (0, 0)),
    ],
    "`where(x > 0.0, x, 0.0)` for x = 0": [
        kink(lambda m, x: m.where(x > 0.0, x, 0.0), (0.0,), (0,)),
    ],
    "`clip(x, a, b)` for x = a or x = b": [
        kink(lambda m, x, a, b: m.clip(x, a, b), (1.0, 1.0, 2.0), (0.5, 0.5, 0)),
        kink(lambda m, x, a, b: m.clip(x, a, b), (2.0, 1.0, 2.0), (0.5, 0, 0.5)),
        kink(lambda m, x: m.clip(x, 1.0, 1.0), (1.0,), (0.25,)),
    ],
    "`x.max()` and `x.min()` if several elements are equal to the result": [
        kink(lambda m, x: x.max(), [1.0, 3.0, 3.0, 2.0], [0, 0.5, 0.5, 0]),
        kink(lambda m, x: x.min(), [1.0, 3.0, 1.0, 1.0], [1 / 3, 0, 1 / 3, 1 / 3]),
        kink(lambda m, x: x.max(), [1.0, INF, INF], [0, 0.5, 0.5]),
        kink(lambda m, x: m.abs(x).max(), [-2.0, 2.0], [-0.5, 0.5]),
        kink(lambda m, x: x.max(), [1.0, NAN], [0, 0], [NAN, NAN]),
    ],
    "`x.at[i].max(y)` and `x.at[i].min(y)`": [
        kink(
            lambda m, x: x.at[np.array([0, 0, 1])].max(np.array([5.0, 5.0, 2.0])).sum(),
            [5.0, 1.0], [1 / 3, 0],
        ),
        kink(
            lambda m, x: (m.zeros(2).at[np.array([0, 0, 1, 1])].max(x) * WEIGHTS[:2]).sum(),
            [3.0, 3.0, 1.0, 2.0], [0.5, 0.5, 0, 10],
        ),
    ],
    "`sort(x)` and `x[argmax(x)]` for equal elements": [
        kink(lambda m, x: (m.sort(x) * WEIGHTS).sum(), [3.0, 1.0, 3.0, 1.0], [100, 1, 1000, 10]),
        kink(lambda m, x: x[m.argmax(x)], [1.0, 3.0, 3.0], [0, 1, 0]),
    ],
    "`x.prod()` and `cumprod(x)` if elements are 0": [
        kink(lambda m, x: x.prod(), [2.0, 0.0, 3.0], [0, 6, 0]),
        kink(lambda m, x: x.prod(), [0.0, 0.0, 3.0], [0, 0, 0]),
        kink(
            lambda m, x: (m.cumulative_prod(x) * WEIGHTS[:3]).sum(), [2.0, 0.0, 3.0], [1, 620, 0]
        ),
    ],
    "`sqrt(x)` and `cbrt(x)` for x = 0": [
        kink(lambda m, x: m.sqrt(x), (0.0,), (INF,)),
        kink(lambda m, x: m.cbrt(x), (0.0,), (INF,)),
    ],
    "`sqrt((x * x).sum())` and `x.std()` for results of 0": [
        kink(lambda m, x: m.sqrt((x * x).sum()), [0.0, 0.0], [NAN, NAN]),
        kink(lambda m, x: x.std(), [1.0, 1.0], [NAN, NAN]),
    ],
    "`x ** y` by `x` for y = 0": [
        kink(lambda m, x: x**0.0, (2.0,), (0,)),
        kink(lambda m, x: x**0.0, (0.0,), (0,), (NAN,)),
        kink(lambda m, x: x**0, (0.0,), (0,)),
    ],
    "`x ** y` by `x` for x = 0": [
        kink(lambda m, x: x**1.0, (0.0,), (1,)),
        kink(lambda m, x: x**2.0, (0.0,), (0,)),
        kink(lambda m, x: x**0.5, (0.0,), (INF,)),
        kink(lambda m, x: x**-1.0, (0.0,), (-INF,)),
    ],
    "`x ** y` by `y` for x ≤ 0": [
        kink(lambda m, y: 0.0**y, (0.0,), (0,)),
        kink(lambda m, y: 0.0**y, (1.5,), (0,)),
        kink(lambda m, x, y: m.power(x, y), (-2.0, 3.0), (12, NAN)),
    ],
    "`floor`, `ceil`, `trunc`, `round`, `sign`, `//` and comparisons": [
        kink(lambda m, x: m.floor(x), (1.0,), (0,)),
        kink(lambda m, x: m.ceil(x), (1.5,), (0,)),
        kink(lambda m, x: m.trunc(x), (-1.5,), (0,)),
        kink(lambda m, x: m.round(x), (0.5,), (0,)),
        kink(lambda m, x: m.sign(x), (0.0,), (0,)),
        kink(lambda m, x, y: x // y, (4.0, 2.0), (0, 0)),
        kink(lambda m, x: m.where(x >= 0.0, 1.0, 0.0), (0.0,), (0,)),
    ],
    "`x % y` if x is a multiple of y": [
        kink(lambda m, x, y: x % y, (4.0, 2.0), (1, -2)),
    ],
    "`copysign(x, y)`": [
        kink(lambda m, x, y: m.copysign(x, y), (0.0, 1.0), (1, 0)),
        kink(lambda m, x, y: m.copysign(x, y), (-1.0, -0.0), (1, 0)),
    ],
    "`hypot(x, y)` and `atan2(x, y)` for x = y = 0": [
        kink(lambda m, x, y: m.hypot(x, y), (0.0, 0.0), (0.5, 0.5)),
        kink(lambda m, x, y: m.arctan2(x, y), (0.0, 0.0), (NAN, NAN)),
    ],
}  # fmt: skip
KINKS = [
    pytest.param(each, id=f"{row} {number}")
    for row, kinks in ROWS.items()
    for number, each in enumerate(kinks)
]


def by_arguments(kink: Kink, module: Any) -> tuple[Callable[..., Any], tuple[int, ...]]:
    """Return a function of as many parameters as there are arguments, and their numbers."""
    functions: dict[int, Callable[..., Any]] = {
        1: lambda x: kink.function(module, x),
        2: lambda x, y: kink.function(module, x, y),
        3: lambda x, y, z: kink.function(module, x, y, z),
    }
    count = len(kink.arguments)
    return functions[count], tuple(range(count))


@pytest.mark.parametrize("kink", KINKS)
def test_reverse_mode(kink: Kink) -> None:
    function, positions = by_arguments(kink, rl.numpy)
    gradient = rl.jit(rl.grad(function, argnums=positions), backend="interpret")
    result = gradient(*kink.arguments)
    for own, expected in zip(result, kink.expected, strict=True):
        np.testing.assert_allclose(own, expected)


@pytest.mark.parametrize("kink", KINKS)
def test_forward_mode(kink: Kink) -> None:
    """With finite values and one argument, so that no infinite derivative is multiplied by 0."""
    values = [*map(np.asarray, kink.arguments), *map(np.asarray, kink.expected)]
    if len(kink.arguments) > 1 or not all(np.isfinite(each).all() for each in values):
        return
    function, _ = by_arguments(kink, rl.numpy)
    (x,), (expected,) = kink.arguments, kink.expected
    jvp: Any = rl.jit(lambda x, dx: rl.jvp(function, (x,), (dx,))[1], backend="interpret")
    for position in range(np.size(x)):
        direction = np.zeros(np.size(x))
        direction[position] = 1.0
        tangent = jvp(x, direction.reshape(np.shape(x)))
        np.testing.assert_allclose(tangent, np.ravel(expected)[position])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kink", KINKS)
def test_jax(kink: Kink) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    pytest.importorskip("jax")
    jax: Any = import_module("support.jax_twin").jax
    function, positions = by_arguments(kink, jax.numpy)
    arguments = [jax.numpy.asarray(each) for each in kink.arguments]
    result = jax.grad(function, argnums=positions)(*arguments)
    for other, expected in zip(result, kink.in_jax or kink.expected, strict=True):
        np.testing.assert_allclose(other, expected)


@pytest.mark.rotating(3)
def test_a_branch_that_is_not_taken_has_no_influence() -> None:
    gradient = rl.grad(lambda x: rl.where(x > 0.0, rl.math.sqrt(x), 0.0))
    assert gradient(0.0) == 0.0
    assert gradient(-1.0) == 0.0
    assert gradient(4.0) == 0.25


def test_the_guide_states_them() -> None:
    section = GUIDE.read_text().split("## Conventions")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)[1:]
    assert rows == list(ROWS)
