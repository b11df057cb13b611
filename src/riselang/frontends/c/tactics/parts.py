"""A region as a sequence of parts: matrix multiplications, and loops with the rest.

Statements in a dependence cycle stay together; all others may be split by loop fission, in an order
that preserves every dependence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Variable, inside
from riselang.frontends.c.schedule.order import edges, groups
from riselang.frontends.c.tactics.matching import NoMatch, factor_of, updates_of
from riselang.frontends.c.tactics.products import (
    NoProduct,
    Product,
    is_zero,
    lengths_of,
    product_of,
)
from riselang.frontends.c.tactics.row_products import RowProduct, row_product


@dataclass(frozen=True)
class Part:
    """Statements, by name, and the computation that they form together."""

    names: tuple[str, ...]
    product: Product | RowProduct | None = None


@lru_cache(maxsize=64)
def parts_of(scop: Scop) -> tuple[Part, ...]:
    """Return the parts of a region; a single one if nothing is a product, or it cannot be split."""
    whole = (Part(tuple(each.name for each in scop.statements)),)
    pairs = dependences(scop)
    if pairs is None or not is_separable(scop):
        return whole
    parts = together(separate_parts(scop), lambda part: part.product is not None)
    is_apart = not shares(scop, parts, lambda part: part.product is not None)
    return parts if is_apart and any(part.product for part in parts) else whole


def separate_parts(scop: Scop) -> list[Part]:
    """Return a part for each dependence cycle, in topological order."""
    return _with_zeros(scop, [_part(scop, each) for each in circles_of(scop)])


def is_separable(scop: Scop) -> bool:
    """Whether parts of a region see all effects of others: it returns nothing, and changes no value
    parameter."""
    return scop.result is None and not any(
        variable in scop.written and not variable.is_array for variable in scop.inputs
    )


def circles_of(scop: Scop) -> list[list[str]]:
    """Return the dependence cycles of statements, in topological order."""
    names = [each.name for each in scop.statements]
    pairs = dependences(scop)
    return [names] if pairs is None else groups(names, edges(pairs.all))


def _part(scop: Scop, circle: Sequence[str]) -> Part:
    statements = [scop.statement(name) for name in circle]
    if len(statements) > 1:
        return Part(tuple(circle), row_product(scop, statements))
    try:
        return Part(tuple(circle), product_of(scop, statements[0], updates_of(statements[0])))
    except (NoMatch, NoProduct):
        return Part(tuple(circle))


def _with_zeros(scop: Scop, parts: Sequence[Part]) -> list[Part]:
    """Let a product start from zero if its target was set to zero just before."""
    made: list[Part] = []
    for part in parts:
        before = made[-1] if made else None
        is_product = before is not None and isinstance(part.product, Product)
        if before is not None and is_product and _sets_to_zero(scop, before, part):
            assert isinstance(part.product, Product)
            made[-1] = Part((*before.names, *part.names), part.product.zeroed())
        else:
            made.append(part)
    return made


def _sets_to_zero(scop: Scop, before: Part, part: Part) -> bool:
    """Whether a part sets exactly the elements that the next one adds to to zero."""
    if len(before.names) != 1 or before.product is not None:
        return False
    fill = scop.statement(before.names[0])
    assert isinstance(part.product, Product)
    body = fill.body
    if not isinstance(body, Assign) or not is_zero(body.value) or not fill.is_certain:
        return False
    product = part.product
    if body.target.variable is not product.target.array or product.half:
        return False
    try:
        # Both are whole arrays.
        lengths_of(scop, fill, (factor_of(body.target, fill),))
    except (NoMatch, NoProduct):
        return False
    return True


def together(parts: Sequence[Part], is_other: Callable[[Part], bool]) -> tuple[Part, ...]:
    """Merge consecutive loops into one part; lifted parts stay separate."""
    made: list[tuple[Part, bool]] = []
    for part in parts:
        is_alone = is_other(part)
        if made and not is_alone and not made[-1][1]:
            made[-1] = Part((*made[-1][0].names, *part.names)), False
        else:
            made.append((part, is_alone))
    return tuple(part for part, _ in made)


def shares(scop: Scop, parts: Sequence[Part], is_lifted: Callable[[Part], bool]) -> bool:
    """Whether several parts, or a lifted one, use local variables of the region."""
    seen: set[Variable] = set()
    for part in parts:
        used = _used(scop, part)
        if used & seen or (used and is_lifted(part)):
            return True
        seen |= used
    return False


def _used(scop: Scop, part: Part) -> set[Variable]:
    """Return the local variables of the region that a part uses."""
    used: set[Variable] = set()
    for name in part.names:
        statement = scop.statement(name)
        for access in (*statement.reads, *statement.writes):
            used.add(access.variable)
        if isinstance(statement.body, Assign):
            used |= {each.variable for each in inside(statement.body.value)
                     if isinstance(each, Access)}  # fmt: skip
    return used & set(scop.locals)


def part_of(scop: Scop, part: Part, number: int) -> Scop:
    """Return the statements of a part as a separate region, in source order."""
    statements = tuple(each for each in scop.statements if each.name in part.names)
    if statements == scop.statements:
        # It may have none at all, and then no schedule.
        return scop
    domain = isl().UnionSet(f"{scop.prefix}{{ }}")
    for statement in statements:
        domain = domain.union(isl().UnionSet.from_set(statement.domain))
    schedule = scop.schedule.intersect_domain(domain)
    name = f"{scop.name}_part{number}"
    return replace(scop, name=name, statements=statements, schedule=schedule)
