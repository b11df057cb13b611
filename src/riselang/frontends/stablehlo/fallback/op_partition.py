"""Partitioning of a function's ops into units: patterns, or MLIR loops, in execution order.

Ops of one kind that do not depend on ops of the other kind form one unit. A constant belongs to
every unit that uses it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass

from riselang.native.mlir.linalg import Part, ValueRef
from riselang.native.mlir.stablehlo_graph import GraphBlock, GraphFunction, GraphOp, GraphValue

PATTERNS, LINALG = "patterns", "linalg"
CONSTANT = "stablehlo.constant"


@dataclass(frozen=True, eq=False)
class Section:
    """Ops of a function that are compiled together."""

    target: str
    positions: tuple[int, ...]
    """The positions of its ops in the body."""
    inputs: tuple[GraphValue, ...]
    outputs: tuple[GraphValue, ...]


def partition_ops(function: GraphFunction, where: Callable[[GraphOp], str]) -> list[Section]:
    """Partition a function into units, each after those that it depends on."""
    *operations, end = function.body.operations
    levels = _assign_levels(operations, where, set(end.operands))
    by_level: dict[int, list[int]] = defaultdict(list)
    for position, level in levels.items():
        by_level[level].append(position)
    users = _using_units(operations, levels, end)
    found: list[Section] = []
    for level in sorted(by_level):
        made = _make_section(function.body, by_level[level], level, users)
        if made.outputs:
            found.append(made)
    return found


def _assign_levels(
    operations: Sequence[GraphOp], where: Callable[[GraphOp], str], returned: Set[GraphValue]
) -> dict[int, int]:
    """Return the unit number of each op: even ones are patterns, odd ones linalg.

    A constant has none, unless it is a result.
    """
    levels: dict[int, int] = {}
    made: dict[GraphValue, int] = {}
    for position, op in enumerate(operations):
        if op.name == CONSTANT and op.results[0] not in returned:
            continue
        level = max((made.get(each, 0) for each in used_values(op)), default=0)
        level += (level % 2) != (where(op) == LINALG)
        levels[position] = level
        made.update(dict.fromkeys(op.results, level))
    return levels


def used_values(op: GraphOp) -> Iterator[GraphValue]:
    """Yield the operands of an op, including values that its regions capture."""
    yield from op.operands
    for region in op.regions:
        own = set(region.arguments)
        for inner in region.walk():
            own.update(inner.results)
            own.update(argument for each in inner.regions for argument in each.arguments)
        for inner in region.walk():
            yield from (each for each in inner.operands if each not in own)


def _using_units(
    operations: Sequence[GraphOp], levels: dict[int, int], end: GraphOp
) -> dict[GraphValue, set[int | None]]:
    """Return the units that use each value; None is the caller of the function."""
    users: dict[GraphValue, set[int | None]] = defaultdict(set)
    for position, level in levels.items():
        for value in used_values(operations[position]):
            users[value].add(level)
    for value in end.operands:
        users[value].add(None)
    return users


def _make_section(
    body: GraphBlock,
    positions: Sequence[int],
    level: int,
    users: dict[GraphValue, set[int | None]],
) -> Section:
    operations = body.operations
    constants = {
        op.results[0]: position for position, op in enumerate(operations) if op.name == CONSTANT
    }
    wanted = dict.fromkeys(each for at in positions for each in used_values(operations[at]))
    copied = [constants[each] for each in wanted if each in constants]
    own = {value for at in positions for value in operations[at].results}
    inputs = tuple(each for each in wanted if each not in own and each not in constants)
    outputs = tuple(
        value for at in positions for value in operations[at].results if users[value] - {level}
    )
    where = (PATTERNS, LINALG)[level % 2]
    return Section(where, tuple(sorted({*positions, *copied})), inputs, outputs)


def single_op_sections(function: GraphFunction, section: Section) -> Iterator[Section]:
    """Yield the ops of a unit as single-op units."""
    operations = function.body.operations
    constants = {op.results[0]: at for at, op in enumerate(operations) if op.name == CONSTANT}
    for position in section.positions:
        op = operations[position]
        wanted = dict.fromkeys(used_values(op))
        copied = [constants[each] for each in wanted if each in constants]
        inputs = tuple(each for each in wanted if each not in constants)
        if op.name != CONSTANT and op.results:
            positions = tuple(sorted({position, *copied}))
            yield Section(section.target, positions, inputs, op.results)


def module_part(function: GraphFunction, section: Section) -> Part:
    """Return the part of the module that a unit covers."""
    value_refs: dict[GraphValue, ValueRef] = {
        value: (None, number) for number, value in enumerate(function.body.arguments)
    }
    for position, op in enumerate(function.body.operations):
        value_refs.update({value: (position, number) for number, value in enumerate(op.results)})
    return Part(
        section.positions,
        tuple(value_refs[each] for each in section.inputs),
        tuple(value_refs[each] for each in section.outputs),
    )


def section_function(function: GraphFunction, section: Section, name: str) -> GraphFunction:
    """Return a unit as a separate function."""
    operations = [function.body.operations[position] for position in section.positions]
    end = GraphOp("func.return", section.outputs, (), {}, (), function.location)
    body = GraphBlock(section.inputs, (*operations, end))
    return GraphFunction(name, body, (), function.location)
