"""The names that a proof gives to what it knows nothing of."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import replace

from riselang.dialects.rise.types import IdxType, RiseType
from riselang.nat import Nat
from riselang.rewrite.proving.values import Number, Opaque, Typed


class Symbols:
    """Fresh indices and values, and the natural that stands for an unknown index.

    Names begin with `$`, so that they are never those of sizes.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._indices: dict[Opaque, str] = {}
        self.bounds: dict[str, Nat] = {}
        """What each index is below."""
        self.unknown: dict[str, Opaque] = {}
        """Which unknown index a name stands for."""

    def index(self, length: Nat) -> Nat:
        """Any index of an array."""
        name = f"$i{next(self._numbers)}"
        self.bounds[name] = length
        return Nat.var(name)

    def value(self, type: RiseType) -> Opaque:
        """Any value of a type."""
        return Opaque(type, ("any", next(self._numbers)))

    def number(self, opaque: Opaque) -> Number:
        """The natural for an index that is an input, or comes from an unknown function."""
        settled = tuple(self._settled(argument) for argument in opaque.arguments)
        opaque = replace(opaque, arguments=settled)
        name = self._indices.get(opaque)
        if name is None:
            assert isinstance(opaque.type, IdxType)
            name = f"$u{next(self._numbers)}"
            self._indices[opaque] = name
            self.unknown[name] = opaque
            self.bounds[name] = opaque.type.bound
        return Number(Nat.var(name))

    def _settled(self, argument: Typed) -> Typed:
        """An argument that is an unknown index as a natural, however it came to be."""
        if isinstance(argument.value, Opaque) and isinstance(argument.type, IdxType):
            return Typed(argument.type, self.number(argument.value))
        return argument

    def congruence(self, name: str) -> tuple[Hashable, tuple[Nat, ...]] | None:
        """An unknown index as an unknown function of naturals: equal ones give equal indices."""
        opaque = self.unknown.get(name)
        if opaque is None:
            return None
        numbers = [a.value.value for a in opaque.arguments if isinstance(a.value, Number)]
        places = [step for step in opaque.place if isinstance(step, Nat)]
        kept = tuple(_without_number(argument) for argument in opaque.arguments)
        steps = tuple(step for step in opaque.place if isinstance(step, str))
        return (opaque.head, kept, steps, len(numbers), len(places)), (*numbers, *places)


def _without_number(argument: Typed) -> Hashable:
    return argument.type if isinstance(argument.value, Number) else argument
