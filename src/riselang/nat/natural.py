"""`Nat`, an integer expression over naturals, always in normal form.

The normal form is a polynomial: a sorted sum of integer coefficients times monomials, plus a
constant. Division, remainder, minimum and maximum that do not simplify away are atoms of the
polynomial (see `division` and `extrema`). Values are immutable; equality and hash are
structural on the normal form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from operator import index
from typing import TypeAlias, final

from riselang.nat.atoms import (
    Atom,
    FloorDiv,
    Max,
    Min,
    Mod,
    Monomial,
    SortKey,
    Term,
    Variable,
    divide_monomials,
    multiply_monomials,
    operands,
    term_key,
)
from riselang.nat.errors import NatError

NatLike: TypeAlias = "Nat | int"

KEYWORDS = frozenset({"floordiv", "mod", "min", "max"})
NAME_PATTERN = r"[A-Za-z_?$][A-Za-z0-9_$.?]*"
MAX_DIGITS = 18
MAX_TERMS = 512
MAX_DEGREE = 64
MAX_DEPTH = 48

_COEFFICIENT_LIMIT = 10**MAX_DIGITS
_NAME = re.compile(NAME_PATTERN)


@final
class Nat:
    """A polynomial over atoms. Build one with `Nat.const`, `Nat.var`, `as_nat` or operators.

    `symbolic` holds the terms that are not constant, in `term_key` order, and `offset` the
    constant; the constructor trusts its caller to pass both in normal form.
    """

    __slots__ = ("_atoms", "_depth", "_hash", "_sort_key", "_variables", "offset", "symbolic")

    def __init__(self, symbolic: tuple[Term, ...], offset: int) -> None:
        self.symbolic = symbolic
        self.offset = offset
        self._atoms: tuple[Atom, ...] | None = None
        self._hash: int | None = None
        self._sort_key: SortKey | None = None
        self._variables: frozenset[str] | None = None
        self._depth: int | None = None

    @staticmethod
    def const(value: int) -> Nat:
        """The constant `value`."""
        if not -_COEFFICIENT_LIMIT < value < _COEFFICIENT_LIMIT:
            raise NatError(f"integer has more than {MAX_DIGITS} digits")
        return Nat((), value)

    @staticmethod
    def var(name: str) -> Nat:
        """The variable called `name`."""
        return _variable(name)

    @staticmethod
    def from_atom(atom: Atom) -> Nat:
        """The natural that is this atom alone; the atom must be in normal form."""
        if any(operand.depth >= MAX_DEPTH for operand in operands(atom)):
            raise NatError(f"expression is nested more than {MAX_DEPTH} deep")
        return Nat(((1, ((atom, 1),)),), 0)

    @staticmethod
    def from_terms(terms: Iterable[Term]) -> Nat:
        """The sum of `terms`, in any order, with any repetition."""
        collected: dict[Monomial, int] = {}
        for coefficient, monomial in terms:
            collected[monomial] = collected.get(monomial, 0) + coefficient
        return _normalize(collected)

    # Structure.

    @property
    def is_constant(self) -> bool:
        """Whether no variable occurs."""
        return not self.symbolic

    @property
    def constant(self) -> int:
        """The value of a constant; raises NatError if this is not one."""
        if self.symbolic:
            raise NatError(f"'{self}' is not a constant")
        return self.offset

    @property
    def atom(self) -> Atom | None:
        """The atom, if this natural is a single atom."""
        if self.offset or len(self.symbolic) != 1:
            return None
        coefficient, monomial = self.symbolic[0]
        return monomial[0][0] if coefficient == 1 and _is_linear(monomial) else None

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables that occur, also inside atoms."""
        if self._variables is None:
            names = (_atom_variables(atom) for atom in self.atoms())
            self._variables = frozenset[str]().union(*names)
        return self._variables

    @property
    def depth(self) -> int:
        """How deeply atoms are nested: 0 for a polynomial of variables."""
        if self._depth is None:
            inner = (operand.depth + 1 for atom in self.atoms() for operand in operands(atom))
            self._depth = max(inner, default=0)
        return self._depth

    @property
    def sort_key(self) -> SortKey:
        """A key that orders naturals in the same way in every process."""
        if self._sort_key is None:
            symbolic = tuple((term_key(term), term[0]) for term in self.symbolic)
            self._sort_key = (symbolic, self.offset)
        return self._sort_key

    def terms(self) -> tuple[Term, ...]:
        """Coefficients and monomials, highest degree first; the constant, if any, is last."""
        return (*self.symbolic, (self.offset, ())) if self.offset else self.symbolic

    def atoms(self) -> tuple[Atom, ...]:
        """The atoms of the polynomial, each once, in order of occurrence."""
        if self._atoms is None:
            atoms = dict.fromkeys(atom for _, monomial in self.symbolic for atom, _ in monomial)
            self._atoms = tuple(atoms)
        return self._atoms

    def degree_in(self, name: str) -> int:
        """The highest power of the variable in the polynomial, not counting compound atoms."""
        variable = Variable(name)
        powers = (dict(monomial).get(variable, 0) for _, monomial in self.symbolic)
        return max(powers, default=0)

    def split_linear(self, atom: Atom) -> tuple[Nat, Nat] | None:
        """The (c, r) with self = c * atom + r, or None if a higher power occurs.

        Other atoms are opaque here: c and r may still mention a variable inside one.
        """
        factor: Monomial = ((atom, 1),)
        coefficient: list[Term] = []
        remainder: list[Term] = [(self.offset, ())]
        for value, monomial in self.symbolic:
            quotient = divide_monomials(monomial, factor)
            if quotient is None:
                remainder.append((value, monomial))
            elif any(other == atom for other, _ in quotient):
                return None
            else:
                coefficient.append((value, quotient))
        return Nat.from_terms(coefficient), Nat.from_terms(remainder)

    def is_affine_in(self, names: Collection[str]) -> bool:
        """Whether MLIR accepts this as an affine expression with `names` as dimensions.

        Every other variable is a symbol. MLIR's rules are the same for both: linear, with floordiv
        and mod by positive constants; so the answer is the same for every choice of `names`.
        """
        return all(
            not monomial or (_is_linear(monomial) and _is_affine_atom(monomial[0][0], names))
            for _, monomial in self.symbolic
        )

    # Substitution and evaluation.

    def map_atoms(self, function: Callable[[Atom], Nat]) -> Nat:
        """Replace every atom of the polynomial."""
        images = {atom: function(atom) for atom in self.atoms()}
        if all(image.atom == atom for atom, image in images.items()):
            return self
        total = Nat.const(self.offset)
        for coefficient, monomial in self.symbolic:
            product = Nat.const(coefficient)
            for atom, power in monomial:
                for _ in range(power):
                    product = product * images[atom]
            total = total + product
        return total

    def substitute(self, replacements: Mapping[str, NatLike]) -> Nat:
        """Replace variables simultaneously."""
        if isinstance(atom := self.atom, Variable):
            return _coerce(replacements.get(atom.name, self))
        if not any(name in replacements for name in self.variables):
            return self
        return self.map_atoms(lambda atom: _substitute_atom(atom, replacements))

    def evaluate(self, valuation: Mapping[str, int]) -> int:
        """Evaluate; raise NatError for an unbound name or a divisor that is not positive."""
        total = self.offset
        for coefficient, monomial in self.symbolic:
            for atom, power in monomial:
                coefficient *= _evaluate_atom(atom, valuation) ** power
            total += coefficient
        return total

    # Arithmetic.

    def __add__(self, other: NatLike) -> Nat:
        right = _coerce(other)
        if not right.symbolic or not self.symbolic:
            # `const` checks the range.
            offset = Nat.const(self.offset + right.offset).offset
            return Nat(self.symbolic or right.symbolic, offset)
        return Nat.from_terms((*self.terms(), *right.terms()))

    def __mul__(self, other: NatLike) -> Nat:
        right = _coerce(other)
        if not right.symbolic and not self.symbolic:
            return Nat.const(self.offset * right.offset)
        left_terms, right_terms = self.terms(), right.terms()
        if len(left_terms) * len(right_terms) > MAX_TERMS**2:
            raise NatError(f"expression has more than {MAX_TERMS} terms")
        return Nat.from_terms(
            (first * second, multiply_monomials(left, right))
            for first, left in left_terms
            for second, right in right_terms
        )

    def __floordiv__(self, other: NatLike) -> Nat:
        # Deferred: division is defined on naturals.
        from riselang.nat.division import quotient

        return quotient(self, _coerce(other))

    def __mod__(self, other: NatLike) -> Nat:
        # Deferred: division is defined on naturals.
        from riselang.nat.division import remainder

        return remainder(self, _coerce(other))

    def __neg__(self) -> Nat:
        return Nat(tuple((-value, monomial) for value, monomial in self.symbolic), -self.offset)

    def __sub__(self, other: NatLike) -> Nat:
        return self + -other

    def __rsub__(self, other: int) -> Nat:
        return -self + other

    def __rfloordiv__(self, other: int) -> Nat:
        return Nat.const(other) // self

    def __rmod__(self, other: int) -> Nat:
        return Nat.const(other) % self

    __radd__ = __add__
    __rmul__ = __mul__

    # Equality, hashing and printing.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Nat):
            return self.offset == other.offset and self.symbolic == other.symbolic
        if isinstance(other, int):
            return not self.symbolic and self.offset == other
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.symbolic, self.offset)) if self.symbolic else hash(self.offset)
        return self._hash

    def __str__(self) -> str:
        # Deferred: the text form is defined on naturals.
        from riselang.nat.text import format_nat

        return format_nat(self)

    def __repr__(self) -> str:
        return f"Nat('{self}')"

    def __reduce__(self) -> tuple[type[Nat], tuple[tuple[Term, ...], int]]:
        # Without the caches: hashes of strings differ between processes.
        return Nat, (self.symbolic, self.offset)


def as_nat(value: Nat | int | str) -> Nat:
    """A natural from a natural, an integer, or text."""
    if isinstance(value, str):
        # Deferred: the text form is defined on naturals.
        from riselang.nat.text import parse_nat

        return parse_nat(value)
    return _coerce(value)


def _coerce(value: NatLike) -> Nat:
    # `index` accepts the integers of other libraries, and rejects floats.
    return value if isinstance(value, Nat) else Nat.const(int(index(value)))


@lru_cache(maxsize=4096)
def _variable(name: str) -> Nat:
    if not _NAME.fullmatch(name) or name in KEYWORDS:
        raise NatError(f"'{name}' is not a name for a natural")
    return Nat.from_atom(Variable(name))


def _normalize(collected: dict[Monomial, int]) -> Nat:
    # Deferred: division is defined on naturals.
    from riselang.nat.division import recombine

    offset = Nat.const(collected.get((), 0)).offset
    symbolic = [(value, monomial) for monomial, value in collected.items() if value and monomial]
    if len(symbolic) > 1:
        symbolic.sort(key=term_key)
    _check_size(symbolic)
    return recombine(Nat(tuple(symbolic), offset))


def _check_size(symbolic: list[Term]) -> None:
    if len(symbolic) > MAX_TERMS:
        raise NatError(f"expression has more than {MAX_TERMS} terms")
    for coefficient, monomial in symbolic:
        if not -_COEFFICIENT_LIMIT < coefficient < _COEFFICIENT_LIMIT:
            raise NatError(f"coefficient has more than {MAX_DIGITS} digits")
        if not _is_linear(monomial) and sum(power for _, power in monomial) > MAX_DEGREE:
            raise NatError(f"expression has a degree above {MAX_DEGREE}")


def _is_linear(monomial: Monomial) -> bool:
    return len(monomial) == 1 and monomial[0][1] == 1


def _atom_variables(atom: Atom) -> frozenset[str]:
    if isinstance(atom, Variable):
        return frozenset((atom.name,))
    return frozenset[str]().union(*(operand.variables for operand in operands(atom)))


def _is_affine_atom(atom: Atom, names: Collection[str]) -> bool:
    match atom:
        case Variable():
            return True
        case FloorDiv(dividend, divisor) | Mod(dividend, divisor):
            return divisor.is_constant and dividend.is_affine_in(names)
        case Min() | Max():
            return False


def _substitute_atom(atom: Atom, replacements: Mapping[str, NatLike]) -> Nat:
    # Deferred: minima and maxima are defined on naturals.
    from riselang.nat.extrema import rebuild

    if isinstance(atom, Variable):
        replacement = replacements.get(atom.name)
        return Nat.from_atom(atom) if replacement is None else _coerce(replacement)
    return rebuild(atom, lambda operand: operand.substitute(replacements))


def _evaluate_atom(atom: Atom, valuation: Mapping[str, int]) -> int:
    match atom:
        case Variable(name):
            if name not in valuation:
                raise NatError(f"no value for '{name}'")
            return valuation[name]
        case FloorDiv(dividend, divisor):
            return dividend.evaluate(valuation) // _evaluate_divisor(divisor, valuation)
        case Mod(dividend, divisor):
            return dividend.evaluate(valuation) % _evaluate_divisor(divisor, valuation)
        case Min(arguments):
            return min(argument.evaluate(valuation) for argument in arguments)
        case Max(arguments):
            return max(argument.evaluate(valuation) for argument in arguments)


def _evaluate_divisor(divisor: Nat, valuation: Mapping[str, int]) -> int:
    value = divisor.evaluate(valuation)
    if value <= 0:
        raise NatError(f"divisor '{divisor}' is {value}, not positive")
    return value
