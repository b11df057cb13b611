"""Matrix multiplications that are computed row by row through a small array.

    for r: sum[p] = 0; sum[p] += A[r][s] * C[s][p]; then A[r][p] = sum[p]

is a product of whole matrices, `A = A * C`, if no row reads what another one has written. The last
row remains in the small array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import Access, Assign, Variable
from riselang.frontends.c.tactics.boxes import NotLifted, read_box
from riselang.frontends.c.tactics.matching import Factor, NoMatch, Update, read_factor, read_update
from riselang.frontends.c.tactics.matrix_products import (
    MatrixProduct,
    NoProduct,
    is_upward,
    is_zero,
    read_product,
)


@dataclass(frozen=True)
class RowProduct:
    """A product whose result goes to its target, and the last row of it also to `row`."""

    product: MatrixProduct
    row: Factor

    @property
    def blocks(self) -> MatrixProduct:
        """The product with its outermost rows as a batch, if it has others."""
        product = self.product
        if len(product.rows) < 2 or product.left.loops != (*product.rows, *product.depth):
            return product
        return replace(product, batch=product.rows[:1], rows=product.rows[1:])


@dataclass(frozen=True)
class _RowStatements:
    """The three statements, and the element of the result that each of their instances computes."""

    scop: Scop
    fill: ModelStatement
    add: ModelStatement
    copy: ModelStatement
    row: Factor
    row_indices: Mapping[str, Sequence[str]]
    """The loops of each statement, in the order of the result."""

    def row_map(self) -> Any:
        parts: list[str] = []
        for statement in (self.fill, self.add, self.copy):
            loops = ", ".join(name for _, name in statement.iterators)
            parts.append(
                f"{statement.name}[{loops}] -> [{', '.join(self.row_indices[statement.name])}]"
            )
        return isl().UnionMap(f"{self.scop.prefix}{{ {'; '.join(parts)} }}")


def find_row_product(scop: Scop, statements: Sequence[ModelStatement]) -> RowProduct | None:
    """Recognize a product in a dependence cycle of statements; None if it is something else."""
    if len(statements) != 3 or not all(
        e.has_must_writes and not e.checked_accesses for e in statements
    ):
        return None
    try:
        return _match_statements(scop, *statements)
    except (NoMatch, NoProduct, NotLifted):
        return None


def _match_statements(
    scop: Scop, fill: ModelStatement, add: ModelStatement, copy: ModelStatement
) -> RowProduct | None:
    update = read_update(add)
    if not isinstance(fill.body, Assign) or not isinstance(copy.body, Assign):
        return None
    row, source = update.target, copy.body.value
    start = read_factor(fill.body.target, fill)
    if not isinstance(source, Access) or source.variable is not row.array:
        return None
    if start.array is not row.array or not is_zero(fill.body.value):
        return None
    target, read = read_factor(copy.body.target, copy), read_factor(source, copy)
    common_loops = _common_loops(fill, add, copy)
    row_indices = {
        each.name: (*common_loops, *factor.loops)
        for each, factor in ((fill, start), (add, row), (copy, read))
    }
    if sorted(target.loops) != sorted(row_indices[copy.name]):
        return None
    if not _is_row_by_row(_RowStatements(scop, fill, add, copy, row, row_indices), update):
        return None
    back = dict(zip(row_indices[copy.name], row_indices[add.name], strict=True))
    whole = Factor(target.access, tuple(back[loop] for loop in target.loops))
    product = read_product(
        scop, add, (Update(whole, update.factors, update.parts),)
    ).with_zero_start()
    is_row = product.columns == row.loops and not product.batch and not product.half
    if not is_row or product.rows != common_loops:
        return None
    computed = [product.ranges[loop] for loop in row_indices[add.name]]
    for statement in (fill, copy):
        ranges = read_box(scop, statement)
        if [ranges[loop] for loop in row_indices[statement.name]] != computed:
            return None
    return RowProduct(product, row)


def _common_loops(*statements: ModelStatement) -> tuple[str, ...]:
    """Return the loops that are around all of them."""
    shared: list[str] = []
    for loops in zip(*(each.iterators for each in statements), strict=False):
        if len({id(variable) for variable, _ in loops}) > 1:
            break
        shared.append(loops[0][1])
    return tuple(shared)


def _is_row_by_row(rows: _RowStatements, update: Update) -> bool:
    """Whether each element of the small array is zeroed, accumulated and copied before it is used
    again, while the factors keep their original values."""
    scop, add, copy = rows.scop, rows.add, rows.copy
    factors = {factor.array for factor in update.factors}
    if rows.row.array in factors:
        return False
    if not _last_accesses(scop, add, factors, (rows.fill, add, copy))[0].is_empty():
        return False
    row_indices = rows.row_map()
    for reader in (add, copy):
        sources, outside = _last_accesses(scop, reader, {rows.row.array}, scop.statements)
        moved = sources.apply_domain(row_indices).apply_range(row_indices)
        is_here = moved.is_empty() or isl().Map.from_union_map(moved).is_subset(
            isl().Map.identity(isl().Map.from_union_map(moved).get_space())
        )
        if not is_here or not outside.is_empty():
            return False
    # No sum is accumulated after it was copied.
    late = _last_accesses(scop, add, {rows.row.array}, (copy,), is_anti=True)[0]
    same = row_indices.apply_range(row_indices.reverse())
    return bool(late.intersect(same).is_empty()) and is_upward(scop, rows.fill)


def _last_accesses(
    scop: Scop,
    reader: ModelStatement,
    arrays: set[Variable],
    writers: Sequence[ModelStatement],
    *,
    is_anti: bool = False,
) -> tuple[Any, Any]:
    """Return the last writers of the elements a statement reads, and the reads without a writer.

    With `is_anti`, return the last readers of what the statement writes.
    """

    def accesses(statement: ModelStatement, kind: frozenset[Access]) -> Any:
        result = isl().UnionMap(f"{scop.prefix}{{ }}")
        for access in kind:
            if access.variable in arrays:
                relation = statement.access_relations[access].relation
                result = result.union(isl().UnionMap.from_map(relation))
        return result

    sink = accesses(reader, reader.writes if is_anti else reader.reads)
    source = isl().UnionMap(f"{scop.prefix}{{ }}")
    for writer in writers:
        source = source.union(accesses(writer, writer.reads if is_anti else writer.writes))
    info = isl().UnionAccessInfo.from_sink(sink).set_schedule(scop.schedule)
    info = info.set_may_source(source) if is_anti else info.set_must_source(source)
    flow = info.compute_flow()
    if is_anti:
        return flow.get_may_dependence(), flow.get_may_no_source()
    return flow.get_must_dependence(), flow.get_must_no_source()
