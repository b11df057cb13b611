"""Elaboration of functions: with an expected type, inlined by name, and applied to pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from riselang.dialects.rise.type_binding import dep_fun, instantiate_binder, type_variables
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, TypeVariable, fun, uncurry
from riselang.nat import Nat
from riselang.notation.context import show_type
from riselang.notation.lookup import (
    Argument,
    Closure,
    DerivativeChoice,
    Frame,
    Head,
    Lookup,
    PatternChoice,
)
from riselang.notation.operators import ScalarFunction
from riselang.notation.syntax import DepCall, DepFun, Fun, Parameter, Span, Syntax
from riselang.term import build


class FunctionElaborator(Lookup, ABC):
    """Elaborates functions; subclasses elaborate expressions and applications."""

    @abstractmethod
    def infer(self, syntax: Syntax, frame: Frame) -> build.Node:
        """Return the node of an expression, with the type inferred from the expression alone."""

    @abstractmethod
    def check(self, argument: Argument, expected: RiseType, what: str, span: Span) -> build.Node:
        """Return the node of an argument after unifying its type with `expected`."""

    @abstractmethod
    def application(
        self, head: Head, arguments: list[Argument], expected: FunType | None, span: Span
    ) -> build.Node:
        """Apply the head of an application to its arguments."""

    @abstractmethod
    def node_application(
        self, function: build.Node, arguments: Sequence[Argument], span: Span
    ) -> build.Node:
        """Apply a value of function type to some arguments."""

    @abstractmethod
    def count_derivative_inputs(
        self, choice: DerivativeChoice, arguments: Sequence[Argument]
    ) -> int | None:
        """Return how many values the derivative of a function takes after these arguments, if its
        definition shows it."""

    def as_node(self, argument: Argument) -> build.Node:
        if isinstance(argument, build.Node):
            return argument
        return self.infer(argument.syntax, argument.frame)

    def elaborate_lambda(
        self, function: Fun, frame: Frame, arguments: list[Argument]
    ) -> build.Node:
        """Elaborate `fun(x, body)` applied to some arguments, which give parameters their types."""
        parameters, span = function.parameters, function.span
        count = min(len(parameters), len(arguments))
        nodes: list[build.Node] = []
        for parameter, argument in zip(parameters, arguments, strict=False):
            what = f"the argument for '{parameter.name}'"
            if parameter.type is None:
                nodes.append(self.as_node(argument))
            else:
                nodes.append(self.check(argument, parameter.type, what, span))
        types = [node.type for node in nodes]
        types += [p.type or self.inference.fresh_type() for p in parameters[count:]]
        with self.inner_scope() as inner:
            variables = self.bind(parameters, types, frame)
            body = self.infer(function.body, frame)
        node = self.function(variables, body, inner, span)
        remaining_types = [variable.type for variable in variables[count:]]
        type = fun(*remaining_types, body.type) if remaining_types else body.type
        application = self.apply(node, nodes, type, span)
        return self.node_application(application, arguments[count:], span)

    def dependent_function(self, function: DepFun, frame: Frame) -> build.Node:
        """Elaborate `depFun(n : nat, body)`, which has to be well-typed for every size."""
        name, kind = function.internal, function.kind
        self.inference.fix_variable(name)
        with self.inner_scope() as inner:
            body = self.infer(function.body, frame)
        location = self.location(function.span)
        return build.DependentFunction(
            dep_fun(kind, name, self.resolve(body.type)), kind, name, function.name, body, inner,
            scope=self.scope, location=location,
        )  # fmt: skip

    def dependent_application(self, call: DepCall, frame: Frame) -> build.Node:
        """Elaborate `f@4`: a dependent function applied to a size or a type."""
        node = self.infer(call.function, frame)
        type, argument = self.resolve(node.type), call.argument
        kind = "nat" if isinstance(argument, Nat) else "data"
        if not isinstance(type, DepFunType) or type.kind.data != kind:
            what = "size" if kind == "nat" else "type"
            raise self.error(
                f"expected a function of a {what} before '@', but found {show_type(type)}",
                call.function.span,
            )
        location = self.location(call.span)
        return build.DependentApplication(
            instantiate_binder(type, argument), node, argument, scope=self.scope, location=location
        )

    def bind(
        self, parameters: Sequence[Parameter], types: Sequence[RiseType], frame: Frame
    ) -> list[build.Variable]:
        variables: list[build.Variable] = []
        for parameter, type in zip(parameters, types, strict=True):
            if parameter.type is not None:
                self.unify(parameter.type, type, f"parameter '{parameter.name}'", parameter.span)
            variable = self.variable(parameter.name, type, parameter.span)
            frame.values[parameter] = variable
            variables.append(variable)
        return variables

    def inline(
        self, function: Fun, frame: Frame, arguments: list[Argument], span: Span
    ) -> build.Node:
        """Inline a named function: its arguments replace its parameters."""
        count = len(function.parameters)
        inner, remaining_function = self.bind_inlined(function, frame, arguments, span)
        if remaining_function is not None:
            return self.elaborate_lambda(remaining_function, inner, [])
        body = Closure(function.body, inner)
        if len(arguments) == count:
            return self.infer(body.syntax, body.frame)
        head, inner_arguments = self.head(body)
        return self.application(head, [*inner_arguments, *arguments[count:]], None, span)

    def bind_inlined(
        self, function: Fun, frame: Frame, arguments: list[Argument], span: Span
    ) -> tuple[Frame, Fun | None]:
        """Return the frame of an inlined function, and the function of the missing arguments."""
        inner = Frame(frame)
        parameters = function.parameters
        for parameter, argument in zip(parameters, arguments, strict=False):
            inner.values[parameter] = self.inline_argument(parameter, argument, span)
        remaining = parameters[len(arguments) :]
        return inner, Fun(remaining, function.body, span=function.span) if remaining else None

    def inline_argument(self, parameter: Parameter, argument: Argument, span: Span) -> Argument:
        if parameter.type is not None:
            what = f"the argument for '{parameter.name}'"
            return self.check(argument, parameter.type, what, span)
        if isinstance(argument, Closure) and self.is_function(argument):
            return argument
        return self.as_node(argument)

    def check_function(self, argument: Closure, expected: FunType, what: str) -> build.Node:
        """Check a function against its type; one with more parameters destructures pairs."""
        head, arguments = self.head(argument)
        span = argument.syntax.span
        match head:
            case Closure(syntax=Fun() as function, frame=frame) if not arguments:
                return self.check_lambda(function, frame, expected, what)
            case Closure(syntax=Fun() as function, frame=frame, is_inlined=True) if len(
                arguments
            ) <= len(function.parameters):
                return self.check_inlined(function, frame, arguments, expected, what, span)
            case ScalarFunction():
                return self.check_expansion(head, arguments, expected, what, span)
            case PatternChoice():
                missing = head.arity - len(arguments)
                if missing > len(uncurry(expected)[0]):
                    return self.check_expansion(head, arguments, expected, what, span)
                node = self.application(head, arguments, expected if missing else None, span)
            case DerivativeChoice():
                inputs, output = uncurry(expected)
                count = self.count_derivative_inputs(head, arguments)
                return self.eta_expand(
                    inputs, len(inputs) if count is None else count,
                    lambda values: self.application(head, [*arguments, *values], None, span),
                    output, what, span,
                )  # fmt: skip
            case build.Node():
                nodes = [self.as_node(argument) for argument in arguments]
                self.assume_function(head, nodes, expected)
                node = self.node_application(head, nodes, span)
            case _:
                node = self.application(head, arguments, None, span)
        return self.uncurry_pairs(node, expected, what, span)

    def uncurry_pairs(
        self, node: build.Node, expected: FunType, what: str, span: Span
    ) -> build.Node:
        """Return a function, over pairs if it takes more arguments than expected."""
        inputs, output = uncurry(expected)
        count = len(uncurry(self.resolve(node.type))[0])
        if count > len(inputs):
            return self.eta_expand(
                inputs, count, lambda values: self.node_application(node, values, span), output,
                what, span,
            )  # fmt: skip
        self.unify(expected, node.type, what, span)
        return node

    def assume_function(
        self, function: build.Node, arguments: Sequence[build.Node], result: RiseType
    ) -> None:
        """Give a function type to a parameter of unknown type that is used as a function.

        A function whose type would contain itself is left to unification, which reports the error.
        """
        type = self.resolve(function.type)
        if not isinstance(type, TypeVariable):
            return
        if arguments or type.label.data not in type_variables(self.resolve(result)):
            inputs = [argument.type for argument in arguments]
            self.know_function(type, fun(*inputs, result), function)

    def check_inlined(
        self, function: Fun, frame: Frame, arguments: list[Argument], expected: FunType,
        what: str, span: Span,
    ) -> build.Node:  # fmt: skip
        """Check a partially applied named function, or one that returns a function."""
        inner, rest = self.bind_inlined(function, frame, arguments, span)
        if rest is not None:
            return self.check_lambda(rest, inner, expected, what)
        return self.check(Closure(function.body, inner), expected, what, span)

    def check_lambda(self, function: Fun, frame: Frame, expected: FunType, what: str) -> build.Node:
        function = _flatten_lambda(function)
        parameters, span = function.parameters, function.span
        inputs, output = uncurry(expected)
        if len(parameters) > len(inputs):
            return self.eta_expand(
                inputs, len(parameters),
                lambda values: self.check_body_over_pairs(function, frame, values, output, what),
                None, what, span,
            )  # fmt: skip
        rest = inputs[len(parameters) :]
        result = fun(*rest, output) if rest else output
        with self.inner_scope() as inner:
            variables = self.bind(parameters, inputs[: len(parameters)], frame)
            closure = Closure(function.body, frame)
            body = self.check(closure, result, _result_of(what), function.body.span)
        return self.function(variables, body, inner, span)

    def check_body_over_pairs(
        self, function: Fun, frame: Frame, values: list[build.Node], output: RiseType, what: str
    ) -> build.Node:
        for parameter, value in zip(function.parameters, values, strict=True):
            if parameter.type is not None:
                name = f"parameter '{parameter.name}'"
                self.unify(parameter.type, value.type, name, parameter.span)
            frame.values[parameter] = value
        closure = Closure(function.body, frame)
        return self.check(closure, output, _result_of(what), function.body.span)

    def check_expansion(
        self, head: PatternChoice | ScalarFunction, arguments: list[Argument], expected: FunType,
        what: str, span: Span,
    ) -> build.Node:  # fmt: skip
        """Eta-expand a pattern or scalar function: `zip` to `fun(p, zip(fst(p), snd(p)))`."""
        inputs, output = uncurry(expected)
        if isinstance(head, ScalarFunction) and len(arguments) >= head.arity:
            raise self.error(
                f"{what}: expected a function of type {show_type(self.resolve(expected))}, but "
                f"this is '{head.name}' with all its arguments; write {head.name}, or fun(x, ...)",
                span,
            )

        def body(values: list[build.Node]) -> build.Node:
            return self.application(head, [*arguments, *values], None, span)

        return self.eta_expand(inputs, head.arity - len(arguments), body, output, what, span)

    def eta_expand(
        self,
        inputs: Sequence[RiseType],
        count: int,
        body: Callable[[list[build.Node]], build.Node],
        output: RiseType | None,
        what: str,
        span: Span,
    ) -> build.Node:
        """Build a lambda over `inputs` whose body gets `count` values, after splitting pairs."""
        with self.inner_scope() as inner:
            variables = [
                self.variable(f"x{number}", self.resolve(input), span)
                for number, input in enumerate(inputs)
            ]
            result = body(self.spread_pairs(variables, count, what, span))
            if output is not None:
                self.unify(output, result.type, _result_of(what), span)
        return self.function(variables, result, inner, span)


def _result_of(what: str) -> str:
    """Return the words for the result of a function: `map, argument 1` has `map, result of ...`."""
    owner, comma, function = what.rpartition(", ")
    return f"{owner}{comma}result of {function}"


def _flatten_lambda(function: Fun) -> Fun:
    """Rewrite `fun(a, fun(b, e))` to the equivalent `fun((a, b), e)`."""
    while isinstance(function.body, Fun):
        inner = function.body
        parameters = (*function.parameters, *inner.parameters)
        function = Fun(parameters, inner.body, span=function.span)
    return function
