"""Access to isl, and its textual input: names, parameters, conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import SCALAR_NAMES
from riselang.frontends.c.parse.syntax import Variable
from riselang.notation.operators import EMBED, FUNCTIONS, KEYWORDS

_ISL_KEYWORDS = frozenset((
    "mod", "floor", "ceil", "floord", "ceild", "min", "max", "and", "or", "not", "exists", "rat",
    "true", "false", "infty", "infinity", "nan", "implies", "sum", "forall", "card", "e", "e0",
))  # fmt: skip
"""Reserved words of isl; it reserves their upper-case forms, too."""
_NOTATION_KEYWORDS = frozenset((
    *KEYWORDS, *PATTERNS, *FUNCTIONS, *SCALAR_NAMES.values(), EMBED, "index", "idx", "vec", "nat",
    "data", "floordiv", "mod",
))  # fmt: skip
"""Reserved words of RISE's notation, in which lifted statements are printed."""
LOOP_NAMES = tuple(f"t{number}_" for number in range(64))
"""The names of the loops that isl generates."""


@cache
def isl() -> Any:
    """Return isl's bindings, imported when first needed."""
    import islpy

    return islpy


T = TypeVar("T")


def within_limits(action: Callable[[], T], max_operations: int) -> T | None:
    """Return the result of an action; None if it takes isl more than `most` operations."""
    context = isl().DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(max_operations)
    try:
        return action()
    except isl().Error:
        return None
    finally:
        context.set_max_operations(0)
        context.reset_operations()


class Names:
    """Unique names for isl, MLIR and RISE's notation."""

    def __init__(self) -> None:
        self._used_names: set[str] = {*LOOP_NAMES}
        self._names: dict[Variable, str] = {}

    def name_of(self, variable: Variable) -> str:
        if variable not in self._names:
            self._names[variable] = self.make_fresh(variable.ascii_name)
        return self._names[variable]

    def make_fresh(self, wanted: str) -> str:
        name, number = wanted, 0
        while self.is_taken(name):
            number += 1
            name = f"{wanted}_{number}"
        self._used_names.add(name)
        return name

    def is_taken(self, name: str) -> bool:
        return (
            name in self._used_names or name in _NOTATION_KEYWORDS or name.lower() in _ISL_KEYWORDS
        )


def parameter_prefix(names: Sequence[str]) -> str:
    """Return the parameter prefix of an isl text."""
    return f"[{', '.join(names)}] -> " if names else ""


def join_conditions(conditions: Sequence[str]) -> str:
    nonempty = [f"({each})" for each in conditions if each]
    return " and ".join(nonempty) or "0 = 0"
