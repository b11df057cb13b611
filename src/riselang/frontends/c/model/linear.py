"""Quasi-affine expressions: sums of scaled names, with quotients and remainders by constants.

They are the common form of subscripts and bounds: as text for isl, as affine expressions for MLIR,
and as sizes for RISE. In all of them, quotients round down and remainders are non-negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir.affine import AffineExpr

from riselang.nat import Nat


@dataclass(frozen=True)
class Quotient:
    """`dividend` divided by a positive constant, rounded down."""

    dividend: Linear
    divisor: int

    def __str__(self) -> str:
        return f"floor(({self.dividend})/{self.divisor})"


@dataclass(frozen=True)
class Remainder:
    """The remainder of `dividend`, at least 0 and less than the positive divisor."""

    dividend: Linear
    divisor: int

    def __str__(self) -> str:
        return f"(({self.dividend}) mod {self.divisor})"


Atom = str | Quotient | Remainder


@dataclass(frozen=True)
class Linear:
    """A constant and terms, each a nonzero constant times an atom."""

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
        terms = [(atom, factor) for atom, factor in sums.items() if factor]
        return Linear(self.constant + other.constant, tuple(sorted(terms, key=_format_term)))

    def __neg__(self) -> Linear:
        return self.times(-1)

    def __sub__(self, other: Linear) -> Linear:
        return self + -other

    def times(self, number: int) -> Linear:
        if number == 0:
            return Linear()
        terms = tuple((atom, factor * number) for atom, factor in self.terms)
        return Linear(self.constant * number, terms)

    def floor_divide(self, divisor: int) -> Linear:
        """Divide by a positive constant, rounding down."""
        if self.is_constant:
            return Linear(self.constant // divisor)
        return self if divisor == 1 else Linear.of(Quotient(self, divisor))

    def remainder(self, divisor: int) -> Linear:
        """Return the non-negative remainder by a positive constant."""
        if self.is_constant or divisor == 1:
            return Linear(self.constant % divisor)
        return Linear.of(Remainder(self, divisor))

    def names(self) -> Iterator[str]:
        """Yield every name, including those in quotients."""
        for atom, _ in self.terms:
            if isinstance(atom, str):
                yield atom
            else:
                yield from atom.dividend.names()

    def to_affine(self, resolve: Callable[[str], AffineExpr]) -> AffineExpr:
        """Convert to an MLIR affine expression; `resolve` maps a name to a dimension or symbol."""
        total: AffineExpr | None = None
        for atom, factor in self.terms:
            term = _atom_to_affine(atom, resolve)
            term = term if factor == 1 else term * factor
            total = term if total is None else total + term
        if total is None:
            return AffineExpr.constant(self.constant)
        return total + self.constant if self.constant else total

    def to_nat(self) -> Nat:
        """Convert to a RISE size."""
        return sum(
            (_atom_to_nat(atom) * factor for atom, factor in self.terms), Nat.const(self.constant)
        )

    def __str__(self) -> str:
        """Format as isl text."""
        parts = [f"{factor}*{atom}" if factor != 1 else str(atom) for atom, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts)


def _format_term(term: tuple[Atom, int]) -> str:
    return str(term[0])


def _atom_to_nat(atom: Atom) -> Nat:
    if isinstance(atom, str):
        return Nat.var(atom)
    dividend = atom.dividend.to_nat()
    return dividend // atom.divisor if isinstance(atom, Quotient) else dividend % atom.divisor


def _atom_to_affine(atom: Atom, resolve: Callable[[str], AffineExpr]) -> AffineExpr:
    if isinstance(atom, str):
        return resolve(atom)
    dividend = atom.dividend.to_affine(resolve)
    if isinstance(atom, Quotient):
        return dividend // atom.divisor
    return dividend % atom.divisor


@dataclass(frozen=True)
class Strided:
    """A sum of linear expressions, each times a product of strides: `i*n + j` has the stride n.

    A stride is an expression of parameters alone; with it, the sum is no longer affine.
    """

    parts: tuple[tuple[tuple[Linear, ...], Linear], ...] = ()
    """Sorted strides, and the expression that is multiplied by all of them."""

    @staticmethod
    def of(linear: Linear) -> Strided:
        return Strided((((), linear),))

    @property
    def linear(self) -> Linear | None:
        """The same expression without strides, if it has none."""
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

    def multiply_stride(self, stride: tuple[Linear, ...]) -> Strided:
        """Multiply by a product of strides."""
        return Strided(
            tuple(
                (tuple(sorted((*strides, *stride), key=str)), linear)
                for strides, linear in self.parts
            )
        )
