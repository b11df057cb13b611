"""Shifting and substituting under binders."""

import pytest

from riselang.dialects.rise.pattern_registry import FST, LET, SND, TUPLE
from riselang.dialects.rise.types import f32, fun, pair
from riselang.term.nodes import Apply, Bound, Free, Lambda, Pattern, Scalar, Term, apply_all
from riselang.term.substitution import (
    count_uses,
    instantiate,
    is_used_often,
    parts_used_often,
    shift,
)


def bound(index: int) -> Bound:
    return Bound(index, f32)


def add(left: Term, right: Term) -> Term:
    return Scalar("arith.addf", [left, right], f32)


def lam(body: Term) -> Lambda:
    return Lambda("x", f32, body)


FREE = Free("a", f32)
TERMS = [
    bound(0),
    bound(3),
    FREE,
    add(bound(0), bound(1)),
    lam(bound(0)),
    lam(bound(1)),
    lam(lam(add(bound(0), add(bound(1), bound(2))))),
    Apply(lam(add(bound(0), bound(2))), bound(1)),
    Apply(Apply(lam(lam(add(bound(1), bound(3)))), FREE), bound(0)),
]


@pytest.mark.parametrize("term", TERMS)
def test_shift_by_nothing(term: Term) -> None:
    assert shift(term, 0) is term


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize(("one", "other"), [(1, 1), (2, 3), (0, 4)])
def test_shifts_add_up(term: Term, one: int, other: int) -> None:
    assert shift(shift(term, one), other) == shift(term, one + other)


@pytest.mark.parametrize("term", TERMS)
def test_closed_terms_do_not_move(term: Term) -> None:
    if term.open == 0:
        assert shift(term, 5) is term
    else:
        assert shift(term, 5).open == term.open + 5


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("replacement", [FREE, bound(0), bound(7), add(bound(1), FREE)])
def test_a_variable_that_is_not_used_is_not_replaced(term: Term, replacement: Term) -> None:
    assert instantiate(shift(term, 1), replacement) == term


@pytest.mark.parametrize("term", TERMS)
def test_instantiating_with_the_variable_itself(term: Term) -> None:
    """`(fun(x, t))(x)` is `t`."""
    body = shift(term, 1, cutoff=1)
    assert instantiate(body, bound(0)) == term


def test_instantiate_by_hand() -> None:
    assert instantiate(add(bound(0), bound(1)), FREE) == add(FREE, bound(0))
    assert instantiate(lam(add(bound(0), bound(1))), FREE) == lam(add(bound(0), FREE))
    # The replacement moves under the inner lambda, so its variable is renumbered.
    assert instantiate(lam(add(bound(0), bound(1))), bound(0)) == lam(add(bound(0), bound(1)))
    assert instantiate(lam(add(bound(1), bound(2))), bound(4)) == lam(add(bound(5), bound(1)))


@pytest.mark.parametrize("inner", [bound(0), add(bound(0), FREE)])
@pytest.mark.parametrize("outer", [FREE, bound(2)])
def test_substitutions_commute(inner: Term, outer: Term) -> None:
    """`t[x := s][y := u]` is `t[y := u][x := s[y := u]]`."""
    body = lam(add(bound(1), add(bound(2), bound(0))))
    one = instantiate(instantiate(body, inner), outer)
    moved = instantiate(lam(body), shift(outer, 0))
    assert isinstance(moved, Lambda)
    other = instantiate(moved.body, instantiate(inner, outer))
    assert one == other


def test_types_and_names_stay() -> None:
    term = Lambda("row", f32, add(bound(0), bound(1)))
    result = instantiate(term, FREE)
    assert isinstance(result, Lambda)
    assert result.name == "row"
    assert result.type == fun(f32, f32)


def test_count_uses() -> None:
    assert count_uses(bound(0)) == 1
    assert count_uses(bound(1)) == 0
    assert count_uses(add(bound(0), lam(add(bound(0), bound(1))).body)) == 2
    assert count_uses(lam(add(bound(0), add(bound(1), bound(1))))) == 2
    assert count_uses(FREE) == 0


def test_what_is_used_often() -> None:
    assert not is_used_often(bound(0))
    assert not is_used_often(add(bound(1), bound(2)))
    assert is_used_often(add(bound(0), bound(0)))
    assert not is_used_often(lam(lam(bound(2)))), "the second and third parameter of a function"
    assert is_used_often(Apply(lam(bound(1)), bound(1))), "a function that may run often"
    let = Pattern(LET, (f32, f32))
    assert not is_used_often(apply_all(let, [bound(1), lam(bound(1))]))
    assert not is_used_often(apply_all(let, [bound(0), lam(bound(0))]))
    assert is_used_often(apply_all(let, [bound(0), lam(bound(1))]))


def test_parts_that_are_used_often() -> None:
    whole = Bound(0, pair(f32, f32))
    first, second = (Apply(Pattern(spec, (f32, f32)), whole) for spec in (FST, SND))
    assert parts_used_often(add(first, second)) == (False, False)
    assert parts_used_often(add(first, add(first, second))) == (True, False)
    assert parts_used_often(apply_all(Pattern(TUPLE, (whole.type, f32)), [whole, second])) == (
        False,
        True,
    )
    assert is_used_often(add(first, second))


@pytest.mark.rotating(3)
def test_deep_terms() -> None:
    term: Term = bound(0)
    for _ in range(5_000):
        term = Scalar("arith.negf", [term], f32)
    assert count_uses(term) == 1
    assert not is_used_often(term)
    assert shift(term, 1).open == 2
    assert instantiate(term, FREE).open == 0
