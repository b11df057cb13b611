"""Quasi-affine expressions: sums of names times numbers, with quotients and remainders by numbers.

They are the common form of subscripts and bounds: as text for isl, as affine expressions for MLIR,
and as sizes for RISE. Quotients round down and remainders are natural, in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr

from riselang.nat import Nat


@dataclass(frozen=True)
class Quotient:
    """`dividend` by a positive number, rounded down."""

    dividend: Linear
    divisor: int

    def __str__(self) -> str:
        return f"floor(({self.dividend})/{self.divisor})"


@dataclass(frozen=True)
class Remainder:
    """What is left of `dividend`, from 0 to below the positive divisor."""

    dividend: Linear
    divisor: int

    def __str__(self) -> str:
        return f"(({self.dividend}) mod {self.divisor})"


Atom = str | Quotient | Remainder


@dataclass(frozen=True)
class Linear:
    """A number and terms, each a number times an atom; no factor is zero."""

    constant: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @staticmethod
    def of(atom: Atom) -> Linear:
        return Linear(0, ((atom, 1),))

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __add__(self, other: Linear) -> Linear:
        sums = dict(self.terms)
        for atom, factor in other.terms:
            sums[atom] = sums.get(atom, 0) + factor
        kept = [(atom, factor) for atom, factor in sums.items() if factor]
        return Linear(self.constant + other.constant, tuple(sorted(kept, key=_text_of)))

    def __neg__(self) -> Linear:
        return self.times(-1)

    def __sub__(self, other: Linear) -> Linear:
        return self + -other

    def times(self, number: int) -> Linear:
        if number == 0:
            return Linear()
        terms = tuple((atom, factor * number) for atom, factor in self.terms)
        return Linear(self.constant * number, terms)

    def divided(self, number: int) -> Linear:
        """By a positive number, rounded down."""
        if self.is_constant:
            return Linear(self.constant // number)
        return self if number == 1 else Linear.of(Quotient(self, number))

    def remainder(self, number: int) -> Linear:
        """By a positive number, natural."""
        if self.is_constant or number == 1:
            return Linear(self.constant % number)
        return Linear.of(Remainder(self, number))

    def names(self) -> Iterator[str]:
        """Every name in it, also those in quotients."""
        for atom, _ in self.terms:
            if isinstance(atom, str):
                yield atom
            else:
                yield from atom.dividend.names()

    def affine(self, resolve: Callable[[str], AffineExpr]) -> AffineExpr:
        """As an affine expression of MLIR; `resolve` gives the dimension or symbol of a name."""
        total: AffineExpr | None = None
        for atom, factor in self.terms:
            term = _affine(atom, resolve)
            term = term if factor == 1 else term * factor
            total = term if total is None else total + term
        if total is None:
            return AffineExpr.constant(self.constant)
        return total + self.constant if self.constant else total

    def nat(self) -> Nat:
        """As a size of RISE."""
        return sum((_nat(atom) * factor for atom, factor in self.terms), Nat.const(self.constant))

    def __str__(self) -> str:
        """As isl writes it."""
        parts = [f"{factor}*{atom}" if factor != 1 else str(atom) for atom, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def _text_of(term: tuple[Atom, int]) -> str:
    return str(term[0])


def _nat(atom: Atom) -> Nat:
    if isinstance(atom, str):
        return Nat.var(atom)
    dividend = atom.dividend.nat()
    return dividend // atom.divisor if isinstance(atom, Quotient) else dividend % atom.divisor


def _affine(atom: Atom, resolve: Callable[[str], AffineExpr]) -> AffineExpr:
    if isinstance(atom, str):
        return resolve(atom)
    dividend = atom.dividend.affine(resolve)
    if isinstance(atom, Quotient):
        return dividend // atom.divisor
    return dividend % atom.divisor


@dataclass(frozen=True)
class Strided:
    """A sum of linear expressions, each times a product of strides: `i*n + j` has the stride n.

    A stride is an expression of parameters alone, which makes the whole no longer affine.
    """

    parts: tuple[tuple[tuple[Linear, ...], Linear], ...] = ()
    """Strides, sorted, and what is multiplied by all of them."""

    @staticmethod
    def of(linear: Linear) -> Strided:
        return Strided((((), linear),))

    @property
    def linear(self) -> Linear | None:
        """The same without strides, if there are none."""
        if all(not strides for strides, _ in self.parts):
            return sum((linear for _, linear in self.parts), Linear())
        return None

    def __add__(self, other: Strided) -> Strided:
        sums: dict[tuple[Linear, ...], Linear] = dict(self.parts)
        for strides, linear in other.parts:
            sums[strides] = sums.get(strides, Linear()) + linear
        return Strided(tuple((s, linear) for s, linear in sums.items() if linear != Linear()))

    def times(self, number: int) -> Strided:
        parts = tuple((strides, linear.times(number)) for strides, linear in self.parts)
        return Strided(parts if number else ())

    def strided(self, stride: tuple[Linear, ...]) -> Strided:
        """Times a product of strides."""
        return Strided(
            tuple(
                (tuple(sorted((*strides, *stride), key=str)), linear)
                for strides, linear in self.parts
            )
        )
