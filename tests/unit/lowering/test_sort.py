"""`sort`: stable, for elements of any type, and the interpreter's result for any function."""

from typing import Any

import numpy as np
import pytest
from agreement import agree, text

import riselang as rl

pytestmark = pytest.mark.rotating(4)

LENGTHS = [0, 1, 2, 3, 5, 8, 31, 100]


@pytest.mark.parametrize("length", LENGTHS)
def test_numbers(length: int) -> None:
    def ascending(x: rl.Array["N", rl.i32]) -> Any:
        return x | rl.sort(lambda a, b: a < b)

    x = np.random.default_rng(length).integers(-20, 20, length).astype(np.int32)
    (found,) = agree(ascending, x)
    assert np.array_equal(found, np.sort(x))


def test_pairs_keep_the_order_of_equal_keys() -> None:
    def by_key(x: rl.Array[40, rl.i32], y: rl.Array[40, rl.f32]) -> Any:
        return rl.unzip(rl.zip(x, y) | rl.sort(lambda a, b: rl.fst(a) > rl.fst(b)))

    source = np.random.default_rng(1)
    x, y = source.integers(0, 4, 40).astype(np.int32), np.arange(40, dtype=np.float32)
    keys, values = agree(by_key, x, y)
    order = np.argsort(-x, kind="stable")
    assert np.array_equal(keys, x[order])
    assert np.array_equal(values, y[order])


def test_rows_are_sorted_by_their_indices() -> None:
    def by_sum(m: rl.Array["N", 3, rl.i64]) -> Any:
        return m | rl.sort(lambda a, b: (a | rl.reduce(rl.add, 0)) < (b | rl.reduce(rl.add, 0)))

    m = np.random.default_rng(2).integers(-3, 4, (23, 3))
    (found,) = agree(by_sum, m)
    assert np.array_equal(found, m[np.argsort(m.sum(1), kind="stable")])
    assert "memref<23xindex>" in text(by_sum, m)


def test_computed_rows_are_computed_once() -> None:
    def by_first(m: rl.Array[8, 3, rl.f32]) -> Any:
        rows = m | rl.map(rl.map(lambda v: rl.math.exp(v)))
        return rows | rl.sort(
            lambda a, b: rl.at(rl.clamp_idx(3, 0), a) < rl.at(rl.clamp_idx(3, 0), b)
        )

    m = np.random.default_rng(3).standard_normal((8, 3)).astype(np.float32)
    agree(by_first, m)
    assert text(by_first, m).count("call @expf") == 1


def test_a_row_argument_that_is_computed_is_computed_once() -> None:
    """The rows come as the argument of a lambda, not as a term that could be looked at."""

    def function(m: rl.Array[8, 3, rl.f32]) -> Any:
        def order(rows: Any) -> Any:
            return rows | rl.sort(lambda a, b: rl.at(rl.clamp_idx(3, 1), a) < 0)

        return m | rl.split(4) | rl.map(rl.map(rl.map(lambda v: v * 2))) | rl.map(order)

    agree(function, np.random.default_rng(4).standard_normal((8, 3)).astype(np.float32))


@pytest.mark.parametrize("name", ["always", "never", "parity", "rock, paper, scissors"])
def test_functions_that_are_no_order_give_what_the_interpreter_gives(name: str) -> None:
    comparators: dict[str, Any] = {
        "always": lambda a, b: a == a,
        "never": lambda a, b: a != a,
        "parity": lambda a, b: (a + b) % 2 == 0,
        "rock, paper, scissors": lambda a, b: (a - b) % 3 == 1,
    }

    def muddle(x: rl.Array[45, rl.i64]) -> Any:
        return x | rl.sort(comparators[name])

    x = np.random.default_rng(5).integers(0, 50, 45)
    (found,) = agree(muddle, x)
    assert np.array_equal(np.sort(found), np.sort(x))


def test_nan_is_no_trouble() -> None:
    def ascending(x: rl.Array[30, rl.f32]) -> Any:
        return x | rl.sort(lambda a, b: a < b)

    x = np.random.default_rng(6).standard_normal(30).astype(np.float32)
    x[::4] = np.nan
    agree(ascending, x)


def test_sort_in_threads_in_views_and_in_loops() -> None:
    def everywhere(m: rl.Array[6, 9, rl.i32]) -> Any:
        rows = m | rl.map_par(rl.sort(lambda a, b: a < b))
        medians = rows | rl.map(lambda row: rl.at(rl.clamp_idx(9, 4), row))
        columns = m | rl.transpose | rl.map(rl.sort(lambda a, b: b < a)) | rl.transpose
        return rl.tuple(medians | rl.sort(lambda a, b: a < b), columns | rl.reverse)

    m = np.random.default_rng(7).integers(-9, 9, (6, 9)).astype(np.int32)
    agree(everywhere, m, threads=(1, 2, 3))


def test_a_comparison_that_looks_elsewhere() -> None:
    """Indices sorted by the values that they point to, with a check of each."""

    def order(numbers: rl.Array[20, rl.i32], x: rl.Array[20, rl.f32]) -> Any:
        return numbers | rl.sort(
            lambda a, b: rl.at(rl.check_idx(20, a), x) < rl.at(rl.check_idx(20, b), x)
        )

    x = np.random.default_rng(8).standard_normal(20).astype(np.float32)
    (found,) = agree(order, np.arange(20, dtype=np.int32), x)
    assert np.array_equal(found, np.argsort(x))
