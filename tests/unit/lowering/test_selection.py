"""The first elements of sorted arrays, and comparison functions that define the order of NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from agreement import text

import riselang as rl
from riselang.lowering.rules import selection_rules
from support.values import same

Precedes = Callable[[Any, Any], Any]
ORDERS: dict[str, Precedes] = {
    "ascending": lambda a, b: a < b,
    "descending": lambda a, b: b < a,
    "ascending, NaN last": lambda a, b: ~(a >= b) & (a == a),
    "ascending, NaN first": lambda a, b: (b == b) & ~(a >= b),
    "descending, NaN last": lambda a, b: ~(a <= b) & (a == a),
    "descending, NaN first": lambda a, b: ~(b >= a) & (b == b),
}
TYPES: dict[Any, Any] = {np.float32: rl.f32, np.float64: rl.f64, np.float16: rl.f16}


def floats(dtype: Any, length: int) -> Any:
    source = np.random.default_rng(length)
    x = source.integers(-9, 9, length).astype(dtype)
    return np.where(source.random(length) < 0.1, source.choice([-0.0, np.inf, -np.inf], length), x)


def with_nan(x: Any) -> Any:
    """Replace some numbers with NaNs that have different bits."""
    is_nan = np.random.default_rng(1).random(len(x)) < 0.1
    x = np.where(is_nan, np.nan, x).astype(x.dtype)
    return np.where(is_nan & (np.arange(len(x)) % 2 == 0), -x, x)


def agree(program: Callable[..., Any], *arrays: Any) -> None:
    """Check that compiled code returns the interpreter's bits for arrays of one length."""
    compiled, interpreted = rl.jit(program), rl.jit(program, backend="interpret")
    for x in arrays:
        assert same(list(compiled(x)), list(interpreted(x))), x


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.sampled(1)
def test_numbers_and_pairs_are_sorted(name: str, dtype: Any) -> None:
    precedes = ORDERS[name]

    def program(x: Any) -> Any:
        indices = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32))
        by_value = rl.sort(lambda a, b: precedes(a.fst, b.fst))
        return x | rl.sort(precedes), rl.zip(x, indices) | by_value | rl.map(rl.snd)

    program.__annotations__["x"] = rl.Array["N", TYPES[dtype]]
    x = floats(dtype, 70).astype(dtype)
    agree(program, x, with_nan(x))


@pytest.mark.rotating(3)
def test_an_order_of_nan_needs_no_merging() -> None:
    def program(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.argsort

    assert "rise_sort_indices" in text(program, np.zeros(100, np.float32))
    assert "scf.while" not in text(program, np.zeros(100, np.float32)).split("func.func private")[0]


@pytest.fixture
def short_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_rules, "CHUNK_LENGTH", 8)
    monkeypatch.setattr(selection_rules, "MIN_CHUNKS", 2)


@pytest.mark.usefixtures("short_chunks")
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("wanted", [1, 5])
@pytest.mark.sampled(1)
def test_the_first_elements_are_selected(name: str, wanted: int) -> None:
    precedes = ORDERS[name]

    def program(x: rl.Array["N", rl.f32]) -> Any:
        indices = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i32))
        by_value = rl.sort(lambda a, b: precedes(a.fst, b.fst))
        return rl.zip(x, indices) | by_value | rl.take(wanted)

    x = floats(np.float32, 150).astype(np.float32)
    agree(program, x, np.sort(x), np.sort(x)[::-1].copy(), with_nan(x), with_nan(np.sort(x)))
    assert "rise_sort_i64" in text(program, x)


@pytest.mark.usefixtures("short_chunks")
def test_integers_and_computed_numbers_are_selected() -> None:
    def program(x: rl.Array["N", rl.i32]) -> Any:
        squares = x | rl.map(lambda a: a * a)
        return rl.zip(squares, x) | rl.sort(lambda a, b: a.fst > b.fst) | rl.take(3)

    agree(program, np.random.default_rng(0).integers(-50, 50, 200).astype(np.int32))
