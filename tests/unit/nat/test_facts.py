"""What bounds of variables prove, and what they simplify."""

import pytest

from riselang.nat import (
    Facts,
    NatError,
    as_nat,
    divides,
    is_less,
    is_less_equal,
    is_nonnegative,
    lower_bound,
    parse_nat,
    provably_equal,
    simplify,
    upper_bound,
)

SIZES = Facts()
CONSTANT = Facts().with_bounds("i", 0, 8).with_bounds("j", 0, 5).with_bounds("k", 0, 3)
SYMBOLIC = (
    Facts()
    .with_bounds("i", 0, as_nat("N - 1"))
    .with_bounds("j", 0, as_nat("m - 1"))
    .with_bounds("k", 0, as_nat("l - 1"))
)


@pytest.mark.parametrize(
    ("text", "facts", "lower", "upper"),
    [
        ("7", SIZES, 7, 7),
        ("N", SIZES, 0, None),
        ("N * M + 1", SIZES, 1, None),
        ("3 - N", SIZES, None, 3),
        ("i * 6 + j", CONSTANT, 0, 53),
        ("i - j", CONSTANT, -5, 8),
        ("i * j - 1", CONSTANT, -1, 39),
        ("i floordiv 3", CONSTANT, 0, 2),
        ("(i - 1) floordiv 4", CONSTANT, -1, 1),
        ("i floordiv M", CONSTANT, 0, 8),
        ("N mod 4", SIZES, 0, 3),
        ("i mod N", CONSTANT, 0, 8),
        ("min(i, N, 5)", CONSTANT, 0, 5),
        ("max(i, k, 2)", CONSTANT, 2, 8),
        ("N - 1 - i", SYMBOLIC, 0, None),
        ("N - i", SYMBOLIC, 1, None),
        ("N * m - i * m - j", SYMBOLIC, 1, None),
        ("(N - 1 - i) floordiv 4", SYMBOLIC, 0, None),
        ("N - (N floordiv 4) * 4", SIZES, 0, 3),
        ("N - min(N, M)", SIZES, 0, None),
        ("max(N, M) - N", SIZES, 0, None),
        ("N - N mod M", SIZES, 0, None),
    ],
)
def test_bounds(text: str, facts: Facts, lower: int | None, upper: int | None) -> None:
    nat = parse_nat(text)
    assert (lower_bound(nat, facts), upper_bound(nat, facts)) == (lower, upper)


def test_comparisons() -> None:
    assert is_nonnegative(as_nat("N - 1 - i"), SYMBOLIC)
    assert not is_nonnegative(as_nat("N - 2 - i"), SYMBOLIC)
    assert is_less(as_nat("i * m + j"), as_nat("N * m"), SYMBOLIC)
    assert not is_less(as_nat("i * m + j"), as_nat("N * m - 1"), SYMBOLIC)
    assert is_less_equal(as_nat("i * m + j"), as_nat("N * m - 1"), SYMBOLIC)
    assert is_less(as_nat("(i * m + j) * l + k"), as_nat("N * m * l"), SYMBOLIC)


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("(i * m + j) floordiv m", SYMBOLIC, "i"),
        ("(i * m + j) mod m", SYMBOLIC, "j"),
        ("(i * m * l + j * l + k) mod (m * l)", SYMBOLIC, "j * l + k"),
        ("(i * m * l + j * l + k) floordiv l mod m", SYMBOLIC, "j"),
        ("(i * l + k) floordiv (K * l)", SYMBOLIC, "i floordiv K"),
        ("(i * 6 + j) floordiv 3", CONSTANT, "i * 2 + j floordiv 3"),
        ("(i * 6 + j) floordiv 12", CONSTANT, "i floordiv 2"),
        ("(i * 6 + j) mod 12", CONSTANT, "(i mod 2) * 6 + j"),
        ("(i * 6 + j + 6) floordiv 12", CONSTANT, "(i + 1) floordiv 2"),
        ("(N * 8 + k + 4) floordiv 16", CONSTANT, "N floordiv 2"),
        ("k mod 4", CONSTANT, "k"),
        ("(k + 8) mod 4", CONSTANT, "k"),
        ("(k - 4) mod 8", CONSTANT, "k + 4"),
        ("(k - 4) floordiv 8", CONSTANT, "-1"),
        ("(i + N) mod N", SYMBOLIC, "i"),
        ("(i - N) floordiv N", SYMBOLIC, "-1"),
        ("min(i - 1, 7)", CONSTANT, "i - 1"),
        ("max(i - 1, -1)", CONSTANT, "i - 1"),
        ("min(i, N - 1)", SYMBOLIC, "i"),
        ("max(0, min(i, N - 1))", SYMBOLIC, "i"),
        ("min(i, j, 9)", CONSTANT, "min(i, j)"),
        ("(min(i, 8) * 4 + k) floordiv 4 + 1", CONSTANT, "i + 1"),
        ("N floordiv 4", SIZES, "N floordiv 4"),
    ],
)
def test_simplify(text: str, facts: Facts, expected: str) -> None:
    assert simplify(parse_nat(text), facts) == parse_nat(expected)


def test_a_variable_with_one_value_is_replaced() -> None:
    facts = Facts().with_bounds("i", 3, 3).with_bounds("j", as_nat("N"), as_nat("N"))
    assert simplify(as_nat("(i + j) floordiv 4 + i"), facts) == as_nat("(N + 3) floordiv 4 + 3")


def test_provable_equality() -> None:
    assert provably_equal(as_nat("N + N"), as_nat("N * 2"), SIZES)
    assert provably_equal(as_nat("N mod 4"), as_nat("N - (N floordiv 4) * 4"), SIZES)
    assert provably_equal(as_nat("(i * m + j) mod m"), as_nat("j"), SYMBOLIC)
    assert provably_equal(as_nat("k floordiv 4"), 0, CONSTANT)
    assert not provably_equal(as_nat("N"), as_nat("M"), SIZES)
    assert not provably_equal(3, 4, SIZES)


@pytest.mark.parametrize(
    ("divisor", "nat", "expected"),
    [
        ("4", "N * 8 + 4", True),
        ("4", "N * 2", False),
        ("M", "N * M", True),
        ("M + 1", "N * M + N", True),
        ("4", "N - N mod 4", True),
        ("4", "(N floordiv 4) * 4", True),
        ("N", "N + 1", False),
        ("1", "N", True),
        ("N", "0", True),
        ("0", "N", False),
        ("0", "0", True),
    ],
)
def test_divides(divisor: str, nat: str, expected: bool) -> None:
    assert divides(parse_nat(divisor), parse_nat(nat)) is expected


def test_facts_are_values() -> None:
    first = Facts().with_bounds("i", 0, 3).with_bounds("j", 0, 5)
    second = Facts().with_bounds("j", 0, 5).with_bounds("i", 0, 9).with_bounds("i", 0, 3)
    assert first == second
    assert hash(first) == hash(second)
    assert Facts().bounds_of("i").lower == 0


def test_bounds_may_be_negative() -> None:
    facts = Facts().with_bounds("i", -2, 1)
    assert lower_bound(as_nat("i * 3"), facts) == -6
    assert simplify(as_nat("max(i, -2)"), facts) == as_nat("i")
    assert lower_bound(as_nat("i * i * i"), facts) == -8


def test_bounds_must_not_go_in_circles() -> None:
    with pytest.raises(NatError, match="bounds of 'i' mention 'i' itself"):
        Facts().with_bounds("i", 0, as_nat("i - 1"))
    with pytest.raises(NatError, match="bounds of 'j' mention 'j' itself"):
        Facts().with_bounds("i", 0, as_nat("j")).with_bounds("j", 0, as_nat("i"))


def test_contradictory_facts_do_no_harm() -> None:
    empty = Facts().with_bounds("i", 0, -1).with_bounds("M", 0, 0)
    simplify(as_nat("(i + N) floordiv 4 + min(i, 3)"), empty)
    assert upper_bound(as_nat("N floordiv max(M, 0)"), empty.with_bounds("N", 0, 4)) is not None


@pytest.mark.rotating(4)
def test_deep_expressions_do_not_exhaust_the_stack() -> None:
    nat = as_nat("i + N")
    for divisor in range(3, 50):
        nat = (nat * 2 + as_nat("j")) // (as_nat("M") + divisor)
    assert simplify(nat, SYMBOLIC).depth == nat.depth
