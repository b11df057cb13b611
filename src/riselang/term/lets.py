"""The normal form of lets, which is also the form of terms that are read from `rise` modules.

Every let is at the top of its function, and binds a computed value that is used twice, or in a
nested function, which may run many times. There is no let for a view, or for a value that is used
once in the same function. No lambda is applied directly: its arguments are bound like lets.
"""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import FST, LET, SND, TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import TupleType, components, fun, uncurry
from riselang.support.errors import LimitationError
from riselang.support.lazy import cached_property
from riselang.term import build
from riselang.term.deep_recursion import recursive
from riselang.term.finish import finish
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    has_pattern,
    spine,
    subterms,
)
from riselang.term.scalar_embedding import evaluate_tree, scalar_leaves
from riselang.term.size_substitution import open_term_binder, term_names

Environment = tuple[build.Node, ...]


@recursive
def normalize_lets(term: Term, results: int = 1) -> Term:
    """Bring the lets of a program into normal form; the program returns a tuple of `results`."""
    if results > 1 or has_pattern(term, LET.name) or _applies_a_lambda(term):
        term = _bind_where_needed(term, results)
    # A function that was bound by a let may now be applied directly.
    while _applies_a_lambda(term):
        term = _bind_where_needed(term, results)
    return term


def _bind_where_needed(term: Term, results: int) -> Term:
    """Return a program with lets for the values that need one, and no others."""
    scope = build.Scope()
    variables: list[build.Variable] = []
    body = term
    for _ in uncurry(term.type)[0]:
        assert isinstance(body, Lambda)
        location = body.location
        variables.append(build.Variable(body.parameter, body.name, scope=scope, location=location))
        body = body.body
    nodes = _NodeBuilder(term)
    *other_results, result = nodes.results(body, tuple(variables), results, scope)
    result = build.tuple_of([*other_results, result], scope)
    types = [variable.type for variable in variables]
    type = fun(*types, result.type) if types else result.type
    return finish(build.Function(type, variables, result, scope, location=term.location))


def _applies_a_lambda(term: Term) -> bool:
    """Whether a part of a term applies a lambda to its argument."""
    return any(
        isinstance(part, Apply) and isinstance(part.function, Lambda) for part in subterms(term)
    )


def is_pair(value: build.Application) -> bool:
    """Whether a node makes a pair from its two components."""
    function = value.function
    is_tuple = isinstance(function, build.PatternUse) and function.spec is TUPLE
    return is_tuple and len(value.arguments) == 2


def _selected_part(function: build.Node, arguments: Sequence[build.Node]) -> build.Node | None:
    """The component of a pair that an application of fst or snd selects, if the pair is known."""
    if not isinstance(function, build.PatternUse) or function.spec not in (FST, SND):
        return None
    if len(arguments) != 1 or not isinstance(arguments[0], build.Application):
        return None
    value = arguments[0]
    return value.arguments[0 if function.spec is FST else 1] if is_pair(value) else None


class _NodeBuilder:
    """Turns terms into nodes; a let does not become a node, but labels the node of its value."""

    def __init__(self, program: Term):
        self._program = program
        self._new_names: set[str] = set()
        """The names of sizes and data types that were introduced."""

    @cached_property
    def _program_names(self) -> set[str]:
        """The names of sizes and data types of the program, which few programs need."""
        return term_names(self._program)

    def node(self, term: Term, environment: Environment, scope: build.Scope) -> build.Node:
        match term:
            case Bound(index):
                return environment[-1 - index]
            case Literal(attribute):
                return build.literal_node(attribute, scope, term.location)
            case Pattern():
                return self.pattern(term, scope)
            case Lambda():
                return self.function(term, environment, scope)
            case Apply():
                return self.application(term, environment, scope)
            case DepLambda():
                return self.dependent(term, environment, scope)
            case DepApply():
                function = self.node(term.function, environment, scope)
                return build.DependentApplication(
                    term.type, function, term.argument, scope=scope, location=term.location
                )
            case Scalar():
                return self.scalar(term, environment, scope)
            case Embed():
                operands = [self.node(operand, environment, scope) for operand in term.operands]
                return build.Foreign(
                    term.type, term.region, operands, scope=scope, location=term.location
                )
            case _:
                raise LimitationError(f"the term has the free variable {term}", term.location)

    def pattern(self, term: Pattern, scope: build.Scope) -> build.Node:
        if term.spec is LET:
            raise LimitationError(f"{term.spec.name} must be applied", term.location)
        arguments: dict[str, Argument] = dict(
            zip(term.spec.parameters, term.arguments, strict=True)
        )
        return build.PatternUse(
            term.type, term.spec, arguments, term.to, scope=scope, location=term.location
        )

    def function(self, term: Lambda, environment: Environment, scope: build.Scope) -> build.Node:
        inner = build.Scope(scope)
        parameters: list[build.Variable] = []
        body: Term = term
        while isinstance(body, Lambda):
            location = body.location
            parameters.append(
                build.Variable(body.parameter, body.name, scope=inner, location=location)
            )
            body = body.body
        result = self.node(body, (*environment, *parameters), inner)
        return build.Function(
            term.type, parameters, result, inner, scope=scope, location=term.location
        )

    def dependent(
        self, term: DepLambda, environment: Environment, scope: build.Scope
    ) -> build.Node:
        name, body = open_term_binder(term, self._program_names | self._new_names)
        self._new_names.add(name)
        inner = build.Scope(scope)
        result = self.node(body, environment, inner)
        return build.DependentFunction(
            term.type, term.kind, name, term.name, result, inner, scope=scope,
            location=term.location,
        )  # fmt: skip

    def application(self, term: Apply, environment: Environment, scope: build.Scope) -> build.Node:
        head, arguments = spine(term)
        if isinstance(head, Lambda):
            # Applying a lambda binds its arguments, as a let does.
            inner_environment = environment
            while isinstance(head, Lambda) and arguments:
                value = self.node(arguments.pop(0), environment, scope)
                value.label = value.label or head.name
                head, inner_environment = head.body, (*inner_environment, value)
            function = self.node(head, inner_environment, scope)
            if not arguments:
                return function
        elif isinstance(head, Pattern) and head.spec is LET and len(arguments) >= 2:
            if isinstance(arguments[1], Lambda):
                environment_of_body = self.bind_let(arguments, environment, scope)
                function = self.node(arguments[1].body, environment_of_body, scope)
                if len(arguments) == 2:
                    return function
                arguments = arguments[2:]
            else:
                function = self.node(arguments[1], environment, scope)
                arguments = [arguments[0], *arguments[2:]]
        else:
            function = self.node(head, environment, scope)
        values: list[build.Node] = []
        for argument in arguments:
            values.append(self.node(argument, environment, scope))
        part = _selected_part(function, values)
        if part is not None:
            return part
        return build.Application(term.type, function, values, scope=scope, location=term.location)

    def bind_let(
        self, arguments: Sequence[Term], environment: Environment, scope: build.Scope
    ) -> Environment:
        """The environment for the body of a let."""
        value = self.node(arguments[0], environment, scope)
        assert isinstance(arguments[1], Lambda)
        value.label = value.label or arguments[1].name
        return (*environment, value)

    def results(
        self, body: Term, environment: Environment, count: int, scope: build.Scope
    ) -> list[build.Node]:
        """The components of a tuple of `count` results, which may be inside lets."""
        values: list[build.Node] = []
        while len(values) < count - 1:
            head, arguments = spine(body)
            spec = head.spec if isinstance(head, Pattern) else None
            if spec is LET and len(arguments) == 2 and isinstance(arguments[1], Lambda):
                environment = self.bind_let(arguments, environment, scope)
                body = arguments[1].body
            elif spec is TUPLE and len(arguments) == 2:
                values.append(self.node(arguments[0], environment, scope))
                body = arguments[1]
            else:
                tuple_node = self.node(body, environment, scope)
                return [*values, *self.parts(tuple_node, count - len(values), scope)]
        return [*values, self.node(body, environment, scope)]

    def parts(self, value: build.Node, count: int, scope: build.Scope) -> list[build.Node]:
        """The components of a tuple of `count` results."""
        parts: list[build.Node] = []
        for _ in range(count - 1):
            parts.append(self.projection(FST, value, scope))
            value = self.projection(SND, value, scope)
        return [*parts, value]

    def projection(self, spec: PatternSpec, value: build.Node, scope: build.Scope) -> build.Node:
        assert isinstance(value.type, TupleType)
        first, second = components(value.type)
        arguments: dict[str, Argument] = dict(zip(spec.parameters, (first, second), strict=True))
        pattern = build.PatternUse(spec.instantiate(arguments), spec, arguments, scope=scope)
        part = _selected_part(pattern, [value])
        if part is not None:
            return part
        type = first if spec is FST else second
        return build.Application(type, pattern, [value], scope=scope)

    def scalar(self, term: Scalar, environment: Environment, scope: build.Scope) -> build.Node:
        leaves = scalar_leaves(term)
        values: list[build.Node] = []
        for leaf in leaves:
            values.append(self.node(leaf, environment, scope))

        def combine(inner: Term, operands: Sequence[build.Node]) -> build.Node:
            location = inner.location
            if isinstance(inner, Literal):
                return build.literal_node(inner.attribute, scope, location)
            assert isinstance(inner, Scalar)
            return build.Operation(
                inner.type, inner.op, operands, inner.predicate, scope=scope, location=location
            )

        return evaluate_tree(term, leaves, values, combine)
