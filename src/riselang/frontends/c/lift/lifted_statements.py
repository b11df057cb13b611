"""The statements of a C file that become patterns, each with its function and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.lifted_programs import LiftedProgram, lift_recognized
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.support.errors import UserError
from riselang.term.nodes import Term


@dataclass(frozen=True)
class LiftedStatement:
    """A statement as a program."""

    name: str
    function: str
    """The C function that contains it."""
    lifting: LiftedProgram
    tactic: str
    """The tactic that recognized it."""
    loops: int
    """The number of loops around it."""

    @property
    def term(self) -> Term:
        return self.lifting.term


def lift_statements(scops: Sequence[Scop]) -> list[LiftedStatement]:
    """Return the lifted statements of all regions."""
    found: list[LiftedStatement] = []
    for scop in scops:
        for each in recognize_statements(scop):
            if each.tactic is None:
                continue
            try:
                lifting = lift_recognized(scop, each)
            except NotLifted:
                continue
            name, loops = f"{scop.name}_{each.statement.name}", len(each.statement.iterators)
            name = name.replace("$", "_")
            found.append(LiftedStatement(name, scop.name, lifting, each.tactic, loops))
    return found


def select_statement(
    file: str, statements: Sequence[LiftedStatement], name: str | None
) -> LiftedStatement:
    """Return the named statement, or the one in most loops, of one function or of all."""
    known = [each for each in statements if name in (None, each.name, each.function)]
    if not known:
        names = ", ".join(each.name for each in statements)
        raise UserError(f"{file} has no lifted statement {name}; it has: {names}")
    return max(known, key=lambda each: each.loops)
