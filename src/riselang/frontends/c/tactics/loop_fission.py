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
from riselang.frontends.c.parse.syntax import Access, Assign, Variable, walk_expression
from riselang.frontends.c.schedule.dependence_queries import (
    dependence_edges,
    strongly_connected_components,
)
from riselang.frontends.c.tactics.boxes import NotLifted, read_box
from riselang.frontends.c.tactics.matching import NoMatch, read_factor, read_updates
from riselang.frontends.c.tactics.matrix_products import (
    MatrixProduct,
    NoProduct,
    is_zero,
    read_product,
)
from riselang.frontends.c.tactics.row_products import RowProduct, find_row_product


@dataclass(frozen=True)
class RegionPart:
    """Statements, by name, and the computation that they form together."""

    names: tuple[str, ...]
    product: MatrixProduct | RowProduct | None = None


@lru_cache(maxsize=64)
def split_region(scop: Scop) -> tuple[RegionPart, ...]:
    """Return the parts of a region; a single one if nothing is a product, or it cannot be split."""
    region_part = (RegionPart(tuple(each.name for each in scop.statements)),)
    pairs = dependences(scop)
    if pairs is None or not is_separable(scop):
        return region_part
    parts = merge_loop_parts(separate_parts(scop), lambda part: part.product is not None)
    is_apart = not shares_local_variables(scop, parts, lambda part: part.product is not None)
    return parts if is_apart and any(part.product for part in parts) else region_part


def separate_parts(scop: Scop) -> list[RegionPart]:
    """Return a part for each dependence cycle, in topological order."""
    return _absorb_zero_fills(scop, [_make_part(scop, each) for each in dependence_cycles(scop)])


def is_separable(scop: Scop) -> bool:
    """Whether parts of a region see all effects of others: it returns nothing, and changes no value
    parameter."""
    return scop.result is None and not any(
        variable in scop.written_variables and not variable.is_array for variable in scop.inputs
    )


def dependence_cycles(scop: Scop) -> list[list[str]]:
    """Return the dependence cycles of statements, in topological order."""
    names = [each.name for each in scop.statements]
    pairs = dependences(scop)
    return (
        [names]
        if pairs is None
        else strongly_connected_components(names, dependence_edges(pairs.all))
    )


def _make_part(scop: Scop, cycle: Sequence[str]) -> RegionPart:
    statements = [scop.find_statement(name) for name in cycle]
    if len(statements) > 1:
        return RegionPart(tuple(cycle), find_row_product(scop, statements))
    try:
        return RegionPart(
            tuple(cycle), read_product(scop, statements[0], read_updates(statements[0]))
        )
    except (NoMatch, NoProduct):
        return RegionPart(tuple(cycle))


def _absorb_zero_fills(scop: Scop, parts: Sequence[RegionPart]) -> list[RegionPart]:
    """Let a product start from zero if its target was set to zero just before."""
    absorbed_parts: list[RegionPart] = []
    for part in parts:
        previous = absorbed_parts[-1] if absorbed_parts else None
        is_product = previous is not None and isinstance(part.product, MatrixProduct)
        if previous is not None and is_product and _sets_to_zero(scop, previous, part):
            assert isinstance(part.product, MatrixProduct)
            absorbed_parts[-1] = RegionPart(
                (*previous.names, *part.names), part.product.with_zero_start()
            )
        else:
            absorbed_parts.append(part)
    return absorbed_parts


def _sets_to_zero(scop: Scop, previous: RegionPart, part: RegionPart) -> bool:
    """Whether a part sets exactly the elements that the next one adds to to zero."""
    if len(previous.names) != 1 or previous.product is not None:
        return False
    fill = scop.find_statement(previous.names[0])
    assert isinstance(part.product, MatrixProduct)
    body = fill.body
    if not isinstance(body, Assign) or not is_zero(body.value) or not fill.has_must_writes:
        return False
    product = part.product
    if body.target.variable is not product.target.array or product.half:
        return False
    try:
        filled, ranges = read_factor(body.target, fill), read_box(scop, fill)
    except (NoMatch, NotLifted):
        return False
    return [ranges[loop] for loop in filled.loops] == [
        product.ranges[loop] for loop in product.target.loops
    ] and len(ranges) == len(filled.loops)


def merge_loop_parts(
    parts: Sequence[RegionPart], is_other: Callable[[RegionPart], bool]
) -> tuple[RegionPart, ...]:
    """Merge consecutive loops into one part; lifted parts stay separate."""
    merged: list[tuple[RegionPart, bool]] = []
    for part in parts:
        is_alone = is_other(part)
        if merged and not is_alone and not merged[-1][1]:
            merged[-1] = RegionPart((*merged[-1][0].names, *part.names)), False
        else:
            merged.append((part, is_alone))
    return tuple(part for part, _ in merged)


def shares_local_variables(
    scop: Scop, parts: Sequence[RegionPart], is_lifted: Callable[[RegionPart], bool]
) -> bool:
    """Whether several parts, or a lifted one, use local variables of the region."""
    seen: set[Variable] = set()
    for part in parts:
        used = _used_locals(scop, part)
        if used & seen or (used and is_lifted(part)):
            return True
        seen |= used
    return False


def _used_locals(scop: Scop, part: RegionPart) -> set[Variable]:
    """Return the local variables of the region that a part uses."""
    used: set[Variable] = set()
    for name in part.names:
        statement = scop.find_statement(name)
        for access in (*statement.reads, *statement.writes):
            used.add(access.variable)
        if isinstance(statement.body, Assign):
            used |= {each.variable for each in walk_expression(statement.body.value)
                     if isinstance(each, Access)}  # fmt: skip
    return used & set(scop.locals)


def part_region(scop: Scop, part: RegionPart, number: int) -> Scop:
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
