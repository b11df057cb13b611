"""The statements of a C file that become patterns, each with its function and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.recognition import recognised
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.frontends.c.tactics.terms import Lifting, lifting_of
from riselang.support.errors import UserError
from riselang.term.nodes import Term


@dataclass(frozen=True)
class Lifted:
    """A statement as a program."""

    name: str
    function: str
    """The C function that contains it."""
    lifting: Lifting
    tactic: str
    """The tactic that recognized it."""
    loops: int
    """The number of loops around it."""

    @property
    def term(self) -> Term:
        return self.lifting.term


def lifted(scops: Sequence[Scop]) -> list[Lifted]:
    """Return the lifted statements of all regions."""
    found: list[Lifted] = []
    for scop in scops:
        for each in recognised(scop):
            if each.tactic is None:
                continue
            try:
                lifting = lifting_of(scop, each)
            except NotLifted:
                continue
            name, loops = f"{scop.name}_{each.statement.name}", len(each.statement.iterators)
            name = name.replace("$", "_")
            found.append(Lifted(name, scop.name, lifting, each.tactic, loops))
    return found


def chosen_statement(file: str, statements: Sequence[Lifted], name: str | None) -> Lifted:
    """Return the named statement, or the one in most loops, of one function or of all."""
    known = [each for each in statements if name in (None, each.name, each.function)]
    if not known:
        names = ", ".join(each.name for each in statements)
        raise UserError(f"{file} has no lifted statement {name}; it has: {names}")
    return max(known, key=lambda each: each.loops)
