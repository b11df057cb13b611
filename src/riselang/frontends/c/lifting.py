"""The statements of a C file that become patterns, each with where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.errors import SourceLocation, UserError
from riselang.frontends.c.file import CFile
from riselang.frontends.c.refusal import Refusal
from riselang.frontends.c.tactics.notation import NotLifted, notation
from riselang.frontends.c.tactics.recognition import recognised


@dataclass(frozen=True)
class Lifted:
    """A statement as a program in RISE's notation."""

    name: str
    function: str
    """The function of C that it stands in."""
    notation: str
    tactic: str
    """What it was recognised as."""
    place: SourceLocation
    loops: int
    """How many loops are around it."""


def lifted(file: CFile) -> list[Lifted]:
    """All of them; refuses a file with none, and says why."""
    regions = file.marked()
    found: list[Lifted] = []
    reasons: list[str] = []
    for region in regions:
        try:
            scop = file.model(region)
        except Refusal as refusal:
            reasons.append(str(refusal.warning))
            continue
        for each in recognised(scop):
            place = each.statement.place
            if each.tactic is None:
                reasons.append(f"{place}: {each.reason}")
                continue
            try:
                text = notation(scop, each)
            except NotLifted as reason:
                reasons.append(f"{place}: {reason}")
                continue
            name, depth = f"{scop.name}_{each.statement.name}", len(each.statement.iterators)
            found.append(Lifted(name, scop.name, text, each.tactic, place, depth))
    if found:
        return found
    name = file.parsed.name
    if not regions:
        raise UserError(f"{name} has no #pragma scop around the loops that are meant")
    raise UserError(f"no statement of {name} is lifted to patterns", None, *reasons)


def chosen_statement(file: CFile, statements: list[Lifted], name: str | None) -> Lifted:
    """The statement that is named, or the one in most loops, of one function or of all."""
    known = [each for each in statements if name in (None, each.name, each.function)]
    if not known:
        names = ", ".join(each.name for each in statements)
        raise UserError(f"{file.parsed.name} has no lifted statement {name}; it has: {names}")
    return max(known, key=lambda each: each.loops)
