"""Schedule rows: affine functions of a statement's iterators that may become loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement, Scop

Rows = tuple[Linear, ...]


class NoRows(Exception):
    """isl's schedule has a row that is not a plain sum of iterators."""


@dataclass(frozen=True)
class ScheduledNest:
    """Statements that share their outer schedule rows in isl's schedule."""

    rows: Mapping[str, Rows]
    """The rows of each statement, the shared ones first."""
    shared: int
    """The number of leading rows that belong to one permutable band of all statements."""


def schedule_nests(scop: Scop, schedule: Any) -> list[ScheduledNest]:
    """Return the nests of isl's schedule, in sequence."""
    return _collect_nests(scop, schedule.get_root())


def _collect_nests(scop: Scop, node: Any) -> list[ScheduledNest]:
    types = isl().schedule_node_type
    kind = node.get_type()
    if kind in (types.domain, types.filter):
        return _collect_nests(scop, node.child(0))
    if kind in (types.sequence, types.set):
        return [
            nest
            for position in range(node.n_children())
            for nest in _collect_nests(scop, node.child(position))
        ]
    shared = node.band_n_member() if kind == types.band else 0
    return [ScheduledNest(_collect_rows(scop, node), shared)]


def _collect_rows(scop: Scop, node: Any) -> dict[str, Rows]:
    """Return the rows of all statements below a node."""
    found: dict[str, Rows] = dict.fromkeys(statement_names(node.get_domain()), ())
    types = isl().schedule_node_type
    kind = node.get_type()
    if kind == types.band:
        partial = node.band_get_partial_schedule()
        for position in range(node.band_n_member()):
            member = partial.get_union_pw_aff(position)
            for name in found:
                found[name] = (*found[name], _band_row(scop, member, name))
    for at in range(node.n_children()):
        for name, rows in _collect_rows(scop, node.child(at)).items():
            found[name] = (*found[name], *rows)
    return found


def statement_names(domain: Any) -> list[str]:
    names: list[str] = []
    domain.foreach_set(lambda each: names.append(each.get_tuple_name()))
    return sorted(names)


def _band_row(scop: Scop, member: Any, name: str) -> Linear:
    """Return a band member as a row of one statement."""
    statement = scop.find_statement(name)
    pieces: list[Any] = []

    def look(part: Any) -> None:
        if part.get_space().get_tuple_name(isl().dim_type.in_) == name:
            part.foreach_piece(lambda _, value: pieces.append(value))

    member.foreach_pw_aff(look)
    if len(pieces) != 1:
        raise NoRows
    value, dims = pieces[0], isl().dim_type
    if value.dim(dims.div):
        raise NoRows
    total = Linear(_to_integer(value.get_constant_val()))
    for position, (_, iterator) in enumerate(statement.iterators):
        factor = _to_integer(value.get_coefficient_val(dims.in_, position))
        total += Linear.of(iterator).times(factor)
    for position in range(value.dim(dims.param)):
        factor = _to_integer(value.get_coefficient_val(dims.param, position))
        total += Linear.of(value.get_dim_name(dims.param, position)).times(factor)
    return total


def _to_integer(value: Any) -> int:
    number = value.to_python()
    if number != int(number):
        raise NoRows
    return int(number)


def is_dependent_row(rows: Sequence[Linear], row: Linear, names: Sequence[str]) -> bool:
    """Whether a row is linearly dependent on others and constants."""
    matrix = [_row_coefficients(each, names) for each in rows]
    return _matrix_rank([*matrix, _row_coefficients(row, names)]) == _matrix_rank(matrix)


def independent_rows(rows: Sequence[Linear], statement: ModelStatement) -> Rows:
    """Drop the rows that others determine: their loops would run once."""
    names = [name for _, name in statement.iterators]
    kept: list[Linear] = []
    for row in rows:
        if not is_dependent_row(kept, row, names):
            kept.append(row)
    return tuple(kept)


def row_direction(
    rows: Sequence[Linear], at: int, statement: ModelStatement
) -> dict[str, int] | None:
    """Return how iterators change if one row increases by one and the others are fixed.

    None if they cannot. There are as many rows as iterators, and they are linearly independent.
    """
    names = [name for _, name in statement.iterators]
    if len(rows) != len(names):
        return None
    matrix = [_row_coefficients(row, names) for row in rows]
    goal = [Fraction(int(position == at)) for position in range(len(rows))]
    solution = _solve_system(matrix, goal)
    if solution is None or any(value.denominator != 1 for value in solution):
        return None
    return {name: int(value) for name, value in zip(names, solution, strict=True)}


def _row_coefficients(row: Linear, names: Sequence[str]) -> list[Fraction]:
    known = dict(row.terms)
    return [Fraction(known.get(name, 0)) for name in names]


def _matrix_rank(matrix: Sequence[Sequence[Fraction]]) -> int:
    rows = [list(row) for row in matrix]
    rank = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next(
            (position for position in range(rank, len(rows)) if rows[position][column]), None
        )
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for position in range(rank + 1, len(rows)):
            factor = rows[position][column] / rows[rank][column]
            rows[position] = [
                a - factor * b for a, b in zip(rows[position], rows[rank], strict=True)
            ]
        rank += 1
    return rank


def _solve_system(matrix: list[list[Fraction]], goal: list[Fraction]) -> list[Fraction] | None:
    """Solve a square system with a unique solution."""
    size = len(goal)
    rows = [[*row, value] for row, value in zip(matrix, goal, strict=True)]
    for column in range(size):
        pivot = next((position for position in range(column, size) if rows[position][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for position in range(size):
            if position != column and rows[position][column]:
                factor = rows[position][column]
                rows[position] = [
                    a - factor * b for a, b in zip(rows[position], rows[column], strict=True)
                ]
    return [row[-1] for row in rows]
