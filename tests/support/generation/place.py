"""Where a term is made, and small questions about types and terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import FunType, RiseType, ScalarType, is_float
from riselang.nat import Nat
from riselang.term.nodes import Free, Pattern, Term

Scope = tuple[Free, ...]
Producer = Callable[[RiseType, "Place"], Term]


@dataclass(frozen=True)
class Place:
    """Where a term is made: the variables, how deep it may become, and how large its values."""

    scope: Scope
    depth: int
    room: int
    may_fail: bool = False
    """Whether a term may be refused when it runs."""

    def inside(self, variable: Free) -> Place:
        return replace(self, scope=(*self.scope, variable), depth=self.depth - 1)

    def repeated(self, times: int) -> Place:
        return replace(self, depth=self.depth - 1, room=self.room // max(times, 1))

    @property
    def deeper(self) -> Place:
        return replace(self, depth=self.depth - 1)

    @property
    def safe(self) -> Place:
        """For functions whose number of calls is not the same in every evaluation."""
        return replace(self, may_fail=False)


@cache
def use(name: str, *arguments: RiseType | int | str, to: str | None = None) -> Pattern:
    parts: list[Argument] = [Nat.const(x) if isinstance(x, int) else x for x in arguments]
    return Pattern(PATTERNS[name], parts, to)


def occurs(name: str, term: Term) -> bool:
    if isinstance(term, Free):
        return term.name == name
    return any(occurs(name, child) for child in term.children)


def is_data(type: RiseType) -> bool:
    return not isinstance(type, FunType)


def is_integer(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and not is_float(type)
