"""exp and its kind as arithmetic: right to 4 units in the last place, where floats are relaxed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.lowering.passes.approximate_math import APPROXIMATIONS
from riselang.notation.program import parse_term
from riselang.support.config import Options
from riselang.term.mathlib import APPROXIMATED_OPS

NAMES = [name.removeprefix("math.") for name in APPROXIMATIONS]
EXACT: dict[str, Any] = {
    "exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": np.vectorize(math.erf, otypes=[float])
}  # fmt: skip
EVERY = 4093
"""One in so many of all numbers is looked at; it divides no power of two."""
VALUES = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38,
     88.72283, 88.72284, -87.33655, -103.97208, -103.97209, 0.625, -0.625, 0.70710677, 0.7071068],
    np.float32,
)  # fmt: skip


def kernel(text: str, float: str) -> Any:
    return TermKernel("f", parse_term(text), options=Options(float=float))


def relaxed(name: str, values: Any) -> Any:
    return kernel(f"fun((x : {values.size}.f32), x |> map(fun(e, {name}(e))))", "relaxed")(values)


def numbers() -> Any:
    bits = np.arange(0, 1 << 32, EVERY, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([bits.view(np.float32), VALUES])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_all_numbers_are_right_to_4_units(name: str) -> None:
    values = numbers()
    found = relaxed(name, values)
    with np.errstate(all="ignore"):
        exact = EXACT[name](values.astype(np.float64))
        rounded = exact.astype(np.float32)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        is_number = np.isfinite(rounded)
        off = np.abs(found.astype(np.float64) - exact)[is_number] / unit[is_number]
    assert off.max() < 4
    is_nan = np.isnan(rounded)
    assert np.isnan(found[is_nan]).all()
    assert np.array_equal(found[~is_number & ~is_nan], rounded[~is_number & ~is_nan])
    assert np.array_equal(np.signbit(found[~is_nan]), np.signbit(rounded[~is_nan]))


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_as_numbers_are(name: str) -> None:
    values = VALUES[: len(VALUES) // 4 * 4]
    of_vectors = kernel(
        f"fun((x : {values.size}.f32), x |> asVector(4) |> map(fun(v, {name}(v))) |> asScalar)",
        "relaxed",
    )
    assert of_vectors(values).tobytes() == relaxed(name, values).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_only_relaxed_floats_are_approximated(name: str) -> None:
    text = f"fun((x : 8.{{}}), x |> map(fun(e, {name}(e))))"
    for float, type, is_called in (
        ("strict", "f32", True),
        ("contract", "f32", True),
        ("relaxed", "f32", False),
        ("relaxed", "f64", True),
    ):
        code = kernel(text.format(type), float).lower().as_text("asm")
        assert (name in code) is is_called, (float, type)


def test_loops_are_vectorised() -> None:
    softmax = kernel(
        "fun((x : 64.256.f32), x |> map(fun(r, let m = r |> reduce(max, -1000.0); "
        "let e = r |> map(fun(v, exp(v - m))); let s = e |> reduce(add, 0.0); "
        "e |> map(fun(v, v / s)))))",
        "relaxed",
    )
    assert "expf" not in softmax.lower().as_text("asm")


def test_the_front_end_and_the_pass_approximate_the_same_operations() -> None:
    assert APPROXIMATIONS.keys() == APPROXIMATED_OPS
