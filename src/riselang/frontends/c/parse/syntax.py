"""The supported subset of C: typed expressions and statements; every node has a location.

What clang leaves implicit is explicit here: conversions are nodes, `a += b` is `a = a + b`, and a
subscript names its array and all of its indices.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.frontends.c.parse.c_types import CType
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property

_OTHER_LETTER = re.compile("[^A-Za-z0-9_]")
"""Characters that C permits in names and isl does not: dollars, and non-ASCII letters."""


@dataclass(frozen=True, eq=False)
class MemberOf:
    """The position of a member in a record."""

    parent: Variable
    name: str
    offset: int
    """The distance from the start of the record, in bytes."""
    is_pointer: bool = False
    """Whether the member is a pointer to other memory."""


@dataclass(frozen=True, eq=False)
class GlobalDefinition:
    """Where a global, or a static variable of a function, is stored."""

    symbol: str
    is_static: bool
    initial: np.ndarray[Any, Any] | None
    """Its initial value; None if another file defines it."""
    users: set[str] = field(default_factory=set[str])
    """The functions that other files may call and that use it."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable, compared by identity: two variables may have the same name."""

    name: str
    type: CType
    location: SourceLocation
    extents: tuple[Expression | None, ...] = ()
    """The lengths of an array, outermost first; None is one that the declaration omits."""
    is_pointer: bool = False
    """Whether it is a pointer to memory that the function does not own, as all array parameters
    are."""
    is_parameter: bool = False
    is_global: bool = False
    is_restrict: bool = False
    is_reference: bool = False
    """Whether uses of it in C++ do not show that it is a pointer."""
    is_constant: bool = False
    """Whether it, or what it points to, is declared const."""
    member: MemberOf | None = None
    """The record that it is a member of."""
    steps: tuple[int | None, ...] = ()
    """The distances in bytes between elements along each dimension, where they are not those of a
    contiguous array."""
    row_pointers: tuple[int, ...] = ()
    """The dimensions that begin in memory that a pointer in the previous dimension points to."""

    definition: GlobalDefinition | None = None
    """The definition of a global."""
    singles: tuple[Variable, ...] = ()
    """The pointers to single structures for which it has no dimensions (`single_records.py`)."""

    @cached_property
    def members(self) -> dict[str, Variable]:
        """The members that were accessed, by name."""
        return {}

    @property
    def is_strided(self) -> bool:
        """Whether its elements are separated by other members of a structure, or its rows may be
        anywhere."""
        return bool(self.row_pointers) or any(step is not None for step in self.steps)

    @property
    def root(self) -> Variable:
        """The declared variable that it is a part of."""
        return self if self.member is None else self.member.parent.root

    @property
    def is_pointer_member(self) -> bool:
        return self.member is not None and self.member.is_pointer

    @property
    def storage(self) -> Variable:
        """The variable, or the pointer member, that its memory belongs to; members of the same
        storage share no memory."""
        if self.member is None or self.is_pointer_member:
            return self
        return self.member.parent.storage

    @property
    def is_array(self) -> bool:
        return bool(self.extents)

    @property
    def ascii_name(self) -> str:
        """The name in ASCII, for MLIR and isl."""
        return _OTHER_LETTER.sub("_", self.name)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expression:
    location: SourceLocation = field(compare=False)
    type: CType


@dataclass(frozen=True)
class Literal(Expression):
    value: int | float


@dataclass(frozen=True)
class Access(Expression):
    """An array element, or a scalar if there are no indices."""

    variable: Variable
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Unary(Expression):
    operator: str
    """One of `-`, `~`, `!`."""
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """The operands of arithmetic have the type of the result; those of shifts may differ."""

    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Conditional(Expression):
    condition: Expression
    first: Expression
    second: Expression


@dataclass(frozen=True)
class Convert(Expression):
    operand: Expression


@dataclass(frozen=True)
class Call(Expression):
    """A call of a C library function or, before inlining, of a function in the file."""

    function: str
    arguments: tuple[Expression | ArrayValue, ...]


@dataclass(frozen=True)
class FunctionName(Expression):
    """A function of the file, or of the math library, as the value of a pointer."""

    name: str


CALL_THROUGH = "*"
"""The function of a call through a pointer, which is the first argument."""


@dataclass(frozen=True)
class ArrayValue(Expression):
    """An array, or a part of one, as a call argument; its type is the element type."""

    variable: Variable
    indices: tuple[Expression, ...]
    offset: Expression | None = None
    """The distance from the element at the indices to the start, as in `a + 3`."""
    is_single: bool = False
    """Whether it is the address of the one element at the indices, as in `&x`."""


@dataclass(frozen=True)
class RecordValue(Expression):
    """A record with the values of some of its numbers, by their paths: names of members and
    indices. All others are zero."""

    paths: tuple[tuple[str | int, ...], ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True)
class Part(Expression):
    """A member of a record that is a value, as in `f(x).y` and `creal(z)`."""

    operand: Expression
    name: str


@dataclass(frozen=True)
class Fma(Expression):
    """`first * second + third`, rounded once."""

    first: Expression
    second: Expression
    third: Expression


@dataclass(frozen=True)
class Statement:
    location: SourceLocation


@dataclass(frozen=True)
class Assign(Statement):
    target: Access
    value: Expression
    is_compound: bool = False
    """Whether it was written as `+=` or similar; the value then is an operation on the target."""


@dataclass(frozen=True)
class Declare(Statement):
    variable: Variable
    value: Expression | None


@dataclass(frozen=True)
class Block(Statement):
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class If(Statement):
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(frozen=True)
class For(Statement):
    """`for (variable = first; condition; variable += step) body`."""

    variable: Variable
    declares_variable: bool
    """Whether the loop declares its variable."""
    first: Expression
    condition: Expression
    step: int
    body: Statement


@dataclass(frozen=True)
class While(Statement):
    """`for (;;) { prelude; if (!condition) break; body; update; }`.

    If `tests_last`, the body and the update come first, as in a do loop.
    """

    prelude: Block
    """The side effects of the condition."""
    condition: Expression
    body: Statement
    update: Block
    """What `continue` does not skip."""
    tests_last: bool = False


@dataclass(frozen=True)
class Jump(Statement):
    """`break` or `continue`; the model has none of them (`jump_removal.py`)."""

    kind: str


@dataclass(frozen=True)
class Label(Statement):
    """A labeled statement; the model has none (`forward_gotos.py`)."""

    name: str
    body: Statement


@dataclass(frozen=True)
class Case:
    """Statements of a switch, which continue with those of the next case."""

    labels: tuple[int | None, ...]
    """The values; None is the default."""
    statements: tuple[Statement, ...]


@dataclass(frozen=True)
class Switch(Statement):
    """A switch; the model has none (`jump_removal.py`)."""

    value: Expression
    cases: tuple[Case, ...]
    exit: str = "break"
    """The kind of the jumps that leave it."""


@dataclass(frozen=True)
class Evaluate(Statement):
    """A call for its side effects."""

    call: Call


@dataclass(frozen=True)
class Return(Statement):
    value: Expression | None


@dataclass(frozen=True)
class UnsupportedStatement(Statement):
    """An unsupported statement, with the reason."""

    reason: str
    help: str
    children: tuple[Statement, ...] = ()
    """The nested statements, in which regions may be found."""


@dataclass(frozen=True)
class Assumption:
    """A condition that the user promises to hold when the function begins."""

    location: SourceLocation
    condition: Expression
    is_pragma: bool
    """Whether it is meant for this compiler: then a condition that cannot be used is an error."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function with a body."""

    name: str
    location: SourceLocation
    result: CType | None
    parameters: tuple[Variable, ...]
    body: Block
    is_static: bool = False
    unsupported: tuple[SourceLocation, str, str] | None = None
    """Why the function as a whole is not supported: location, reason and help."""
    assumptions: tuple[Assumption, ...] = ()
    is_only_called: bool = False
    """Whether only calls in the file name it: an overload, or an instance of a template in C++."""
    captured: tuple[Variable, ...] = ()
    """The first parameters of a lambda, which are variables of its caller."""


def direct_operands(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct subexpressions of an expression."""
    match expression:
        case Unary() | Convert() | Part():
            return (expression.operand,)
        case RecordValue():
            return expression.values
        case Binary():
            return (expression.left, expression.right)
        case Conditional():
            return (expression.condition, expression.first, expression.second)
        case Access():
            return expression.indices
        case Call():
            return expression.arguments
        case ArrayValue():
            offsets = () if expression.offset is None else (expression.offset,)
            return (*expression.indices, *offsets)
        case Fma():
            return (expression.first, expression.second, expression.third)
        case _:
            return ()


def walk_expression(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all of its subexpressions, from left to right."""
    stack = [expression]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(direct_operands(current)))


def expression_depth(expression: Expression) -> int:
    """Return the nesting depth of operations."""
    deepest, stack = 0, [(expression, 1)]
    while stack:
        current, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((inner, level + 1) for inner in direct_operands(current))
    return deepest


def walk_statement(statement: Statement) -> Iterator[Statement]:
    """Yield a statement and all nested statements, in source order."""
    stack = [statement]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(child_statements(current)))


def walk_statements(statements: Iterable[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield from walk_statement(statement)


def child_statements(statement: Statement) -> tuple[Statement, ...]:
    match statement:
        case Block():
            return statement.statements
        case If():
            else_branch = () if statement.otherwise is None else (statement.otherwise,)
            return (statement.then, *else_branch)
        case For() | Label():
            return (statement.body,)
        case While(prelude=prelude, body=body, update=update):
            return (body, update, prelude) if statement.tests_last else (prelude, body, update)
        case Switch():
            return tuple(inner for case in statement.cases for inner in case.statements)
        case UnsupportedStatement():
            return statement.children
        case _:
            return ()


def direct_expressions(statement: Statement) -> tuple[Expression, ...]:
    """Return the expressions directly in a statement, without those of nested statements."""
    match statement:
        case Assign():
            return (statement.target, statement.value)
        case Declare():
            return () if statement.value is None else (statement.value,)
        case If() | While():
            return (statement.condition,)
        case Switch():
            return (statement.value,)
        case For():
            return (statement.first, statement.condition)
        case Evaluate():
            return (statement.call,)
        case Return():
            return () if statement.value is None else (statement.value,)
        case _:
            return ()
