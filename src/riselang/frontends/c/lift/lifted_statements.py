"""The statements of a C file that become patterns, each with its function and loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.lifted_programs import LiftedProgram, lift_recognized
from riselang.frontends.c.tactics.recognition import recognize_statements
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
    lifted: list[LiftedStatement] = []
    for scop in scops:
        for recognition in recognize_statements(scop):
            if recognition.tactic is None:
                continue
            try:
                lifting = lift_recognized(scop, recognition)
            except NotLifted:
                continue
            name, loops = (
                f"{scop.name}_{recognition.statement.name}",
                len(recognition.statement.iterators),
            )
            name = name.replace("$", "_")
            lifted.append(LiftedStatement(name, scop.name, lifting, recognition.tactic, loops))
    return lifted


def select_statement(
    file: str, statements: Sequence[LiftedStatement], name: str | None
) -> LiftedStatement:
    """Return the named statement, or the one in most loops, of one function or of all."""
    matches = [each for each in statements if name in (None, each.name, each.function)]
    if not matches:
        names = ", ".join(each.name for each in statements)
        raise UserError(f"{file} has no lifted statement {name}; it has: {names}")
    return max(matches, key=lambda each: each.loops)
