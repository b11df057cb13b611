"""Solving conditions on sizes: `N` is a multiple of 4 exactly when it is `4 * q` for some `q`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import gcd

from riselang.nat.atoms import Variable
from riselang.nat.division import exact_quotient
from riselang.nat.natural import Nat
from riselang.nat.simplification import divides
from riselang.nat.unify import Divides


@dataclass(frozen=True, slots=True)
class Refinement:
    """The values of `name` that satisfy a condition: `factor * q + remainder` for natural `q`."""

    name: str
    factor: Nat
    remainder: int

    def value(self, quotient: str) -> Nat:
        return self.factor * Nat.var(quotient) + self.remainder


def refinement(condition: Divides, refinable: Collection[str]) -> Refinement | None:
    """All values of one variable for which the condition holds, whatever the others are."""
    for name in sorted(condition.dividend.variables.intersection(refinable)):
        parts = condition.dividend.split_linear(Variable(name))
        if parts is None or name in parts[1].variables or name in condition.divisor.variables:
            continue
        result = _refine_variable(name, *parts, condition.divisor)
        if result is not None:
            return result
    return None


def _refine_variable(
    name: str, coefficient: Nat, remainder: Nat, divisor: Nat
) -> Refinement | None:
    """The values of `name` for which `divisor` divides `coefficient * name + rest`."""
    if divisor.is_constant and coefficient.is_constant:
        return _congruence(name, coefficient.constant, remainder, divisor.constant)
    if coefficient == Nat.const(1) and divides(divisor, remainder):
        return Refinement(name, divisor, 0)
    return None


def _congruence(name: str, coefficient: int, remainder: Nat, divisor: int) -> Refinement | None:
    symbolic = remainder - remainder.offset
    if divisor <= 0 or exact_quotient(symbolic, Nat.const(divisor)) is None:
        return None
    common = gcd(coefficient, divisor)
    if remainder.offset % common:
        return None
    modulus = divisor // common
    inverse = pow(coefficient // common, -1, modulus)
    return Refinement(name, Nat.const(modulus), -remainder.offset // common * inverse % modulus)
