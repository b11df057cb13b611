"""Matchers on statements: placeholders for loops and arrays, and trees of operators.

    i, j, k = loops("i j k")
    A, B, C = arrays("A B C")
    update(C[i, j], A[i, k], B[k, j])

matches `C[i][j] += alpha * A[i][k] * B[k][j]` with any scalar factors, in any order, and any
arrays and loops for the placeholders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import ModelStatement
from riselang.frontends.c.parse.syntax import (
    Access,
    Assign,
    Binary,
    Expression,
    Literal,
    Variable,
    walk_expression,
)


class NoMatch(Exception):
    """Why a statement does not match a tactic."""


@dataclass(frozen=True)
class Element:
    """An array placeholder indexed by loop placeholders."""

    array: str
    loops: tuple[str, ...]


@dataclass(frozen=True)
class ArrayPlaceholder:
    name: str

    def __getitem__(self, loops: str | tuple[str, ...]) -> Element:
        return Element(self.name, loops if isinstance(loops, tuple) else (loops,))


def loops(names: str) -> tuple[str, ...]:
    return tuple(names.split())


def arrays(names: str) -> tuple[ArrayPlaceholder, ...]:
    return tuple(ArrayPlaceholder(name) for name in names.split())


@dataclass(frozen=True)
class Factor:
    """An array that is read at loop variables, each alone."""

    access: Access
    loops: tuple[str, ...]

    @property
    def array(self) -> Variable:
        return self.access.variable


@dataclass(frozen=True)
class Update:
    """`target += scale * factors`."""

    target: Factor
    factors: tuple[Factor, ...]
    parts: tuple[Expression, ...]
    """The factors in source order: elements, constants, invariant variables."""

    @property
    def scale(self) -> list[Expression]:
        """Constants, and invariant variables."""
        return [part for part in self.parts if not (isinstance(part, Access) and part.indices)]

    @property
    def is_from_left(self) -> bool:
        """Whether `a * b * c` is computed from the left."""
        return not any(isinstance(part, Binary) for part in self.parts)


@dataclass(frozen=True)
class UpdatePattern:
    """The form of an update."""

    target: Element
    factors: tuple[Element, ...]

    def match(self, update: Update) -> dict[str, object] | None:
        """Bind the placeholders; equal ones to the same loop or array, different ones to different
        ones."""
        if len(update.factors) != len(self.factors):
            return None
        for order in permutations(update.factors):
            bound: dict[str, object] = {}
            pairs = [(self.target, update.target), *zip(self.factors, order, strict=True)]
            if all(_bind_placeholders(element, factor, bound) for element, factor in pairs):
                return bound
        return None


def update(target: Element, *factors: Element) -> UpdatePattern:
    return UpdatePattern(target, factors)


def _bind_placeholders(element: Element, factor: Factor, bound: dict[str, object]) -> bool:
    if len(element.loops) != len(factor.loops):
        return False
    things: list[tuple[str, object]] = [
        (f"array {element.array}", factor.array),
        *((f"loop {name}", loop) for name, loop in zip(element.loops, factor.loops, strict=True)),
    ]
    for name, thing in things:
        kind = name.split()[0]
        if bound.setdefault(name, thing) != thing:
            return False
        if any(other != name and known == thing for other, known in bound.items()
               if other.startswith(kind)):  # fmt: skip
            return False
    return True


def read_update(statement: ModelStatement) -> Update:
    """Read a statement as an update; raises NoMatch with the reason."""
    target, added = _split_update(statement)
    return _make_update(statement, target, added)


def read_updates(statement: ModelStatement) -> tuple[Update, ...]:
    """Read a statement that adds one product or two to its target; raises NoMatch with the
    reason."""
    target, added = _split_update(statement)
    if isinstance(added, Binary) and added.operator == "+":
        return tuple(_make_update(statement, target, each) for each in (added.left, added.right))
    return (_make_update(statement, target, added),)


def _split_update(statement: ModelStatement) -> tuple[Factor, Expression]:
    body = statement.body
    if not isinstance(body, Assign):
        raise NoMatch("it is data-dependent")
    if statement.checked_accesses:
        raise NoMatch("its accesses are checked at run time")
    strided = next((each for each in statement.access_relations if each.variable.is_strided), None)
    if strided is not None:
        raise NoMatch(f"{strided.variable.name} is not contiguous in memory")
    return read_factor(body.target, statement), added_value(body.value, body.target)


def _make_update(statement: ModelStatement, target: Factor, added: Expression) -> Update:
    """Read one product that is added to a target."""
    factors: list[Factor] = []
    for part in product_parts(added):
        match part:
            case Access() if part.indices:
                factors.append(read_factor(part, statement))
            case Literal():
                pass
            case Access() if part not in statement.access_relations:
                pass
            case _:
                raise NoMatch("the added value is not a product of elements and scalars")
    if not factors:
        raise NoMatch("no array is a factor")
    if any(factor.array is target.array for factor in factors):
        raise NoMatch(f"{target.array.name} is also a factor of the value that is added to it")
    return Update(target, tuple(factors), tuple(_left_factors(added)))


def added_value(value: Expression, target: Access) -> Expression:
    """Return the value that is added to the target."""
    if isinstance(value, Binary) and value.operator == "-" and value.left == target:
        raise NoMatch("it subtracts where the tactic adds")
    if not isinstance(value, Binary) or value.operator != "+":
        raise NoMatch("it does not add to its target")
    for one, other in ((value.left, value.right), (value.right, value.left)):
        if one == target:
            if any(part == target for part in walk_expression(other)):
                raise NoMatch("the added value depends on the target")
            return other
    raise NoMatch("it does not add to its target")


def product_parts(expression: Expression) -> Iterator[Expression]:
    """Yield all factors of a product, however it is grouped."""
    if isinstance(expression, Binary) and expression.operator == "*":
        yield from product_parts(expression.left)
        yield from product_parts(expression.right)
    else:
        yield expression


def _left_factors(expression: Expression) -> list[Expression]:
    """Return the factors of a left-associated product; other groupings are not split."""
    if isinstance(expression, Binary) and expression.operator == "*":
        return [*_left_factors(expression.left), expression.right]
    return [expression]


def read_factor(access: Access, statement: ModelStatement) -> Factor:
    """Read an access whose subscripts are distinct loop variables."""
    subscript = statement.access_relations.get(access)
    if subscript is None or subscript.indices is None:
        raise NoMatch(f"a subscript of {access.variable.name} is not affine")
    names = [single_loop(index) for index in subscript.indices]
    if None in names or len(set(names)) != len(names):
        raise NoMatch(f"a subscript of {access.variable.name} is not just a loop variable")
    known = {name for _, name in statement.iterators}
    if not set(names) <= known:
        raise NoMatch(f"a subscript of {access.variable.name} is not a loop variable")
    return Factor(access, tuple(name for name in names if name is not None))


def single_loop(index: Linear) -> str | None:
    """Return the name that an index consists of, with nothing added."""
    if index.constant == 0 and len(index.terms) == 1 and index.terms[0][1] == 1:
        atom = index.terms[0][0]
        return atom if isinstance(atom, str) else None
    return None


def loop_and_offset(index: Linear, known: Sequence[str]) -> tuple[str, int] | None:
    """Return `(i, c)` for an index i + c."""
    if len(index.terms) != 1 or index.terms[0][1] != 1:
        return None
    atom = index.terms[0][0]
    return (atom, index.constant) if isinstance(atom, str) and atom in known else None
