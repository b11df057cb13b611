"""Random closed programs over all patterns, by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.types import RiseType, ScalarType, result_types
from riselang.term.nodes import Apply, Bound, Free, Lambda, Scalar, Term, operation_type
from support.choices import Choices
from support.generation.generator import ROOM, Generator


@dataclass(frozen=True)
class Program:
    """A closed term from inputs to results; several results are a nested tuple."""

    term: Term
    results: int

    @property
    def input_types(self) -> list[RiseType]:
        types: list[RiseType] = []
        term = self.term
        while isinstance(term, Lambda):
            types.append(term.parameter)
            term = term.body
        return types

    @property
    def result_types(self) -> list[RiseType]:
        return result_types(self.term.type, self.results)


def seeded_program(
    seed: int,
    *,
    compiled: bool = False,
    may_fail: bool = False,
    scalars: Sequence[ScalarType] = (),
) -> Program:
    """A program, of `compiled` patterns only or of all of them.

    One that `may_fail` may use checkIdx on numbers that are out of range. The inputs and results
    have `scalars` of all types, or only of the given ones.
    """
    choices = Choices(seed)
    generator = Generator(choices, compiled)
    if scalars:
        generator.types.use_only(*scalars)
    count = choices.weighted([(6, 1), (2, 2), (1, 3)])
    types = [generator.types.data(ROOM // count) for _ in range(count)]
    if may_fail:
        types[0] = generator.types.indices()
    body = generator.body(types, may_fail=may_fail)
    for variable in reversed(generator.inputs):
        body = Lambda(variable.name, variable.type, body)
    return Program(close(body), count)


def close(term: Term) -> Term:
    """The term with its free variables bound by the lambdas of the same name."""

    def go(term: Term, names: tuple[str, ...]) -> Term:
        match term:
            case Free(name):
                return Bound(names[::-1].index(name), term.type)
            case Lambda(name, parameter, body):
                return Lambda(name, parameter, go(body, (*names, name)))
            case Apply(function, argument):
                return Apply(go(function, names), go(argument, names))
            case Scalar(op, operands):
                bound = [go(operand, names) for operand in operands]
                return Scalar(op, bound, operation_type(term), term.predicate)
            case _:
                return term

    return go(term, ())
