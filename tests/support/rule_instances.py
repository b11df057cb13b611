"""Random instances of the left sides of laws, on which their rules are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.type_binding import type_variables
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    SCALARS,
    FunType,
    RiseType,
    ScalarType,
    i1,
    index_bounds,
    is_float,
    uncurry,
)
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite.core import Result, Setting
from riselang.rewrite.eta import eta_expand, eta_expand_arguments
from riselang.rewrite.law_matching import ApplicationForm, Match, NoMatch
from riselang.rewrite.laws import UNKNOWN, Form
from riselang.rewrite.rule import Permission, Rule
from riselang.rewrite.side_conditions import ADDITION_FOR, EXACT, RELAXED, neutral_element
from riselang.term.nodes import (
    Bound,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    subterms,
)
from riselang.term.size_substitution import term_names
from support.choices import Choices
from support.generation.generator import Generator
from support.generation.place import Place
from support.programs import Program, close

SIZES = (2, 3, 1, 2, 4, 0, 5, 3)
SMALL_SIZES, MANY_SIZES = (1, 2, 1, 1, 2, 0, 1), 8
"""What the sizes of a law are that has many: products of them are the lengths of its arrays."""
ROOM = 4
"""How many scalars the values of an unknown data type may have."""
ATTEMPTS = 30
"""How often sizes are chosen anew until the patterns of the law permit them."""
INTEGERS = ("i32", "i8", "i64", "i16", "i1", "index", "u8", "u32", "u64")
FLOATS = ("f32", "f64")
PLACE = Place((), 3, 12)
"""Where functions and values are made: with nothing around, and not large."""


@dataclass(frozen=True)
class Instance:
    """The left side of a law, with everything in it known."""

    rule: Rule
    inputs: tuple[Free, ...]
    body: Term
    float: str = "strict"
    """What has to be permitted for the rule to apply."""

    def program(self, body: Term) -> Program:
        """The body, or what became of it, as a function of the inputs."""
        for variable in reversed(self.inputs):
            body = Lambda(variable.name, variable.type, body)
        return Program(body, 1)

    def rewritten(self) -> Result:
        return self.rule.run(self.body, Setting(self.float))


def instance_of(rule: Rule, seed: int) -> Instance | None:
    """An instance of the left side; None where no sizes were found that its patterns permit."""
    return _Maker(rule, Choices(seed)).instance()


FUNCTIONS = {
    "adds products": "fun((a : {0}, p : {1}), a + cast[f32](fst(p)) * cast[f32](snd(p)))",
    "converts a scalar": "fun((e : {0}), cast[f32](e))",
    "(i) is i": "fun((i : {0}), cast[i64](i |> fromIdx))",
}
"""Functions for which a condition holds, by the text of the condition."""


class _Maker:
    def __init__(self, rule: Rule, choices: Choices):
        self.rule = rule
        self.choices = choices
        self.generator = Generator(choices, compiled=False)
        self.generator.budget = choices.of((0, 2, 4, 7))
        self.match = Match()
        self.operators: dict[str, str] = {}
        self.is_relaxed = rule.permission is Permission.RELAXED
        self.is_written = rule.law.form is Form.WRITTEN
        self.application_form = (
            ApplicationForm.UNREDUCED if self.is_written else ApplicationForm.NAMED
        )

    def instance(self) -> Instance | None:
        left, right = self.rule.law.sides
        if not any(self._choose(left, right) for _ in range(ATTEMPTS)):
            return None
        both = [*subterms(left), *subterms(right)]
        unknowns = {each.name: each for each in both if isinstance(each, Free)}
        found = {name: self._unknown(each) for name, each in sorted(unknowns.items())}
        inputs = tuple(self.generator.inputs)
        self.match.terms = {name: self._written(inputs, term) for name, term in found.items()}
        body = self.match.build(left, form=self.application_form)
        given = {name: self.match.size(name) for name in self.rule.parameters}
        return Instance(self.rule(**given), inputs, body, self._float())

    def _float(self) -> str:
        """Rules of float arithmetic need permission, unless an operator keeps all bits."""
        operators = self.operators.values()
        needs = not operators or any(op in RELAXED for op in operators)
        return "relaxed" if self.is_relaxed and needs else "strict"

    def _written(self, inputs: tuple[Free, ...], term: Term) -> Term:
        term = under_inputs(inputs, term)
        if self.is_written:
            return term
        return (
            eta_expand(eta_expand_arguments(term))
            if isinstance(term.type, FunType)
            else eta_expand_arguments(term)
        )

    # Types and sizes

    def _choose(self, left: Term, right: Term) -> bool:
        """Choose types and sizes; whether the patterns of the left side permit them."""
        for name in sorted({name for each in subterms(left) for name in type_variables(each.type)}):
            self.match.types[name] = self._type(name)
        names = sorted(term_names(left) | term_names(right))
        unknowns = [name for name in names if name.startswith(UNKNOWN)]
        for name in unknowns:
            sizes = SIZES if len(unknowns) < MANY_SIZES else SMALL_SIZES
            self.match.sizes[name] = Nat.const(self.choices.of(sizes))
        try:
            for each in subterms(left):
                if isinstance(each, Pattern):
                    self.match.build(each)
                elif isinstance(each, Free) and self._has_no_values(each):
                    return False
        except (NoMatch, VerifyException):
            # A pattern does not permit them, a length would be negative, vectors are of arrays.
            return False
        return True

    def _type(self, name: str) -> RiseType:
        for condition in self.rule.conditions:
            if "scalar" in condition.text and name.removeprefix(UNKNOWN) in condition.unknowns:
                return self.generator.types.scalar()
        if any("converts" in condition.text for condition in self.rule.conditions):
            return SCALARS[self.choices.of(("f16", "f32"))]
        if self.is_relaxed:
            return SCALARS[self.choices.of((*INTEGERS, *FLOATS))]
        types = self.generator.types
        return types.scalar() if self.choices.one_in(2) else types.data(ROOM, 2)

    def _has_no_values(self, unknown: Free) -> bool:
        """Whether a value would have to be an index into nothing, or a vector of nothing."""
        type = self.match.instantiate_type(unknown.type)
        has_no_index = not isinstance(type, FunType) and Nat.const(0) in index_bounds(type)
        return has_no_index or "vec[0," in format_type(type)

    # Functions and values

    def _unknown(self, unknown: Free) -> Term:
        type = self.match.instantiate_type(unknown.type)
        short = unknown.name.removeprefix(UNKNOWN)
        for condition in self.rule.conditions:
            if short in condition.unknowns:
                made = self._conditional(short, condition.text, condition.unknowns, type)
                if made is not None:
                    return made
        if isinstance(type, FunType):
            return self._function(type)
        computed = not self.is_relaxed and self.choices.one_in(3)
        return self.generator.term(type, PLACE) if computed else self.generator.input(type)

    def _function(self, type: FunType) -> Term:
        """A pattern where one has the type, now and then, since rules look for patterns."""
        if self.choices.one_in(3) and self.generator.matching(type):
            return self.generator.pattern_function(type, PLACE)
        if self.is_written and self.choices.one_in(3):
            return self.generator.partial(type, PLACE)
        return self._lambdas(type)

    def _lambdas(self, type: FunType) -> Term:
        """A function that depends on all its parameters: a law may mix them up."""
        types, result = uncurry(type)
        parameters = [self.generator.variable(each, "x") for each in types]
        place = replace(PLACE, scope=tuple(parameters))
        are_numbers = all(isinstance(each, ScalarType) for each in (*types, result))
        if are_numbers and self.choices.one_in(2):
            body = self._weighted(parameters, result)
        else:
            body = self.generator.term(result, place)
            for parameter in self.choices.shuffled(parameters):
                body = self.generator.using(parameter, body, place)
        for parameter in reversed(parameters):
            body = Lambda(parameter.name, parameter.type, body)
        return body

    def _weighted(self, parameters: Sequence[Free], type: RiseType) -> Term:
        """A sum of the parameters, each with its weight: any that is missed or moved shows."""
        assert isinstance(type, ScalarType)
        plus, times = (f"arith.{op}{'f' if is_float(type) else 'i'}" for op in ("add", "mul"))
        total: Term = Literal(literal(1, type))
        for weight, parameter in enumerate(parameters, 2):
            number = self.generator.scalars.converted(parameter, type)
            factor = Literal(literal(1 if type == i1 else weight, type))
            total = Scalar(plus, [total, Scalar(times, [number, factor], type)], type)
        return total

    def _conditional(
        self, name: str, text: str, about: tuple[str, ...], type: RiseType
    ) -> Term | None:
        """A function or value for which a condition holds."""
        if "neutral" in text and name == about[0]:
            assert isinstance(type, ScalarType)
            number = neutral_element(self._operator(about[1], type), type)
            assert number is not None
            return Literal(literal(number, type))
        if not isinstance(type, FunType):
            return None
        if (written := FUNCTIONS.get(text.removeprefix(name).strip())) is not None:
            parameters = [format_type(each) for each in uncurry(type)[0]]
            return eta_expand(parse_term(written.format(*parameters)))
        result = uncurry(type)[1]
        assert isinstance(result, ScalarType)
        op = self._operator(name, result)
        operands = [Bound(1, result), Bound(0, result)]
        if self.choices.one_in(2):
            operands.reverse()
        return Lambda("a", result, Lambda("b", result, Scalar(op, operands, result)))

    def _operator(self, name: str, type: ScalarType) -> str:
        """An operator that regroups, or of two the product and the sum over that."""
        for condition in self.rule.conditions:
            if "distributes" in condition.text:
                product = "arith.mulf" if is_float(type) else "arith.muli"
                pair = (product, ADDITION_FOR[product])
                self.operators.update(zip(condition.unknowns, pair, strict=True))
        known = sorted(op for op in EXACT | RELAXED if op.endswith("f") == is_float(type))
        if name not in self.operators:
            self.operators[name] = self.choices.of(known)
        return self.operators[name]


def under_inputs(inputs: tuple[Free, ...], term: Term) -> Term:
    """A term with variables by name, under the lambdas of the inputs."""
    for variable in reversed(inputs):
        term = Lambda(variable.name, variable.type, term)
    term = close(term)
    for _ in inputs:
        assert isinstance(term, Lambda)
        term = term.body
    return term
