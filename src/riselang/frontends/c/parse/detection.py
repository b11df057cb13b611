"""Detection of SCoPs without pragmas: the longest runs of statements with loops that can be
modeled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.refusals import Refusal
from riselang.frontends.c.parse.regions import Region, candidate_lists, part_of, whole_function
from riselang.frontends.c.parse.syntax import For, Foreign, Function, Statement, statements_of

Model = Callable[[Region], Scop]


def detected_regions(function: Function, model: Model) -> tuple[list[Scop], list[Refusal]]:
    """Return the models of a function's regions, and the errors for what is between them."""
    if not _has_loop(function.body):
        return [], []
    try:
        return [model(whole_function(function))], []
    except Refusal:
        finder = _Finder(function, model)
        finder.search(function.body.statements)
        return finder.scops, finder.refusals


class _Finder:
    def __init__(self, function: Function, model: Model):
        self._function = function
        self._model = model
        self.scops: list[Scop] = []
        self.refusals: list[Refusal] = []

    def search(self, statements: Sequence[Statement]) -> None:
        """Take the longest runs from left to right; search inside statements that are in none."""
        at = 0
        while at < len(statements):
            found = self._longest(statements[at:])
            if found is None:
                self._inside(statements[at])
                at += 1
                continue
            length, scop = found
            if scop is not None:
                self.scops.append(scop)
            at += length

    def _longest(self, statements: Sequence[Statement]) -> tuple[int, Scop | None] | None:
        """Return how many of the first statements form one region, and its model if it has a
        loop."""
        best: tuple[int, Scop | None] | None = None
        for length in range(1, len(statements) + 1):
            chosen = tuple(statements[:length])
            if not _has_loop(statements[length - 1]) and best is not None and best[1] is None:
                pass
            try:
                name = f"{self._function.name}_scop{len(self.scops)}"
                scop = self._model(part_of(self._function, chosen, name))
            except Refusal as refusal:
                if length == 1:
                    self.refusals.append(refusal)
                break
            has_loop = any(_has_loop(each) for each in chosen)
            best = (length, scop if has_loop else None)
        return best

    def _inside(self, statement: Statement) -> None:
        if isinstance(statement, Foreign | For) or _has_loop(statement):
            for inner in candidate_lists(statement):
                if any(_has_loop(each) for each in inner):
                    self.search(inner)


def _has_loop(statement: Statement) -> bool:
    return any(isinstance(each, For) for each in statements_of(statement))
