"""Infer sizes from array shapes: the first dimension that determines a size binds it, and the
others must agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from riselang.nat import Nat, Solved, solve
from riselang.support.errors import UserError

if TYPE_CHECKING:
    from riselang.term.nodes import Term


class SizeBinding:
    """The sizes that are bound so far, and the dimension that determined each."""

    def __init__(self, given: Mapping[str, Nat] | None = None) -> None:
        self.sizes: dict[str, Nat] = dict(given or {})
        self._origins: dict[str, str] = dict.fromkeys(self.sizes, "the given sizes")
        self._deferred: list[tuple[Nat, int, str]] = []

    def bind(self, lengths: Sequence[Nat], shape: Sequence[int], name: str) -> None:
        """Unify the lengths of an array type with the shape of an array."""
        for position, (length, found) in enumerate(zip(lengths, shape, strict=True)):
            self._bind(length, found, f"dimension {position} of {name}")

    def finish(self) -> Mapping[str, Nat]:
        """Solve the deferred lengths, and return all sizes."""
        while self._deferred:
            waiting, self._deferred = self._deferred, []
            for entry in waiting:
                self._bind(*entry)
            if len(self._deferred) == len(waiting):
                length, found, dimension = waiting[0]
                raise UserError(f"{dimension} is {found}, which does not determine {length}")
        return self.sizes

    def _bind(self, length: Nat, found: int, dimension: str) -> None:
        known = length.substitute(self.sizes)
        if len(known.variables) > 1:
            self._deferred.append((length, found, dimension))
            return
        answer = solve(known, Nat.const(found), sorted(known.variables))
        if not isinstance(answer, Solved):
            raise UserError(
                f"{dimension} is {found}, but expected {length}{self._format_origins(length)}"
            )
        for name, size in answer.substitution.items():
            self.sizes[name] = size
            self._origins[name] = dimension

    def _format_origins(self, length: Nat) -> str:
        origins = ", ".join(
            f"{name} = {self.sizes[name]} from {self._origins[name]}"
            for name in sorted(length.variables)
            if name in self._origins
        )
        return f" ({origins})" if origins else ""


DynamicDimensions = tuple[tuple[int, tuple[Nat, ...]], ...]
"""Positions of parameters, each with its symbolic lengths."""


class DynamicShapes:
    """The symbolic shapes of the buffers of a function, which constrain each other."""

    def __init__(self, dimensions: DynamicDimensions, terms: Sequence[Term]):
        self._dimensions = dimensions
        self._terms = tuple(terms)
        self._sizes_by_shape: dict[tuple[tuple[int, ...] | None, ...], Mapping[str, Nat]] = {}

    def sizes(
        self,
        shapes: Mapping[int, tuple[int, ...]],
        names: Sequence[str],
        given: Mapping[str, Nat] | None = None,
    ) -> Mapping[str, Nat]:
        """Return the sizes that are given, and those that all or some of the shapes determine.

        Raise an error for sizes that a program does not permit.
        """
        key = tuple(shapes.get(position) for position, _ in self._dimensions)
        if not given and key in self._sizes_by_shape:
            return self._sizes_by_shape[key]
        binding = SizeBinding(given)
        for position, lengths in self._dimensions:
            shape = shapes.get(position, ())
            if len(shape) == len(lengths):
                binding.bind(lengths, shape, names[position])
        sizes = binding.finish()
        if self._terms:
            from riselang.term.size_substitution import check_sizes

            for term in self._terms:
                check_sizes(term, sizes)
        if not given:
            self._sizes_by_shape[key] = sizes
        return sizes

    @property
    def names(self) -> frozenset[str]:
        """The names of the sizes."""
        lengths = (length for _, lengths in self._dimensions for length in lengths)
        return frozenset(name for length in lengths for name in length.variables)

    def lengths_at(self, position: int) -> tuple[Nat, ...] | None:
        """Return the symbolic shape of a parameter; None if no program reads or writes it."""
        return next((lengths for at, lengths in self._dimensions if at == position), None)

    def shape_at(self, position: int, sizes: Mapping[str, Nat]) -> tuple[int, ...]:
        """Return the shape of a parameter at these sizes."""
        lengths = self.lengths_at(position)
        assert lengths is not None
        return tuple(_constant_length(length, sizes) for length in lengths)


def _constant_length(length: Nat, sizes: Mapping[str, Nat]) -> int:
    length = length.substitute(sizes)
    if not length.is_constant:
        raise UserError(
            f"the size {min(length.variables)} is not determined by the shapes of the arrays; "
            "specify its value"
        )
    return length.constant
