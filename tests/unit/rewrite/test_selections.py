"""The default strategy moves `take` to the `sort` whose first elements it returns."""

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.rewrite.core import Failure, Setting
from riselang.rewrite.strategies.selections import select_sorted

LENGTH = 20000


def rewritten(function: Any) -> str:
    function.__annotations__ = {"x": rl.Array[LENGTH, rl.f32]}
    return " ".join(rl.jit(function).lower().as_text("notation").split())


def ascending(x: Any) -> Any:
    return x | rl.sort(lambda a, b: a < b)


def doubled(x: Any) -> Any:
    return x | rl.map(lambda a: a * 2.0)


def test_take_moves_before_a_map() -> None:
    text = rewritten(lambda x: x | ascending | doubled | doubled | rl.take(8))
    assert "sort(fun((a, b), a < b)) |> take(8) |> map" in text


def test_take_moves_before_windows_and_other_takes() -> None:
    text = rewritten(lambda x: x | ascending | rl.take(90) | doubled | rl.slide(3, 1) | rl.take(8))
    assert "sort(fun((a, b), a < b)) |> take(10) |> map" in text


@pytest.mark.parametrize("of_sort", [False, True])
def test_other_programs_stay_unchanged(of_sort: bool) -> None:
    def program(x: Any) -> Any:
        return x | ascending | rl.take(8) | doubled if of_sort else x | doubled | rl.take(8)

    program.__annotations__ = {"x": rl.Array[LENGTH, rl.f32]}
    term = rl.jit(program).lower().source
    assert isinstance(select_sorted.run(term, Setting()), Failure)


@pytest.mark.rotating(3)
def test_the_first_indices_of_argsort_are_selected() -> None:
    def nearest(x: rl.Array[LENGTH, rl.f32]) -> Any:
        return (x | rl.argsort) | rl.take(8)

    x = np.random.default_rng(0).integers(-50, 50, LENGTH).astype(np.float32)
    x[::777] = np.nan
    assert np.array_equal(rl.jit(nearest)(x), np.argsort(x, kind="stable")[:8])
