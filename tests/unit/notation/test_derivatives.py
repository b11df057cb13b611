"""`grad`, `vjp` and `jvp` of functions in notation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from riselang.interpreter.evaluate import run_term
from riselang.notation.program import parse_program
from riselang.support.errors import LimitationError, UserError
from riselang.term.nodes import parameter_names

LOSS = "def loss = fun((w : 4.f64, x : 4.f64), zip(w, x) |> map(mult) |> reduce(add, 0.0))\n"
EXPONENTIALS = "def f = fun(x : 4.f64, x |> map(exp))\n"
X = np.array([1.0, -0.5, 2.0, 0.25])
CHOICE = """^bb0(%a: f64):
  %b = \\"scf.execute_region\\"() ({
    \\"scf.yield\\"(%a) : (f64) -> ()
  }) : () -> f64
  rise.return %b : f64"""
CUBE = "fun(y, y * y * y)"


def run(text: str, *arguments: object) -> list[np.ndarray]:
    """The arrays that the last definition returns."""
    pending, found = [run_term(list(parse_program(text))[-1].term, arguments)], list[np.ndarray]()
    while pending:
        value = pending.pop()
        pending += value[::-1] if isinstance(value, tuple) else []
        found += [] if isinstance(value, tuple) else [np.asarray(value)]
    return found


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (LOSS + "def d = grad(loss)", [X, 2 * X], [2 * X, X]),
        (LOSS + "def d = fun(w : 4.f64, grad(fun(v, loss(v, w)))(w))", [X], [X]),
        (LOSS + "def d = fun(x : 4.f64, grad(loss(x))(x))", [X], [X]),
        (EXPONENTIALS + "def d = vjp(f)", [X, X], [X * np.exp(X)]),
        (EXPONENTIALS + "def d = jvp(f)", [X, 2 * X], [2 * X * np.exp(X)]),
        (EXPONENTIALS + "def d = fun(x : 4.f64, x |> jvp(f, x))", [X], [X * np.exp(X)]),
        (f"def d = fun(x : 4.f64, x |> map(grad({CUBE})))", [X], [3 * X * X]),
        (f"def d = fun(x : 4.f64, x |> map(grad(grad({CUBE}))))", [X], [6 * X]),
        ("def d = fun((x : 4.f64, y : 4.f64), zip(x, y) |> map(grad(mult)) |> unzip)",
         [X, 2 * X], [2 * X, X]),
        ("def d = fun(x : 4.f64, x |> grad(reduce(add, 0.0)))", [X], [np.ones(4)]),
        ("def step = fun((f, x), x - 0.5 * grad(f)(x))\n"
         "def d = fun((x : f64, c : f64), step(fun(y, (y - c) * (y - c)), x))", [3.0, 1.0], [1.0]),
        ("def d = fun(x : f64, grad(fun(y, x * grad(fun(z, y * z * z))(x)))(x))", [3.0], [18.0]),
        ("def d = fun((x : 4.f64, k : i32), vjp(fun((y, n : i32), y |> map(fun(a, a * "
         "cast[f64](n)))))(x, k, x))", [X, 3], [3 * X]),
        ("def grad = fun(x : f64, 2.0 * x)\ndef d = fun(x : f64, grad(x))", [3.0], [6.0]),
    ],
)  # fmt: skip
def test_derivatives(text: str, arguments: Sequence[object], expected: Sequence[object]) -> None:
    for own, other in zip(run(text, *arguments), expected, strict=True):
        np.testing.assert_allclose(own, np.asarray(other), rtol=1e-14)


def test_a_local_function_is_differentiated_where_it_is_called_twice() -> None:
    text = (
        "def d = fun(x : 4.f64, let g = fun(x : 4.f64, x |> map(exp)); "
        "x |> grad(fun(y : 4.f64, g(g(y)) |> reduce(add, 0.0))))"
    )
    (found,) = run(text, X)
    np.testing.assert_allclose(found, np.exp(X) * np.exp(np.exp(X)), rtol=1e-14)


def test_parameters_keep_their_names() -> None:
    names = [
        parameter_names(parse_program(f"{EXPONENTIALS}def d = {each}(f)")["d"])
        for each in ("vjp", "jvp")
    ]
    assert names == [["x", "ct"], ["x", "dx"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fun(x : f64, grad)", "grad: expected a function, as in grad(f)"),
        ("fun(x : f64, grad(x))", "grad: expected a function, but found f64"),
        ("fun(x : f64, grad(3)(x))", "grad: expected a function, but found 3"),
        ("grad(fun(x : 4.f64, x))", "a gradient needs a result that is one float; add"),
        ("grad(fun(x : complex64, abs(x)))", "take the real and the imaginary part as arguments"),
        ("grad(fun(x : 4.i32, 1.0))", "but the function takes 4.i32; convert the argument before"),
        ("vjp(fun(x : f64, cast[i32](x)))", "derivatives exist only of floats"),
        ("grad(fun((f : f64 -> f64, x : f64), f(x)))", "apply it to that function first"),
        ("fun(x : f32, grad(fun(y : f64, y))(x))", "expected f64, but found f32"),
        ("fun(x : f64, vjp(fun(y, y))(x, x, x))", "is not a function"),
        (f'grad(fun(x : f64, embed[f64]("{CHOICE}", x)))', "an embed with ops other than arith"),
    ],
)  # fmt: skip
def test_refusals(text: str, message: str) -> None:
    with pytest.raises((LimitationError, UserError)) as raised:
        parse_program(f"def d = {text}", "own.rise")
    assert message in str(raised.value)
    assert raised.value.location is not None
    assert raised.value.location.file == "own.rise"
