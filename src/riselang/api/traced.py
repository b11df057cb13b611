"""A program as a term, before anything was decided about how it runs."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from riselang.api.lowered import Lowered
from riselang.config import Options
from riselang.term.cost import Cost, cost
from riselang.term.nodes import Term


@dataclass(frozen=True)
class Traced:
    """A program for given sizes, or for all."""

    name: str
    term: Term
    results: int
    """How many arrays it gives."""
    options: Options

    def lower(
        self,
        *,
        float: str | None = None,
        loops: str | None = None,
        debug_info: bool | None = None,
        library: str | None = None,
    ) -> Lowered:
        """The program with decisions made, those of the kernel or other ones."""
        options = self.options.changed(
            float=float, loops=loops, debug_info=debug_info, library=library
        )
        return Lowered(self.name, self.term, self.results, options)

    def as_text(self) -> str:
        """The program in functional notation."""
        return repr(self.term)

    def cost_analysis(self) -> Cost:
        """Operations and bytes of the program as it is written."""
        return cost(self.term, self.results)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self.term))}</pre>"

    def __repr__(self) -> str:
        return repr(self.term)
