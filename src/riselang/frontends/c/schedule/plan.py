"""The parts of a schedule plan, and its conversion to an isl schedule tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.dependence_queries import schedule_map
from riselang.frontends.c.schedule.rows import Rows, statement_names


@dataclass(frozen=True)
class StatementLoops:
    """A statement with its own loops."""

    statement: str
    instances: Any
    """The instances that these loops run, an isl set; others may have loops elsewhere."""
    rows: tuple[Linear, ...] = ()
    """The loops, from the outermost to the innermost."""
    tiles: tuple[tuple[Linear, int], ...] = ()
    """The innermost loops that are unrolled, and their unroll factors."""


@dataclass(frozen=True)
class SharedLoops:
    """Loops around several statements."""

    rows: tuple[Mapping[str, Linear], ...]
    body: Plan


@dataclass(frozen=True)
class PlanSequence:
    """A sequence of plans."""

    parts: tuple[Plan, ...]


Plan = StatementLoops | SharedLoops | PlanSequence


def build_plan_schedule(scop: Scop, plan: Plan) -> Any:
    """Return the schedule tree of a plan."""
    return _with_options(scop, _build_tree(scop, plan), plan)


def _build_tree(scop: Scop, plan: Plan) -> Any:
    match plan:
        case PlanSequence():
            tree = None
            for part in plan.parts:
                part_tree = _build_tree(scop, part)
                tree = part_tree if tree is None else tree.sequence(part_tree)
            return tree
        case SharedLoops():
            body = _build_tree(scop, plan.body)
            return body.insert_partial_schedule(_make_band(scop, plan.rows))
        case StatementLoops():
            schedule = isl().Schedule.from_domain(isl().UnionSet.from_set(plan.instances))
            if not plan.rows:
                return schedule
            rows = tuple({plan.statement: row} for row in plan.rows)
            return schedule.insert_partial_schedule(_make_band(scop, rows))


def _make_band(scop: Scop, rows: tuple[Mapping[str, Linear], ...]) -> Any:
    members: list[str] = []
    for row in rows:
        parts: list[str] = []
        for name, value in row.items():
            iterators = ", ".join(iterator for _, iterator in scop.find_statement(name).iterators)
            parts.append(f"{name}[{iterators}] -> [({value})]")
        members.append(f"{{ {'; '.join(parts)} }}")
    return isl().MultiUnionPwAff(f"{scop.prefix}[{', '.join(members)}]")


def collect_statement_loops(
    plan: Plan, outer: tuple[Mapping[str, Linear], ...] = ()
) -> list[tuple[StatementLoops, Rows]]:
    """Return the statements of a plan, each with the rows of the loops around it."""
    match plan:
        case PlanSequence():
            return [found for part in plan.parts for found in collect_statement_loops(part, outer)]
        case SharedLoops():
            return collect_statement_loops(plan.body, (*outer, *plan.rows))
        case StatementLoops():
            return [(plan, tuple(row[plan.statement] for row in outer))]


def _with_options(scop: Scop, schedule: Any, plan: Plan) -> Any:
    """Add AST options to the schedule that unroll the full tiles."""
    unrolled = [(run, outer) for run, outer in collect_statement_loops(plan) if run.tiles]
    if not unrolled:
        return schedule

    def set_options(node: Any) -> Any:
        if node.get_type() != isl().schedule_node_type.band:
            return node
        names = statement_names(node.get_domain())
        for run, outer in unrolled:
            if (
                names == [run.statement]
                and node.band_n_member() == len(run.rows)
                and node.get_schedule_depth() == len(outer)
                and node.get_domain().is_equal(isl().UnionSet.from_set(run.instances))
            ):
                return node.band_set_ast_build_options(_unroll_options(scop, run, outer))
        return node

    return schedule.map_schedule_node_bottom_up(set_options)


def _unroll_options(scop: Scop, run: StatementLoops, outer: Rows) -> Any:
    full = _full_tile_instances(scop, run, outer)
    outer_map = isl().Map.from_union_map(schedule_map(scop, {run.statement: outer}))
    band = isl().Map.from_union_map(schedule_map(scop, {run.statement: run.rows}))
    points = full.apply(outer_map.range_product(band)).set_tuple_name("isolate")
    options = isl().UnionSet.from_set(points)
    count = len(run.rows)
    for position in range(count - len(run.tiles), count):
        options = options.union(isl().UnionSet(f"{{ [isolate[] -> unroll[{position}]] }}"))
    return options


def _full_tile_instances(scop: Scop, run: StatementLoops, outer: Rows) -> Any:
    """Return the instances in full tiles."""
    fixed = [*outer, *run.rows[: len(run.rows) - len(run.tiles)]]
    fixed += [row.floor_divide(size) for row, size in run.tiles]
    when = isl().Map.from_union_map(schedule_map(scop, {run.statement: fixed}))
    same_tile = when.apply_range(when.reverse())
    missing = same_tile.intersect_range(run.instances.complement())
    return run.instances.subtract(missing.domain())
