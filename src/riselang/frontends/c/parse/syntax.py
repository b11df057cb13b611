"""C as far as we take it: expressions with their types, and statements; every node has a place.

What clang leaves implicit is spelled out: conversions are nodes, `a += b` is `a = a + b`, and a
subscript names its array and all of its indices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from riselang.frontends.c.parse.c_types import CType
from riselang.support.errors import SourceLocation

_OTHER_LETTER = re.compile("[^A-Za-z0-9_]")
"""What C has in names, and isl has not: dollars, and letters of other alphabets."""


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable, known by being itself: two of one name are two."""

    name: str
    type: CType
    place: SourceLocation
    extents: tuple[Expression | None, ...] = ()
    """The lengths of an array, outermost first; None is one that the declaration leaves open."""
    is_pointer: bool = False
    """Whether it is a pointer, whose memory is somebody else's; all arrays in parameters are."""
    is_parameter: bool = False
    is_global: bool = False
    is_restrict: bool = False
    is_constant: bool = False
    """Whether what it points to, or it itself, is declared const."""

    @property
    def is_array(self) -> bool:
        return bool(self.extents)

    @property
    def hint(self) -> str:
        """Its name in ASCII, for MLIR and isl."""
        return _OTHER_LETTER.sub("_", self.name)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expression:
    place: SourceLocation = field(compare=False)
    type: CType


@dataclass(frozen=True)
class Literal(Expression):
    value: int | float


@dataclass(frozen=True)
class Access(Expression):
    """An element of an array, or a scalar where there are no indices."""

    variable: Variable
    indices: tuple[Expression, ...]


@dataclass(frozen=True)
class Unary(Expression):
    operator: str
    """One of `-`, `~`, `!`."""
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    """Operands of arithmetic have the type of the result; those of shifts may differ."""

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
    """A function of the C library, or one of the file until it is inlined."""

    function: str
    arguments: tuple[Expression | ArrayValue, ...]


@dataclass(frozen=True)
class ArrayValue(Expression):
    """An array, or a part of one, as the argument of a call; its type is that of the elements."""

    variable: Variable
    indices: tuple[Expression, ...]
    offset: Expression | None = None
    """How far behind the element at the indices it begins, as in `a + 3`."""


@dataclass(frozen=True)
class Fma(Expression):
    """`first * second + third`, rounded once."""

    first: Expression
    second: Expression
    third: Expression


@dataclass(frozen=True)
class Statement:
    place: SourceLocation


@dataclass(frozen=True)
class Assign(Statement):
    target: Access
    value: Expression
    is_compound: bool = False
    """Whether it was written `+=` or its like; the value then is an operation on the target."""


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
    is_own: bool
    """Whether the loop declares its variable."""
    first: Expression
    condition: Expression
    step: int
    body: Statement


@dataclass(frozen=True)
class Evaluate(Statement):
    """A call for its effects."""

    call: Call


@dataclass(frozen=True)
class Return(Statement):
    value: Expression | None


@dataclass(frozen=True)
class Foreign(Statement):
    """Something that cannot be taken, with the reason."""

    reason: str
    help: str
    children: tuple[Statement, ...] = ()
    """What stands in it, where regions may be found."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function with a body."""

    name: str
    place: SourceLocation
    result: CType | None
    parameters: tuple[Variable, ...]
    body: Block
    is_static: bool = False
    refused: tuple[SourceLocation, str, str] | None = None
    """Why the function cannot be taken as a whole: place, reason and help."""


def operands(expression: Expression) -> tuple[Expression, ...]:
    """The expressions directly inside of another."""
    match expression:
        case Unary() | Convert():
            return (expression.operand,)
        case Binary():
            return (expression.left, expression.right)
        case Conditional():
            return (expression.condition, expression.first, expression.second)
        case Access():
            return expression.indices
        case Call():
            return expression.arguments
        case ArrayValue():
            rest = () if expression.offset is None else (expression.offset,)
            return (*expression.indices, *rest)
        case Fma():
            return (expression.first, expression.second, expression.third)
        case _:
            return ()


def inside(expression: Expression) -> Iterator[Expression]:
    """An expression and all that is in it, from left to right."""
    stack = [expression]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(operands(found)))


def depth(expression: Expression) -> int:
    """How deep operations stand in each other."""
    deepest, stack = 0, [(expression, 1)]
    while stack:
        found, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((inner, level + 1) for inner in operands(found))
    return deepest


def statements_of(statement: Statement) -> Iterator[Statement]:
    """A statement and all that is in it, in the order of the text."""
    stack = [statement]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(_children(found)))


def _children(statement: Statement) -> tuple[Statement, ...]:
    match statement:
        case Block():
            return statement.statements
        case If():
            rest = () if statement.otherwise is None else (statement.otherwise,)
            return (statement.then, *rest)
        case For():
            return (statement.body,)
        case Foreign():
            return statement.children
        case _:
            return ()


def expressions_of(statement: Statement) -> tuple[Expression, ...]:
    """The expressions directly in a statement, without those of statements inside of it."""
    match statement:
        case Assign():
            return (statement.target, statement.value)
        case Declare():
            return () if statement.value is None else (statement.value,)
        case If():
            return (statement.condition,)
        case For():
            return (statement.first, statement.condition)
        case Evaluate():
            return (statement.call,)
        case Return():
            return () if statement.value is None else (statement.value,)
        case _:
            return ()
