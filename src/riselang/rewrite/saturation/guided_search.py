"""The strategy `sketch`: rewrites a program until it has the shape of a sketch."""

from __future__ import annotations

import time
from dataclasses import dataclass

from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Step, Strategy, Success
from riselang.rewrite.paths import replace_at, subterm_at
from riselang.rewrite.registry import schedule
from riselang.rewrite.saturation.extraction import Extraction
from riselang.rewrite.saturation.graph import Graph
from riselang.rewrite.saturation.moves import moves_for
from riselang.rewrite.saturation.sketches import Sketch, outline, parse_sketch
from riselang.support.errors import InternalError, UserError
from riselang.term.nodes import Term

MAX_ITERATIONS = 12
MAX_NODES = 50_000
SECONDS = 60.0
"""The maximum time to search for one sketch."""


@schedule
def sketch(*sketches: str) -> Strategy:
    """Searches for rewrites to a program that has the shape of each sketch, one after the other."""
    if not sketches:
        raise UserError("sketch needs at least one sketch, such as 'map[8](map[32](...))'")
    return _Guided(tuple(parse_sketch(text) for text in sketches))


@dataclass(frozen=True, repr=False)
class _Guided(Strategy):
    sketches: tuple[Sketch, ...]

    def run(self, term: Term, setting: Setting) -> Result:
        steps: tuple[Step, ...] = ()
        for number, each in enumerate(self.sketches, 1):
            found = search(term, each, setting)
            if found is None:
                reason = f"no program with the shape of sketch {number} was found: {each}"
                return Failure(self, reason, term, closeness=CONDITION).prepend_steps(steps)
            term, steps = found.term, (*steps, *found.steps)
        return Success(term, steps)

    def __str__(self) -> str:
        return f"sketch({', '.join(repr(str(each)) for each in self.sketches)})"


def search(term: Term, sketch: Sketch, setting: Setting) -> Success | None:
    """Rewrite a term until it matches a sketch; None if no such term is found."""
    graph = Graph(term, setting)
    has_outline = Extraction(graph, outline(sketch)).best() is not None
    moves = moves_for(sketch, has_outline, setting.float)
    deadline = time.monotonic() + SECONDS
    for _ in range(MAX_ITERATIONS):
        extraction = Extraction(graph, sketch)
        if (matched := extraction.best()) is not None:
            return replay_steps(term, extraction.steps(graph.root, matched), setting)
        if not graph.grow(moves, MAX_NODES, deadline):
            break
    return None


def replay_steps(term: Term, steps: tuple[Step, ...], setting: Setting) -> Success:
    """Apply the rule of each step again, so that laws alone determine the result."""
    for step in steps:
        result = step.rule.run(subterm_at(term, step.path), setting.quiet)
        if not isinstance(result, Success) or result.term != step.after:
            raise InternalError(f"the search found a step of {step.rule} that does not apply")
        term = replace_at(term, step.path, step.after)
    return Success(term, steps)
