"""The values that pass through the compiler before there is a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from riselang.support.config import Options
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation


@dataclass(frozen=True)
class Program:
    """A closed function from inputs to a tuple of results."""

    name: str
    term: Term
    results: int = 1


@dataclass(frozen=True)
class Rewritten:
    """A program as it is lowered."""

    program: Program
    options: Options
    """With contraction decided."""
    derivation: Derivation | None
    """How a strategy rewrote it; None where none did."""

    @property
    def end(self) -> Term:
        """The program as the strategy leaves it."""
        return self.program.term if self.derivation is None else self.derivation.end
