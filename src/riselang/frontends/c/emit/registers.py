"""Scalar replacement: elements that stay in registers while a loop runs.

A loop-invariant element is loaded before the loop, and stored after it if the loop writes it. That
is valid if nothing else that the loop writes aliases the element, which isl proves from the
iteration domains of the statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.emit.vectors import Instance, values_in
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Variable

Element = tuple[Variable, tuple[Linear, ...]]
"""An array, and its indices in terms of the emitted loops."""
MOST_OPERATIONS = 20_000
"""The limit on isl operations to prove that two elements are distinct."""
MOST_ELEMENTS = 24
"""The limit on elements, approximately the number of registers."""


@dataclass(frozen=True)
class Touched:
    """An element that an instance accesses."""

    instance: Instance
    access: Access
    element: Element
    is_written: bool
    stays: bool


@dataclass(frozen=True)
class Kept:
    """An element that stays in a register."""

    access: Access
    instance: Instance
    element: Element
    is_written: bool


def kept_elements(scop: Scop, instances: Sequence[Instance], loop: str) -> list[Kept]:
    """Return the elements that a loop keeps in registers."""
    touched: list[Touched] = []
    for instance in instances:
        found = _touched(instance, loop)
        if found is None:
            return []
        touched += found
    kept: dict[Element, Kept] = {}
    for each in touched:
        if not each.stays or not each.access.indices:
            continue
        known = kept.get(each.element)
        if known is None and not _may_change(scop, each, touched):
            kept[each.element] = Kept(each.access, each.instance, each.element, each.is_written)
        elif known is not None and each.is_written:
            kept[each.element] = Kept(each.access, each.instance, each.element, True)
    return list(kept.values())[:MOST_ELEMENTS]


def _touched(instance: Instance, loop: str) -> list[Touched] | None:
    """Return the accesses of an instance; None if it is more than an assignment of plain
    elements."""
    statement, body = instance.statement, instance.statement.body
    if not isinstance(body, Assign):
        return None
    found: list[Touched] = []
    accesses = [part for part in values_in(body.value) if isinstance(part, Access)]
    for access in [*accesses, body.target]:
        if access not in statement.subscripts:
            continue
        indices = instance.indices(access)
        if indices is None or access not in statement.certain or access.type.is_bool:
            return None
        stays = all(loop not in index.names() for index in indices)
        element = (access.variable, tuple(indices))
        found.append(Touched(instance, access, element, access is body.target, stays))
    if set(statement.subscripts) != {each.access for each in found}:
        return None
    return found


def _may_change(scop: Scop, kept: Touched, touched: Sequence[Touched]) -> bool:
    """Whether another access may alias the element, and one of them writes."""
    is_written = any(each.is_written for each in touched if each.element == kept.element)
    return any(
        other.element[0] is kept.element[0]
        and other.element != kept.element
        and (is_written or other.is_written)
        and not _are_apart(scop, kept, other)
        for other in touched
    )


def _are_apart(scop: Scop, first: Touched, second: Touched) -> bool:
    """Whether two accesses in the same iteration never access the same element."""
    gaps = [a - b for a, b in zip(first.element[1], second.element[1], strict=True)]
    if any(gap.is_constant and gap.constant for gap in gaps):
        return True
    return within_limits(lambda: _never_meet(scop, first, second), MOST_OPERATIONS) is True


def _never_meet(scop: Scop, first: Touched, second: Touched) -> bool:
    loops: list[str] = []
    for each in (first, second):
        for counter in each.instance.counters.values():
            loops += [name for name in counter.names() if name not in loops]
        loops += [name for index in each.element[1] for name in index.names()
                  if name not in loops]  # fmt: skip
    parameters = {parameter.name for parameter in scop.parameters}
    loops = [name for name in loops if name not in parameters]
    space = f"[{', '.join(loops)}]"
    same = " and ".join(
        f"{a} = {b}" for a, b in zip(first.element[1], second.element[1], strict=True)
    )
    points = isl().Set(f"{scop.prefix}{{ {space} : {same or '0 = 0'} }}")
    for each in (first, second):
        statement, counters = each.instance.statement, each.instance.counters
        values = ", ".join(f"({counters[variable]})" for variable, _ in statement.iterators)
        relation = isl().Map(f"{scop.prefix}{{ {space} -> {statement.name}[{values}] }}")
        points = points.intersect(statement.domain.apply(relation.reverse()))
    return bool(points.is_empty())
