"""The default strategy, for programs without a strategy: which programs it applies to.

`strategies.default_schedule` contains the strategy itself; it is imported when it is first needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import uncurry
from riselang.rewrite.core import Result, Setting, Strategy
from riselang.support.recursion import with_deep_stack
from riselang.term.cost import byte_size
from riselang.term.counting import as_count
from riselang.term.nodes import Pattern, Term, has_pattern, subterms
from riselang.term.operation_count import count_operations

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation

MIN_COST = 1 << 14
"""The minimum number of operations or bytes for which the default strategy is worth its time."""


@dataclass(frozen=True, repr=False)
class Default(Strategy):
    """Schedules the computations that it recognizes for this machine; other terms are unchanged."""

    def run(self, term: Term, setting: Setting) -> Result:
        from riselang.rewrite.strategies.default_schedule import schedule_program

        return schedule_program.run(term, setting)

    def is_relevant_to(self, term: Term) -> bool:
        """Whether a program is large, or may be, and has loops without a schedule."""
        return has_pattern(term, "map", "mapPar", "reduce", "transpose") and is_large(term)

    def __str__(self) -> str:
        return "default"


@lru_cache(maxsize=8)
def is_large(term: Term) -> bool:
    """Whether the default strategy is worth its time; cached, since it is needed several times."""
    inputs, result = uncurry(term.type)
    counts = (count_operations(term), as_count(byte_size([*inputs, result])))
    return any(not isinstance(count, int) or count >= MIN_COST for count in counts)


DEFAULT = Default()


@dataclass(frozen=True, repr=False)
class Tuned(Strategy):
    """The strategy that the tuning database has for a program; it stands for that strategy."""

    def run(self, term: Term, setting: Setting) -> Result:
        return DEFAULT.run(term, setting)

    def __str__(self) -> str:
        return "tuned"


TUNED = Tuned()


@with_deep_stack
def default_derivation(term: Term, setting: Setting) -> Derivation | None:
    """Rewrite a program that has no strategy; return None if it stays unchanged."""
    if not DEFAULT.is_relevant_to(term):
        return None
    from riselang.rewrite.derivation import try_derive

    return try_derive(term, DEFAULT, setting)


@with_deep_stack
def gpu_derivation(term: Term, setting: Setting) -> Derivation | None:
    """Rewrite a GPU program that has no strategy.

    Returns None for a program that already has parallel loops.
    """
    patterns = {part.spec for part in subterms(term) if isinstance(part, Pattern)}
    if any(spec.role in (Role.GPU, Role.PARALLEL) for spec in patterns):
        return None
    from riselang.rewrite.derivation import try_derive
    from riselang.rewrite.strategies.gpu_mapping import on_gpu

    return try_derive(term, on_gpu(), setting)
