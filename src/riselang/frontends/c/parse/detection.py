"""Detection of SCoPs without pragmas: the longest runs of statements with loops that can be
modeled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.regions import (
    Region,
    candidate_lists,
    detected_region,
    whole_function,
)
from riselang.frontends.c.parse.syntax import (
    For,
    Function,
    Statement,
    UnsupportedStatement,
    While,
    walk_statement,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

ModelRegion = Callable[[Region], Scop]


def detect_regions(
    function: Function, model: ModelRegion
) -> tuple[list[Scop], list[UnsupportedConstruct]]:
    """Return the models of a function's regions, and the errors for what is between them."""
    if not _has_loop(function.body):
        return [], []
    try:
        return [model(whole_function(function))], []
    except UnsupportedConstruct:
        finder = _RegionFinder(function, model)
        finder.search(function.body.statements)
        return finder.scops, finder.refusals


class _RegionFinder:
    def __init__(self, function: Function, model: ModelRegion):
        self._function = function
        self._model = model
        self.scops: list[Scop] = []
        self.refusals: list[UnsupportedConstruct] = []

    def search(self, statements: Sequence[Statement]) -> None:
        """Take the longest runs from left to right; search inside statements that are in none."""
        position = 0
        while position < len(statements):
            region = self._longest_region(statements[position:])
            if region is None:
                self._search_inside(statements[position])
                position += 1
                continue
            length, scop = region
            if scop is not None:
                self.scops.append(scop)
            position += length

    def _longest_region(self, statements: Sequence[Statement]) -> tuple[int, Scop | None] | None:
        """Return how many of the first statements form one region, and its model if it has a
        loop."""
        best: tuple[int, Scop | None] | None = None
        for length in range(1, len(statements) + 1):
            candidate = tuple(statements[:length])
            if not _has_loop(statements[length - 1]) and best is not None and best[1] is None:
                pass
            try:
                name = f"{self._function.name}_scop{len(self.scops)}"
                scop = self._model(detected_region(self._function, candidate, name))
            except UnsupportedConstruct as refusal:
                if length == 1:
                    self.refusals.append(refusal)
                break
            has_loop = any(_has_loop(each) for each in candidate)
            best = (length, scop if has_loop else None)
        return best

    def _search_inside(self, statement: Statement) -> None:
        if isinstance(statement, UnsupportedStatement | For | While) or _has_loop(statement):
            for inner in candidate_lists(statement):
                if any(_has_loop(each) for each in inner):
                    self.search(inner)


def _has_loop(statement: Statement) -> bool:
    return any(isinstance(each, For | While) for each in walk_statement(statement))
