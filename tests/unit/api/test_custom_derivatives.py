"""`rl.stop_gradient`, `rl.custom_vjp`, `rl.custom_jvp` and `rl.checkpoint`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

X = np.array([1.0, 2.0, 3.0])


def interpreted(function: Any) -> Any:
    return rl.jit(function, backend="interpret")


def test_stopped_values_are_constants_in_all_derivatives() -> None:
    def cubed(x: Any) -> Any:
        return (x * x * rl.stop_gradient(x)).sum()

    np.testing.assert_array_equal(interpreted(rl.grad(cubed))(X), 2 * X * X)
    second = interpreted(rl.grad(lambda x: rl.grad(cubed)(x).sum()))(X)
    np.testing.assert_array_equal(second, 2 * X)
    assert interpreted(cubed)(X) == 36.0


@rl.custom_vjp
def scaled(x: Any, y: Any) -> Any:
    return {"product": x * y}


scaled.defvjp(
    lambda x, y: ({"product": x * y}, [x, y]),
    lambda kept, ct: (ct["product"] * kept[1] * 10.0, None),
)


def test_custom_reverse_mode() -> None:
    def loss(x: Any, y: Any) -> Any:
        return scaled(x, y)["product"].sum()

    dx, dy = interpreted(rl.grad(loss, argnums=(0, 1)))(X, X + 1)
    np.testing.assert_array_equal(dx, 10 * (X + 1))
    np.testing.assert_array_equal(dy, 0 * X)
    hessian = interpreted(rl.hessian(lambda x: loss(x, x * x)))(X)
    np.testing.assert_array_equal(np.diag(hessian), 20 * X)
    with pytest.raises(rl.LimitationError, match=r"rl\.custom_jvp, which works in both modes"):
        rl.jit(lambda x: rl.jvp(loss, (x, x), (x, x))).trace(X)


@rl.custom_jvp
def sine(x: Any) -> Any:
    return rl.math.sin(x)


@sine.defjvp
def sine_tangent(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return rl.math.sin(x), 3.0 * rl.math.cos(x) * dx


def test_custom_forward_mode_is_transposed() -> None:
    gradient = interpreted(rl.grad(lambda x: (x | rl.map(sine)).sum()))(X)
    np.testing.assert_allclose(gradient, 3 * np.cos(X))
    value, tangent = interpreted(lambda x: rl.jvp(lambda x: sine(x).sum(), (x,), (x,)))(X)
    np.testing.assert_allclose((value, tangent), (np.sin(X).sum(), (3 * X * np.cos(X)).sum()))


def test_checkpoint_computes_the_same_gradient() -> None:
    def layer(x: Any, w: Any) -> Any:
        return rl.math.sin(rl.math.sin(x * w) * w)

    def both(x: Any) -> Any:
        return [
            rl.grad(lambda x: layer(x, x).sum())(x),
            rl.grad(lambda x: rl.checkpoint(layer)(x, x).sum())(x),
            rl.grad(lambda x: rl.checkpoint(lambda a: layer(a, x))(x).sum())(x),
        ]

    first, *others = interpreted(both)(X)
    for each in others:
        np.testing.assert_allclose(each, first, rtol=1e-14)


def test_a_missing_derivative_is_reported() -> None:
    @rl.custom_vjp
    def unknown(x: Any) -> Any:
        return x

    with pytest.raises(rl.UserError, match=r"unknown has no derivative; define it with unknown\."):
        rl.grad(lambda x: unknown(x))(1.0)
    unknown.defvjp(lambda x: x, lambda kept, ct: ct)
    with pytest.raises(rl.UserError, match="must return a pair of the result"):
        rl.grad(lambda x: unknown(x))(1.0)


MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {
    "no pair": (lambda x, dx: dx[0], "must return a pair of the result and its tangent"),
    "result": (lambda x, dx: (x[0][:2], dx[0]), "the result of the derivative: expected 3.f64"),
    "structure": (lambda x, dx: ([x[0]], dx[0]), "another structure than that of the function"),
    "tangent": (lambda x, dx: (x[0], dx[0][:2]), "a tangent: expected 3.f64, but found 2.f64"),
    "dtype": (lambda x, dx: (x[0], dx[0].astype(rl.f32)), "expected 3.f64, but found 3.f32"),
    "count": (lambda x, dx: (x[0], (dx[0], dx[0])), "of the result, but found 2"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_in_a_tangent_are_reported(name: str) -> None:
    function, message = MISTAKES[name]
    double = rl.custom_jvp(lambda x: x * 2.0)
    double.defjvp(function)
    with pytest.raises(rl.UserError, match=message) as error:
        rl.grad(lambda x: double(x).sum())(X)
    assert "test_custom_derivatives.py:" in str(error.value)


def test_mistakes_in_a_reverse_rule_are_reported() -> None:
    product = rl.custom_vjp(lambda x: x["p"] * x["q"])
    for forward, backward, message in (
        (lambda x: (x["p"], ()), lambda _, ct: (ct,), "an argument of 2 arrays consists of 1"),
        (lambda x: ([x["p"]], ()), lambda _, ct: (ct,), "another structure than that"),
        (lambda x: (x["p"][:2], ()), lambda _, ct: (ct,), "of the derivative: expected 3.f64"),
    ):
        product.defvjp(forward, backward)
        with pytest.raises(rl.UserError, match=message):
            rl.grad(lambda x: product({"p": x, "q": x}).sum())(X)


def test_higher_derivatives_use_a_rule_inside_of_itself() -> None:
    @rl.custom_vjp
    def reverse(x: Any) -> Any:
        return rl.math.exp(x)

    reverse.defvjp(lambda x: (reverse(x), x), lambda x, c: (3.0 * c * reverse(x),))

    @rl.custom_jvp
    def forward(x: Any) -> Any:
        return rl.math.exp(x)

    forward.defjvp(lambda x, dx: (forward(*x), 3.0 * forward(*x) * dx[0]))
    for function in (reverse, forward):
        second = rl.grad(rl.grad(function))
        assert float(second(0.0)) == 9
        assert float(rl.grad(second)(0.0)) == 27


def test_remainders_have_derivatives_at_multiples() -> None:
    slopes = rl.jit(rl.grad(rl.numpy.remainder, (0, 1)), backend="interpret")
    for a, b, expected in ((6.0, 3.0, -2), (-6.0, 3.0, 2), (6.0, -3.0, 2), (5.0, 3.0, -1)):
        assert [float(each) for each in slopes(a, b)] == [1, expected]
