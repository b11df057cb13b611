"""Schedules that users write, as isl's YAML or JSCoP: read, checked, and made with tiles and
fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from riselang.frontends.c.model.accumulators import replace_accumulators
from riselang.frontends.c.model.dependences import Dependences, dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_input import find_unreadable
from riselang.frontends.c.schedule.jscop import find_jscop, is_jscop
from riselang.frontends.c.schedule.jscop_schedules import find_difference, read_jscop_schedule
from riselang.support.errors import UserError

SEPARATOR = "---"
"""The line between the trees of two regions."""
MARK = "domain:"
"""What every tree has in it, and no name of a schedule."""
FUSIONS = ("none", "smart", "max")
"""Separate loops for statements unless a dependence cycle connects them; isl's default; or shared
loops wherever dependences permit it."""


def is_schedule_text(schedule: str) -> bool:
    return is_jscop(schedule) or MARK in schedule


def format_schedule(tree: Any) -> str:
    """Format a tree as YAML."""
    printer = isl().Printer.to_str(isl().DEFAULT_CONTEXT)
    printer = printer.set_yaml_style(isl().yaml_style.BLOCK)
    return str(printer.print_schedule(tree).get_str()).rstrip() + "\n"


def format_schedules(scops: Sequence[Scop], trees: Sequence[Any]) -> str:
    """Format the trees of regions, each with a comment that names its region."""
    texts = [
        f"# {scop.name}\n{format_schedule(tree)}"
        for scop, tree in zip(scops, trees, strict=True)
        if tree is not None
    ]
    return f"{SEPARATOR}\n".join(texts)


def read_schedule(scop: Scop, text: str) -> Any:
    """Return the tree of a region in a text; raise an error if it violates a dependence."""
    tree = read_jscop_schedule(scop, text) if is_jscop(text) else _find_schedule(scop, text)
    if tree is None:
        raise UserError(
            f"no schedule has the domain of {scop.name}, {scop.schedule.get_domain().to_str()}; "
            "--emit schedule writes the present schedule",
            scop.location,
        )
    _check_order(scop, tree)
    return tree


def _find_schedule(scop: Scop, text: str) -> Any:
    """Return the tree whose domain is that of a region; None if there is none."""
    domain = scop.schedule.get_domain()
    trees = (_parse(part, number) for number, part in enumerate(_documents(text), 1))
    return next((tree for tree in trees if tree.get_domain().is_equal(domain)), None)


def region_for(scop: Scop, schedule: str) -> Scop:
    """Return a region as a schedule needs it: with elements of arrays instead of scalar
    accumulators, unless it keeps the source order, or is a tree for the region as written."""
    if schedule == "source" or scop.schedule is None:
        return scop
    replaced = replace_accumulators(scop)
    return replaced if _fits(replaced, schedule) else scop


def _fits(scop: Scop, schedule: str) -> bool:
    """Whether a schedule is one for a region, or the name of one."""
    if is_jscop(schedule):
        return find_difference(scop, find_jscop(scop, schedule)) is None
    return not is_schedule_text(schedule) or _find_schedule(scop, schedule) is not None


def _documents(text: str) -> list[str]:
    parts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() == SEPARATOR:
            parts.append([])
        elif not line.lstrip().startswith("#"):
            parts[-1].append(line)
    return ["\n".join(part) for part in parts if any(map(str.strip, part))]


def _parse(text: str, number: int) -> Any:
    if (found := find_unreadable([("Schedule", text)])) is not None:
        raise UserError(
            f"schedule {number} is not a schedule tree of isl ({found[1]}); --emit schedule writes "
            "one"
        )
    return isl().Schedule.read_from_str(isl().DEFAULT_CONTEXT, text)


def _check_order(scop: Scop, tree: Any) -> None:
    pairs = dependences(scop)
    if pairs is None:
        raise UserError(f"isl takes too long to find the dependences of {scop.name}", scop.location)
    violated = violated_dependences(pairs, tree)
    if violated.is_empty():
        return
    kind = next(
        name
        for name, found in (("flow", pairs.flow), ("anti", pairs.anti), ("output", pairs.output))
        if not found.intersect(violated).is_empty()
    )
    first, second = _format_pair(violated)
    statements = [scop.find_statement(each.partition("[")[0]) for each in (first, second)]
    lines = [str(each.location) for each in statements]
    raise UserError(
        f"the schedule violates a dependence: {second} ({lines[1]}) must run after {first} "
        f"({lines[0]}), of which it is a {kind} dependence; change the order of one of them",
        statements[1].location,
    )


def _format_pair(violated: Any) -> tuple[str, str]:
    """Return an example of two instances."""
    text = str(violated.wrap().sample_point().to_str())
    pair = text[text.index("{") + 1 : text.rindex("}")].strip()
    first, _, second = pair[1:-1].partition("->")
    return first.strip(), second.strip()


def violated_dependences(pairs: Dependences, tree: Any) -> Any:
    """Return the dependences whose second instance does not run after the first, except for those
    that may run in either order."""
    times = tree.get_map()
    violated = pairs.all.subtract(times.lex_lt_union_map(times))
    return violated if pairs.commuting is None else violated.subtract(pairs.commuting)


def make_schedule(scop: Scop, fusion: str, tile_sizes: Sequence[int]) -> Any:
    """Return isl's own schedule, with the given fusion, and tiles of permutable loops."""
    pairs = dependences(scop)
    if pairs is None or scop.schedule is None:
        return scop.schedule
    constraints = (
        isl()
        .ScheduleConstraints.on_domain(scop.schedule.get_domain())
        .set_validity(pairs.all)
        .set_coincidence(pairs.all)
        .set_proximity(pairs.all)
    )
    context = isl().DEFAULT_CONTEXT
    settings = (context.get_schedule_serialize_sccs(), context.get_schedule_whole_component())
    try:
        context.set_schedule_serialize_sccs(int(fusion == "none"))
        context.set_schedule_whole_component(int(fusion == "max"))
        tree = constraints.compute_schedule()
    finally:
        context.set_schedule_serialize_sccs(settings[0])
        context.set_schedule_whole_component(settings[1])
    if not tile_sizes:
        return tree
    return tree.map_schedule_node_bottom_up(lambda node: _tile(node, tile_sizes))


def _tile(node: Any, sizes: Sequence[int]) -> Any:
    """Tile a band of permutable loops; the last size is used for all further loops."""
    if node.get_type() != isl().schedule_node_type.band:
        return node
    count = node.band_n_member()
    if count < 2 or not node.band_get_permutable():
        return node
    given = [*sizes, *[sizes[-1]] * count][:count]
    values = isl().ValList.alloc(isl().DEFAULT_CONTEXT, count)
    for size in given:
        values = values.add(isl().Val.int_from_si(isl().DEFAULT_CONTEXT, size))
    space = node.band_get_space()
    return node.band_tile(isl().MultiVal.from_val_list(space, values))
