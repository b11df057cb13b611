"""A report of what each statement of a region was recognised as, and which loops are parallel."""

from __future__ import annotations

from riselang.frontends.c.model import Scop
from riselang.frontends.c.tactics.notation import NotLifted, notation
from riselang.frontends.c.tactics.recognition import Recognised, recognised


def report(scop: Scop) -> str:
    """One line for each statement."""
    lines = [f"{scop.place}: {scop.name}: {len(scop.statements)} statements"]
    for found in recognised(scop):
        lines.append(f"  {found.statement.place}: {described(scop, found)}")
    return "\n".join(lines) + "\n"


def described(scop: Scop, found: Recognised) -> str:
    """What a statement is, or the nearest tactic and the condition that failed."""
    if found.tactic is None:
        return f"not recognised: {found.reason}"
    around = f" in the loops over {', '.join(found.around)}" if found.around else ""
    try:
        notation(scop, found)
        lifted = ", lifted to RISE"
    except NotLifted as reason:
        lifted = f" ({reason})"
    return f"{found.tactic}{around}{lifted}"


def notations(scop: Scop) -> dict[str, str]:
    """The programs of the statements that are lifted, by name."""
    programs: dict[str, str] = {}
    for found in recognised(scop):
        if found.tactic is None:
            continue
        try:
            text = notation(scop, found)
        except NotLifted:
            continue
        programs[f"{scop.name}_{found.statement.name}"] = text
    return programs
