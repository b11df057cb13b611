"""Symbolic values of terms.

A value of any data type may be `Opaque` (an input, or an unknown function of values), a `Choice` by
a condition on indices, or a `Reduction`. An array may also be a function from indices to
elements, a pair its components, and an integer a natural. `element`, `first`, `second` and `apply`
handle all of these cases, so that other code need not distinguish them.
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
from riselang.rewrite.proving.size_conditions import Condition

AccessPath: TypeAlias = "tuple[Nat | str, ...]"
"""A path into a value: indices of elements, `fst` and `snd`."""


@dataclass(frozen=True, eq=False)
class Array:
    """An array or a vector, as a function from indices to elements; its type has the length."""

    element: Callable[[Nat], Value]


@dataclass(frozen=True)
class Pair:
    """A tuple of two values."""

    first: Value
    second: Value


@dataclass(frozen=True, eq=False)
class Function:
    """A known function."""

    apply: Callable[[Value], Value]


@dataclass(frozen=True)
class Number:
    """An index or another integer, which is assumed not to overflow."""

    value: Nat


@dataclass(frozen=True)
class Typed:
    """A value, and the type at which it is compared."""

    type: RiseType
    value: Value


@dataclass(frozen=True)
class Opaque:
    """The part at a path of the result of an unknown function of values."""

    type: RiseType
    head: Hashable
    arguments: tuple[Typed, ...] = ()
    access_path: AccessPath = ()

    def component(self, type: RiseType, step: Nat | str) -> Opaque:
        return replace(self, type=type, access_path=(*self.access_path, step))


@dataclass(frozen=True)
class Choice:
    """One of two values of the same type."""

    condition: Condition
    if_true: Value
    if_false: Value


@dataclass(frozen=True, eq=False)
class Reduction:
    """The part at a path of the accumulator after `length` steps; a step takes its index."""

    type: RiseType
    accumulator: RiseType
    length: Nat
    init: Value
    step: Callable[[Nat, Value], Value]
    access_path: AccessPath = ()

    def component(self, type: RiseType, step: Nat | str) -> Reduction:
        return replace(self, type=type, access_path=(*self.access_path, step))


Value: TypeAlias = Array | Pair | Function | Number | Opaque | Choice | Reduction


def choose(condition: Condition, if_true: Value, if_false: Value) -> Value:
    value = condition.constant_value
    if value is None:
        return Choice(condition, if_true, if_false)
    return if_true if value else if_false


def distribute(value: Value, function: Callable[[Value], Value]) -> Value:
    """Apply a function to both alternatives of a choice."""
    if isinstance(value, Choice):
        if_true = distribute(value.if_true, function)
        if_false = distribute(value.if_false, function)
        return Choice(value.condition, if_true, if_false)
    return function(value)


def element(array: Value, index: Nat) -> Value:
    def read(array: Value) -> Value:
        match array:
            case Array():
                return array.element(index)
            case (
                Opaque(type=ArrayType() | VectorType() as type)
                | Reduction(type=ArrayType() | VectorType() as type)
            ):
                return array.component(type.element, index)
            case _:
                raise TypeError(f"{array} is not an array")

    return distribute(array, read)


def first(pair: Value) -> Value:
    return distribute(pair, lambda pair: _component(pair, "fst"))


def second(pair: Value) -> Value:
    return distribute(pair, lambda pair: _component(pair, "snd"))


def _component(pair: Value, name: str) -> Value:
    match pair:
        case Pair():
            return pair.first if name == "fst" else pair.second
        case Opaque(type=TupleType() as type) | Reduction(type=TupleType() as type):
            first_type, second_type = components(type)
            return pair.component(first_type if name == "fst" else second_type, name)
        case _:
            raise TypeError(f"{pair} is not a pair")


def apply(function: Value, argument: Value) -> Value:
    match function:
        case Function():
            return function.apply(argument)
        case Opaque(type=FunType() as type):
            arguments = (*function.arguments, Typed(type.input, argument))
            return replace(function, type=type.output, arguments=arguments)
        case _:
            raise TypeError(f"{function} is not a function")


def value_at(value: Value, access_path: AccessPath) -> Value:
    """Return the part of a value at a path."""
    for step in access_path:
        if isinstance(step, Nat):
            value = element(value, step)
        else:
            value = first(value) if step == "fst" else second(value)
    return value


def reduction(
    accumulator: RiseType, length: Nat, init: Value, step: Callable[[Nat, Value], Value]
) -> Reduction:
    """Return the accumulator after `length` steps that start from `init`."""
    return Reduction(accumulator, accumulator, length, init, step)
