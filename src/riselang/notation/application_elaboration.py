"""Elaboration of applications: of patterns, scalar functions, and values of function type."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from riselang.dialects.rise.argument_checks import Argument as PatternArgument
from riselang.dialects.rise.lane_types import Lanes
from riselang.dialects.rise.pattern_registry import KEYWORD_PARAMETERS, LET
from riselang.dialects.rise.pattern_spec import PatternSpec, swap_first_inputs
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    RiseType,
    TypeVariable,
    fun,
    uncurry,
)
from riselang.notation.context import show_type
from riselang.notation.derivative_elaboration import DerivativeElaborator
from riselang.notation.embedded_regions import InvalidRegion, operand_types, parse_region, unquote
from riselang.notation.lookup import (
    Argument,
    Closure,
    DerivativeChoice,
    EmbedChoice,
    Head,
    PatternChoice,
)
from riselang.notation.operators import ScalarFunction
from riselang.notation.size_expressions import evaluate_size, is_size_like
from riselang.notation.syntax import Fun, Name, Span, Syntax, Text
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.foreign import ForeignRegion
from riselang.term.inference import parameter_order_note


class ApplicationElaborator(DerivativeElaborator):
    """Elaborates applications; a pattern checks its data before its functions."""

    def application(
        self, head: Head, arguments: list[Argument], expected: FunType | None, span: Span
    ) -> build.Node:
        match head:
            case PatternChoice():
                return self.pattern_application(head, arguments, expected, span)
            case ScalarFunction():
                return self.scalar_application(head, arguments, span)
            case EmbedChoice():
                return self.elaborate_embed(head, arguments, span)
            case DerivativeChoice():
                return self.elaborate_derivative(head, arguments, span)
            case build.Node():
                return self.node_application(head, arguments, span)
            case Closure(syntax=Fun() as function, frame=frame, is_inlined=True) if arguments:
                return self.inline(function, frame, arguments, span)
            case Closure(syntax=Fun() as function, frame=frame):
                return self.elaborate_lambda(function, frame, arguments)
            case Closure():
                node = self.infer(head.syntax, head.frame)
                return self.node_application(node, arguments, span)

    def elaborate_embed(
        self, choice: EmbedChoice, arguments: list[Argument], span: Span
    ) -> build.Node:
        """Elaborate `embed[f32]("region", a, b)`: foreign ops on scalars."""
        first, *operands = arguments or [None]
        if not isinstance(first, Closure) or not isinstance(first.syntax, Text):
            raise self.error('embed: expected a string first, as in embed[f32]("...", a)', span)
        region, types = self.check_region(first.syntax, choice.type)
        if len(types) != len(operands):
            raise self.error(
                f"embed: the region takes {format_count(len(types), 'value')}, but got "
                f"{len(operands)}",
                span,
            )
        nodes: list[build.Node] = []
        for position, (operand, type) in enumerate(zip(operands, types, strict=True)):
            assert operand is not None
            nodes.append(self.check(operand, type, f"embed, operand {position + 1}", span))
        location = self.location(span)
        return build.Foreign(choice.type, region, nodes, scope=self.scope, location=location)

    def check_region(self, text: Text, result: Lanes) -> tuple[ForeignRegion, Sequence[Lanes]]:
        try:
            region = parse_region(unquote(text.literal))
            return region, operand_types(region, result)
        except InvalidRegion as bad:
            start, end = text.span
            if bad.offset is not None:
                start = end = start + 1 + bad.offset
            raise self.error(f"embed: {bad.message}", (start, end)) from None

    def node_application(
        self, function: build.Node, arguments: Sequence[Argument], span: Span
    ) -> build.Node:
        """Apply a value of function type to some arguments."""
        if not arguments:
            return function
        if isinstance(self.resolve(function.type), TypeVariable):
            arguments = [self.as_node(argument) for argument in arguments]
            self.assume_function(function, arguments, self.inference.fresh_type())
        type, nodes = self.resolve(function.type), list[build.Node]()
        name = _function_name(function)
        for position, argument in enumerate(arguments):
            if not isinstance(type, FunType):
                raise self.error(self._too_many_arguments(name, function, len(arguments)), span)
            nodes.append(self.check(argument, type.input, f"{name}, argument {position + 1}", span))
            type = self.resolve(type.output)
        return self.apply(function, nodes, type, span)

    def _too_many_arguments(self, name: str, function: build.Node, count: int) -> str:
        type = self.resolve(function.type)
        takes = len(uncurry(type)[0])
        if takes == 0:
            hint = "; an element is at(i, x)" if isinstance(type, ArrayType) else ""
            return f"{name} has the type {show_type(type)} and is not a function{hint}"
        return f"{name} takes {format_count(takes, 'argument')}, but got {count}"

    def scalar_application(
        self, function: ScalarFunction, arguments: list[Argument], span: Span
    ) -> build.Node:
        if function.needs is not None:
            raise self.error(
                f"'{function.name}' needs {function.needs} in brackets: {function.name}[...]", span
            )
        if len(arguments) > function.arity:
            raise self.error(
                f"'{function.name}' takes {format_count(function.arity, 'operand')}, but got "
                f"{len(arguments)}",
                span,
            )
        nodes: list[build.Node] = []
        for argument in arguments:
            nodes.append(self.as_node(argument))
        if len(nodes) == function.arity:
            return self.operation(function, nodes, span)
        missing = function.arity - len(nodes)
        types: list[RiseType] = [self.inference.fresh_type() for _ in range(missing)]
        return self.eta_expand(
            types, missing, lambda values: self.operation(function, [*nodes, *values], span), None,
            function.name, span,
        )  # fmt: skip

    def pattern_application(
        self, choice: PatternChoice, arguments: list[Argument], expected: FunType | None, span: Span
    ) -> build.Node:
        """Apply a pattern to some arguments; data first, so that functions see their types."""
        spec = choice.spec
        given, arguments = self.split_sizes(spec, arguments, span)
        if spec is LET and len(arguments) >= 2:
            return self.let_application(arguments, span)
        if len(arguments) > spec.arity:
            raise self.error(
                f"{spec.name} takes {format_count(spec.arity, 'argument')}{_sizes_suffix(spec)}, "
                f"but got {len(arguments)}",
                span,
            )
        parameters = self.inference.instantiate(spec, given)
        node = self.pattern(spec, parameters, choice.to, span)
        inputs, result = uncurry(node.type)
        rest = inputs[len(arguments) :]
        type = fun(*rest, result) if rest else result
        if expected is not None:
            self.unify(expected, type, spec.name, span)
        try:
            nodes = self.elaborate_arguments(spec, inputs, arguments, span)
        except UserError as error:
            if arguments and rest and expected is None:
                error.notes += (_partial_application_note(spec, len(arguments)),)
            raise
        self.check_arguments(spec, parameters, span)
        return self.apply(node, nodes, self.resolve(type), span)

    def elaborate_arguments(
        self,
        spec: PatternSpec,
        inputs: Sequence[RiseType],
        arguments: Sequence[Argument],
        span: Span,
    ) -> list[build.Node]:
        nodes: dict[int, build.Node] = {}
        for functions in (False, True):
            for position, argument in enumerate(arguments):
                if isinstance(inputs[position], FunType) is functions:
                    what = f"{spec.name}, argument {position + 1}"
                    at = argument.syntax.span if isinstance(argument, Closure) else span
                    self.check_kind(spec, inputs[position], argument, what, at)
                    is_step = functions and spec.accumulates
                    check = partial(self.check_step, spec) if is_step else self.check
                    nodes[position] = check(argument, inputs[position], what, at)
        return [nodes[position] for position in range(len(arguments))]

    def check_step(
        self, spec: PatternSpec, argument: Argument, expected: RiseType, what: str, span: Span
    ) -> build.Node:
        """Check a function of (accumulator, element); an error says if it has them swapped."""
        other_order = swap_first_inputs(self.resolve(expected))
        if other_order == self.resolve(expected):
            return self.check(argument, expected, what, span)
        try:
            return self.check(argument, expected, what, span)
        except UserError as error:
            self.inference.forget(other_order)
            with suppress(UserError):
                self.check(argument, other_order, what, span)
                error.notes += (parameter_order_note(spec.name),)
            raise

    def check_kind(
        self, spec: PatternSpec, input: RiseType, argument: Argument, what: str, span: Span
    ) -> None:
        """Reject a function where a value is expected: arguments are swapped, or some missing."""
        if isinstance(argument, build.Node):
            found = isinstance(self.resolve(argument.type), FunType)
        else:
            found = self.is_function(argument)
        if found and not isinstance(input, FunType):
            message = f"{what}: expected {show_type(self.resolve(input))}, but found a function"
            raise self.error(f"{message}; {spec!r}", span)

    def split_sizes(
        self, spec: PatternSpec, arguments: list[Argument], span: Span
    ) -> tuple[dict[str, PatternArgument], list[Argument]]:
        """Return the sizes and keywords that a pattern takes first, and the other arguments."""
        count = len(spec.explicit)
        if len(arguments) < count:
            raise self._missing_sizes_error(spec, span)
        self.check_sizes_given(spec, arguments, span)
        given: dict[str, PatternArgument] = {}
        for name, argument in zip(spec.explicit, arguments, strict=False):
            what = f"{spec.name}, {name}"
            if not isinstance(argument, Closure):
                raise self.error(f"{what}: expected a size, but found a value", span)
            if name in KEYWORD_PARAMETERS:
                given[name] = self.check_keyword(name, argument.syntax, what)
            else:
                given[name] = evaluate_size(argument.syntax, self.bindings, self.source, what)
        return given, arguments[count:]

    def check_sizes_given(self, spec: PatternSpec, arguments: list[Argument], span: Span) -> None:
        """Report missing sizes where arguments are too few and a value stands for a size."""
        if len(arguments) >= len(spec.explicit) + spec.arity:
            return
        for argument in arguments[: len(spec.explicit)]:
            is_size = isinstance(argument, Closure) and is_size_like(argument.syntax, self.bindings)
            if not is_size:
                raise self._missing_sizes_error(spec, span)

    def _missing_sizes_error(self, spec: PatternSpec, span: Span) -> Exception:
        names = ", ".join(spec.explicit)
        return self.error(f"{spec.name} needs {names} first: {spec.name}({names})", span)

    def check_keyword(self, name: str, syntax: Syntax, what: str) -> str:
        known = KEYWORD_PARAMETERS[name]
        if isinstance(syntax, Name) and syntax.text in known:
            return syntax.text
        found = self.source.text[slice(*syntax.span)]
        raise self.error(
            f"{what}: expected one of {', '.join(known)}, but found '{found}'", syntax.span
        )

    def let_application(self, arguments: list[Argument], span: Span) -> build.Node:
        """Elaborate `let(value, function)`, where the function may return a function."""
        value = self.as_node(arguments[0])
        if isinstance(self.resolve(value.type), FunType):
            raise self.error("let: expected a value, but found a function", span)
        function = self.let_function(arguments[1], value)
        type = self.resolve(function.type)
        if not isinstance(type, FunType):
            raise self.error(f"let: expected a function, but found {show_type(type)}", span)
        self.unify(type.input, value.type, "let, argument 1", span)
        pattern = self.pattern(LET, {"s": value.type, "t": type.output}, None, span)
        node = self.apply(pattern, [value, function], type.output, span)
        return self.node_application(node, arguments[2:], span)

    def let_function(self, argument: Argument, value: build.Node) -> build.Node:
        """Elaborate the function of a let; a partially applied pattern takes the value."""
        if isinstance(argument, Closure):
            head, given = self.head(argument)
            if isinstance(head, PatternChoice) and head.arity == len(given) + 1:
                expected = fun(value.type, self.inference.fresh_type())
                return self.application(head, given, expected, argument.syntax.span)
        return self.as_node(argument)


def _sizes_suffix(spec: PatternSpec) -> str:
    noun = "size" if len(spec.explicit) == 1 else "sizes"
    return f" after the {noun} {', '.join(spec.explicit)}" if spec.explicit else ""


def _partial_application_note(spec: PatternSpec, count: int) -> str:
    return f"{spec.name} is given {count} of its {spec.arity} arguments: {spec!r}"


def _function_name(function: build.Node) -> str:
    return f"'{function.name}'" if isinstance(function, build.Variable) else "this function"
