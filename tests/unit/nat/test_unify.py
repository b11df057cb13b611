"""Solving equations between naturals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riselang.nat import (
    Deferred,
    Divides,
    Impossible,
    Nat,
    Solution,
    Solved,
    as_nat,
    parse_nat,
    refinement,
    solve,
)

UNKNOWNS = ("?k", "?m", "?n")


def solve_text(equation: str) -> Solution:
    left, right = equation.split("=")
    return solve(parse_nat(left), parse_nat(right), UNKNOWNS)


@pytest.mark.parametrize(
    ("equation", "name", "value"),
    [
        ("?n = 4", "?n", "4"),
        ("4 = ?n", "?n", "4"),
        ("?n * 4 = N * 8", "?n", "N * 2"),
        ("?n + 2 = N", "?n", "N - 2"),
        ("?n + 3 - 1 = 11", "?n", "9"),
        ("?n * 0 + ?m = 3", "?m", "3"),
        ("?n * M = N * M", "?n", "N"),
        ("?n * M + 3 = N * M + M + 3", "?n", "N + 1"),
        ("?n * (N - 1) = M * N - M", "?n", "M"),
        ("N - ?n = N - 4", "?n", "4"),
        ("?n * 4 = 0", "?n", "0"),
        ("?n * 4 = N - N mod 4", "?n", "N floordiv 4"),
        ("?n * 4 = (N floordiv 4) * 4", "?n", "N floordiv 4"),
        ("?n + 2 = ?m", "?m", "?n + 2"),
        ("?m = ?n * 4", "?m", "?n * 4"),
        ("?n * ?m = ?k * ?m", "?k", "?n"),
    ],
)
def test_solved(equation: str, name: str, value: str) -> None:
    assert solve_text(equation) == Solved({name: parse_nat(value)})


@pytest.mark.parametrize("equation", ["4 = 4", "N * 2 = N + N", "?n + 1 = 1 + ?n"])
def test_already_equal(equation: str) -> None:
    assert solve_text(equation) == Solved()


@pytest.mark.parametrize(
    ("equation", "value", "divisor", "dividend"),
    [
        ("?n * 4 = N", "N floordiv 4", "4", "N"),
        ("?n * 4 = N * 2", "N floordiv 2", "2", "N"),
        ("?n * M = 12", "12 floordiv M", "M", "12"),
        ("?n * 4 + 3 = N", "(N - 3) floordiv 4", "4", "N - 3"),
    ],
)
def test_solved_on_condition(equation: str, value: str, divisor: str, dividend: str) -> None:
    condition = Divides(parse_nat(divisor), parse_nat(dividend))
    assert solve_text(equation) == Solved({"?n": parse_nat(value)}, (condition,))


@pytest.mark.parametrize(
    "equation",
    [
        "3 = 4",
        "N = M",
        "N + 1 = 0",
        "N * 2 = 7",
        "?n * 2 = 5",
        "?n * 4 = 6",
        "?n + 2 = 1",
        "?n + N + 1 = N",
        "?n * ?m + 1 = 0",
        "?n * 4 = N * 2 + 1",
    ],
)
def test_impossible(equation: str) -> None:
    assert solve_text(equation) == Impossible()


@pytest.mark.parametrize(
    "equation",
    [
        "?n * ?m = 12",
        "?n * ?n = 16",
        "?n + ?m = N",
        "?n floordiv 4 = N",
        "?n = ?n floordiv 2 + N",
        "?n * (N - M) = K",
        "?m * ?n + 3 - ?m = 11",
    ],
)
def test_deferred(equation: str) -> None:
    assert solve_text(equation) == Deferred()


def test_deferred_equations_are_solved_when_more_is_known() -> None:
    length = as_nat("?m * ?n + 3 - ?m")
    assert solve(length, as_nat(11), UNKNOWNS) == Deferred()
    assert solve(length.substitute({"?m": 1}), as_nat(11), UNKNOWNS) == Solved({"?n": as_nat(9)})


@pytest.mark.parametrize(
    ("divisor", "dividend", "value"),
    [
        ("4", "N", "4 * q"),
        ("4", "N - 1", "4 * q + 1"),
        ("2", "N + 2 - 3", "2 * q + 1"),
        ("6", "4 * N", "3 * q"),
        ("6", "4 * N + 2", "3 * q + 1"),
        ("4", "3 * N + 1", "4 * q + 1"),
        ("4", "N + 8 * M", "4 * q"),
        ("m", "N", "m * q"),
        ("m", "N + 2 * m", "m * q"),
    ],
)
def test_a_condition_refines_a_size(divisor: str, dividend: str, value: str) -> None:
    found = refinement(Divides(parse_nat(divisor), parse_nat(dividend)), {"N"})
    assert found is not None
    assert found.name == "N"
    assert found.value("q") == parse_nat(value)


@pytest.mark.parametrize(
    ("divisor", "dividend"),
    [
        ("4", "2 * N + 1"),
        ("4", "N + M"),
        ("4", "N * N"),
        ("m", "2 * N"),
        ("N", "N * M"),
        ("4", "M"),
    ],
)
def test_some_conditions_refine_nothing(divisor: str, dividend: str) -> None:
    assert refinement(Divides(parse_nat(divisor), parse_nat(dividend)), {"N"}) is None


@pytest.mark.rotating(3)
@given(st.integers(1, 12), st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 40))
def test_a_refinement_has_exactly_the_values_that_satisfy_the_condition(
    divisor: int, coefficient: int, offset: int, value: int
) -> None:
    dividend = Nat.var("N") * coefficient + offset
    found = refinement(Divides(Nat.const(divisor), dividend), {"N"})
    holds = (coefficient * value + offset) % divisor == 0
    if found is None:
        assert not holds or coefficient == 0
    else:
        factor = found.factor.constant
        assert holds == (value >= found.remainder and (value - found.remainder) % factor == 0)
