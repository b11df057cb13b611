"""Inferring the parameters of a pattern from the types of its arguments, without unification.

Most types are known when a pattern is applied. Its type scheme is then matched against them, which
creates no unknowns, and the result is cached for the same pattern at the same types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import lru_cache

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_spec import PatternSpec
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
    """An argument whose type is not known."""

    NUMBER = "a number, which may have any scalar type"
    OTHER = "a function, or an error"


def known_parameters(
    spec: PatternSpec, given: Mapping[str, Argument], types: Sequence[RiseType | Unknown]
) -> Mapping[str, Argument]:
    """The parameters in `given`, and those that follow from the argument types that are closed.

    If the arguments do not match, the result is `given`, and unification will report why.
    """
    found = _infer_parameters(spec, tuple(given.items()), tuple(types))
    return given if found is None else found


@lru_cache(maxsize=_CACHE_SIZE)
def _infer_parameters(
    spec: PatternSpec,
    given: tuple[tuple[str, Argument], ...],
    types: tuple[RiseType | Unknown, ...],
) -> Mapping[str, Argument] | None:
    known = dict(given)
    if any(isinstance(value, Nat) and not value.is_constant for value in known.values()):
        return None
    arguments = list(zip(uncurry(spec.type)[0], types, strict=False))
    for input, type in arguments:
        if isinstance(type, RiseType) and type.is_closed and not _match_type(input, type, known):
            return None
    for input, type in arguments:
        if isinstance(type, Unknown) and not _can_match(input, type, known):
            return None
    return known


def _can_match(input: RiseType, argument: Unknown, known: Mapping[str, Argument]) -> bool:
    """Whether an argument of unknown type may be what the pattern expects."""
    if argument is Unknown.OTHER:
        return isinstance(input, FunType)
    type = known.get(input.label.data) if isinstance(input, TypeVariable) else input
    return isinstance(type, ScalarType)


def _match_type(scheme: RiseType, found: RiseType, known: dict[str, Argument]) -> bool:
    """Match a type against a scheme, and add the parameters that follow to `known`."""
    match scheme, found:
        case TypeVariable(), _:
            return known.setdefault(scheme.label.data, found) == found
        case (ArrayType(), ArrayType()) | (VectorType(), VectorType()):
            is_length = _match_size(scheme.length, found.length, known)
            return is_length and _match_type(scheme.element, found.element, known)
        case IdxType(), IdxType():
            return _match_size(scheme.bound, found.bound, known)
        case TupleType(), TupleType():
            is_first = _match_type(scheme.first, found.first, known)
            return is_first and _match_type(scheme.second, found.second, known)
        case _:
            return scheme == found


def _match_size(scheme: Nat, found: Nat, known: dict[str, Argument]) -> bool:
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
