"""Terms that work at every size, and what they are at given sizes."""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.types import RiseType, nat_variables, substitute
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    Embed,
    Free,
    Lambda,
    Pattern,
    Scalar,
    Term,
    scalar_type,
)
from riselang.term.recursion import recursive


def free_sizes(term: Term) -> frozenset[str]:
    """The names of the sizes that a closed term leaves open."""
    return nat_variables(term.type)


@recursive
def at_sizes(term: Term, sizes: Mapping[str, Nat]) -> Term:
    """`term` with sizes replaced by name, in every type and pattern."""

    def type_at(type: RiseType) -> RiseType:
        return substitute(type, sizes, {})

    def visit(term: Term) -> Term:
        match term:
            case Bound():
                return Bound(term.index, type_at(term.type), term.location)
            case Free():
                return Free(term.name, type_at(term.type), term.location)
            case Lambda():
                body = visit(term.body)
                return Lambda(term.name, type_at(term.parameter), body, term.location)
            case Apply():
                return Apply(visit(term.function), visit(term.argument), term.location)
            case Pattern():
                arguments = [
                    argument.substitute(sizes)
                    if isinstance(argument, Nat)
                    else type_at(argument)
                    if isinstance(argument, RiseType)
                    else argument
                    for argument in term.arguments
                ]
                return Pattern(term.spec, arguments, term.to, term.location)
            case Scalar():
                operands = [visit(operand) for operand in term.operands]
                return Scalar(term.op, operands, scalar_type(term), term.predicate, term.location)
            case Embed():
                operands = [visit(operand) for operand in term.operands]
                return Embed(term.region, operands, scalar_type(term), term.location)
            case _:
                return term

    return visit(term)
