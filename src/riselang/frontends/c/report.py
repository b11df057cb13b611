"""The report of what each statement of a region was recognized as, and which loops are parallel."""

from __future__ import annotations

from riselang.frontends.c.lift.choices import Choice, for_product, for_structure
from riselang.frontends.c.lift.costs import LOOPS
from riselang.frontends.c.lift.steps import called_parts
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import order
from riselang.frontends.c.tactics.parts import is_separable, parts_of
from riselang.frontends.c.tactics.recognition import Recognised, recognised
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import NotLifted, Structure, structure_of
from riselang.frontends.c.tactics.terms import lifting_of
from riselang.support.config import Options


def report(scop: Scop, options: Options, schedule: str = "source") -> str:
    """Format one line for each statement, and one if only the source order was found."""
    lines = [f"{scop.place}: {scop.name}: {len(scop.statements)} statements"]
    ways = _ways(scop, options)
    for found in recognised(scop):
        name = found.statement.name
        way = f"; runs as {ways[name]}" if name in ways else ""
        lines.append(f"  {found.statement.place}: {described(scop, found)}{way}")
    reason = order(scop, schedule).reason if schedule != "source" else ""
    if reason:
        lines.append(f"  {scop.place}: the source order is kept: {reason}")
    return "\n".join(lines) + "\n"


def _ways(scop: Scop, options: Options) -> dict[str, str]:
    """Return how lifted statements run, and why."""
    ways: dict[str, str] = {}
    for found in recognised(scop):
        structure = None if found.tactic is None else _structure(scop, found)
        if structure is not None and found.tactic is not None:
            choice = for_structure(structure, found.tactic)
            is_whole = not found.around and is_separable(scop)
            ways[found.statement.name] = str(choice if is_whole else Choice(LOOPS))
    for part, called in called_parts(scop, options) if options.library == "blas" else ():
        ways |= dict.fromkeys(part.names, str(called.choice))
    for part in parts_of(scop) if options.library == "none" else ():
        if part.product is not None:
            product = part.product
            product = product.product if isinstance(product, RowProduct) else product
            ways |= dict.fromkeys(part.names, str(for_product(scop, product, options)))
    return ways


def _structure(scop: Scop, found: Recognised) -> Structure | None:
    try:
        return structure_of(scop, found.statement, found.around)
    except NotLifted:
        return None


def described(scop: Scop, found: Recognised) -> str:
    """Describe a statement, or the nearest tactic and the condition that failed."""
    if found.tactic is None:
        return f"not recognized: {found.reason}"
    around = f" in the loops over {', '.join(found.around)}" if found.around else ""
    try:
        lifting_of(scop, found)
        lifted = ", lifted to RISE"
    except NotLifted as reason:
        lifted = f" ({reason})"
    return f"{found.tactic}{around}{lifted}"
