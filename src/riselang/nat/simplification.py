"""Using facts about variables to remove floordiv, mod, min and max.

The index arithmetic of nested views has many divisions that bounds decide: for
0 <= $j < m, ($i * m + $j) floordiv m is $i. See Note [Digits].
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from riselang.nat.atoms import Atom, FloorDiv, Max, Min, Mod, Term, Variable, common_monomial
from riselang.nat.bounds import is_less, is_less_equal, lower_bound, upper_bound
from riselang.nat.division import eliminate_mods, exact_quotient, split_multiple
from riselang.nat.extrema import nat_max, nat_min, rebuild
from riselang.nat.facts import Facts
from riselang.nat.natural import Nat, NatLike, as_nat

_CACHE_SIZE = 1 << 14


def simplify(nat: NatLike, facts: Facts) -> Nat:
    """Simplify; the value is the same under every valuation that satisfies the facts."""
    value = as_nat(nat)
    if facts.fixed_values:
        value = value.substitute(facts.fixed_values)
    return value if value.depth == 0 else _simplify(value, facts)


def provably_equal(left: NatLike, right: NatLike, facts: Facts) -> bool:
    """Whether both have the same value under every valuation that satisfies the facts."""
    difference = as_nat(left) - right
    if difference.is_constant:
        return difference.offset == 0
    difference = eliminate_mods(simplify(difference, facts))
    return difference == 0 or (
        lower_bound(difference, facts) == 0 and upper_bound(difference, facts) == 0
    )


def divides(divisor: NatLike, nat: NatLike) -> bool:
    """Whether the natural is provably a multiple of `divisor` for every valuation."""
    return as_nat(nat) == 0 or exact_quotient(as_nat(nat), as_nat(divisor)) is not None


@lru_cache(maxsize=_CACHE_SIZE)
def _simplify(nat: Nat, facts: Facts) -> Nat:
    return nat.map_atoms(lambda atom: _simplify_atom(atom, facts))


def _simplify_atom(atom: Atom, facts: Facts) -> Nat:
    if isinstance(atom, Variable):
        return Nat.from_atom(atom)
    inner = rebuild(atom, lambda operand: _simplify(operand, facts))
    return inner.map_atoms(lambda part: _decide(part, facts))


def _decide(atom: Atom, facts: Facts) -> Nat:
    """Simplify an atom whose operands are already simplified."""
    match atom:
        case Variable():
            return Nat.from_atom(atom)
        case FloorDiv(dividend, divisor):
            return _decide_quotient(dividend, divisor, facts)
        case Mod(dividend, divisor):
            return _decide_remainder(dividend, divisor, facts)
        case Min(arguments):
            return nat_min(*_drop_dominated(arguments, facts, Min))
        case Max(arguments):
            return nat_max(*_drop_dominated(arguments, facts, Max))


def _decide_quotient(dividend: Nat, divisor: Nat, facts: Facts) -> Nat:
    constant = _constant_quotient(dividend, divisor, facts)
    if constant is not None:
        return Nat.const(constant)
    for split in _digit_splits(dividend, divisor, facts):
        return (split.high // split.base).map_atoms(lambda atom: _decide(atom, facts))
    return dividend // divisor


def _decide_remainder(dividend: Nat, divisor: Nat, facts: Facts) -> Nat:
    constant = _constant_quotient(dividend, divisor, facts)
    if constant is not None:
        return dividend - divisor * constant
    for split in _digit_splits(dividend, divisor, facts):
        high = (split.high % split.base).map_atoms(lambda atom: _decide(atom, facts))
        return high * split.unit + split.low
    return dividend % divisor


def _constant_quotient(dividend: Nat, divisor: Nat, facts: Facts) -> int | None:
    """The k with k * divisor <= dividend < (k + 1) * divisor for every valuation."""
    if divisor.is_constant:
        lower, upper = lower_bound(dividend, facts), upper_bound(dividend, facts)
        if lower is None or upper is None:
            return None
        candidate = lower // divisor.offset
        return candidate if candidate == upper // divisor.offset else None
    for candidate in (0, -1, 1):
        reduced = dividend - divisor * candidate
        if is_less_equal(0, reduced, facts) and is_less(reduced, divisor, facts):
            return candidate
    return None


class _DigitSplit(NamedTuple):
    """dividend = high * unit + low with 0 <= low < unit, and divisor = base * unit."""

    high: Nat
    low: Nat
    unit: Nat
    base: Nat


def _digit_splits(dividend: Nat, divisor: Nat, facts: Facts) -> Iterator[_DigitSplit]:
    for unit in _units(dividend, divisor):
        base = exact_quotient(divisor, unit)
        high, low = split_multiple(dividend, unit)
        if base is None or high.is_constant:
            continue
        carry = _constant_quotient(low, unit, facts)
        if carry is not None:
            yield _DigitSplit(high + carry, low - unit * carry, unit, base)


def _units(dividend: Nat, divisor: Nat) -> list[Nat]:
    """The common divisors, except 1, of the divisor and each term of the dividend."""
    units: dict[Nat, None] = {}
    for term in dividend.symbolic:
        unit = Nat.from_terms((_common_term(term, divisor),))
        if unit != 1:
            units[unit] = None
    return list(units)


def _common_term(term: Term, divisor: Nat) -> Term:
    factor, monomial = term
    for coefficient, other in divisor.terms():
        factor, monomial = gcd(factor, coefficient), common_monomial(monomial, other)
    return abs(factor), monomial


def _drop_dominated(
    arguments: tuple[Nat, ...], facts: Facts, kind: type[Min] | type[Max]
) -> list[Nat]:
    """The arguments without those that another argument makes redundant."""
    remaining = list(arguments)
    for argument in arguments:
        other_arguments = [other for other in remaining if other is not argument]
        if any(_is_redundant(argument, other, facts, kind) for other in other_arguments):
            remaining = other_arguments
    return remaining


def _is_redundant(argument: Nat, other: Nat, facts: Facts, kind: type[Min] | type[Max]) -> bool:
    if kind is Min:
        return is_less_equal(other, argument, facts)
    return is_less_equal(argument, other, facts)


# Note [Digits]
#
# A flattened index is a number in a mixed base: in $i * 6 + $j with 0 <= $j < 6, $j is the low
# digit. The quotient by 12 = 6 * 2 does not depend on the low digit: it is $i floordiv 2. The
# remainder contains it: ($i mod 2) * 6 + $j. We look for such a unit (here 6) among the common
# factors of the divisor and the terms of the dividend; the unit may be symbolic.
