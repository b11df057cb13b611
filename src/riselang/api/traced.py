"""A program as a term, before a strategy or options are applied."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from riselang.api.lowered import Lowered, resolve_strategy
from riselang.pipelines import GPU
from riselang.rewrite.core import Strategy
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.html import code
from riselang.support.structures import PLAIN_INTERFACE, Interface
from riselang.support.tracebacks import with_short_tracebacks
from riselang.term.cost import Cost, cost
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation


@dataclass(frozen=True)
class Traced:
    """A program for specific sizes, or for all sizes."""

    name: str
    term: Term
    results: int
    """The number of results."""
    options: Options
    strategy: Strategy | None = None
    """The strategy that rewrites it before it is lowered."""
    interface: Interface = PLAIN_INTERFACE

    @with_short_tracebacks
    def lower(
        self,
        *,
        strategy: Strategy | str | None = None,
        float: str | None = None,
        loops: str | None = None,
        debug_info: bool | None = None,
        library: str | None = None,
        effort: str | None = None,
    ) -> Lowered:
        """Return the program with the kernel's options and strategy, unless others are given."""
        options = self.options.with_changes(
            float=float, loops=loops, debug_info=debug_info, library=library, effort=effort
        )
        resolved_strategy = resolve_strategy(strategy, self.strategy)
        if self.interface.observations and options.loops != GPU:
            resolved_strategy = None  # values are observed in the order of the source program
        return Lowered(
            self.name, self.term, self.results, options, resolved_strategy, self.interface
        )

    @with_short_tracebacks
    def derive(self, strategy: Strategy | str | None = None) -> Derivation:
        """Rewrite the program by its own or another strategy, and return the derivation."""
        derivation = self.lower(strategy=strategy).derivation
        if derivation is None:
            raise UserError(f"{self.name} has no strategy; pass one to derive")
        return derivation

    def as_text(self) -> str:
        """Return the program in notation."""
        return repr(self.term)

    def cost_analysis(self) -> Cost:
        """Count the operations and bytes of the source program."""
        from riselang.term.work import source_work

        return replace(cost(self.term, self.results), work=source_work(self.term))

    def _repr_html_(self) -> str:
        return code(repr(self.term))

    def __repr__(self) -> str:
        return repr(self.term)
