"""Expansion of structures and complex numbers: after it, all values are numbers.

An assignment of a structure becomes one assignment for each of its numbers. A local structure
becomes one variable for each of its members; those that nothing reads are removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from riselang.frontends.c.parse.c_types import INT, LONG, CType
from riselang.frontends.c.parse.complex_arithmetic import ComplexReader
from riselang.frontends.c.parse.record_types import Member, RecordType, access_member, parts_of
from riselang.frontends.c.parse.rewriting import rewrite_statement
from riselang.frontends.c.parse.substitution import map_operands
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Conditional,
    Declare,
    Evaluate,
    Expression,
    For,
    Literal,
    Part,
    RecordValue,
    Return,
    Statement,
    Variable,
    direct_expressions,
    walk_expression,
    walk_statements,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

MAX_UNROLLED = 16
"""Longer arrays in a structure are copied by loops."""
Key = str | int | Expression
"""The name of a member, or an index."""


def expand_records(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Return statements without records as values."""
    expander = _RecordExpander()
    expanded = expander.expand_statements(statements)
    return _remove_unread(expanded) if expander.is_used else tuple(expanded)


class _RecordExpander:
    def __init__(self) -> None:
        self._complex = ComplexReader(self.select, self.expand)
        self.is_used = False

    def expand_statements(self, statements: Sequence[Statement]) -> list[Statement]:
        return [each for given in statements for each in self._expand_statement(given)]

    def _expand_statement(self, statement: Statement) -> list[Statement]:
        return rewrite_statement(statement, self.expand, self._expand_leaf)

    def _expand_leaf(self, statement: Statement) -> list[Statement] | None:
        """Expand a statement whose value is a record; None if it has none."""
        match statement:
            case Assign(target=target, value=value) if target.type.is_record:
                self.is_used = True
                return list(self._assign(statement.location, target, value))
            case Declare(variable=variable, value=value) if variable.type.is_record:
                self.is_used = True
                return self._declare(statement, variable, value)
            case Return(value=Expression() as value) if value.type.is_record:
                raise UnsupportedConstruct(
                    statement.location, f"a value of type {value.type} is returned to the caller",
                    "store it through a pointer parameter, or return a number",
                )  # fmt: skip
            case Evaluate():
                return [statement]
            case _:
                return None

    def _declare(
        self, statement: Declare, variable: Variable, value: Expression | None
    ) -> list[Statement]:
        assert isinstance(variable.type, RecordType)
        location = statement.location
        declared: list[Statement] = []
        for path in parts_of(variable.type, location):
            if path[-1].refusal or path[-1].is_pointer:
                continue
            member = variable
            for each in path:
                member, _ = access_member(member, (), each.name, location)
            declared.append(Declare(location, member, None))
        if value is not None:
            target = Access(location, variable.type, variable, ())
            declared += self._assign(location, target, value)
        return declared

    def _assign(
        self, location: SourceLocation, target: Access, value: Expression
    ) -> Iterator[Statement]:
        """Yield assignments of all numbers in a record; values that an earlier one changes are
        stored before."""
        assert isinstance(target.type, RecordType)
        changed: list[tuple[Expression, Expression, tuple[Variable, ...], list[Expression]]] = []
        for path in parts_of(target.type, location):
            self._check_part(path, value, location)
            for keys, counters, lengths in _elements(path, value, location):
                part = self.select(target, keys)
                assert isinstance(part, Access)
                found = convert_to(self.select(value, keys), part.type)
                changed.append((part, found, counters, lengths))
        conflicts = _conflicts([(target, value) for target, value, _, _ in changed])
        stored: list[Statement] = []
        for part, found, counters, lengths in changed:
            assert isinstance(part, Access)
            if conflicts and not counters:
                copy = Variable("value", part.type, location)
                yield Declare(location, copy, found)
                stored.append(Assign(location, part, Access(location, part.type, copy, ())))
                continue
            assigned: Statement = Assign(location, part, found)
            for counter, length in zip(reversed(counters), reversed(lengths), strict=True):
                assigned = _count_to(counter, length, assigned)
            stored.append(assigned)
        yield from stored

    def _check_part(
        self, path: tuple[Member, ...], value: Expression, location: SourceLocation
    ) -> None:
        last = path[-1]
        if not last.refusal and not last.is_pointer:
            return
        if isinstance(value, RecordValue) and not value.values:
            return
        reason = last.refusal or f"{last.name} is a pointer"
        raise UnsupportedConstruct(
            location, f"this copies a structure that cannot be copied: {reason}",
            "copy the members that are needed",
        )  # fmt: skip

    # Expressions

    def expand(self, expression: Expression) -> Expression:
        """Return an expression that is a number, without records in it."""
        match expression:
            case Part(operand=operand, name=name):
                return self.select(operand, (name,))
            case _ if expression.type.is_complex:
                # It is a condition.
                return self._complex.is_nonzero(expression.location, expression)
            case _:
                found = self._complex.read_number(expression)
                return found if found is not None else map_operands(expression, self.expand)

    def select(self, expression: Expression, path: Sequence[Key]) -> Expression:
        """Return a number in a record."""
        match expression:
            case Access(variable=variable, indices=indices):
                indices = tuple(map(self.expand, indices))
                return _member_access(variable, indices, path, expression.location)
            case Part(operand=operand, name=name):
                return self.select(operand, (name, *path))
            case RecordValue():
                return self._select_value(expression, path)
            case Conditional():
                first, second = (
                    self.select(each, path) for each in (expression.first, expression.second)
                )
                condition = self.expand(expression.condition)
                return Conditional(expression.location, first.type, condition, first, second)
            case _ if expression.type.is_complex:
                return self._complex.select(expression, str(path[0]))
            case _:
                raise UnsupportedConstruct(
                    expression.location, f"this value of type {expression.type} is not known",
                    "define the function that computes it in the file",
                )  # fmt: skip

    def _select_value(self, record: RecordValue, path: Sequence[Key]) -> Expression:
        for at, value in zip(record.paths, record.values, strict=True):
            if tuple(path[: len(at)]) == at:
                rest = path[len(at) :]
                return self.select(value, rest) if rest else self.expand(value)
        type = _type_at(record.type, path)
        return convert_to(Literal(record.location, INT, 0), type)


def _member_access(
    variable: Variable,
    indices: tuple[Expression, ...],
    path: Sequence[Key],
    location: SourceLocation,
) -> Access:
    for key in path:
        match key:
            case str():
                variable, indices = access_member(variable, indices, key, location)
            case int():
                indices = (*indices, Literal(location, LONG, key))
            case _:
                indices = (*indices, key)
    return Access(location, variable.type, variable, indices)


def _type_at(type: CType, path: Sequence[Key]) -> CType:
    for key in path:
        if isinstance(key, str):
            assert isinstance(type, RecordType)
            type = type.find_member(key).type
    return type


def _elements(
    path: tuple[Member, ...], value: Expression, location: SourceLocation
) -> Iterator[tuple[list[Key], tuple[Variable, ...], list[Expression]]]:
    """Yield the keys of the numbers of a part, with the counters and lengths of loops over them."""
    lengths = [length for member in path for length in member.lengths]
    total = 1
    for length in lengths:
        total *= length
    is_listed = any(isinstance(each, RecordValue) and each.values for each in _records(value))
    if total <= MAX_UNROLLED or (is_listed and total <= 4 * MAX_UNROLLED):
        for indices in product(*map(range, lengths)):
            yield _keys(path, list(indices)), (), []
        return
    if is_listed:
        raise UnsupportedConstruct(
            location, f"this initializes {path[-1].name}, which has {total} elements",
            "assign the elements in a loop",
        )  # fmt: skip
    counters = tuple(Variable("element", LONG, location) for _ in lengths)
    counted: list[Key] = [Access(location, LONG, each, ()) for each in counters]
    yield _keys(path, counted), counters, [Literal(location, LONG, each) for each in lengths]


def _records(value: Expression) -> Iterator[Expression]:
    yield value
    if isinstance(value, Conditional):
        yield from (*_records(value.first), *_records(value.second))


def _keys(path: tuple[Member, ...], indices: Sequence[Key]) -> list[Key]:
    keys: list[Key] = []
    rest = list(indices)
    for member in path:
        keys.append(member.name)
        for _ in member.lengths:
            keys.append(rest.pop(0))
    return keys


def _count_to(counter: Variable, length: Expression, body: Statement) -> For:
    location = body.location
    condition = Binary(location, INT, "<", Access(location, LONG, counter, ()), length)
    return For(location, counter, True, Literal(location, LONG, 0), condition, 1, body)


def _conflicts(assigned: Sequence[tuple[Expression, Expression]]) -> bool:
    """Whether a value reads a variable that an earlier assignment changes."""
    written: set[Variable] = set()
    for target, value in assigned:
        assert isinstance(target, Access)
        parts = [part for root in (value, *target.indices) for part in walk_expression(root)]
        if any(isinstance(part, Access) and part.variable in written for part in parts):
            return True
        written.add(target.variable)
    return False


def _remove_unread(statements: Sequence[Statement]) -> tuple[Statement, ...]:
    """Remove assignments to members of local structures that nothing reads."""
    while True:
        local = {each.variable for each in walk_statements(statements)
                 if isinstance(each, Declare) and each.variable.member is not None}  # fmt: skip
        unread = local - set(_read_variables(statements))
        if not unread:
            return tuple(statements)

        def keep(statement: Statement, unread: set[Variable] = unread) -> list[Statement] | None:
            match statement:
                case Assign(target=Access(variable=variable)) | Declare(variable=variable):
                    return [] if variable in unread else None
                case _:
                    return None

        statements = [
            each for given in statements for each in rewrite_statement(given, _same, keep)
        ]


def _same(expression: Expression) -> Expression:
    return expression


def _read_variables(statements: Sequence[Statement]) -> Iterator[Variable]:
    for statement in walk_statements(statements):
        roots = direct_expressions(statement)
        if isinstance(statement, Assign):
            roots = (*statement.target.indices, statement.value)
        if isinstance(statement, Declare):
            roots = (*roots, *(each for each in statement.variable.extents if each is not None))
        for root in roots:
            for part in walk_expression(root):
                if isinstance(part, Access):
                    yield part.variable


def is_unchanged(statements: Sequence[Statement], variable: Variable) -> bool:
    """Whether no statement changes a record or one of its members."""
    return not any(
        isinstance(each, Assign) and replace(each.target).variable.root is variable.root
        for each in walk_statements(statements)
    )
