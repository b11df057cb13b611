"""A report of what each statement of a region was recognised as, and which loops are parallel."""

from __future__ import annotations

from riselang.config import Options
from riselang.frontends.c.lifted.choices import Choice, for_product, for_update
from riselang.frontends.c.lifted.costs import CALL, LOOPS
from riselang.frontends.c.model import Scop
from riselang.frontends.c.tactics.notation import notation
from riselang.frontends.c.tactics.parts import parts_of
from riselang.frontends.c.tactics.recognition import Recognised, recognised
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted


def report(scop: Scop, options: Options) -> str:
    """One line for each statement."""
    lines = [f"{scop.place}: {scop.name}: {len(scop.statements)} statements"]
    ways = _ways(scop, options)
    for found in recognised(scop):
        name = found.statement.name
        way = f"; runs as {ways[name]}" if name in ways else ""
        lines.append(f"  {found.statement.place}: {described(scop, found)}{way}")
    return "\n".join(lines) + "\n"


def _ways(scop: Scop, options: Options) -> dict[str, str]:
    """How statements run that are parts of products, and why."""
    ways: dict[str, str] = {}
    for part in parts_of(scop):
        if part.product is not None:
            is_row = isinstance(part.product, RowProduct)
            product = part.product.product if isinstance(part.product, RowProduct) else part.product
            choice = for_product(scop, product, options)
            if is_row and choice.way is CALL:
                choice = Choice(LOOPS, "its rows are made one by one")
            ways |= dict.fromkeys(part.names, str(choice))
    for found in recognised(scop):
        if found.update is not None and found.statement.name not in ways:
            ways[found.statement.name] = str(for_update(found.update))
    return ways


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
