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
    spec: PatternSpec, explicit: Mapping[str, Argument], types: Sequence[RiseType | Unknown]
) -> Mapping[str, Argument]:
    """The explicit parameters, and those that are inferred from closed argument types.

    If the arguments do not match, only the explicit ones are returned, and unification will report
    the reason.
    """
    inferred = _infer_parameters(spec, tuple(explicit.items()), tuple(types))
    return explicit if inferred is None else inferred


@lru_cache(maxsize=_CACHE_SIZE)
def _infer_parameters(
    spec: PatternSpec,
    explicit: tuple[tuple[str, Argument], ...],
    types: tuple[RiseType | Unknown, ...],
) -> Mapping[str, Argument] | None:
    parameters = dict(explicit)
    if any(isinstance(value, Nat) and not value.is_constant for value in parameters.values()):
        return None
    arguments = list(zip(uncurry(spec.type)[0], types, strict=False))
    for input, type in arguments:
        if (
            isinstance(type, RiseType)
            and type.is_closed
            and not _match_type(input, type, parameters)
        ):
            return None
    for input, type in arguments:
        if isinstance(type, Unknown) and not _can_match(input, type, parameters):
            return None
    return parameters


def _can_match(input: RiseType, argument: Unknown, parameters: Mapping[str, Argument]) -> bool:
    """Whether an argument of unknown type may have the type that the pattern expects."""
    if argument is Unknown.OTHER:
        return isinstance(input, FunType)
    type = parameters.get(input.label.data) if isinstance(input, TypeVariable) else input
    return isinstance(type, ScalarType)


def _match_type(scheme: RiseType, actual: RiseType, parameters: dict[str, Argument]) -> bool:
    """Match a type against a scheme, and add the parameters that are inferred."""
    match scheme, actual:
        case TypeVariable(), _:
            return parameters.setdefault(scheme.label.data, actual) == actual
        case (ArrayType(), ArrayType()) | (VectorType(), VectorType()):
            is_length = _match_size(scheme.length, actual.length, parameters)
            return is_length and _match_type(scheme.element, actual.element, parameters)
        case IdxType(), IdxType():
            return _match_size(scheme.bound, actual.bound, parameters)
        case TupleType(), TupleType():
            is_first = _match_type(scheme.first, actual.first, parameters)
            return is_first and _match_type(scheme.second, actual.second, parameters)
        case _:
            return scheme == actual


def _match_size(scheme: Nat, actual: Nat, parameters: dict[str, Argument]) -> bool:
    sizes = {name: value for name, value in parameters.items() if isinstance(value, Nat)}
    expected = scheme.substitute(sizes)
    if expected.is_constant or len(expected.variables) > 1:
        return expected == actual
    (name,) = expected.variables
    try:
        solution = solve(expected, actual, [name])
    except NatError:
        return False
    if not isinstance(solution, Solved) or solution.requires or name not in solution.substitution:
        return False
    size = solution.substitution[name]
    parameters[name] = size
    return size.is_constant and size.constant >= 0
