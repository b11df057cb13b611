"""Properties of naturals, against brute force and against z3."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from riselang.nat import (
    Atom,
    Facts,
    FloorDiv,
    Impossible,
    Max,
    Min,
    Mod,
    Nat,
    NatError,
    Solved,
    Variable,
    divides,
    is_less,
    is_less_equal,
    is_nonnegative,
    lower_bound,
    nat_max,
    nat_min,
    parse_nat,
    provably_equal,
    simplify,
    solve,
    upper_bound,
)

# z3 has no types; through Any, the rest of the file stays checked.
z3: Any = import_module("z3")

# Naturals compute themselves into normal form; a Tree remembers how it was built.


@dataclass(frozen=True)
class Leaf:
    value: int | str


@dataclass(frozen=True)
class Node:
    operation: str
    left: Tree
    right: Tree


Tree = Leaf | Node
Valuation = dict[str, int]

NAMES = ("N", "M", "i", "j")
OPERATIONS: dict[str, tuple[Callable[[Nat, Nat], Nat], Callable[[int, int], int]]] = {
    "+": (Nat.__add__, int.__add__),
    "-": (Nat.__sub__, int.__sub__),
    "*": (Nat.__mul__, int.__mul__),
    "floordiv": (Nat.__floordiv__, int.__floordiv__),
    "mod": (Nat.__mod__, int.__mod__),
    "min": (nat_min, min),
    "max": (nat_max, max),
}
# Bounds that mention a size, and constant ones; sizes in tests are 1 .. 4, so that they divide.
SIZES = range(1, 5)
FACTS = (
    Facts()
    .with_bounds("N", 1, None)
    .with_bounds("M", 1, None)
    .with_bounds("i", 0, Nat.var("N") - 1)
    .with_bounds("j", -2, 3)
)
VALUATIONS: list[Valuation] = [
    {"N": length, "M": other, "i": i, "j": j}
    for length, other in itertools.product(SIZES, SIZES)
    for i in range(length)
    for j in range(-2, 4)
]

constants = st.integers(-4, 12).map(Leaf)
variables = st.sampled_from(NAMES).map(Leaf)
divisors = st.one_of(
    st.integers(1, 12).map(Leaf),
    st.sampled_from(("N", "M")).map(Leaf),
    st.integers(1, 4).map(lambda factor: Node("*", Leaf("M"), Leaf(factor))),
    st.integers(0, 4).map(lambda offset: Node("+", Leaf("N"), Leaf(offset))),
)


def _extend(children: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.one_of(
        st.builds(Node, st.sampled_from(("+", "-", "*", "min", "max")), children, children),
        st.builds(Node, st.sampled_from(("floordiv", "mod")), children, divisors),
    )


trees: st.SearchStrategy[Tree] = st.recursive(constants | variables, _extend, max_leaves=8)
polynomials: st.SearchStrategy[Tree] = st.recursive(
    constants | variables,
    lambda children: st.builds(Node, st.sampled_from("+-*"), children, children),
    max_leaves=5,
)
nats = trees.map(lambda tree: build(tree))
fast = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def build(tree: Tree) -> Nat:
    if isinstance(tree, Leaf):
        return Nat.var(tree.value) if isinstance(tree.value, str) else Nat.const(tree.value)
    return OPERATIONS[tree.operation][0](build(tree.left), build(tree.right))


def brute_force(tree: Tree, valuation: Valuation) -> int:
    if isinstance(tree, Leaf):
        return valuation[tree.value] if isinstance(tree.value, str) else tree.value
    left, right = brute_force(tree.left, valuation), brute_force(tree.right, valuation)
    return OPERATIONS[tree.operation][1](left, right)


@pytest.mark.rotating(4)
@fast
@given(trees)
def test_the_normal_form_keeps_the_value(tree: Tree) -> None:
    nat = build(tree)
    for valuation in VALUATIONS:
        assert nat.evaluate(valuation) == brute_force(tree, valuation)


@pytest.mark.rotating(3)
@fast
@given(nats, nats, nats)
def test_equal_expressions_mostly_have_one_form(left: Nat, right: Nat, third: Nat) -> None:
    assert left + right == right + left
    assert left * right == right * left
    assert nat_min(left, right) == nat_min(right, left)
    assert nat_max(left, nat_max(right, third)) == nat_max(nat_max(left, right), third)
    assert left - left == 0


@pytest.mark.rotating(3)
@fast
@given(polynomials, divisors, polynomials)
def test_quotient_and_remainder_recombine(tree: Tree, divisor_tree: Tree, factor: Tree) -> None:
    nat, divisor, scale = build(tree), build(divisor_tree), build(factor)
    assert nat // divisor * divisor * scale + nat % divisor * scale == nat * scale


@pytest.mark.rotating(3)
@fast
@given(nats)
def test_what_is_printed_parses_back(nat: Nat) -> None:
    assert parse_nat(str(nat)) == nat


@pytest.mark.rotating(3)
@given(st.text(alphabet="NM4?$ ()+-*,.minaxodflrv", max_size=40))
@settings(max_examples=300, deadline=None, database=None)
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    try:
        nat = parse_nat(text)
    except NatError:
        return
    assert parse_nat(str(nat)) == nat


@pytest.mark.rotating(3)
@fast
@given(nats, nats)
def test_substitution_is_evaluation_in_two_steps(nat: Nat, replacement: Nat) -> None:
    replaced = nat.substitute({"j": replacement})
    for valuation in VALUATIONS[::7]:
        inner = {**valuation, "j": replacement.evaluate(valuation)}
        assert replaced.evaluate(valuation) == nat.evaluate(inner)


@pytest.mark.rotating(3)
@fast
@given(nats)
def test_simplify_keeps_the_value(nat: Nat) -> None:
    simple = simplify(nat, FACTS)
    for valuation in VALUATIONS:
        assert simple.evaluate(valuation) == nat.evaluate(valuation)


@pytest.mark.rotating(3)
@fast
@given(nats)
def test_bounds_hold(nat: Nat) -> None:
    lower, upper = lower_bound(nat, FACTS), upper_bound(nat, FACTS)
    values = [nat.evaluate(valuation) for valuation in VALUATIONS]
    assert lower is None or lower <= min(values)
    assert upper is None or upper >= max(values)


@pytest.mark.rotating(3)
@fast
@given(nats, nats)
def test_comparisons_are_never_wrong(left: Nat, right: Nat) -> None:
    pairs = [(left.evaluate(valuation), right.evaluate(valuation)) for valuation in VALUATIONS]
    assert not is_less(left, right, FACTS) or all(x < y for x, y in pairs)
    assert not is_less_equal(left, right, FACTS) or all(x <= y for x, y in pairs)
    assert not is_nonnegative(left, FACTS) or all(x >= 0 for x, _ in pairs)
    assert not provably_equal(left, right, FACTS) or all(x == y for x, y in pairs)


@pytest.mark.rotating(3)
@fast
@given(divisors, nats, nats)
def test_divisibility_is_never_wrong(divisor_tree: Tree, nat: Nat, rest: Nat) -> None:
    divisor = build(divisor_tree)
    assert divides(divisor, nat * divisor)
    dividend = nat * divisor + rest
    if divides(divisor, dividend):
        for valuation in VALUATIONS:
            assert dividend.evaluate(valuation) % divisor.evaluate(valuation) == 0


UNKNOWNS = ("?m", "?n")


def _weighted_sum(first: int, second: int, size: int, constant: int) -> Nat:
    return Nat.var("?n") * first + Nat.var("?m") * second + Nat.var("N") * size + constant


# Many zeros, so that one unknown is often alone.
weights = st.sampled_from((0, 0, 0, 1, 2, 4, -1, -3))
linear = st.builds(_weighted_sum, weights, weights, weights, st.integers(-12, 12))


@pytest.mark.rotating(3)
@fast
@given(linear, linear, st.integers(0, 3), st.sampled_from(("M", "1", "N")))
def test_solutions_make_both_sides_equal(left: Nat, right: Nat, offset: int, factor: str) -> None:
    left, right = left * parse_nat(factor) + offset, right * parse_nat(factor) + offset
    solution = solve(left, right, UNKNOWNS)
    assume(isinstance(solution, Solved))
    assert isinstance(solution, Solved)
    difference = (left - right).substitute(solution.substitution)
    for size, other, first, second in itertools.product(SIZES, SIZES, range(3), range(3)):
        valuation: Valuation = {"N": size, "M": other, "?n": first, "?m": second}
        if all(y.evaluate(valuation) % x.evaluate(valuation) == 0 for x, y in solution.requires):
            assert difference.evaluate(valuation) == 0


@pytest.mark.rotating(3)
@fast
@given(linear, linear)
def test_impossible_equations_have_no_solution(left: Nat, right: Nat) -> None:
    difference = left - right
    assume(not difference.variables.isdisjoint(UNKNOWNS))
    if solve(left, right, UNKNOWNS) == Impossible():
        for size, first, second in itertools.product(range(5), range(8), range(8)):
            assert difference.evaluate({"N": size, "?n": first, "?m": second}) != 0


# z3 knows no bound on sizes, so it finds what small valuations miss. Divisors are constants here,
# which keeps it in linear arithmetic.

LOOP_FACTS = (
    Facts().with_bounds("i", 0, 7).with_bounds("j", 0, 5).with_bounds("k", 0, Nat.var("N") - 1)
)


def _random_linear(source: random.Random, depth: int) -> Nat:
    """A random expression in which z3 sees only linear terms and constant divisors."""
    if depth == 0:
        names = source.sample(("i", "j", "k", "N", "M"), 3)
        scaled = (Nat.var(name) * source.choice((-3, 1, 2, 6, 8, 12)) for name in names)
        return sum(scaled, Nat.const(source.randrange(-4, 12)))
    operation = source.choice(("floordiv", "mod", "min", "max", "+", "-"))
    left = _random_linear(source, depth - 1)
    if operation in ("floordiv", "mod"):
        right = Nat.const(source.choice((2, 3, 4, 6, 8, 12, 16, 48)))
    else:
        right = _random_linear(source, source.randrange(depth))
    return OPERATIONS[operation][0](left, right)


def _encode(nat: Nat) -> Any:
    total: Any = z3.IntVal(nat.offset)
    for coefficient, monomial in nat.symbolic:
        factors = (_encode_atom(atom) for atom, power in monomial for _ in range(power))
        total = total + reduce(lambda x, y: x * y, factors, z3.IntVal(coefficient))
    return total


def _encode_atom(atom: Atom) -> Any:
    match atom:
        case Variable(name):
            return z3.Int(name)
        case FloorDiv(dividend, divisor):
            return _encode(dividend) / _encode(divisor)
        case Mod(dividend, divisor):
            return _encode(dividend) % _encode(divisor)
        case Min(arguments):
            return reduce(lambda x, y: z3.If(x < y, x, y), map(_encode, arguments))
        case Max(arguments):
            return reduce(lambda x, y: z3.If(x > y, x, y), map(_encode, arguments))


def _encode_facts(facts: Facts) -> list[Any]:
    conditions: list[Any] = []
    for name in ("i", "j", "k", "N", "M"):
        known = facts.bounds_of(name)
        conditions.append(z3.Int(name) >= _encode(known.lower))
        if known.upper is not None:
            conditions.append(z3.Int(name) <= _encode(known.upper))
    return conditions


def _refutes(claim: Any) -> Any:
    solver: Any = z3.Solver()
    solver.set("timeout", 500)
    solver.add(*_encode_facts(LOOP_FACTS), z3.Not(claim))
    return solver.check()


@pytest.mark.rotating(3)
def test_z3_finds_no_counterexample() -> None:
    """All claims must be decided except for a few that are too hard for z3 in its time."""
    source = random.Random(2024)
    undecided, claims = 0, 120
    for count in range(claims):
        nat = _random_linear(source, count % 3 + 1)
        simple = simplify(nat, LOOP_FACTS)
        lower, upper = lower_bound(nat, LOOP_FACTS), upper_bound(nat, LOOP_FACTS)
        encoded = _encode(nat)
        claim = z3.And(
            encoded == _encode(simple),
            True if lower is None else encoded >= lower,
            True if upper is None else encoded <= upper,
        )
        verdict = _refutes(claim)
        assert verdict != z3.sat, f"simplify({nat}) = {simple}, bounds {lower} .. {upper}"
        undecided += verdict == z3.unknown
    assert undecided <= claims // 20


def test_z3_is_able_to_find_counterexamples() -> None:
    wrong = _encode(parse_nat("(k + 1) mod 4")) == _encode(parse_nat("k mod 4"))
    assert _refutes(wrong) == z3.sat


@pytest.mark.parametrize("divisor", [2, 3, 8])
def test_z3_agrees_with_floor_semantics(divisor: int) -> None:
    for value in range(-9, 9):
        quotient: Any = z3.simplify(z3.IntVal(value) / divisor)
        remainder: Any = z3.simplify(z3.IntVal(value) % divisor)
        assert (quotient.as_long(), remainder.as_long()) == divmod(value, divisor)
