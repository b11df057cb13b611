"""Random instances of the left sides of laws, on which their rules are tried."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.patterns import wrong_argument
from riselang.dialects.rise.types import (
    SCALARS,
    FunType,
    RiseType,
    ScalarType,
    index_bounds,
    is_float,
    type_variables,
    uncurry,
)
from riselang.nat import Nat
from riselang.rewrite.conditions import EXACT, SUM_OF, neutral_number
from riselang.rewrite.core import Result, Setting
from riselang.rewrite.eta import expanded
from riselang.rewrite.laws import UNKNOWN, Form
from riselang.rewrite.matching import Applying, Match, NoMatch
from riselang.rewrite.rule import Rule
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
from riselang.term.sizes import names_in
from support.choices import Choices
from support.generation.generator import Generator
from support.generation.place import Place
from support.programs import Program, close

SIZES = (1, 2, 3, 2, 4, 0, 5, 1)
ROOM = 4
"""How many scalars the values of an unknown data type may have."""
INTEGERS = ("i32", "i8", "i64", "i16")


@dataclass(frozen=True)
class Instance:
    """The left side of a law, with everything in it known."""

    rule: Rule
    inputs: tuple[Free, ...]
    body: Term

    def program(self, body: Term) -> Program:
        for variable in reversed(self.inputs):
            body = Lambda(variable.name, variable.type, body)
        return Program(body, 1)

    def rewritten(self, float: str = "strict") -> Result:
        return self.rule.run(self.body, Setting(float))


def instance_of(rule: Rule, seed: int) -> Instance | None:
    """An instance of the left side; None where the sizes chosen are none that patterns permit."""
    try:
        return _Maker(rule, Choices(seed)).instance()
    except VerifyException:
        # A length would be negative.
        return None


class _Maker:
    def __init__(self, rule: Rule, choices: Choices):
        self.rule = rule
        self.choices = choices
        self.generator = Generator(choices, compiled=False)
        self.generator.budget = choices.of((0, 2, 4, 7))
        self.match = Match()
        self.operators: dict[str, str] = {}
        self.is_written = rule.law.form is Form.WRITTEN
        self.applying = Applying.KEPT if self.is_written else Applying.NAMED

    def instance(self) -> Instance | None:
        left, right = self.rule.law.sides
        for name in sorted(names_in(left) | names_in(right)):
            if name.startswith(UNKNOWN):
                self.match.sizes[name] = Nat.const(self.choices.of(SIZES))
        self._choose_types(left)
        unknowns = {each.name: each for each in subterms(left) if isinstance(each, Free)}
        unknowns |= {each.name: each for each in subterms(right) if isinstance(each, Free)}
        found = {name: self._unknown(each) for name, each in sorted(unknowns.items())}
        inputs = tuple(self.generator.inputs)
        self.match.terms = {
            name: term if self.is_written else expanded(term)
            for name, term in ((name, _under(inputs, term)) for name, term in found.items())
        }
        try:
            body = self.match.build(left, applying=self.applying)
        except NoMatch:
            return None
        if any(isinstance(each, Pattern) and _is_wrong(each) for each in subterms(body)):
            return None
        if any(bound == Nat.const(0) for each in inputs for bound in index_bounds(each.type)):
            return None
        given = {name: self._given(name) for name in self.rule.parameters}
        return Instance(self.rule(**given), inputs, body)

    def _given(self, name: str) -> int:
        return self.match.sizes[UNKNOWN + name].constant

    def _choose_types(self, left: Term) -> None:
        names = {name for each in subterms(left) for name in type_variables(each.type)}
        about = {name: condition.text for condition in self.rule.conditions
                 for name in condition.about}  # fmt: skip
        for name in sorted(names):
            short = name.removeprefix(UNKNOWN)
            if "scalar" in about.get(short, ""):
                self.match.types[name] = self.generator.types.scalar()
            elif self.rule.permission.value == "relaxed":
                self.match.types[name] = SCALARS[self.choices.of(INTEGERS)]
            else:
                self.match.types[name] = self.generator.types.data(ROOM, 2)

    def _unknown(self, unknown: Free) -> Term:
        type = self.match.concrete(unknown.type)
        short = unknown.name.removeprefix(UNKNOWN)
        for condition in self.rule.conditions:
            if short in condition.about:
                made = self._conditional(short, condition.text, condition.about, type)
                if made is not None:
                    return made
        if isinstance(type, FunType):
            return self.generator.function(type, Place((), 3, 12))
        return self.generator.input(type)

    def _conditional(
        self, name: str, text: str, about: tuple[str, ...], type: RiseType
    ) -> Term | None:
        """A function or value for which a condition holds."""
        if "neutral" in text and name == about[0]:
            assert isinstance(type, ScalarType)
            number = neutral_number(self._operator(about[1], type), type)
            assert number is not None
            return Literal(literal(number, type))
        if not isinstance(type, FunType):
            return None
        result = uncurry(type)[1]
        assert isinstance(result, ScalarType)
        if "distributes" in text:
            self.operators.setdefault(about[0], "arith.muli")
            self.operators.setdefault(about[1], SUM_OF["arith.muli"])
        op = self._operator(name, result)
        operands = [Bound(1, result), Bound(0, result)]
        if self.choices.one_in(2):
            operands.reverse()
        return Lambda("a", result, Lambda("b", result, Scalar(op, operands, result)))

    def _operator(self, name: str, type: ScalarType) -> str:
        known = sorted(op for op in EXACT if op.endswith("f") == is_float(type))
        if any("distributes" in condition.text for condition in self.rule.conditions):
            known = ["arith.addi"]
        return self.operators.setdefault(name, self.choices.of(known))


def _under(inputs: tuple[Free, ...], term: Term) -> Term:
    """A term with variables by name, under the lambdas of the inputs."""
    for variable in reversed(inputs):
        term = Lambda(variable.name, variable.type, term)
    term = close(term)
    for _ in inputs:
        assert isinstance(term, Lambda)
        term = term.body
    return term


def _is_wrong(pattern: Pattern) -> bool:
    arguments = dict(zip(pattern.spec.parameters, pattern.arguments, strict=True))
    return (wrong_argument(arguments) or pattern.spec.check(arguments)) is not None
