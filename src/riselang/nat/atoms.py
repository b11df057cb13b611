"""The indivisible parts of a natural, and products of them.

A monomial is a product of atoms with powers, kept sorted, so that equal products are equal
tuples. The order is total and independent of hash seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from riselang.nat.natural import Nat


@dataclass(frozen=True, slots=True)
class Variable:
    """A named natural: a size, a loop index (`$i`) or an inference variable (`?n`)."""

    name: str


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """Floor division: the largest integer not above dividend / divisor."""

    dividend: Nat
    divisor: Nat


@dataclass(frozen=True, slots=True)
class Mod:
    """The remainder of floor division, in [0, divisor)."""

    dividend: Nat
    divisor: Nat


@dataclass(frozen=True, slots=True)
class Min:
    """The smallest of two or more arguments."""

    arguments: tuple[Nat, ...]


@dataclass(frozen=True, slots=True)
class Max:
    """The largest of two or more arguments."""

    arguments: tuple[Nat, ...]


Atom: TypeAlias = Variable | FloorDiv | Mod | Min | Max
Monomial: TypeAlias = tuple[tuple[Atom, int], ...]
Term: TypeAlias = tuple[int, Monomial]
SortKey: TypeAlias = tuple[Any, ...]


def operands(atom: Atom) -> tuple[Nat, ...]:
    """The naturals inside an atom."""
    match atom:
        case Variable():
            return ()
        case FloorDiv(dividend, divisor) | Mod(dividend, divisor):
            return (dividend, divisor)
        case Min(arguments) | Max(arguments):
            return arguments


_RANKS: dict[type[Atom], int] = {Variable: 0, FloorDiv: 1, Mod: 2, Min: 3, Max: 4}


def atom_key(atom: Atom) -> SortKey:
    """The sort key of an atom: variables come first, by name, then the others, by operands."""
    if isinstance(atom, Variable):
        return (0, atom.name)
    return (_RANKS[type(atom)], *(operand.sort_key for operand in operands(atom)))


def term_key(term: Term) -> SortKey:
    """The sort key of a term: by descending degree, then lexicographically; a monomial order.

    Powers are negated because long division needs an order that products respect: x * x
    comes before x * y.
    """
    monomial = term[1]
    degree = sum(power for _, power in monomial)
    return (-degree, *((atom_key(atom), -power) for atom, power in monomial))


def multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    """The product, sorted."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda factor: atom_key(factor[0])))


def divide_monomials(dividend: Monomial, divisor: Monomial) -> Monomial | None:
    """The exact quotient, or None if a factor is missing."""
    if not divisor:
        return dividend
    powers = dict(dividend)
    for atom, power in divisor:
        left = powers.get(atom, 0) - power
        if left < 0:
            return None
        powers[atom] = left
    return tuple((atom, power) for atom, power in powers.items() if power)


def common_monomial(left: Monomial, right: Monomial) -> Monomial:
    """The greatest common divisor of two monomials."""
    powers = dict(right)
    shared = ((atom, min(power, powers.get(atom, 0))) for atom, power in left)
    return tuple((atom, power) for atom, power in shared if power)
