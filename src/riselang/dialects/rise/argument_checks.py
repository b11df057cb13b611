"""Conditions on the parameters of a pattern that its type does not express."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riselang.dialects.rise.types import RiseType
from riselang.nat import Nat, as_nat

Argument = Nat | RiseType | str
"""The value of a pattern's parameter: a size, a data type or a keyword."""
Check = Callable[[Mapping[str, "Argument"]], str | None]
"""Returns what is wrong with the parameters of a pattern, or None."""
Inequality = tuple[Nat, Nat]
"""Two sizes that may mention the parameters of a pattern; the first is at most the second."""


@dataclass(frozen=True)
class AtLeast:
    """Rejects constant sizes below `minimum`."""

    minimum: int
    names: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        for name in self.names:
            size = arguments[name]
            if isinstance(size, Nat) and size.is_constant and size.constant < self.minimum:
                return f"{name} must be at least {self.minimum}, but is {size}"
        return None

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple((Nat.const(self.minimum), Nat.var(name)) for name in self.names)


@dataclass(frozen=True)
class AtMost:
    """Rejects constant sizes above `limit - margin`."""

    limit: Nat
    margin: int
    names: tuple[str, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        sizes = {name: value for name, value in arguments.items() if isinstance(value, Nat)}
        bound = self.limit.substitute(sizes) - self.margin
        for size, name in ((sizes[name], name) for name in self.names):
            if bound.is_constant and size.is_constant and size.constant > bound.constant:
                return f"{name} must be at most {bound}, but is {size}"
        return None

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple((Nat.var(name), self.limit - self.margin) for name in self.names)


@dataclass(frozen=True)
class AllOf:
    """Rejects what any of several checks rejects."""

    checks: tuple[Check, ...]

    def __call__(self, arguments: Mapping[str, Argument]) -> str | None:
        found = (check(arguments) for check in self.checks)
        return next((problem for problem in found if problem is not None), None)

    @property
    def inequalities(self) -> tuple[Inequality, ...]:
        return tuple(pair for check in self.checks for pair in inequalities(check))


def at_least(minimum: int, *names: str) -> Check:
    return AtLeast(minimum, names)


def at_most(limit: str | int, margin: int, *names: str) -> Check:
    return AtMost(as_nat(limit), margin, names)


def all_of(*checks: Check) -> Check:
    return AllOf(checks)


def inequalities(check: Check) -> tuple[Inequality, ...]:
    """The inequalities that a check requires, also of sizes that are not constants."""
    return check.inequalities if isinstance(check, AtLeast | AtMost | AllOf) else ()
