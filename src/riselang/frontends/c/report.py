"""The report of what each statement of a region was recognized as, and which loops are parallel."""

from __future__ import annotations

from riselang.frontends.c.lift.choices import (
    ImplementationChoice,
    choose_for_product,
    choose_for_structure,
)
from riselang.frontends.c.lift.costs import LOOP_CODE
from riselang.frontends.c.lift.region_steps import find_routine_parts
from riselang.frontends.c.lift.scalar_expansion import expand_accumulators
from riselang.frontends.c.model.accumulators import replace_accumulators
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import choose_order
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.c.tactics.lifted_programs import lift_recognized
from riselang.frontends.c.tactics.loop_fission import is_separable, split_region
from riselang.frontends.c.tactics.recognition import Recognition, recognize_statements
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.frontends.c.tactics.structures import Structure, read_structure
from riselang.support.config import Options
from riselang.support.counts import format_count


def format_report(scop: Scop, options: Options, schedule: str = "source") -> str:
    """Format one line for each statement, and one if only the source order was found."""
    statement_count = format_count(len(scop.statements), "statement")
    lines = [f"{scop.location}: {scop.name}: {statement_count}"]
    scop = replace_accumulators(scop)
    lines += [
        f"  {each.location}: {each.name} is accumulated in the element to which it is stored"
        for each in (() if scop.as_written is None else scop.as_written.locals)
        if each not in scop.locals
    ]
    if options.library == "none" and schedule != "source":
        written, scop = scop, expand_accumulators(scop)
        lines += [
            f"  {each.location}: {each.name} gets an element for each iteration of the loops "
            "around it"
            for each in scop.inputs[len(written.inputs) :]
        ]
    implementations = _describe_implementations(scop, options)
    for recognition in recognize_statements(scop):
        name = recognition.statement.name
        way = f"; runs as {implementations[name]}" if name in implementations else ""
        lines.append(
            f"  {recognition.statement.location}: {describe_statement(scop, recognition)}{way}"
        )
    reason = choose_order(scop, schedule).reason if schedule != "source" else ""
    if reason:
        lines.append(f"  {scop.location}: the source order is kept: {reason}")
    return "\n".join(lines) + "\n"


def _describe_implementations(scop: Scop, options: Options) -> dict[str, str]:
    """Return how lifted statements run, and why."""
    implementations: dict[str, str] = {}
    for recognition in recognize_statements(scop):
        structure = None if recognition.tactic is None else _find_structure(scop, recognition)
        if structure is not None and recognition.tactic is not None:
            choice = choose_for_structure(structure, recognition.tactic)
            is_whole = not recognition.outer_loops and is_separable(scop)
            implementations[recognition.statement.name] = str(
                choice if is_whole else ImplementationChoice(LOOP_CODE)
            )
    for part, candidate in find_routine_parts(scop, options) if options.library == "blas" else ():
        implementations |= dict.fromkeys(part.names, str(candidate.choice))
    for part in split_region(scop) if options.library == "none" else ():
        if part.product is not None:
            product = part.product
            product = product.product if isinstance(product, RowProduct) else product
            implementations |= dict.fromkeys(
                part.names, str(choose_for_product(scop, product, options))
            )
    return implementations


def _find_structure(scop: Scop, recognition: Recognition) -> Structure | None:
    try:
        return read_structure(scop, recognition.statement, recognition.outer_loops)
    except NotLifted:
        return None


def describe_statement(scop: Scop, recognition: Recognition) -> str:
    """Describe a statement, or the nearest tactic and the condition that failed."""
    if recognition.tactic is None:
        return f"not recognized: {recognition.reason}"
    outer_loops = (
        f" in the loops over {', '.join(recognition.outer_loops)}"
        if recognition.outer_loops
        else ""
    )
    try:
        parts = lift_recognized(scop, recognition).parts
        names = ", ".join(each.name for each in parts)
        lifted = ", lifted to RISE" + (f" for parts of {names}" if parts else "")
    except NotLifted as reason:
        lifted = f", not lifted ({reason})"
    return f"{recognition.tactic}{outer_loops}{lifted}"
