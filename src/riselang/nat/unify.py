"""Solving an equation between two naturals for some of their variables.

`solve` handles one equation at a time. Variables range over naturals; the variables that are not
solvable are rigid, and the equation must hold for all of their values.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple, TypeAlias

from riselang.nat.atoms import Variable
from riselang.nat.bounds import is_nonnegative, lower_bound, upper_bound
from riselang.nat.division import exact_quotient
from riselang.nat.facts import Facts
from riselang.nat.natural import Nat
from riselang.nat.simplification import provably_equal


class Divides(NamedTuple):
    """A condition on sizes: `dividend` is a multiple of `divisor`."""

    divisor: Nat
    dividend: Nat


@dataclass(frozen=True, slots=True)
class Solved:
    """The substitution makes both sides equal if every condition in `requires` holds."""

    substitution: dict[str, Nat] = field(default_factory=dict[str, Nat])
    requires: tuple[Divides, ...] = ()


@dataclass(frozen=True, slots=True)
class Impossible:
    """No substitution makes the sides equal."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """Not decided; try again when more variables are known."""


Solution: TypeAlias = Solved | Impossible | Deferred

_SIZES_ONLY = Facts()


def solve(left: Nat, right: Nat, solvable: Collection[str]) -> Solution:
    """Solve for one solvable variable that occurs linearly.

    A symbolic coefficient is assumed to be positive. If a value is not provably a multiple of the
    coefficient, it is divided all the same, and the condition is reported in `requires`.
    """
    difference = left - right
    unknowns = sorted(difference.variables.intersection(solvable))
    if not unknowns:
        equal = provably_equal(left, right, _SIZES_ONLY)
        return Solved() if equal else Impossible()
    if _is_never_zero(difference):
        return Impossible()
    if len(unknowns) == 1:
        return _solve_for(difference, unknowns[0])
    return _solve_for_any(difference, unknowns)


def _is_never_zero(difference: Nat) -> bool:
    """Whether bounds, or divisibility by a common factor, exclude 0."""
    factor = gcd(*(coefficient for coefficient, _ in difference.symbolic))
    if difference.offset % factor:
        return True
    lower, upper = (bound(difference, _SIZES_ONLY) for bound in (lower_bound, upper_bound))
    return (lower is not None and lower > 0) or (upper is not None and upper < 0)


def _solve_for(difference: Nat, name: str) -> Solution:
    equation = _isolate(difference, name)
    if equation is None:
        return Deferred()
    coefficient, value = equation
    exact = exact_quotient(value, coefficient)
    if exact is not None:
        return _solve_unless_negative(name, exact)
    if lower_bound(coefficient, _SIZES_ONLY) is None:
        # It has no lower bound, so it is unlikely to be a length.
        return Deferred()
    return _solve_unless_negative(name, value // coefficient, Divides(coefficient, value))


def _solve_for_any(difference: Nat, unknowns: list[str]) -> Solution:
    """Solve for one of several unknowns, if its value is certain to be a natural.

    Any other value would restrict the unknowns that it mentions.
    """
    for name in unknowns:
        equation = _isolate(difference, name)
        exact = None if equation is None else exact_quotient(equation[1], equation[0])
        if exact is not None and is_nonnegative(exact, _SIZES_ONLY):
            return Solved({name: exact})
    return Deferred()


def _isolate(difference: Nat, name: str) -> tuple[Nat, Nat] | None:
    """The (c, v) with difference = 0 exactly when c * name = v; c is not a negative constant."""
    parts = difference.split_linear(Variable(name))
    if parts is None:
        return None
    coefficient, remainder = parts
    if coefficient == 0 or name in coefficient.variables or name in remainder.variables:
        return None
    factor = gcd(*(value for value, _ in (*coefficient.terms(), *remainder.terms())))
    if coefficient.terms()[0][0] < 0:
        factor = -factor
    return _divide(coefficient, factor), -_divide(remainder, factor)


def _divide(nat: Nat, factor: int) -> Nat:
    return Nat.from_terms((value // factor, monomial) for value, monomial in nat.terms())


def _solve_unless_negative(name: str, value: Nat, *requires: Divides) -> Solution:
    upper = upper_bound(value, _SIZES_ONLY)
    if upper is not None and upper < 0:
        return Impossible()
    return Solved({name: value}, requires)
