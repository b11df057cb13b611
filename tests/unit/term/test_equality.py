"""Equality of terms: up to the names of variables, without locations, and without recursion."""

import gc
import weakref

import pytest

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import FST, MAP, MAP_SEQ, SND
from riselang.dialects.rise.types import array, f32, f64, i32, pair
from riselang.nat import Nat
from riselang.support.errors import SourceLocation
from riselang.term import nodes
from riselang.term.nodes import Apply, Bound, Free, Lambda, Literal, Pattern, Scalar, Term

HERE, THERE = SourceLocation("a.py", 1), SourceLocation("b.py", 2)


def add(left: Term, right: Term) -> Scalar:
    return Scalar("arith.addf", [left, right], f32)


def test_names_of_variables_do_not_count() -> None:
    one = Lambda("x", f32, add(Bound(0, f32), Bound(0, f32)))
    other = Lambda("y", f32, add(Bound(0, f32), Bound(0, f32)))
    assert one == other
    assert hash(one) == hash(other)
    assert {one: "found"}[other] == "found"
    assert (one.name, other.name) == ("x", "y")


def test_locations_do_not_count() -> None:
    assert Lambda("x", f32, Bound(0, f32, HERE), HERE) == Lambda("x", f32, Bound(0, f32, THERE))
    assert Free("a", f32, HERE) == Free("a", f32, THERE)
    assert Free("a", f32, HERE).location == HERE


DIFFERENT = [
    (Bound(0, f32), Bound(1, f32)),
    (Bound(0, f32), Bound(0, f64)),
    (Bound(0, f32), Free("x", f32)),
    (Free("x", f32), Free("y", f32)),
    (Free("x", f32), Free("x", i32)),
    (Lambda("x", f32, Free("a", f32)), Lambda("x", i32, Free("a", f32))),
    (
        Lambda("x", f32, Lambda("y", f32, Bound(0, f32))),
        Lambda("x", f32, Lambda("y", f32, Bound(1, f32))),
    ),
    (Literal(literal(0.0, f32)), Literal(literal(-0.0, f32))),
    (Literal(literal(1, f32)), Literal(literal(1, f64))),
    (Literal(literal(0, i32)), Literal(literal(1, i32))),
    (Pattern(FST, (f32, f32)), Pattern(SND, (f32, f32))),
    (Pattern(FST, (f32, i32)), Pattern(FST, (f32, f32))),
    (
        Pattern(MAP, (Nat.const(4), f32, f32)),
        Pattern(MAP_SEQ, (Nat.const(4), f32, f32)),
    ),
    (
        Pattern(MAP_SEQ, (Nat.const(4), f32, f32)),
        Pattern(MAP_SEQ, (Nat.const(4), f32, f32), "affine"),
    ),
    (
        Pattern(MAP_SEQ, (Nat.const(4), f32, f32)),
        Pattern(MAP_SEQ, (Nat.const(5), f32, f32)),
    ),
    (add(Free("a", f32), Free("b", f32)), add(Free("b", f32), Free("a", f32))),
    (
        Scalar("arith.addf", [Free("a", f32), Free("b", f32)], f32),
        Scalar("arith.mulf", [Free("a", f32), Free("b", f32)], f32),
    ),
    (
        Scalar("arith.cmpf", [Free("a", f32), Free("b", f32)], f32, "olt"),
        Scalar("arith.cmpf", [Free("a", f32), Free("b", f32)], f32, "ole"),
    ),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_terms(one: Term, other: Term) -> None:
    assert one != other
    assert one.key is not other.key


def test_a_term_is_no_other_object() -> None:
    assert Free("x", f32) != "x"


def test_sizes_count_by_value() -> None:
    n = Nat.var("N")
    one = Pattern(MAP, (n + n, f32, f32))
    other = Pattern(MAP, (n * 2, f32, f32))
    assert one == other


def test_nan_literals_are_equal_to_themselves() -> None:
    nan = float("nan")
    assert Literal(literal(nan, f32)) == Literal(literal(nan, f32))


def test_equal_structures_share_one_key() -> None:
    one = add(Free("a", f32), Literal(literal(1.0, f32)))
    other = add(Free("a", f32), Literal(literal(1.0, f32)))
    assert one is not other
    assert one.key is other.key


@pytest.mark.rotating(3)
def test_keys_go_away_with_their_terms() -> None:
    term = add(Free("only here", f32), Free("only here", f32))
    key = weakref.ref(term.key)
    before = len(nodes._KEYS)
    del term
    gc.collect()
    assert key() is None
    assert len(nodes._KEYS) < before


def test_deep_terms_are_compared_without_recursion() -> None:
    def tower() -> Term:
        term: Term = Free("a", f32)
        for _ in range(20_000):
            term = Scalar("arith.negf", [term], f32)
        return term

    one, other = tower(), tower()
    assert one == other
    assert hash(one) == hash(other)
    assert one.depth == 20_001


def test_open_counts_the_lambdas_around() -> None:
    body = add(Bound(0, f32), Bound(2, f32))
    assert body.open == 3
    assert Lambda("x", f32, body).open == 2
    assert Lambda("x", f32, Bound(0, f32)).open == 0
    assert Free("a", f32).open == 0


def test_application_checks_types() -> None:
    function = Free("f", Pattern(FST, (f32, i32)).type)
    assert Apply(function, Free("p", pair(f32, i32))).type == f32
    with pytest.raises(AssertionError):
        Apply(function, Free("p", array(4, f32)))
    with pytest.raises(AssertionError):
        Apply(Free("x", f32), Free("y", f32))
