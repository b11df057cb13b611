"""Scalar replacement: elements that stay in registers while a loop runs.

A loop-invariant element is loaded before the loop, and stored after it if the loop writes it. That
is valid if nothing else that the loop writes aliases the element, which isl proves from the
iteration domains of the statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.frontends.c.emit.loop_vectorization import StatementInstance, walk_values
from riselang.frontends.c.model.isl_text import isl, within_limits
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Variable

Element = tuple[Variable, tuple[Linear, ...]]
"""An array, and its indices in terms of the emitted loops."""
MAX_OPERATIONS = 20_000
"""The limit on isl operations to prove that two elements are distinct."""
MAX_ELEMENTS = 24
"""The limit on elements, approximately the number of registers."""


@dataclass(frozen=True)
class ElementAccess:
    """An element that an instance accesses."""

    instance: StatementInstance
    access: Access
    element: Element
    is_written: bool
    is_invariant: bool


@dataclass(frozen=True)
class RegisterElement:
    """An element that stays in a register."""

    access: Access
    instance: StatementInstance
    element: Element
    is_written: bool


def register_elements(
    scop: Scop, instances: Sequence[StatementInstance], loop: str
) -> list[RegisterElement]:
    """Return the elements that a loop keeps in registers."""
    touched: list[ElementAccess] = []
    for instance in instances:
        accesses = _element_accesses(instance, loop)
        if accesses is None:
            return []
        touched += accesses
    elements: dict[Element, RegisterElement] = {}
    for access in touched:
        if not access.is_invariant or not access.access.indices:
            continue
        element = elements.get(access.element)
        if element is None and not _may_alias(scop, access, touched):
            elements[access.element] = RegisterElement(
                access.access, access.instance, access.element, access.is_written
            )
        elif element is not None and access.is_written:
            elements[access.element] = RegisterElement(
                access.access, access.instance, access.element, True
            )
    return list(elements.values())[:MAX_ELEMENTS]


def _element_accesses(instance: StatementInstance, loop: str) -> list[ElementAccess] | None:
    """Return the accesses of an instance; None if it is more than an assignment of plain
    elements."""
    statement, body = instance.statement, instance.statement.body
    if not isinstance(body, Assign):
        return None
    found: list[ElementAccess] = []
    accesses = [part for part in walk_values(body.value) if isinstance(part, Access)]
    for access in [*accesses, body.target]:
        if access not in statement.access_relations:
            continue
        indices = instance.indices(access)
        if indices is None or access not in statement.must_accesses or access.type.is_bool:
            return None
        stays = all(loop not in index.names() for index in indices)
        element = (access.variable, tuple(indices))
        found.append(ElementAccess(instance, access, element, access is body.target, stays))
    if set(statement.access_relations) != {each.access for each in found}:
        return None
    return found


def _may_alias(scop: Scop, access: ElementAccess, touched: Sequence[ElementAccess]) -> bool:
    """Whether another access may alias the element, and one of them writes."""
    is_written = any(each.is_written for each in touched if each.element == access.element)
    return any(
        other.element[0] is access.element[0]
        and other.element != access.element
        and (is_written or other.is_written)
        and not _are_distinct(scop, access, other)
        for other in touched
    )


def _are_distinct(scop: Scop, first: ElementAccess, second: ElementAccess) -> bool:
    """Whether two accesses in the same iteration never access the same element."""
    gaps = [a - b for a, b in zip(first.element[1], second.element[1], strict=True)]
    if any(gap.is_constant and gap.constant for gap in gaps):
        return True
    return within_limits(lambda: _prove_distinct(scop, first, second), MAX_OPERATIONS) is True


def _prove_distinct(scop: Scop, first: ElementAccess, second: ElementAccess) -> bool:
    loops: list[str] = []
    for each in (first, second):
        for counter in each.instance.counters.values():
            loops += [name for name in counter.names() if name not in loops]
        loops += [name for index in each.element[1] for name in index.names()
                  if name not in loops]  # fmt: skip
    parameters = {parameter.name for parameter in scop.parameters}
    loops = [name for name in loops if name not in parameters]
    space = f"[{', '.join(loops)}]"
    equalities = " and ".join(
        f"{a} = {b}" for a, b in zip(first.element[1], second.element[1], strict=True)
    )
    points = isl().Set(f"{scop.prefix}{{ {space} : {equalities or '0 = 0'} }}")
    for each in (first, second):
        statement, counters = each.instance.statement, each.instance.counters
        values = ", ".join(f"({counters[variable]})" for variable, _ in statement.iterators)
        relation = isl().Map(f"{scop.prefix}{{ {space} -> {statement.name}[{values}] }}")
        points = points.intersect(statement.domain.apply(relation.reverse()))
    return bool(points.is_empty())
