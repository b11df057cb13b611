"""What terms compute where nothing but their structure is known.

A value of any data type may be `Opaque` (an input, or an unknown function of values), a `Choice` by
a condition on indices, or a `Fold`; an array may also be given by its elements, a pair by its
parts, an integer by a natural. `element`, `first`, `second` and `apply` take all of them apart, so
that nobody else asks which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TypeAlias

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    RiseType,
    TupleType,
    VectorType,
    components,
)
from riselang.nat import Nat
from riselang.rewrite.proving.conditions import Condition

Place: TypeAlias = "tuple[Nat | str, ...]"
"""A way into a value: the indices of elements, `fst` and `snd`."""


@dataclass(frozen=True, eq=False)
class Array:
    """An array or a vector, by its elements; its type says how many there are."""

    element: Callable[[Nat], Value]


@dataclass(frozen=True)
class Pair:
    """A tuple of two."""

    first: Value
    second: Value


@dataclass(frozen=True, eq=False)
class Function:
    """A function that is known."""

    apply: Callable[[Value], Value]


@dataclass(frozen=True)
class Number:
    """An index or another integer, taken to be small enough for its type."""

    value: Nat


@dataclass(frozen=True)
class Typed:
    """A value, and the type by which it is compared."""

    type: RiseType
    value: Value


@dataclass(frozen=True)
class Opaque:
    """An unknown function of values, and what is at a place in its result."""

    type: RiseType
    head: Hashable
    arguments: tuple[Typed, ...] = ()
    place: Place = ()

    def inside(self, type: RiseType, step: Nat | str) -> Opaque:
        return replace(self, type=type, place=(*self.place, step))


@dataclass(frozen=True)
class Choice:
    """One of two values of the same type."""

    condition: Condition
    yes: Value
    no: Value


@dataclass(frozen=True, eq=False)
class Fold:
    """What is at a place in the accumulator after `length` steps, each of which knows its index."""

    type: RiseType
    accumulator: RiseType
    length: Nat
    init: Value
    step: Callable[[Nat, Value], Value]
    place: Place = ()

    def inside(self, type: RiseType, step: Nat | str) -> Fold:
        return replace(self, type=type, place=(*self.place, step))


Value: TypeAlias = Array | Pair | Function | Number | Opaque | Choice | Fold


def choose(condition: Condition, yes: Value, no: Value) -> Value:
    decided = condition.decided
    if decided is None:
        return Choice(condition, yes, no)
    return yes if decided else no


def spread(value: Value, function: Callable[[Value], Value]) -> Value:
    """The function of what is chosen, as a choice of what the function gives."""
    if isinstance(value, Choice):
        yes, no = spread(value.yes, function), spread(value.no, function)
        return Choice(value.condition, yes, no)
    return function(value)


def element(array: Value, index: Nat) -> Value:
    def read(array: Value) -> Value:
        match array:
            case Array():
                return array.element(index)
            case (
                Opaque(type=ArrayType() | VectorType() as type)
                | Fold(type=ArrayType() | VectorType() as type)
            ):
                return array.inside(type.element, index)
            case _:
                raise TypeError(f"{array} is no array")

    return spread(array, read)


def first(pair: Value) -> Value:
    return spread(pair, lambda pair: _component(pair, "fst"))


def second(pair: Value) -> Value:
    return spread(pair, lambda pair: _component(pair, "snd"))


def _component(pair: Value, name: str) -> Value:
    match pair:
        case Pair():
            return pair.first if name == "fst" else pair.second
        case Opaque(type=TupleType() as type) | Fold(type=TupleType() as type):
            one, other = components(type)
            return pair.inside(one if name == "fst" else other, name)
        case _:
            raise TypeError(f"{pair} is no pair")


def apply(function: Value, argument: Value) -> Value:
    match function:
        case Function():
            return function.apply(argument)
        case Opaque(type=FunType() as type):
            arguments = (*function.arguments, Typed(type.input, argument))
            return replace(function, type=type.output, arguments=arguments)
        case _:
            raise TypeError(f"{function} is no function")


def at_place(value: Value, place: Place) -> Value:
    """What is found in a value on the way `place`."""
    for step in place:
        if isinstance(step, Nat):
            value = element(value, step)
        else:
            value = first(value) if step == "fst" else second(value)
    return value


def fold(
    accumulator: RiseType, length: Nat, init: Value, step: Callable[[Nat, Value], Value]
) -> Fold:
    """The accumulator after `length` steps from `init` on."""
    return Fold(accumulator, accumulator, length, init, step)
