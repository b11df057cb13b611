"""Calls after the first check less, and reject the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.lift.lifted_function import LiftedFunction
from riselang.frontends.c.lift.product_step import ProductStep
from riselang.support.errors import UserError

ADD = """void add(int n, double a, _Bool twice, double y[n], double x[n]) {
  for (int i = 0; i < n; i++)
    y[i] = (twice ? 2 * a : a) + x[i];
}
"""


@pytest.fixture(scope="module")
def add() -> Callable[..., Any]:
    """A function that has been called for arrays of three and four elements."""
    function = rl.from_c(ADD)
    for size in (3, 4):
        function(size, 1.0, False, np.zeros(size), np.zeros(size))
    return function


def read_only(size: int) -> Any:
    array = np.zeros(size)
    array.flags.writeable = False
    return array


def test_calls_compute_results(add: Callable[..., Any]) -> None:
    for size, twice in ((3, False), (4, True), (5, True), (3, True)):
        y, x = np.zeros(size), np.arange(float(size))
        add(size, np.float64(0.5), twice, y, x)
        assert y.tolist() == (x + (1.0 if twice else 0.5)).tolist()
        add(size, 2, twice, y, x=x)
        assert y.tolist() == (x + (4.0 if twice else 2.0)).tolist()


def test_inputs_may_be_read_only(add: Callable[..., Any]) -> None:
    y = np.zeros(3)
    add(3, 1.0, False, y, read_only(3))
    assert y.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, 1.0, False, np.zeros(3), np.zeros(3)), "dimension 0 is 3"),
        ((True, 1.0, False, np.zeros(3), np.zeros(3)), "expected a number"),
        ((3, 1.0, False, np.zeros(3, np.float32), np.zeros(3)), "expected dtype float64"),
        ((3, 1.0, False, np.zeros(3), np.zeros(6)[::2]), "C-contiguous"),
        ((3, 1.0, False, read_only(3), np.zeros(3)), "read-only"),
        ((3, 1.0, False, np.ma.zeros(3), np.zeros(3)), "masked"),
        ((3, 1.0, False, np.zeros(3)), "takes 5 arguments"),
    ],
)
def test_wrong_arguments_are_rejected(
    add: Callable[..., Any], arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        add(*arguments)


def test_overlaps_are_rejected(add: Callable[..., Any]) -> None:
    memory = np.zeros(6)
    add(3, 1.0, False, memory[:3], memory[3:])
    for _ in range(2):
        with pytest.raises(UserError, match="share memory"):
            add(3, 1.0, False, memory[:3], memory[2:5])
    assert memory.tolist() == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]


PRODUCT = """void f(int n, double C[n][n], double A[n][n], double B[n][n]) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)
    C[i][j] += A[i][k] * B[k][j]; }"""


@pytest.mark.rotating(4)
def test_small_products_take_the_fast_path_of_their_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimates of what is faster take longer than these; large ones still run as patterns."""
    function = rl.from_c(PRODUCT)
    assert isinstance(function, LiftedFunction)
    sizes: list[int] = []
    monkeypatch.setattr(ProductStep, "run", lambda _, arrays, values: sizes.extend(values.values()))
    source = np.random.default_rng(0)
    checked = CFunction._call_with_checks
    calls: list[int] = []

    def counted(self: CFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        calls.append(arguments[0])
        return checked(self, arguments, named)

    monkeypatch.setattr(CFunction, "_call_with_checks", counted)
    for n in (8, 8, 400, 8, 400, 9):
        a, b = (source.integers(-8, 8, (n, n)).astype(np.float64) for _ in range(2))
        c = np.zeros((n, n))
        function(n, c, a, b)
        assert n == 400 or np.array_equal(c, a @ b)
    assert calls == [8, 400, 400, 9]
    assert sizes == [400, 400]
