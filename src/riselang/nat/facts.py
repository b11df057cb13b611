"""What is known about variables: inclusive bounds, which may mention other variables.

A variable without an entry is a size: at least 0, with no upper bound.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from riselang.nat.errors import NatError
from riselang.nat.natural import Nat, NatLike, as_nat
from riselang.support.lazy import cached_property


@dataclass(frozen=True, slots=True)
class Bounds:
    """Inclusive bounds of a variable; an upper bound of None means unbounded."""

    lower: Nat
    upper: Nat | None

    @property
    def variables(self) -> frozenset[str]:
        """The variables that the bounds mention."""
        if self.upper is None:
            return self.lower.variables
        return self.lower.variables | self.upper.variables


_SIZE = Bounds(Nat.const(0), None)


@dataclass(frozen=True)
class Facts:
    """Bounds by variable name. No variable occurs in its own bounds, directly or indirectly."""

    entries: tuple[tuple[str, Bounds], ...] = ()

    def with_bounds(self, name: str, lower: NatLike, upper: NatLike | None) -> Facts:
        """These facts, with the bounds of `name` replaced by lower <= name <= upper."""
        bounds = Bounds(as_nat(lower), None if upper is None else as_nat(upper))
        other_entries = {
            other_name: entry for other_name, entry in self.entries if other_name != name
        }
        if name in _reachable(bounds.variables, other_entries):
            raise NatError(f"the bounds of '{name}' mention '{name}' itself")
        return Facts(
            tuple(sorted({**other_entries, name: bounds}.items(), key=lambda item: item[0]))
        )

    def bounds_of(self, name: str) -> Bounds:
        """The bounds of `name`."""
        return self._by_name.get(name, _SIZE)

    @cached_property
    def fixed_values(self) -> Mapping[str, Nat]:
        """The variables with only one possible value."""
        values = {
            name: bounds.lower for name, bounds in self.entries if bounds.lower == bounds.upper
        }
        return MappingProxyType(values)

    def rank(self, name: str) -> int:
        """A number above the rank of each variable that the bounds of `name` mention."""
        return self._ranks.get(name, 0)

    @cached_property
    def _ranks(self) -> dict[str, int]:
        by_name = self._by_name
        return {name: len(_reachable(bounds.variables, by_name)) for name, bounds in self.entries}

    @cached_property
    def _by_name(self) -> dict[str, Bounds]:
        return dict(self.entries)

    @cached_property
    def _hash(self) -> int:
        return hash(self.entries)

    def __hash__(self) -> int:
        return self._hash


def _reachable(names: frozenset[str], entries: Mapping[str, Bounds]) -> set[str]:
    seen: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(entries[name].variables if name in entries else ())
    return seen
