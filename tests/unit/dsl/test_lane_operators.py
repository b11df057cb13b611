"""Python's operators on vectors inside lambdas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import ScalarType, array, uncurry
from riselang.dsl.tracing import trace_function
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.term.finish import finish

X = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int32)
F = X.astype(np.float32)

Unary = Callable[[Any], Any]


def interpreted(function: Unary, x: np.ndarray[Any, Any], scalar: ScalarType) -> Any:
    """What a function of vectors of four makes of an array."""
    type = array(len(x), scalar)
    root, trace, _ = trace_function(
        lambda xs: xs | rl.as_vector(4) | rl.map(function) | rl.as_scalar, ["xs"], [type]
    )
    term = finish(root, trace.inference)
    _, result = uncurry(term.type)
    (found,) = to_buffers(result, run_term(term, [from_buffers(type, [x])]))
    return found


def two(_: Any) -> Any:
    return rl.vector_from_scalar(4, 2)


INTEGERS: dict[str, tuple[Unary, Any]] = {
    "arithmetic": (lambda v: v * v - v + two(v), X * X - X + 2),
    "negation": (lambda v: -v, -X),
    "division": (lambda v: v // two(v), X // 2),
    "remainder": (lambda v: v % two(v), X % 2),
    "bits": (lambda v: (v & two(v)) | (v ^ v), X & 2),
    "comparison": (lambda v: v < two(v), X < 2),
    "not": (lambda v: ~(v < two(v)), X >= 2),
    "absolute value": (abs, np.abs(X)),
    "choice": (lambda v: rl.where(v == two(v), v, -v), np.where(X == 2, X, -X)),
    "cast": (lambda v: rl.cast(v, rl.f64), X.astype(np.float64)),
    "truth": (lambda v: rl.cast(v - two(v), rl.i1), X != 2),
    "functions": (lambda v: rl.max(v, two(v)), np.maximum(X, 2)),
}
FLOATS: dict[str, tuple[Unary, Any]] = {
    "quotient": (lambda v: v / v, F / F),
    "function": (lambda v: rl.math.sqrt(abs(v)), np.sqrt(np.abs(F))),
    "power": (lambda v: v**v, F**F),
    "negation": (lambda v: -v, -F),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_operators_on_vectors_of_integers(name: str) -> None:
    function, expected = INTEGERS[name]
    found = interpreted(function, X, rl.i32)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", FLOATS)
def test_operators_on_vectors_of_floats(name: str) -> None:
    function, expected = FLOATS[name]
    assert np.allclose(interpreted(function, F, rl.f32), expected, equal_nan=True)


MIXED: dict[str, tuple[Unary, str]] = {
    "a number": (lambda v: v * 2, "'*' cannot be applied to vec[4, i32] and the number 2; broad"),
    "a number first": (lambda v: 2 - v, "'-' cannot be applied to vec[4, i32] and the number 2; "),
    "a condition": (
        lambda v: rl.where(rl.literal(1, rl.i32) < 2, v, v),
        "'where' cannot be applied to vec[4, i32] and a scalar; broadcast the scalar with "
        "rl.vector_from_scalar(4, a)",
    ),
    "another type": (
        lambda v: v + rl.cast(v, rl.f32),
        "expected vec[4, i32], but found vec[4, f32]",
    ),
    "another length": (lambda v: v + rl.vector_from_scalar(2, 1), "the lengths 4 and 2 differ"),
    "not defined": (lambda v: v / v, "'/' is not defined on vec[4, i32]; use //"),
    "no bits": (lambda v: ~rl.cast(v, rl.f32), "'~' is not defined on vec[4, f32]"),
}


@pytest.mark.parametrize("name", MIXED)
def test_vectors_do_not_mix_with_scalars(name: str) -> None:
    function, message = MIXED[name]
    with pytest.raises(rl.UserError) as raised:
        interpreted(function, X, rl.i32)
    assert message in raised.value.message
