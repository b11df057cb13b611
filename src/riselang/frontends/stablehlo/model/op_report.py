"""The report of how each op of a module is compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from riselang.frontends.stablehlo.fallback.op_partition import CONSTANT, Section
from riselang.native.mlir.stablehlo_graph import GraphFunction


def format_op_report(function: GraphFunction, sections: Sequence[Section]) -> str:
    """Format a line for each op in the order of the module, and one for each unit."""
    unit_of: dict[int, int] = {}
    for number, section in enumerate(sections):
        unit_of.update(dict.fromkeys(section.positions, number))
    rows: list[tuple[str, str, str]] = []
    for position, op in enumerate(function.body.operations[:-1]):
        if op.name != CONSTANT and position in unit_of:
            number = unit_of[position]
            location = f"{op.location}" if op.location else op.label
            rows.append((op.name, f"{sections[number].target}, unit {number}", location))
    counts = Counter(row[1] for row in rows)
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [
        f"{name:{widths[0]}}  {where:{widths[1]}}  {location}".rstrip()
        for name, where, location in rows
    ]
    totals = [f"{where}: {count} op{'s' * (count > 1)}" for where, count in counts.items()]
    return "\n".join([*lines, *totals, ""])
