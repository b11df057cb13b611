"""Random programs: JAX computes the same derivatives, in both modes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.autodiff.differentiation import forward_term, reverse_term
from riselang.dialects.rise.types import f64, uncurry
from riselang.notation.program import parse_term
from riselang.support.errors import LimitationError
from support.derivatives import Derivatives, has_only_floats, random_buffers
from support.fuzzing import Ran, seeds
from support.numpy_scalars import Array
from support.programs import seeded_program

pytest.importorskip("jax")
TOLERANCE = 1e-6


def is_close(own: Array, other: Array) -> bool:
    own, other = np.asarray(own), np.asarray(other)
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        return True  # a kink or a pole: what comes out depends on the order of operations
    scale = 1 + max(np.abs(own).max(initial=0), np.abs(other).max(initial=0))
    return bool(np.abs(own - other).max(initial=0) <= TOLERANCE * scale)


@pytest.mark.rotating(2)
@seeds(4, nightly=800, fuzzed=800, batch=20)
def test_jax_agrees(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        ran("programs: derivatives = JAX", check_program(seed))


def check_program(seed: int) -> int:
    """Compare one program, and return whether it was compared."""
    from support.jax_twin import NotInJax, derivatives

    term = seeded_program(seed, scalars=(f64,)).term
    types, _ = uncurry(term.type)
    if not any(map(has_only_floats, types)):
        return 0
    source = np.random.default_rng(seed)
    values = [buffer for type in types for buffer in random_buffers(type, source)]
    own = Derivatives(term, values, seed)
    if not all(np.isfinite(each).all() for each in own.floats(own.results)):
        return 0  # the counterpart goes through elements that are all infinite one by one
    try:
        forward = own.run_derivative(forward_term(term, own.active), own.tangents)
        reverse = own.run_derivative(reverse_term(term, own.active), own.cotangents)
        results, tangents, cotangents = derivatives(
            term, values, own.active, own.tangents, own.cotangents
        )
    except (LimitationError, NotInJax):
        return 0
    assert all(map(is_close, own.floats(own.results), results)), seed
    assert all(map(is_close, forward, tangents)), (seed, forward, tangents)
    if cotangents is not None:
        assert all(map(is_close, reverse, cotangents)), (seed, reverse, cotangents)
    return 1


def second_derivatives(own: Any, other: Any, *arguments: Array) -> None:
    """Compare the Hessian of a function with that of its counterpart in JAX."""
    jax: Any = importlib.import_module("support.jax_twin").jax
    expected = jax.hessian(other)(*arguments)
    np.testing.assert_allclose(rl.hessian(own)(*arguments), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.rotating(5)
def test_hessian_of_rosenbrock() -> None:
    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1.0 - x[:-1]) ** 2.0).sum()

    second_derivatives(rosenbrock, rosenbrock, np.array([1.2, 0.7, -0.3, 2.0]))


@pytest.mark.rotating(6)
def test_hessian_of_a_logistic_regression() -> None:
    jnp: Any = importlib.import_module("support.jax_twin").jnp
    source = np.random.default_rng(5)
    x, y = source.normal(size=(20, 4)), source.integers(0, 2, 20) * 2.0 - 1.0

    def loss(m: Any) -> Any:
        return lambda w, x, y: m.log1p(m.exp(-y * (x @ w))).mean() + 0.1 * (w * w).sum()

    second_derivatives(loss(rl.math), loss(jnp), source.normal(size=4), x, y)


@pytest.mark.rotating(6)
def test_second_derivatives_of_a_scan() -> None:
    twin: Any = importlib.import_module("support.jax_twin")

    def own(x: Any) -> Any:
        return (x | rl.scan(lambda a, e: a * rl.math.sin(e) + e * a * a, 1.0)).sum()

    def other(x: Any) -> Any:
        def step(a: Any, e: Any) -> Any:
            return (a * twin.jnp.sin(e) + e * a * a,) * 2

        return twin.lax.scan(step, 1.0, x)[1].sum()

    x = np.array([0.3, -0.2, 0.5, 0.1])
    second_derivatives(own, other, x)
    gradient = rl.grad(lambda x: (rl.grad(own)(x) ** 2.0).sum())
    expected = twin.jax.grad(lambda x: (twin.jax.grad(other)(x) ** 2.0).sum())
    np.testing.assert_allclose(gradient(x), expected(x), rtol=1e-10)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", [
    "fun(x : 5.f64, x |> reduce(max, -inf))",
    "fun(x : 5.f64, x |> reduce(min, 1.0))",
    "fun(x : 5.f64, x |> reduce(fun((total, y), max(y * y, total)), 0.0))",
    "fun(x : 5.f64, x |> scan(max, 0.0))",
    "fun(x : 5.f64, zip(x, x |> reverse) |> map(max))",
])  # fmt: skip
def test_equal_extrema(text: str) -> None:
    """Finite elements that are equal share a derivative as in JAX."""
    from support.jax_twin import derivatives

    term = parse_term(text)
    for values in ([1.0, 2.0, 2.0, -2.0, 2.0], [0.0] * 5, [1.0, 3.0, -1.0, 1.0, 3.0]):
        own = Derivatives(term, [np.array(values)], 0)
        forward = own.run_derivative(forward_term(term, own.active), own.tangents)
        reverse = own.run_derivative(reverse_term(term, own.active), own.cotangents)
        _, tangents, cotangents = derivatives(
            term, own.values, own.active, own.tangents, own.cotangents
        )
        assert cotangents is not None
        assert all(map(is_close, forward, tangents))
        assert all(map(is_close, reverse, cotangents))
