"""Inputs with which the interpreter compares the sides of a law, for given sizes.

With symbols as inputs, a run computes what a term does with *any* inputs: elements are only moved,
and a function of symbols is another symbol. Concrete inputs show that a difference is real.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    is_float,
)
from riselang.interpreter import scalar_semantics

FORMAT_DEPTH = 3
"""The depth to which symbols are formatted."""


class Undecided(Exception):
    """The control flow of a term depends on the value of an input."""


class NoInput(Exception):
    """The type of an input has no values, so there is nothing to prove."""


@dataclass(frozen=True)
class Origin:
    """The identity of an input: part of a parameter, or of the result of an unknown function."""

    head: str
    arguments: tuple[Hashable, ...] = ()
    index: tuple[int | str, ...] = ()

    def at(self, step: int | str) -> Origin:
        return Origin(self.head, self.arguments, (*self.index, step))

    def apply_to(self, argument: Any) -> Origin:
        return Origin(self.head, (*self.arguments, _freeze(argument)), self.index)


Leaf: TypeAlias = Callable[[RiseType, Origin], Any]


class Symbol:
    """An unknown scalar. There is one object for each origin, so equality is identity."""

    __slots__ = ("origin",)

    def __init__(self, origin: Origin):
        self.origin = origin

    def __bool__(self) -> bool:
        raise Undecided

    def _compare(self, other: object) -> bool:
        raise Undecided

    def __abs__(self) -> Symbol:
        raise Undecided

    def __float__(self) -> float:
        raise Undecided

    __lt__ = __le__ = __gt__ = __ge__ = _compare

    def __repr__(self) -> str:
        return format_symbol(self, FORMAT_DEPTH)


def format_symbol(value: object, depth: int) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(format_symbol(part, depth) for part in value)})"
    if not isinstance(value, Symbol):
        return str(value)
    origin = value.origin
    index = "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in origin.index)
    if not origin.arguments:
        return f"{origin.head}{index}"
    inner = (
        ", ".join(format_symbol(each, depth - 1) for each in origin.arguments) if depth else "..."
    )
    return f"{origin.head}({inner}){index}"


def _freeze(value: Any) -> Hashable:
    if isinstance(value, list | tuple):
        return tuple(_freeze(part) for part in value)
    if callable(value):
        # Functions are not compared, so values computed from them are not known to be equal.
        raise Undecided
    # The text distinguishes 0.0 from -0.0, and is the same for every NaN.
    return str(value) if isinstance(value, np.generic) else value


def build_input(type: RiseType, origin: Origin, leaf: Leaf) -> Any:
    """Build a value of a type with constant sizes, as the interpreter represents it."""
    match type:
        case ArrayType() | VectorType():
            indices = range(type.length.constant)
            return [build_input(type.element, origin.at(index), leaf) for index in indices]
        case TupleType():
            first, second = components(type)
            return build_input(first, origin.at("fst"), leaf), build_input(
                second, origin.at("snd"), leaf
            )
        case FunType():
            return lambda argument: build_input(type.output, origin.apply_to(argument), leaf)
        case _:
            return leaf(type, origin)


class Inputs:
    """Random indices from a seed; `symbol` and `number` are leaves."""

    def __init__(self, seed: int):
        self._seed = seed
        self._symbols: dict[Origin, Symbol] = {}
        self.has_indices = False
        """Whether an index was chosen, in which case a run does not cover all inputs."""

    def symbol(self, type: RiseType, origin: Origin) -> Any:
        if isinstance(type, IdxType):
            return self._index(type, origin)
        return self.symbol_for(origin)

    def symbol_for(self, origin: Origin) -> Symbol:
        return self._symbols.setdefault(origin, Symbol(origin))

    def number(self, type: RiseType, origin: Origin) -> Any:
        if isinstance(type, IdxType):
            return self._index(type, origin)
        assert isinstance(type, ScalarType)
        source = self._source(origin)
        if is_float(type):
            return scalar_semantics.make_constant(source.standard_normal(), type)
        return scalar_semantics.make_constant(int(source.integers(-(2**40), 2**40)), type)

    def _index(self, type: IdxType, origin: Origin) -> int:
        if type.bound.constant <= 0:
            raise NoInput
        self.has_indices = True
        return int(self._source(origin).integers(type.bound.constant))

    def _source(self, origin: Origin) -> np.random.Generator:
        """The random generator for an origin: the same one in every process."""
        return np.random.default_rng([self._seed, zlib.crc32(repr(origin).encode())])
