"""Inferring the parameters of a pattern from the types of its arguments, without unification.

Most types are known when a pattern is applied. Its type scheme is then matched against them, which
creates no unknowns, and the instance is cached for the same pattern at the same types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import type_variables
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
    variable,
)
from riselang.nat import Nat, NatError, Solved, solve

_CACHE_SIZE = 1 << 12


class Unknown(Enum):
    """An argument whose type is not known."""

    NUMBER = "a number, which may have any scalar type"
    OTHER = "a function, or an error"

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False, slots=True)
class Instance:
    """A pattern at known argument types; only the results of functions may be unknown."""

    parameters: dict[str, Argument]
    """The known ones."""
    is_complete: bool
    """Whether all parameters are known; if not, the types below contain the scheme's variables."""
    type: RiseType
    inputs: tuple[RiseType, ...]
    result: RiseType
    """The type of the pattern applied to the arguments."""


def find_instance(
    spec: PatternSpec, explicit: Mapping[str, Argument], types: tuple[RiseType | Unknown, ...]
) -> Instance | None:
    """Return the instance of a pattern for the types of its arguments.

    None if unification has to find more than the results of functions, or has to report an error.
    """
    for type in types:
        if isinstance(type, RiseType) and not type.is_closed:
            return None
    return _find_instance(spec, tuple(explicit.items()), types)


@lru_cache(maxsize=_CACHE_SIZE)
def _find_instance(
    spec: PatternSpec,
    explicit: tuple[tuple[str, Argument], ...],
    types: tuple[RiseType | Unknown, ...],
) -> Instance | None:
    parameters = _infer_parameters(spec, explicit, types)
    if parameters is None:
        return None
    missing = {name for name in spec.parameters if name not in parameters}
    if spec.check({name: variable(name) for name in missing} | dict(parameters)) is not None:
        return None
    type = result = spec.instantiate(parameters)
    inputs = uncurry(type)[0][: len(types)]
    if missing and missing != _unknown_results(inputs):
        return None
    for _ in types:
        assert isinstance(result, FunType)
        result = result.output
    return Instance(dict(parameters), not missing, type, inputs, result)


def _unknown_results(inputs: Iterable[RiseType]) -> set[str] | None:
    """The variables that are the results of functions; None if other parts are unknown, too."""
    names: set[str] = set()
    for input in inputs:
        if not input.is_closed:
            taken, result = uncurry(input)
            is_known = all(each.is_closed for each in taken)
            if not taken or not is_known or not isinstance(result, TypeVariable):
                return None
            names.add(result.label.data)
    return names


@cache
def result_parameters(spec: PatternSpec) -> Mapping[str, TypeVariable]:
    """The parameters that only the results of functions determine, as in `map`."""
    inputs = uncurry(spec.type)[0]
    functions = [uncurry(input) for input in inputs if isinstance(input, FunType)]
    results = {result for _, result in functions if isinstance(result, TypeVariable)}
    others = [input for input in inputs if not isinstance(input, FunType)]
    others += [input for taken, _ in functions for input in taken]
    determined = {name for type in others for name in type_variables(type)}
    labels = {result.label.data: result for result in results}
    return {name: result for name, result in labels.items() if name not in determined}


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
    if not all(map(_is_closed, parameters.values())):
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


def _is_closed(argument: Argument) -> bool:
    if isinstance(argument, Nat):
        return argument.is_constant
    return isinstance(argument, str) or argument.is_closed


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
