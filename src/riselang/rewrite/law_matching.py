"""Matching the left-hand side of a law with a term, and building the right-hand side.

Matching determines the unknowns of a law: sizes and data types by comparing types, functions and
values by their positions. An unknown function that the law applies to variables that it binds
itself, such as `f` in `map(fun(x, f(x)))`, matches any subterm, as a function of these variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_ops import argument_error
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    TupleType,
    TypeVariable,
    VectorType,
    components,
)
from riselang.nat import Deferred, Facts, Impossible, Nat, divides, is_nonnegative, solve
from riselang.rewrite.eta import eta_expand
from riselang.rewrite.laws import UNKNOWN
from riselang.support.errors import SourceLocation
from riselang.term.fusion import beta_reduce
from riselang.term.nodes import (
    Apply,
    Bound,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    apply_all,
    operation_type,
    spine,
)
from riselang.term.substitution import instantiate, map_children, shift

_CACHE_SIZE = 1 << 12
_Lambdas = tuple[Lambda, ...]
"""The lambdas of the term that correspond to the law's lambdas around a subterm, innermost last."""


class ApplicationForm(Enum):
    """How an application of a function is built."""

    NAMED = "the body; a computed argument that is used several times is named, not repeated"
    REPEATED = "the body with the argument wherever it is used"
    UNREDUCED = "the application"


class NoMatch(Exception):
    """Why a law does not match a term."""

    def __init__(self, reason: str, *types: RiseType):
        """Braces in the reason stand for types, which are formatted only when the text is
        needed."""
        super().__init__(reason)
        self.types = types

    def __str__(self) -> str:
        reason = str(self.args[0])
        type_texts = [format_type(type).replace(UNKNOWN, "") for type in self.types]
        return reason.format(*type_texts) if type_texts else reason


@dataclass
class Match:
    """The unknowns of a law in a term, which matching fills in."""

    sizes: dict[str, Nat] = field(default_factory=dict[str, Nat])
    types: dict[str, RiseType] = field(default_factory=dict[str, RiseType])
    terms: dict[str, Term] = field(default_factory=dict[str, Term])
    _equations: list[tuple[Nat, Nat]] = field(default_factory=list[tuple[Nat, Nat]])
    _applications: list[tuple[Apply, Term, _Lambdas]] = field(
        default_factory=list[tuple[Apply, Term, _Lambdas]]
    )
    """Applications of unknown functions to more than variables, which are matched last."""
    location: SourceLocation | None = None
    """The location of the rewritten term, which its replacement inherits."""
    _patterns: dict[str, Pattern] = field(default_factory=dict[str, Pattern])
    """The patterns of the left-hand side, as they occur in the term."""

    def size(self, name: str) -> Nat:
        return self.sizes[UNKNOWN + name]

    def type(self, name: str) -> RiseType:
        return self.types[UNKNOWN + name]

    def term(self, name: str) -> Term:
        return self.terms[UNKNOWN + name]

    # Terms

    def match(self, law: Term, term: Term, lambdas: _Lambdas = ()) -> None:
        """Determine the unknowns, or raise NoMatch."""
        match law:
            case Free():
                self.match_type(law.type, term.type)
                self._bind(law.name, _abstract_over(term, lambdas, ()))
            case Bound(index):
                if not isinstance(term, Bound) or term.index != index:
                    raise NoMatch("this is a different variable")
            case Lambda():
                self._match_lambda(law, term, lambdas)
            case Apply():
                self._match_application(law, term, lambdas)
            case Pattern():
                self._match_pattern(law, term)
            case Literal():
                if law != term:
                    raise NoMatch("this is a different literal")
            case Scalar():
                self._match_scalar(law, term, lambdas)
            case _:
                raise NoMatch("laws cannot contain this kind of term")

    def _match_lambda(self, law: Lambda, term: Term, lambdas: _Lambdas) -> None:
        if not isinstance(term.type, FunType):
            raise NoMatch("expected a function")
        function = eta_expand(term, 1)
        assert isinstance(function, Lambda)
        self.match_type(law.parameter, function.parameter)
        self.match(law.body, function.body, (*lambdas, function))

    def _match_application(self, law: Apply, term: Term, lambdas: _Lambdas) -> None:
        head, arguments = spine(law)
        if isinstance(head, Free) and (variables := _law_variables(arguments, lambdas)) is not None:
            function = _abstract_over(term, lambdas, variables)
            self.match_type(head.type, function.type)
            self._bind(head.name, function)
        elif isinstance(head, Free):
            self._applications.append((law, term, lambdas))
        else:
            self._match_parts(law, term, lambdas)

    def _match_parts(self, law: Apply, term: Term, lambdas: _Lambdas) -> None:
        if not isinstance(term, Apply):
            raise NoMatch("expected an application")
        self.match(law.function, term.function, lambdas)
        self.match(law.argument, term.argument, lambdas)

    def finish(self) -> None:
        """Match the parts that depend on other unknowns, or raise NoMatch."""
        while self._applications:
            law, term, lambdas = self._applications.pop(0)
            head, _ = spine(law)
            assert isinstance(head, Free)
            if head.name not in self.terms:
                self._match_parts(law, term, lambdas)
            elif self.build(law, len(lambdas), ApplicationForm.REPEATED) != term:
                raise NoMatch(f"{head.name[1:]} is applied to a different argument here")
        self._solve_sizes()

    def _match_pattern(self, law: Pattern, term: Term) -> None:
        if not isinstance(term, Pattern) or term.spec is not law.spec:
            raise NoMatch(f"expected {law.spec.name}")
        self._patterns.setdefault(term.spec.name, term)
        for expected, actual in zip(law.arguments, term.arguments, strict=True):
            self._match_argument(expected, actual)

    def _match_scalar(self, law: Scalar, term: Term, lambdas: _Lambdas) -> None:
        if not isinstance(term, Scalar) or term.op != law.op or term.predicate != law.predicate:
            raise NoMatch(f"expected {law.op}")
        self.match_type(law.type, term.type)
        for expected, actual in zip(law.operands, term.operands, strict=True):
            self.match(expected, actual, lambdas)

    def _bind(self, name: str, term: Term) -> None:
        if self.terms.setdefault(name, term) != term:
            raise NoMatch(f"{name[1:]} would have two different values here")

    # Types and sizes

    def _match_argument(self, law: Argument, actual: Argument) -> None:
        if isinstance(law, Nat):
            assert isinstance(actual, Nat)
            self._match_size(law, actual)
        elif isinstance(law, RiseType):
            assert isinstance(actual, RiseType)
            self.match_type(law, actual)
        elif law != actual:
            raise NoMatch(f"expected {law}, but found {actual}")

    def match_type(self, law: RiseType, actual: RiseType) -> None:
        match law, actual:
            case TypeVariable(), _:
                if isinstance(actual, FunType):
                    raise NoMatch("expected data, but found a function")
                if self.types.setdefault(law.label.data, actual) != actual:
                    expected = self.types[law.label.data]
                    raise NoMatch("expected {}, but found {}", expected, actual)
            case (ArrayType(), ArrayType()) | (VectorType(), VectorType()):
                self._match_size(law.length, actual.length)
                self.match_type(law.element, actual.element)
            case IdxType(), IdxType():
                self._match_size(law.bound, actual.bound)
            case TupleType(), TupleType():
                for inner, part in zip(components(law), components(actual), strict=True):
                    self.match_type(inner, part)
            case FunType(), FunType():
                self.match_type(law.input, actual.input)
                self.match_type(law.output, actual.output)
            case _ if law == actual:
                return
            case _:
                raise NoMatch("expected {}, but found {}", law, actual)

    def _match_size(self, law: Nat, actual: Nat) -> None:
        name = _plain_variable(law)
        if name is None:
            self._equations.append((law, actual))
        elif self.sizes.setdefault(name, actual) != actual:
            raise NoMatch(f"the sizes {self.sizes[name]} and {actual} differ")

    def _solve_sizes(self) -> None:
        """Solve the equations between sizes, or raise NoMatch."""
        equations = self._equations
        while equations:
            unsolved: list[tuple[Nat, Nat]] = []
            for law, actual in equations:
                if not self._solve(law.substitute(self.sizes), actual):
                    unsolved.append((law, actual))
            if len(unsolved) == len(equations):
                law, actual = unsolved[0]
                raise NoMatch(f"found no sizes that make {_format_size(law)} equal to {actual}")
            equations = unsolved

    def _solve(self, law: Nat, actual: Nat) -> bool:
        if law == actual:
            return True
        unknowns = [name for name in law.variables if name.startswith(UNKNOWN)]
        solution = solve(law, actual, sorted(unknowns))
        if isinstance(solution, Deferred):
            return False
        if isinstance(solution, Impossible):
            raise NoMatch(_explain_mismatch(law, actual))
        for condition in solution.requires:
            if not divides(condition.divisor, condition.dividend):
                raise NoMatch(f"{condition.dividend} is not a multiple of {condition.divisor}")
        for name, size in solution.substitution.items():
            if size.is_constant and size.constant < 0:
                raise NoMatch(_explain_mismatch(law, actual))
            if not is_nonnegative(size, Facts()) and not _is_multiple(actual, size):
                raise NoMatch(f"{size} is not known to be 0 or more")
            self.sizes[name] = size
        return True

    # The right-hand side

    def build(
        self, law: Term, depth: int = 0, form: ApplicationForm = ApplicationForm.NAMED
    ) -> Term:
        """Instantiate one side of the law; `depth` is the number of enclosing lambdas of the law.

        `form` determines how an application of a known function is built.
        """
        if form is not ApplicationForm.UNREDUCED and (name := _eta_redex(law)) is not None:
            return shift(self.terms[name], depth)
        head, arguments = spine(law)
        if isinstance(head, Free):
            function = shift(self.terms[head.name], depth)
            for argument in arguments:
                value = self.build(argument, depth, form)
                if not isinstance(function, Lambda) or form is ApplicationForm.UNREDUCED:
                    function = Apply(function, value)
                elif form is ApplicationForm.REPEATED:
                    function = instantiate(function.body, value)
                else:
                    function = beta_reduce(function, value)
            return function
        match law:
            case Bound():
                return Bound(law.index, self.instantiate_type(law.type))
            case Lambda():
                body = self.build(law.body, depth + 1, form)
                type = self.instantiate_type(law.parameter)
                return Lambda(self._choose_name(law), type, body, self.location)
            case Pattern():
                return self._build_pattern(law)
            case Apply():
                parts = [self.build(each, depth, form) for each in arguments]
                result = apply_all(self.build(head, depth, form), parts)
                result.location = self.location
                return result
            case Scalar():
                parts = [self.build(each, depth, form) for each in law.operands]
                type = operation_type(law)
                return Scalar(law.op, parts, type, law.predicate, self.location)
            case _:
                return law

    def _build_pattern(self, law: Pattern) -> Term:
        arguments = [self._build_argument(each) for each in law.arguments]
        arguments_by_name = dict(zip(law.spec.parameters, arguments, strict=True))
        problem = argument_error(arguments_by_name) or law.spec.check(arguments_by_name)
        if problem is not None:
            raise NoMatch(f"{law.spec.name}: {problem}")
        # The same pattern on the left-hand side determines the location and the loop annotations.
        left_pattern = self._patterns.get(law.spec.name)
        if left_pattern is None:
            return Pattern(law.spec, arguments, law.to, self.location)
        return Pattern(law.spec, arguments, left_pattern.to, left_pattern.location or self.location)

    def _choose_name(self, law: Lambda) -> str:
        """Choose a variable's name: the parameter name of a function that is applied to it, or else
        its name in the law."""
        for head, arguments, position in _argument_uses(law):
            name = self._name_of_parameter(head, arguments, position)
            if name is not None:
                return name
        return law.name

    def _name_of_parameter(self, head: Term, arguments: list[Term], position: int) -> str | None:
        """The function's name for a parameter; an element of `rows` may be called `row`."""
        if isinstance(head, Free):
            function = self.terms[head.name]
            while isinstance(function, Lambda) and position:
                function, position = function.body, position - 1
            return function.name if isinstance(function, Lambda) else None
        if not isinstance(head, Pattern) or head.spec.role is not Role.LOOP:
            return None
        name = _eta_redex(arguments[0])
        names = _parameter_names(self.terms[name]) if name is not None else []
        if head.spec.accumulates:
            names.reverse()
        if position == len(arguments) - 1:
            return f"{names[0]}s" if names else None
        return names[1] if len(names) > 1 else None

    def instantiate_type(self, type: RiseType) -> RiseType:
        """Instantiate a type of the law."""
        if type.is_closed:
            return type
        return substitute(type, self.sizes, self.types)

    def _build_argument(self, argument: Argument) -> Argument:
        if isinstance(argument, Nat):
            return argument.substitute(self.sizes)
        return argument if isinstance(argument, str) else self.instantiate_type(argument)


def _parameter_names(function: Term) -> list[str]:
    names: list[str] = []
    while isinstance(function, Lambda):
        names.append(function.name)
        function = function.body
    return names


def may_match(law: Term, term: Term) -> bool:
    """Whether a term has the patterns of a law in the same positions: most terms do not."""
    stack = [(law, term)]
    while stack:
        law, term = stack.pop()
        if law.head is not None:
            if term.head is not law.head or term.argument_count != law.argument_count:
                return False
            while isinstance(law, Apply) and isinstance(term, Apply):
                stack.append((law.argument, term.argument))
                law, term = law.function, term.function
        elif isinstance(law, Lambda) and isinstance(term, Lambda):
            stack.append((law.body, term.body))
        elif isinstance(law, Bound) and not (isinstance(term, Bound) and term.index == law.index):
            return False
    return True


def _law_variables(arguments: Sequence[Term], lambdas: _Lambdas) -> tuple[int, ...] | None:
    """Return the indices of the arguments, if they are distinct variables that the law binds."""
    indices = tuple(each.index for each in arguments if isinstance(each, Bound))
    are_bound = len(indices) == len(arguments) and all(index < len(lambdas) for index in indices)
    return indices if are_bound and len(set(indices)) == len(indices) else None


def _abstract_over(term: Term, lambdas: _Lambdas, parameters: Sequence[int]) -> Term:
    """Abstract a term under these lambdas over some of their variables; it may use no others."""
    count, lambda_count = len(parameters), len(lambdas)
    if not lambda_count:
        return term
    new_indices = {index: count - 1 - position for position, index in enumerate(parameters)}

    def visit(term: Term, level: int) -> Term:
        if term.open <= level:
            return term
        if isinstance(term, Bound):
            index = term.index - level
            if index >= lambda_count:
                return Bound(index - lambda_count + count + level, term.type, term.location)
            if index not in new_indices:
                raise NoMatch(f"{lambdas[-1 - index].name} is used here, but bound further in")
            return Bound(new_indices[index] + level, term.type, term.location)
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    body = visit(term, 0)
    for index in reversed(parameters):
        layer = lambdas[-1 - index]
        body = Lambda(layer.name, layer.parameter, body, layer.location)
    return body


@lru_cache(maxsize=_CACHE_SIZE)
def _argument_uses(law: Lambda) -> tuple[tuple[Term, list[Term], int], ...]:
    """The uses of a lambda's variable as an argument: the head, its arguments, and the position."""
    uses: list[tuple[Term, list[Term], int]] = []
    stack: list[tuple[Term, int]] = [(law.body, 0)]
    while stack:
        part, level = stack.pop()
        head, arguments = spine(part)
        for position, argument in enumerate(arguments):
            if isinstance(argument, Bound) and argument.index == level:
                uses.append((head, arguments, position))
        inner = level + 1 if isinstance(part, Lambda) else level
        stack.extend((child, inner) for child in reversed(part.children))
    return tuple(uses)


@lru_cache(maxsize=_CACHE_SIZE)
def _eta_redex(law: Term) -> str | None:
    """Return the unknown `f` of `fun((x, y), f(x, y))`, which is equal to the function itself."""
    count = 0
    while isinstance(law, Lambda):
        law = law.body
        count += 1
    head, arguments = spine(law)
    if not count or not isinstance(head, Free) or len(arguments) != count:
        return None
    indices = [each.index for each in arguments if isinstance(each, Bound)]
    return head.name if indices == list(range(count - 1, -1, -1)) else None


def _plain_variable(size: Nat) -> str | None:
    """Return the name of the unknown that a size consists of, if it is a single unknown."""
    names = size.variables
    if len(names) != 1:
        return None
    (name,) = names
    return name if name.startswith(UNKNOWN) and size == Nat.var(name) else None


def _is_multiple(length: Nat, size: Nat) -> bool:
    """Whether a length, which is never negative, is a constant multiple of a size, so that the size
    is not negative either."""
    if not length.symbolic or not size.symbolic:
        return length == size
    factor = length.symbolic[0][0] // size.symbolic[0][0]
    return factor > 0 and size * factor == length


def _explain_mismatch(law: Nat, actual: Nat) -> str:
    """Explain why a size does not match that of a law."""
    (name,) = law.variables if len(law.variables) == 1 else ("",)
    if name:
        factor = law.substitute({name: Nat.const(1)})
        if law == factor * Nat.var(name):
            return f"{actual} is not a multiple of {factor}"
    return f"the size {actual} is not of the form {_format_size(law)}"


def _format_size(size: Nat) -> str:
    return str(size).replace(UNKNOWN, "")
