"""Pointers to single structures: their members are variables, not arrays of length one.

If a function accesses only `p[0]`, as in `p->x`, then `p.x` is a number that has one address, so it
may be a bound or a length, and `p.data` is an array like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from riselang.frontends.c.parse.record_types import is_single_member
from riselang.frontends.c.parse.rewriting import rewrite_statement
from riselang.frontends.c.parse.substitution import map_operands
from riselang.frontends.c.parse.syntax import (
    Access,
    Declare,
    Expression,
    Statement,
    Variable,
    direct_expressions,
    walk_expression,
    walk_statements,
)
from riselang.frontends.c.parse.typed_nodes import is_zero


def drop_single_dimensions(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return statements in which the members of single structures have no dimension for them."""
    dropped = _single_pointers(statements)
    if not dropped:
        return tuple(statements)
    replacer = _Replacer(dropped)

    def replaced(statement: Statement) -> list[Statement] | None:
        match statement:
            case Declare(variable=variable) if any(map(replacer.is_changed, variable.extents)):
                value = statement.value and replacer.change(statement.value)
                return [replace(statement, variable=replacer.copy_local(variable), value=value)]
            case _:
                return None

    return tuple(
        each for given in statements for each in rewrite_statement(given, replacer.change, replaced)
    )


def _single_pointers(statements: Sequence[Statement]) -> dict[Variable, dict[int, Variable]]:
    """Return the dimensions of variables that are for pointers to a single structure each."""
    positions: dict[Variable, dict[Variable, int]] = {}
    plural: set[Variable] = set()
    for access in _accesses(statements):
        for pointer, position in _record_pointers(access.variable):
            positions.setdefault(pointer, {})[access.variable] = position
            if not is_zero(access.indices[position]):
                plural.add(pointer)
    dropped: dict[Variable, dict[int, Variable]] = {}
    for pointer, found in positions.items():
        for variable, position in found.items():
            if pointer not in plural:
                dropped.setdefault(variable, {})[position] = pointer
    return dropped


def _accesses(statements: Sequence[Statement]) -> Iterator[Access]:
    for statement in walk_statements(statements):
        roots: tuple[Expression, ...] = direct_expressions(statement)
        if isinstance(statement, Declare):
            roots = (*roots, *(each for each in statement.variable.extents if each is not None))
        for root in roots:
            for part in walk_expression(root):
                if isinstance(part, Access):
                    yield part


def _record_pointers(variable: Variable) -> Iterator[tuple[Variable, int]]:
    """Yield the pointers to structures that an access goes through, with their dimensions."""
    current = variable
    while current is not None:
        parent = current.member.parent if current.member is not None else None
        if current.type.is_record and current.is_pointer and _is_pointer(current):
            yield current, len(parent.extents) if parent is not None else 0
        current = parent


def _is_pointer(variable: Variable) -> bool:
    """Whether a variable itself is a pointer, rather than in memory that one points to."""
    if variable.member is None:
        return len(variable.extents) == 1 and variable.extents[0] is None
    return variable.is_pointer_member


@dataclass
class _Replacer:
    dropped: Mapping[Variable, Mapping[int, Variable]]
    _copies: dict[Variable, Variable] = field(default_factory=dict[Variable, Variable])

    def is_changed(self, expression: Expression | None) -> bool:
        return expression is not None and any(
            isinstance(part, Access) and part.variable in self.dropped
            for part in walk_expression(expression)
        )

    def change(self, expression: Expression) -> Expression:
        changed = map_operands(expression, self.change)
        if not isinstance(changed, Access):
            return changed
        variable = changed.variable
        if variable in self.dropped:
            copy = self._without_dimensions(variable)
            kept = [i for at, i in enumerate(changed.indices) if at not in self.dropped[variable]]
            return replace(changed, variable=copy, indices=tuple(kept[: len(copy.extents)]))
        return replace(changed, variable=self._copies.get(variable, variable))

    def copy_local(self, variable: Variable) -> Variable:
        """Return a local array with changed lengths."""
        if variable not in self._copies:
            extents = tuple(None if e is None else self.change(e) for e in variable.extents)
            self._copies[variable] = replace(variable, extents=extents)
        return self._copies[variable]

    def _without_dimensions(self, variable: Variable) -> Variable:
        if variable in self._copies:
            return self._copies[variable]
        dropped = self.dropped[variable]
        kept = [at for at in range(len(variable.extents)) if at not in dropped]
        assert variable.member is not None
        if len(kept) == 1 and is_single_member(variable.member.parent, variable):
            kept = []
        rows = (sum(at < row for at in kept) for row in variable.row_pointers)
        self._copies[variable] = replace(
            variable, extents=tuple(variable.extents[at] for at in kept),
            steps=tuple(variable.steps[at] for at in kept), is_pointer=bool(kept),
            is_parameter=False, row_pointers=tuple(row for row in rows if row),
            singles=tuple(dropped.values()),
        )  # fmt: skip
        return self._copies[variable]
