"""Floor division and remainder in normal form.

Both start by writing the dividend as q * divisor + r, exact over the integers, so that the
quotient is q + r floordiv divisor and the remainder r mod divisor; then the common factors of r
and the divisor are canceled. Divisors are assumed to be positive.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import gcd

from riselang.nat.atoms import (
    Atom,
    FloorDiv,
    Mod,
    Monomial,
    Term,
    common_monomial,
    divide_monomials,
)
from riselang.nat.errors import NatError
from riselang.nat.natural import MAX_TERMS, Nat

_CACHE_SIZE = 1 << 14


def quotient(dividend: Nat, divisor: Nat) -> Nat:
    """dividend floordiv divisor."""
    if divisor.is_constant:
        _check_divisor(divisor)
        if dividend.is_constant:
            return Nat.const(dividend.offset // divisor.offset)
    return _symbolic_quotient(dividend, divisor)


def remainder(dividend: Nat, divisor: Nat) -> Nat:
    """dividend mod divisor."""
    if divisor.is_constant:
        _check_divisor(divisor)
        if dividend.is_constant:
            return Nat.const(dividend.offset % divisor.offset)
    return _symbolic_remainder(dividend, divisor)


def exact_quotient(dividend: Nat, divisor: Nat) -> Nat | None:
    """The q with dividend = q * divisor for every valuation, or None if none is found."""
    if divisor == 0:
        return None
    for candidate in (dividend, eliminate_mods(dividend)):
        multiple, residue = split_multiple(candidate, divisor)
        if residue == 0:
            return multiple
    return None


def eliminate_mods(nat: Nat) -> Nat:
    """Rewrite every x mod m of the polynomial as x - m * (x floordiv m)."""
    return nat.map_atoms(_eliminate_mod)


def recombine(nat: Nat) -> Nat:
    """Law: c * m * (x floordiv m) + c * (x mod m) = c * x, for any common factor c."""
    if len(nat.symbolic) < 2:
        return nat
    for atom in nat.atoms():
        if isinstance(atom, Mod):
            for group in _term_groups(nat, atom):
                if (result := _join_division(nat, group, atom)) is not None:
                    return result
    return nat


def split_multiple(dividend: Nat, divisor: Nat) -> tuple[Nat, Nat]:
    """Some (q, r) with dividend = q * divisor + r, where q has all syntactic multiples."""
    if divisor.is_constant:
        return _split_by_constant(dividend, divisor.offset)
    if divisor.offset == 0 and len(divisor.symbolic) == 1:
        return _split_by_term(dividend, divisor.symbolic[0])
    return _split_by_polynomial(dividend, divisor)


def _check_divisor(divisor: Nat) -> None:
    if divisor.offset == 0:
        raise NatError("division by zero")
    if divisor.offset < 0:
        raise NatError(f"division by {divisor.offset}, which is not positive")


@lru_cache(maxsize=_CACHE_SIZE)
def _symbolic_quotient(dividend: Nat, divisor: Nat) -> Nat:
    if divisor == 1:
        return dividend
    multiple, residue = split_multiple(dividend, divisor)
    return multiple + _reduce_quotient(residue, divisor)


def _reduce_quotient(dividend: Nat, divisor: Nat) -> Nat:
    """Law: (g * x + c) floordiv (g * m) = (x + c floordiv g) floordiv m."""
    if dividend == 0:
        return dividend
    factor = _common_integer(dividend, divisor)
    dividend, divisor = _divide_integer(dividend, factor), _divide_integer(divisor, factor)
    if shared := _shared_monomial(dividend, divisor):
        return quotient(*_cancel(dividend, divisor, shared))
    if divisor.is_constant and (dividend.is_constant or divisor.offset == 1):
        return quotient(dividend, divisor)
    for rewrite in (_flatten_nested, _divide_without_mods):
        if (simpler := rewrite(dividend, divisor)) is not None:
            return simpler
    return Nat.from_atom(FloorDiv(dividend, divisor))


def _flatten_nested(dividend: Nat, divisor: Nat) -> Nat | None:
    """Law: (x floordiv a + c) floordiv b = (x + c * a) floordiv (a * b), for constants."""
    inner = (dividend - dividend.offset).atom
    if isinstance(inner, FloorDiv) and inner.divisor.is_constant and divisor.is_constant:
        return quotient(inner.dividend + inner.divisor * dividend.offset, inner.divisor * divisor)
    return None


def _divide_without_mods(dividend: Nat, divisor: Nat) -> Nat | None:
    """Law: (x - x mod m) floordiv m = x floordiv m, and similar laws."""
    if any(isinstance(atom, Mod) for atom in dividend.atoms()):
        return exact_quotient(eliminate_mods(dividend), divisor)
    return None


@lru_cache(maxsize=_CACHE_SIZE)
def _symbolic_remainder(dividend: Nat, divisor: Nat) -> Nat:
    # A product of mods, such as (x mod m) * (y mod m), loses one of them in each iteration.
    while (simpler := _drop_inner_mods(dividend, divisor)) != dividend:
        dividend = simpler
    _, residue = split_multiple(dividend, divisor)
    return _reduce_remainder(residue, divisor)


def _reduce_remainder(dividend: Nat, divisor: Nat) -> Nat:
    """Law: (g * x + c) mod (g * m) = g * ((x + c floordiv g) mod m) + c mod g."""
    factor = _common_integer(dividend, divisor)
    offset_remainder = dividend.offset % factor
    dividend, divisor = _divide_integer(dividend, factor), _divide_integer(divisor, factor)
    if divisor == 1 or dividend == 0:
        return Nat.const(offset_remainder)
    if shared := _shared_monomial(dividend, divisor):
        inner = remainder(*_cancel(dividend, divisor, shared))
    elif divisor.is_constant and dividend.is_constant:
        inner = remainder(dividend, divisor)
    else:
        inner = Nat.from_atom(Mod(dividend, divisor))
    return Nat.from_terms(((factor, shared),)) * inner + offset_remainder


def _drop_inner_mods(dividend: Nat, divisor: Nat) -> Nat:
    """Law: (c * (x mod m) + y) mod d = (c * x + y) mod d, where d divides c * m."""
    total = dividend
    for coefficient, monomial in dividend.symbolic:
        for atom, _ in monomial:
            if isinstance(atom, Mod):
                cofactor = _cofactor((coefficient, monomial), atom)
                if split_multiple(cofactor * atom.divisor, divisor)[1] == 0:
                    total += cofactor * (atom.dividend - Nat.from_atom(atom))
                    break
    return total


def _split_by_constant(dividend: Nat, divisor: int) -> tuple[Nat, Nat]:
    # Coefficients are rounded towards zero, so that `N - i` does not become `N + 3 * i` under
    # mod 4; the constant is rounded down, so that both spellings of a ceiling division agree.
    quotient_offset, remainder_offset = divmod(dividend.offset, divisor)
    multiples: list[Term] = [(quotient_offset, ())]
    residues: list[Term] = [(remainder_offset, ())]
    for coefficient, monomial in dividend.symbolic:
        multiple = _divide_towards_zero(coefficient, divisor)
        multiples.append((multiple, monomial))
        residues.append((coefficient - multiple * divisor, monomial))
    return Nat.from_terms(multiples), Nat.from_terms(residues)


def _split_by_term(dividend: Nat, divisor: Term) -> tuple[Nat, Nat]:
    multiples: list[Term] = []
    residues: list[Term] = []
    for coefficient, monomial in dividend.terms():
        reduced = divide_monomials(monomial, divisor[1])
        if reduced is None:
            residues.append((coefficient, monomial))
            continue
        multiple = _divide_towards_zero(coefficient, divisor[0])
        multiples.append((multiple, reduced))
        residues.append((coefficient - multiple * divisor[0], monomial))
    return Nat.from_terms(multiples), Nat.from_terms(residues)


def _split_by_polynomial(dividend: Nat, divisor: Nat) -> tuple[Nat, Nat]:
    """Long division by the leading term, used only if it makes the rest shorter.

    Otherwise, N floordiv (N + 1) would become 1 + (-1) floordiv (N + 1).
    """
    leading = divisor.symbolic[0]
    multiple, residue, pending = Nat.const(0), Nat.const(0), dividend
    # Bounded, because a sum may recombine into terms of a higher degree.
    for _ in range(MAX_TERMS):
        if not pending.symbolic:
            break
        term = pending.symbolic[0]
        reduced = divide_monomials(term[1], leading[1])
        if reduced is None or term[0] % leading[0]:
            step = Nat.from_terms((term,))
            residue, pending = residue + step, pending - step
        else:
            step = Nat.from_terms(((term[0] // leading[0], reduced),))
            multiple, pending = multiple + step, pending - step * divisor
    residue += pending
    if len(residue.terms()) < len(dividend.terms()):
        return multiple, residue
    return Nat.const(0), dividend


def _divide_towards_zero(dividend: int, divisor: int) -> int:
    magnitude = abs(dividend) // abs(divisor)
    return magnitude if (dividend < 0) == (divisor < 0) else -magnitude


def _common_integer(dividend: Nat, divisor: Nat) -> int:
    coefficients = (coefficient for coefficient, _ in (*dividend.symbolic, *divisor.terms()))
    return gcd(*coefficients)


def _divide_integer(nat: Nat, factor: int) -> Nat:
    if factor == 1:
        return nat
    return Nat(tuple((c // factor, monomial) for c, monomial in nat.symbolic), nat.offset // factor)


def _shared_monomial(dividend: Nat, divisor: Nat) -> Monomial:
    if divisor.is_constant:
        return ()
    monomials = [monomial for _, monomial in (*dividend.terms(), *divisor.terms())]
    return reduce(common_monomial, monomials)


def _cancel(dividend: Nat, divisor: Nat, shared: Monomial) -> tuple[Nat, Nat]:
    return _divide_by_monomial(dividend, shared), _divide_by_monomial(divisor, shared)


def _divide_by_monomial(nat: Nat, divisor: Monomial) -> Nat:
    reduced = ((value, divide_monomials(monomial, divisor)) for value, monomial in nat.terms())
    return Nat.from_terms((value, monomial) for value, monomial in reduced if monomial is not None)


def _eliminate_mod(atom: Atom) -> Nat:
    if not isinstance(atom, Mod):
        return Nat.from_atom(atom)
    return atom.dividend - atom.divisor * quotient(atom.dividend, atom.divisor)


def _cofactor(term: Term, atom: Atom) -> Nat:
    reduced = divide_monomials(term[1], ((atom, 1),))
    return Nat.from_terms(() if reduced is None else ((term[0], reduced),))


def _term_groups(nat: Nat, atom: Atom) -> list[list[Term]]:
    """The terms that contain the atom: first all in one group, then one by one."""
    terms = [term for term in nat.symbolic if atom in dict(term[1])]
    singles = [[term] for term in terms]
    return singles if len(terms) == 1 else [terms, *singles]


def _join_division(nat: Nat, group: list[Term], mod: Mod) -> Nat | None:
    cofactor = sum((_cofactor(term, mod) for term in group), Nat.const(0))
    multiple = cofactor * mod.divisor * quotient(mod.dividend, mod.divisor)
    parts = (*group, *multiple.symbolic)
    collected = {monomial: coefficient for coefficient, monomial in nat.symbolic}
    used_monomials = {monomial for value, monomial in parts if collected.get(monomial) == value}
    if not multiple.symbolic or len(used_monomials) < len(parts):
        return None
    unchanged_terms = Nat(
        tuple(term for term in nat.symbolic if term[1] not in used_monomials), nat.offset
    )
    return unchanged_terms + cofactor * mod.dividend - multiple.offset
