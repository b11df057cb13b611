"""The strategy of a program that comes without one: which programs it concerns.

What it does is in `strategies.chosen`, which is imported for the first program that is worth it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from riselang.dialects.rise.pattern_registry import Role
from riselang.rewrite.core import Result, Setting, Strategy
from riselang.support.recursion import deep
from riselang.term.cost import cost
from riselang.term.nodes import Pattern, Term, has_pattern, subterms

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation

WORTH = 1 << 16
"""Operations, or bytes, from which on it pays to look at a program."""


@dataclass(frozen=True, repr=False)
class Default(Strategy):
    """Arranges what it recognises for this machine, and leaves all else as it is."""

    def run(self, term: Term, setting: Setting) -> Result:
        from riselang.rewrite.strategies.default_schedule import arranged

        return arranged.run(term, setting)

    def concerns(self, term: Term) -> bool:
        """Whether a program is large enough, of sizes that are numbers, and leaves loops open."""
        return has_pattern(term, "map", "mapPar", "reduce", "transpose") and _is_large(term)

    def __str__(self) -> str:
        return "default"


@lru_cache(maxsize=8)
def _is_large(term: Term) -> bool:
    """Asked several times of a program while it is compiled."""
    costs = cost(term, 1)
    counts = (costs.flops, costs.bytes)
    return any(isinstance(count, int) and count >= WORTH for count in counts)


DEFAULT = Default()


@deep
def default_derivation(term: Term, setting: Setting) -> Derivation | None:
    """How a program is rewritten that comes without a strategy; None where that stays as it is."""
    if not DEFAULT.concerns(term):
        return None
    from riselang.rewrite.derivation import attempted

    return attempted(term, DEFAULT, setting)


@deep
def gpu_derivation(term: Term, setting: Setting) -> Derivation | None:
    """How a program for a GPU is rewritten that comes without a strategy.

    One that says what is parallel stays as it is.
    """
    patterns = {part.spec for part in subterms(term) if isinstance(part, Pattern)}
    if any(spec.role in (Role.GPU, Role.PARALLEL) for spec in patterns):
        return None
    from riselang.rewrite.derivation import attempted
    from riselang.rewrite.strategies.gpu import on_gpu

    return attempted(term, on_gpu(), setting)
