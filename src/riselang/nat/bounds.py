"""Lower and upper bounds of expressions, and the comparisons that follow from them.

Everything here is sound and incomplete: a bound that is returned holds for every valuation
that satisfies the facts, and None or False mean "not found". See Note [Elimination].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from riselang.nat.atoms import Atom, FloorDiv, Max, Min, Mod, Variable
from riselang.nat.division import exact_quotient
from riselang.nat.facts import Facts
from riselang.nat.intervals import (
    Interval,
    largest,
    largest_if_all,
    smallest,
    smallest_if_all,
)
from riselang.nat.natural import Nat, NatLike, as_nat

_EFFORT = 32
_CACHE_SIZE = 1 << 14

_Combine: TypeAlias = Callable[[Iterable[int | None]], int | None]


def lower_bound(nat: NatLike, facts: Facts) -> int | None:
    """The largest integer found that the natural is never below."""
    return _lower(as_nat(nat), facts, _EFFORT)


def upper_bound(nat: NatLike, facts: Facts) -> int | None:
    """The smallest integer found that the natural is never above."""
    return _upper(as_nat(nat), facts, _EFFORT)


def is_nonnegative(nat: NatLike, facts: Facts) -> bool:
    """Whether the natural is provably at least 0."""
    bound = lower_bound(nat, facts)
    return bound is not None and bound >= 0


def is_less_equal(left: NatLike, right: NatLike, facts: Facts) -> bool:
    """Whether left <= right is provable."""
    return is_nonnegative(as_nat(right) - left, facts)


def is_less(left: NatLike, right: NatLike, facts: Facts) -> bool:
    """Whether left < right is provable."""
    return is_nonnegative(as_nat(right) - left - 1, facts)


def _upper(nat: Nat, facts: Facts, effort: int) -> int | None:
    bound = _lower(-nat, facts, effort)
    return None if bound is None else -bound


@lru_cache(maxsize=_CACHE_SIZE)
def _lower(nat: Nat, facts: Facts, effort: int) -> int | None:
    if nat.is_constant:
        return nat.offset
    interval_bound = _interval(nat, facts, effort).lower
    if effort == 0 or _is_plain(nat, facts):
        return interval_bound
    return largest((interval_bound, _lower_by_elimination(nat, facts, effort)))


def _is_plain(nat: Nat, facts: Facts) -> bool:
    """Whether interval arithmetic is exact: linear, over variables with constant bounds."""
    for _, monomial in nat.symbolic:
        atom, power = monomial[0]
        if len(monomial) > 1 or power > 1 or not isinstance(atom, Variable):
            return False
        if facts.bounds_of(atom.name).variables:
            return False
    return True


def _interval(nat: Nat, facts: Facts, effort: int) -> Interval:
    total = Interval(nat.offset, nat.offset)
    for coefficient, monomial in nat.symbolic:
        product = Interval(1, 1)
        for atom, power in monomial:
            for _ in range(power):
                product *= _atom_interval(atom, facts, effort)
        total += product.scale(coefficient)
    return total


def _atom_interval(atom: Atom, facts: Facts, effort: int) -> Interval:
    def interval_of(nat: Nat) -> Interval:
        return Interval(_lower(nat, facts, effort // 2), _upper(nat, facts, effort // 2))

    match atom:
        case Variable(name):
            bounds = facts.bounds_of(name)
            upper = None if bounds.upper is None else interval_of(bounds.upper).upper
            return Interval(interval_of(bounds.lower).lower, upper)
        case FloorDiv(dividend, divisor):
            return interval_of(dividend).floor_divide(interval_of(divisor))
        case Mod(dividend, divisor):
            dividend_interval = interval_of(dividend)
            return Interval(
                0, smallest((interval_of(divisor - 1).upper, _upper_if_natural(dividend_interval)))
            )
        case Min(arguments):
            intervals = [interval_of(argument) for argument in arguments]
            return Interval(
                smallest_if_all(end.lower for end in intervals),
                smallest(end.upper for end in intervals),
            )
        case Max(arguments):
            intervals = [interval_of(argument) for argument in arguments]
            return Interval(
                largest(end.lower for end in intervals),
                largest_if_all(end.upper for end in intervals),
            )


def _upper_if_natural(interval: Interval) -> int | None:
    return interval.upper if interval.is_nonnegative else None


@dataclass(frozen=True, slots=True)
class _Occurrence:
    """coefficient * atom + remainder, where the sign of the coefficient is known."""

    atom: Atom
    coefficient: Nat
    remainder: Nat
    is_rising: bool

    def replace_atom(self, replacement: NatLike) -> Nat:
        return self.coefficient * replacement + self.remainder


def _lower_by_elimination(nat: Nat, facts: Facts, effort: int) -> int | None:
    occurrence = _choose_occurrence(nat, facts, effort)
    if occurrence is None:
        return None
    combine, candidates = _relax(occurrence, facts, effort)
    effort_each = (effort - 1) // max(1, len(candidates))
    return combine([_lower(candidate, facts, effort_each) for candidate in candidates])


def _choose_occurrence(nat: Nat, facts: Facts, effort: int) -> _Occurrence | None:
    """The first linear atom with a coefficient of known sign.

    A compound atom comes before the atoms inside it, and a variable before those in its bounds.
    """
    for atom in sorted(nat.atoms(), key=lambda atom: _elimination_rank(atom, facts)):
        parts = nat.split_linear(atom)
        if parts is None:
            continue
        coefficient, remainder = parts
        for rising, magnitude in ((True, coefficient), (False, -coefficient)):
            bound = _lower(magnitude, facts, effort // 2)
            if bound is not None and bound >= 0:
                return _Occurrence(atom, coefficient, remainder, rising)
    return None


def _elimination_rank(atom: Atom, facts: Facts) -> tuple[int, int]:
    if isinstance(atom, Variable):
        return 0, -facts.rank(atom.name)
    return -Nat.from_atom(atom).depth, 0


def _relax(occurrence: _Occurrence, facts: Facts, effort: int) -> tuple[_Combine, list[Nat]]:
    """Expressions without the atom, and how to combine their lower bounds to one lower bound."""
    atom = occurrence.atom
    match atom:
        case Variable(name):
            bounds = facts.bounds_of(name)
            end = bounds.lower if occurrence.is_rising else bounds.upper
            return largest, [] if end is None else [occurrence.replace_atom(end)]
        case Min(arguments) | Max(arguments):
            # A minimum is one of its arguments, and at most each of them.
            bounds_each = occurrence.is_rising == isinstance(atom, Max)
            candidates = [occurrence.replace_atom(argument) for argument in arguments]
            return (largest if bounds_each else smallest_if_all), candidates
        case FloorDiv():
            return largest, _relax_division(occurrence, atom, facts, effort)
        case Mod(dividend, divisor):
            candidates = [Nat.const(0) if occurrence.is_rising else divisor - 1]
            if not occurrence.is_rising and _is_natural(dividend, facts, effort):
                candidates.append(dividend)
            return largest, [occurrence.replace_atom(candidate) for candidate in candidates]


def _relax_division(
    occurrence: _Occurrence, atom: FloorDiv, facts: Facts, effort: int
) -> list[Nat]:
    """Law: x - m + 1 <= m * (x floordiv m) <= x."""
    candidates: list[Nat] = []
    interval = _atom_interval(atom, facts, effort)
    end = interval.lower if occurrence.is_rising else interval.upper
    if end is not None:
        candidates.append(occurrence.replace_atom(end))
    factor = exact_quotient(occurrence.coefficient, atom.divisor)
    if factor is not None:
        slack = atom.divisor - 1 if occurrence.is_rising else 0
        candidates.append(factor * (atom.dividend - slack) + occurrence.remainder)
    elif not occurrence.is_rising and _is_natural(atom.dividend, facts, effort):
        candidates.append(occurrence.replace_atom(atom.dividend))
    return candidates


def _is_natural(nat: Nat, facts: Facts, effort: int) -> bool:
    bound = _lower(nat, facts, effort // 2)
    return bound is not None and bound >= 0


# Note [Elimination]
#
# Interval arithmetic loses the relation between variables: for $i in 0 .. N - 1 it finds no lower
# bound of N - 1 - $i, because N has no upper bound. So we also replace one atom at a time with its
# bound, as an expression: $i has a negative coefficient, its upper bound is N - 1, and
# N - 1 - (N - 1) = 0. The coefficient may be symbolic as long as its sign is known, which proves
# $i * M + $j < N * M. The operands of other atoms are never changed, so each replacement is an
# inequality between values under the same valuation.
#
# `effort` bounds the work. It decreases with each step and is divided among alternatives; at 0,
# only interval arithmetic is used.
