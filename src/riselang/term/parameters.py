"""What the types of arguments tell of the parameters of a pattern, without unification.

Most types are known where a pattern is applied. Then its scheme is compared with them, which makes
no unknowns, and the same pattern at the same types is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

from riselang.dialects.rise.pattern_registry import Argument, PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    uncurry,
)
from riselang.nat import Nat, NatError, Solved, solve

_CACHE_SIZE = 1 << 12


class Unknown(Enum):
    """An argument without a type of its own."""

    NUMBER = "a number, which may be of any type of scalars"
    OTHER = "a function, or a mistake"


def known_parameters(
    spec: PatternSpec, given: Mapping[str, Argument], types: Sequence[RiseType | Unknown]
) -> Mapping[str, Argument]:
    """The parameters that are given, and those that closed types of arguments tell.

    Where arguments do not fit, it is what is given: there unification finds out why.
    """
    found = _found(spec, tuple(given.items()), tuple(types))
    return given if found is None else found


@lru_cache(maxsize=_CACHE_SIZE)
def _found(
    spec: PatternSpec,
    given: tuple[tuple[str, Argument], ...],
    types: tuple[RiseType | Unknown, ...],
) -> Mapping[str, Argument] | None:
    known = dict(given)
    if any(isinstance(value, Nat) and not value.is_constant for value in known.values()):
        return None
    arguments = list(zip(uncurry(spec.type)[0], types, strict=False))
    for input, type in arguments:
        if isinstance(type, RiseType) and type.is_closed and not _fits(input, type, known):
            return None
    for input, type in arguments:
        if isinstance(type, Unknown) and not _may_be(input, type, known):
            return None
    return known


def _may_be(input: RiseType, argument: Unknown, known: Mapping[str, Argument]) -> bool:
    """Whether an argument without a type is what a pattern takes there."""
    if argument is Unknown.OTHER:
        return isinstance(input, FunType)
    type = known.get(input.label.data) if isinstance(input, TypeVariable) else input
    return isinstance(type, ScalarType)


def _fits(scheme: RiseType, found: RiseType, known: dict[str, Argument]) -> bool:
    """Whether a type is what a scheme says; what it tells is added to what is known."""
    match scheme, found:
        case TypeVariable(), _:
            return known.setdefault(scheme.label.data, found) == found
        case (ArrayType(), ArrayType()) | (VectorType(), VectorType()):
            is_length = _is_size(scheme.length, found.length, known)
            return is_length and _fits(scheme.element, found.element, known)
        case IdxType(), IdxType():
            return _is_size(scheme.bound, found.bound, known)
        case TupleType(), TupleType():
            is_first = _fits(scheme.first, found.first, known)
            return is_first and _fits(scheme.second, found.second, known)
        case _:
            return scheme == found


def _is_size(scheme: Nat, found: Nat, known: dict[str, Argument]) -> bool:
    sizes = {name: value for name, value in known.items() if isinstance(value, Nat)}
    wanted = scheme.substitute(sizes)
    if wanted.is_constant or len(wanted.variables) > 1:
        return wanted == found
    (name,) = wanted.variables
    try:
        answer = solve(wanted, found, [name])
    except NatError:
        return False
    if not isinstance(answer, Solved) or answer.requires or name not in answer.substitution:
        return False
    size = answer.substitution[name]
    known[name] = size
    return size.is_constant and size.constant >= 0
