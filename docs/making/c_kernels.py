"""The table of the classic kernels in C: which statements are recognised as what."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from riselang.frontends.c.file import CFile
from riselang.frontends.c.model import Scop
from riselang.frontends.c.tactics.notation import NotLifted, notation
from riselang.frontends.c.tactics.recognition import Recognised, recognised

KERNELS = Path(__file__).parents[2] / "examples" / "c" / "kernels"


def table() -> str:
    """A row for each kernel, made by running it through the front end."""
    rows = ["| kernel | statements | recognised | lifted to RISE |", "|---|---|---|---|"]
    for path in sorted(KERNELS.glob("*.c")):
        scop = CFile.of(path.read_text(), path.name).whole()
        found = recognised(scop)
        lifted = [each for each in found if _is_lifted(scop, each)]
        rows.append(f"| {path.stem} | {len(found)} | {_counted(found)} | {_counted(lifted)} |")
    return "\n".join(rows)


def _is_lifted(scop: Scop, found: Recognised) -> bool:
    try:
        notation(scop, found)
    except NotLifted:
        return False
    return found.tactic is not None


def _counted(found: list[Recognised]) -> str:
    names = Counter(each.tactic for each in found if each.tactic is not None)
    return ", ".join(f"{count} {name}" for name, count in names.items()) or "-"
