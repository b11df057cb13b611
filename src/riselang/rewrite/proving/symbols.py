"""Fresh names for the unknowns of a proof."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import replace

from riselang.dialects.rise.types import IdxType, RiseType
from riselang.nat import Nat
from riselang.rewrite.proving.symbolic_values import Number, Opaque, Typed


class Symbols:
    """Fresh indices and values, and naturals for unknown indices.

    Names begin with `$`, so they never clash with those of sizes.
    """

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self._indices: dict[Opaque, str] = {}
        self.bounds: dict[str, Nat] = {}
        """The exclusive upper bound of each index."""
        self.unknown: dict[str, Opaque] = {}
        """The unknown index that each name stands for."""

    def fresh_index(self, length: Nat) -> Nat:
        """Return an arbitrary index of an array."""
        name = f"$i{next(self._numbers)}"
        self.bounds[name] = length
        return Nat.var(name)

    def fresh_value(self, type: RiseType) -> Opaque:
        """Return an arbitrary value of a type."""
        return Opaque(type, ("any", next(self._numbers)))

    def number_for(self, opaque: Opaque) -> Number:
        """Return the natural for an index that is an input or the result of an unknown function."""
        arguments = tuple(self._normalize_argument(argument) for argument in opaque.arguments)
        opaque = replace(opaque, arguments=arguments)
        name = self._indices.get(opaque)
        if name is None:
            assert isinstance(opaque.type, IdxType)
            name = f"$u{next(self._numbers)}"
            self._indices[opaque] = name
            self.unknown[name] = opaque
            self.bounds[name] = opaque.type.bound
        return Number(Nat.var(name))

    def _normalize_argument(self, argument: Typed) -> Typed:
        """Convert an argument that is an unknown index to a natural, in whatever form it is."""
        if isinstance(argument.value, Opaque) and isinstance(argument.type, IdxType):
            return Typed(argument.type, self.number_for(argument.value))
        return argument

    def congruence(self, name: str) -> tuple[Hashable, tuple[Nat, ...]] | None:
        """Return an unknown index as a function symbol applied to naturals, for congruence."""
        opaque = self.unknown.get(name)
        if opaque is None:
            return None
        numbers = [a.value.value for a in opaque.arguments if isinstance(a.value, Number)]
        indices = [step for step in opaque.access_path if isinstance(step, Nat)]
        other_arguments = tuple(_without_number(argument) for argument in opaque.arguments)
        steps = tuple(step for step in opaque.access_path if isinstance(step, str))
        return (opaque.head, other_arguments, steps, len(numbers), len(indices)), (
            *numbers,
            *indices,
        )


def _without_number(argument: Typed) -> Hashable:
    return argument.type if isinstance(argument.value, Number) else argument
