"""Conditions on sizes and indices: comparisons of naturals, and those that a term implies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.argument_checks import inequalities
from riselang.dialects.rise.type_binding import nat_variables
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    TupleType,
    VectorType,
    components,
)
from riselang.nat import Nat, NatError, NatLike, as_nat
from riselang.support.errors import UserError
from riselang.term.nodes import Pattern, Term, subterms


class Relation(Enum):
    """A comparison operator."""

    AT_LEAST = ">="
    EQUAL = "=="
    DIFFERENT = "!="


@dataclass(frozen=True)
class Condition:
    """A comparison of two naturals."""

    left: Nat
    relation: Relation
    right: Nat

    @staticmethod
    def parse(text: str) -> Condition:
        """Parse a condition such as `n mod k == 0` or `k < n`."""
        parts = re.split(r"(>=|<=|==|!=|<|>)", text)
        if len(parts) != 3:
            raise UserError(f"expected two sizes and a comparison between them, but found '{text}'")
        left, right = as_nat(parts[0].strip()), as_nat(parts[2].strip())
        return _CONSTRUCTORS[parts[1]](left, right)

    @property
    def variables(self) -> frozenset[str]:
        return self.left.variables | self.right.variables

    @property
    def constant_value(self) -> bool | None:
        """Whether it holds, if that does not depend on any variable."""
        difference = self.left - self.right
        return _compare(self.relation, difference.offset) if difference.is_constant else None

    @property
    def negation(self) -> Condition:
        match self.relation:
            case Relation.AT_LEAST:
                return less(self.left, self.right)
            case Relation.EQUAL:
                return Condition(self.left, Relation.DIFFERENT, self.right)
            case Relation.DIFFERENT:
                return Condition(self.left, Relation.EQUAL, self.right)

    def map_sides(self, function: Callable[[Nat], Nat]) -> Condition:
        return Condition(function(self.left), self.relation, function(self.right))

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether the condition holds; it does not if a side has no value."""
        try:
            difference = self.left.evaluate(sizes) - self.right.evaluate(sizes)
        except NatError:
            return False
        return _compare(self.relation, difference)

    def __str__(self) -> str:
        return f"{self.left} {self.relation.value} {self.right}"


def _compare(relation: Relation, difference: int) -> bool:
    match relation:
        case Relation.AT_LEAST:
            return difference >= 0
        case Relation.EQUAL:
            return difference == 0
        case Relation.DIFFERENT:
            return difference != 0


def at_least(left: NatLike, right: NatLike) -> Condition:
    return Condition(as_nat(left), Relation.AT_LEAST, as_nat(right))


def less(left: NatLike, right: NatLike) -> Condition:
    return at_least(right, as_nat(left) + 1)


def equal(left: NatLike, right: NatLike) -> Condition:
    return Condition(as_nat(left), Relation.EQUAL, as_nat(right))


def in_range(index: Nat, length: Nat) -> tuple[Condition, ...]:
    """Return `0 <= index < length`."""
    return at_least(index, 0), less(index, length)


_CONSTRUCTORS: Mapping[str, Callable[[Nat, Nat], Condition]] = {
    ">=": at_least,
    "<=": lambda left, right: at_least(right, left),
    "==": equal,
    "!=": lambda left, right: Condition(left, Relation.DIFFERENT, right),
    "<": less,
    ">": lambda left, right: less(right, left),
}


def required_conditions(terms: Sequence[Term]) -> tuple[Condition, ...]:
    """The conditions on sizes under which the terms are defined."""
    conditions: dict[Condition, None] = {}
    for term in terms:
        for part in subterms(term):
            conditions.update(dict.fromkeys(_conditions_of(part)))
    return tuple(condition for condition in conditions if condition.constant_value is not True)


def _conditions_of(term: Term) -> Iterator[Condition]:
    for length in lengths(term.type):
        yield at_least(length, 0)
    if isinstance(term, Pattern):
        pairs = zip(term.spec.parameters, term.arguments, strict=True)
        sizes = {name: value for name, value in pairs if isinstance(value, Nat)}
        for size in sizes.values():
            yield at_least(size, 0)
        for smaller, larger in inequalities(term.spec.check):
            yield at_least(larger.substitute(sizes), smaller.substitute(sizes))


def lengths(type: RiseType) -> Iterator[Nat]:
    """Yield the lengths in a type, and the bounds of its indices."""
    match type:
        case ArrayType() | VectorType():
            yield type.length
            yield from lengths(type.element)
        case IdxType():
            yield type.bound
        case TupleType():
            for part in components(type):
                yield from lengths(part)
        case FunType():
            yield from lengths(type.input)
            yield from lengths(type.output)
        case _:
            return


def sizes_of(terms: Sequence[Term]) -> tuple[str, ...]:
    """The names of the sizes that occur in the terms, sorted."""
    names: set[str] = set()
    for term in terms:
        for part in subterms(term):
            names |= nat_variables(part.type)
            for argument in part.arguments if isinstance(part, Pattern) else ():
                names |= argument.variables if isinstance(argument, Nat) else set[str]()
    return tuple(sorted(names))
