"""isl, and the texts that it reads: names, parameters, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import SCALAR_NAMES
from riselang.frontends.c.parse.syntax import Variable
from riselang.notation.operators import EMBED, FUNCTIONS, KEYWORDS

_OF_ISL = frozenset((
    "mod", "floor", "ceil", "floord", "ceild", "min", "max", "and", "or", "not", "exists", "rat",
    "true", "false", "infty", "infinity", "nan", "implies", "sum", "forall", "card", "e", "e0",
))  # fmt: skip
"""Words that mean something to isl, in upper case too."""
_OF_NOTATION = frozenset((
    *KEYWORDS, *PATTERNS, *FUNCTIONS, *SCALAR_NAMES.values(), EMBED, "index", "idx", "vec", "nat",
    "data", "floordiv", "mod",
))  # fmt: skip
"""Words that mean something in RISE's notation, in which lifted statements are shown."""
LOOP_NAMES = tuple(f"t{number}_" for number in range(64))
"""What the loops that isl makes are called."""


@cache
def isl() -> Any:
    """The bindings of isl, imported when first needed."""
    import islpy

    return islpy


T = TypeVar("T")


def within_limits(action: Callable[[], T], most: int) -> T | None:
    """What an action gives; None where it takes isl more than so many operations."""
    context = isl().DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(most)
    try:
        return action()
    except isl().Error:
        return None
    finally:
        context.set_max_operations(0)
        context.reset_operations()


class Names:
    """Names for isl, MLIR and RISE's notation; no two things have the same one."""

    def __init__(self) -> None:
        self._taken: set[str] = {*LOOP_NAMES}
        self._known: dict[Variable, str] = {}

    def of(self, variable: Variable) -> str:
        if variable not in self._known:
            self._known[variable] = self.fresh(variable.hint)
        return self._known[variable]

    def fresh(self, wanted: str) -> str:
        name, number = wanted, 0
        while self.is_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def is_taken(self, name: str) -> bool:
        return name in self._taken or name in _OF_NOTATION or name.lower() in _OF_ISL


def prefix(names: Sequence[str]) -> str:
    """How a text for isl with these parameters begins."""
    return f"[{', '.join(names)}] -> " if names else ""


def conjunction(conditions: Sequence[str]) -> str:
    given = [f"({each})" for each in conditions if each]
    return " and ".join(given) or "0 = 0"
