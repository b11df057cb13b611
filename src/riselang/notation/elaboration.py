"""From syntax to nodes under construction: names are looked up, types are inferred.

Types come from two sides. `infer` finds the type of an expression; `check` makes one fit the type
its place expects, and so gives the parameters of a function their types. A pattern checks its data
before its functions, which therefore see what they are applied to. Functions that are named, by
`let` or `def`, are inlined: applied, their parameters become the arguments themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.dialects.rise.schemes import (
    KEYWORD_PARAMETERS,
    LET,
    PatternSpec,
)
from riselang.dialects.rise.schemes import Argument as PatternArgument
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    TypeVariable,
    fun,
    uncurry,
)
from riselang.notation.context import Undetermined, show_type
from riselang.notation.lookup import Argument, Closure, Frame, Head, Lookup, PatternChoice
from riselang.notation.operators import COMPARISONS, FUNCTIONS, INFIX, ScalarFunction, comparison
from riselang.notation.sizes import size_of
from riselang.notation.syntax import (
    Ascription,
    Binary,
    Call,
    Constant,
    Fun,
    If,
    Let,
    Name,
    Negation,
    Option,
    Parameter,
    Pipe,
    Span,
    Syntax,
    Tuple,
)
from riselang.term import build


class Elaborator(Lookup):
    """Elaborates one definition."""

    # Expressions

    def infer(self, syntax: Syntax, frame: Frame) -> build.Node:
        """The node of an expression, with a type of its own."""
        match syntax:
            case Name() | Call() | Pipe() | Option():
                head, arguments = self.head(Closure(syntax, frame))
                return self.application(head, arguments, None, syntax.span)
            case Constant(value=value, type=type):
                return self.constant(value, type, syntax.span)
            case Fun():
                return self.literal_function(syntax, frame, [])
            case Let():
                return self.let(syntax, frame, None, "")
            case If():
                parts = [syntax.condition, syntax.chosen, syntax.other]
                return self.operands(FUNCTIONS["select"], parts, frame, syntax.span)
            case Binary():
                return self.binary(syntax, frame)
            case Negation():
                return self.operands(FUNCTIONS["neg"], [syntax.operand], frame, syntax.span)
            case Tuple():
                return self.tuple(syntax, frame)
            case Ascription(value=value, type=type):
                return self.check(Closure(value, frame), type, "type annotation", value.span)
            case _:
                raise TypeError(f"{syntax} is no expression")

    def check(self, argument: Argument, expected: RiseType, what: str, span: Span) -> build.Node:
        """The node of an argument, made to have the type `expected`."""
        if isinstance(argument, build.Node):
            self.unify(expected, argument.type, what, span)
            return argument
        expected = self.resolve(expected)
        syntax, frame = argument.syntax, argument.frame
        if isinstance(syntax, Let):
            return self.let(syntax, frame, expected, what)
        if isinstance(expected, FunType):
            return self.check_function(argument, expected, what)
        node = self.infer(syntax, frame)
        self.unify(expected, node.type, what, syntax.span)
        return node

    def let(self, syntax: Let, frame: Frame, expected: RiseType | None, what: str) -> build.Node:
        """`let x = value; body`: the pattern `let`; a function is inlined instead."""
        closure = Closure(syntax.value, frame)
        value = None if self.is_function(closure) else self.infer(syntax.value, frame)
        if value is None or isinstance(self.resolve(value.type), FunType):
            frame.values[syntax] = closure
            return self.inferred_or_checked(Closure(syntax.body, frame), expected, what)
        with self.inner_scope() as inner:
            variable = self.variable(syntax.name, value.type, syntax.span)
            frame.values[syntax] = variable
            body = self.inferred_or_checked(Closure(syntax.body, frame), expected, what)
        function = self.function([variable], body, inner, syntax.span)
        pattern = self.pattern(LET, {"s": value.type, "t": body.type}, None, syntax.span)
        return self.apply(pattern, [value, function], body.type, syntax.span)

    def inferred_or_checked(
        self, closure: Closure, expected: RiseType | None, what: str
    ) -> build.Node:
        if expected is None:
            return self.infer(closure.syntax, closure.frame)
        return self.check(closure, expected, what, closure.syntax.span)

    def tuple(self, syntax: Tuple, frame: Frame) -> build.Node:
        nodes: list[build.Node] = []
        for item in syntax.items:
            nodes.append(self.infer(item, frame))
        result = nodes[-1]
        for node, item in zip(nodes[-2::-1], syntax.items[-2::-1], strict=True):
            for part in (node, result):
                if isinstance(self.resolve(part.type), FunType):
                    raise self.error(
                        "tuple: functions are never stored in arrays or tuples", item.span
                    )
            result = self.pair(node, result, item.span)
        return result

    def binary(self, syntax: Binary, frame: Frame) -> build.Node:
        left, right = self.infer(syntax.left, frame), self.infer(syntax.right, frame)
        operator, span = syntax.operator, syntax.span
        if operator in COMPARISONS:
            return self.operation(comparison(operator), [left, right], span)
        if operator in ("%", "mod"):
            quotient = self.operation(FUNCTIONS["floordiv"], [left, right], span)
            whole = self.operation(FUNCTIONS["mult"], [quotient, right], span)
            return self.operation(FUNCTIONS["sub"], [left, whole], span)
        name = "floordiv" if operator == "floordiv" else INFIX[operator]
        return self.operation(FUNCTIONS[name], [left, right], span)

    def operands(
        self, function: ScalarFunction, operands: Sequence[Syntax], frame: Frame, span: Span
    ) -> build.Node:
        nodes: list[build.Node] = []
        for operand in operands:
            nodes.append(self.infer(operand, frame))
        return self.operation(function, nodes, span)

    # Applications

    def application(
        self, head: Head, arguments: list[Argument], expected: FunType | None, span: Span
    ) -> build.Node:
        match head:
            case PatternChoice():
                return self.pattern_application(head, arguments, expected, span)
            case ScalarFunction():
                return self.scalar_application(head, arguments, span)
            case build.Node():
                return self.node_application(head, arguments, span)
            case Closure(syntax=Fun() as function, frame=frame, inlined=True) if arguments:
                return self.inline(function, frame, arguments, span)
            case Closure(syntax=Fun() as function, frame=frame):
                return self.literal_function(function, frame, arguments)
            case Closure():
                node = self.infer(head.syntax, head.frame)
                return self.node_application(node, arguments, span)

    def node_application(
        self, function: build.Node, arguments: list[Argument], span: Span
    ) -> build.Node:
        """A value of function type applied to some arguments."""
        if not arguments:
            return function
        type, nodes = self.resolve(function.type), list[build.Node]()
        name = _name(function)
        for position, argument in enumerate(arguments):
            if isinstance(type, TypeVariable):
                raise self._unknown_function(function, span)
            if not isinstance(type, FunType):
                raise self.error(self._too_many(name, function, len(arguments)), span)
            nodes.append(self.check(argument, type.input, f"{name}, argument {position + 1}", span))
            type = self.resolve(type.output)
        return self.apply(function, nodes, type, span)

    def _unknown_function(self, function: build.Node, span: Span) -> Undetermined:
        return Undetermined(
            f"the type of {_name(function)} is not known here; write it where it is a parameter, "
            "as in fun(f : f32 -> f32, ...)",
            self.location(span),
        )

    def _too_many(self, name: str, function: build.Node, count: int) -> str:
        type = self.resolve(function.type)
        takes = len(uncurry(type)[0])
        if takes == 0:
            return f"{name} has the type {show_type(type)} and is no function to apply"
        return f"{name} takes {takes} argument(s), but {count} are given"

    def scalar_application(
        self, function: ScalarFunction, arguments: list[Argument], span: Span
    ) -> build.Node:
        if function.needs is not None:
            raise self.error(
                f"'{function.name}' needs {function.needs} in brackets: {function.name}[...]", span
            )
        if len(arguments) > function.arity:
            raise self.error(
                f"'{function.name}' takes {function.arity} operand(s), but {len(arguments)} are "
                "given",
                span,
            )
        nodes: list[build.Node] = []
        for argument in arguments:
            nodes.append(self.node(argument))
        if len(nodes) == function.arity:
            return self.operation(function, nodes, span)
        missing = function.arity - len(nodes)
        types: list[RiseType] = [self.inference.fresh_type() for _ in range(missing)]
        return self.expanded(
            types, missing, lambda values: self.operation(function, [*nodes, *values], span), None,
            function.name, span,
        )  # fmt: skip

    def node(self, argument: Argument) -> build.Node:
        if isinstance(argument, build.Node):
            return argument
        return self.infer(argument.syntax, argument.frame)

    def pattern_application(
        self, choice: PatternChoice, arguments: list[Argument], expected: FunType | None, span: Span
    ) -> build.Node:
        """A pattern applied to some arguments; data first, so that functions see their types."""
        spec = choice.spec
        given, arguments = self.explicit(spec, arguments, span)
        if spec is LET and len(arguments) >= 2:
            return self.let_application(arguments, span)
        if len(arguments) > spec.arity:
            raise self.error(
                f"{spec.name} takes {spec.arity} argument(s){_after_sizes(spec)}, but "
                f"{len(arguments)} are given",
                span,
            )
        parameters = self.inference.instantiate(spec, given)
        node = self.pattern(spec, parameters, choice.to, span)
        inputs, result = uncurry(node.type)
        rest = inputs[len(arguments) :]
        type = fun(*rest, result) if rest else result
        if expected is not None:
            self.unify(expected, type, spec.name, span)
        nodes = self.arguments(spec, inputs, arguments, span)
        self.check_arguments(spec, parameters, span)
        return self.apply(node, nodes, self.resolve(type), span)

    def arguments(
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
                    nodes[position] = self.check(argument, inputs[position], what, at)
        return [nodes[position] for position in range(len(arguments))]

    def explicit(
        self, spec: PatternSpec, arguments: list[Argument], span: Span
    ) -> tuple[dict[str, PatternArgument], list[Argument]]:
        """The sizes and keywords that a pattern takes first, and the arguments after them."""
        count = len(spec.explicit)
        if len(arguments) < count:
            raise self.error(
                f"{spec.name} needs {', '.join(spec.explicit)} first: "
                f"{spec.name}({', '.join(spec.explicit)})",
                span,
            )
        given: dict[str, PatternArgument] = {}
        for name, argument in zip(spec.explicit, arguments, strict=False):
            what = f"{spec.name}, {name}"
            if not isinstance(argument, Closure):
                raise self.error(f"{what}: expected a size, but found a value", span)
            if name in KEYWORD_PARAMETERS:
                given[name] = self.keyword(name, argument.syntax, what)
            else:
                given[name] = size_of(argument.syntax, self.bindings, self.source, what)
        return given, arguments[count:]

    def keyword(self, name: str, syntax: Syntax, what: str) -> str:
        known = KEYWORD_PARAMETERS[name]
        if isinstance(syntax, Name) and syntax.text in known:
            return syntax.text
        raise self.error(f"{what}: expected {' or '.join(known)}", syntax.span)

    def let_application(self, arguments: list[Argument], span: Span) -> build.Node:
        """`let(value, function)`, where the function may give a function."""
        value = self.node(arguments[0])
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
        """The function of a let; a pattern without its last argument takes the value."""
        if isinstance(argument, Closure):
            head, given = self.head(argument)
            if isinstance(head, PatternChoice) and head.arity == len(given) + 1:
                expected = fun(value.type, self.inference.fresh_type())
                return self.application(head, given, expected, argument.syntax.span)
        return self.node(argument)

    # Functions

    def literal_function(
        self, function: Fun, frame: Frame, arguments: list[Argument]
    ) -> build.Node:
        """`fun(x, body)`, applied to some arguments, from which its parameters get their types."""
        parameters, span = function.parameters, function.span
        count = min(len(parameters), len(arguments))
        nodes: list[build.Node] = []
        for parameter, argument in zip(parameters, arguments, strict=False):
            what = f"the argument for '{parameter.name}'"
            if parameter.type is None:
                nodes.append(self.node(argument))
            else:
                nodes.append(self.check(argument, parameter.type, what, span))
        types = [node.type for node in nodes]
        types += [p.type or self.inference.fresh_type() for p in parameters[count:]]
        with self.inner_scope() as inner:
            variables = self.bind(parameters, types, frame)
            body = self.infer(function.body, frame)
        node = self.function(variables, body, inner, span)
        rest = [variable.type for variable in variables[count:]]
        type = fun(*rest, body.type) if rest else body.type
        applied = self.apply(node, nodes, type, span)
        return self.node_application(applied, arguments[count:], span)

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
        """A named function applied: its parameters become the arguments."""
        inner = Frame(frame)
        parameters = function.parameters
        for parameter, argument in zip(parameters, arguments, strict=False):
            inner.values[parameter] = self.inlined_argument(parameter, argument, span)
        if len(arguments) < len(parameters):
            rest = parameters[len(arguments) :]
            partial = Fun(rest, function.body, span=function.span)
            return self.literal_function(partial, inner, [])
        body = Closure(function.body, inner)
        if len(arguments) == len(parameters):
            return self.infer(body.syntax, body.frame)
        head, first = self.head(body)
        return self.application(head, [*first, *arguments[len(parameters) :]], None, span)

    def inlined_argument(self, parameter: Parameter, argument: Argument, span: Span) -> Argument:
        if parameter.type is not None:
            what = f"the argument for '{parameter.name}'"
            return self.check(argument, parameter.type, what, span)
        if isinstance(argument, Closure) and self.is_function(argument):
            return argument
        return self.node(argument)

    def check_function(self, argument: Closure, expected: FunType, what: str) -> build.Node:
        """A function where its type is known; one of more arguments takes pairs apart."""
        head, arguments = self.head(argument)
        span = argument.syntax.span
        inputs, _ = uncurry(expected)
        match head:
            case Closure(syntax=Fun() as function, frame=frame) if not arguments:
                return self.expected_function(function, frame, expected, what)
            case PatternChoice() | ScalarFunction():
                missing = head.arity - len(arguments)
                if isinstance(head, ScalarFunction) or missing > len(inputs):
                    return self.expected_expansion(head, arguments, expected, what, span)
                node = self.application(head, arguments, expected if missing else None, span)
            case build.Node():
                if isinstance(self.resolve(head.type), TypeVariable):
                    raise self._unknown_function(head, span)
                missing = len(uncurry(self.resolve(head.type))[0]) - len(arguments)
                if missing > len(inputs):
                    return self.expected_expansion(head, arguments, expected, what, span)
                node = self.application(head, arguments, None, span)
            case _:
                node = self.application(head, arguments, None, span)
        self.unify(expected, node.type, what, span)
        return node

    def expected_function(
        self, function: Fun, frame: Frame, expected: FunType, what: str
    ) -> build.Node:
        parameters, span = function.parameters, function.span
        inputs, output = uncurry(expected)
        if len(parameters) > len(inputs):
            return self.expanded(
                inputs, len(parameters),
                lambda values: self.spread_body(function, frame, values, output, what),
                None, what, span,
            )  # fmt: skip
        rest = inputs[len(parameters) :]
        result = fun(*rest, output) if rest else output
        with self.inner_scope() as inner:
            variables = self.bind(parameters, inputs[: len(parameters)], frame)
            closure = Closure(function.body, frame)
            body = self.check(closure, result, f"{what}, its result", function.body.span)
        return self.function(variables, body, inner, span)

    def spread_body(
        self, function: Fun, frame: Frame, values: list[build.Node], output: RiseType, what: str
    ) -> build.Node:
        for parameter, value in zip(function.parameters, values, strict=True):
            if parameter.type is not None:
                name = f"parameter '{parameter.name}'"
                self.unify(parameter.type, value.type, name, parameter.span)
            frame.values[parameter] = value
        closure = Closure(function.body, frame)
        return self.check(closure, output, f"{what}, its result", function.body.span)

    def expected_expansion(
        self, head: Head, arguments: list[Argument], expected: FunType, what: str, span: Span
    ) -> build.Node:
        """A function that is no lambda, as one: `fun(p, zip(fst(p), snd(p)))` for `zip`."""
        inputs, output = uncurry(expected)
        arity = (
            len(uncurry(self.resolve(head.type))[0])
            if isinstance(head, build.Node)
            else head.arity
            if isinstance(head, PatternChoice | ScalarFunction)
            else 0
        )

        def body(values: list[build.Node]) -> build.Node:
            return self.application(head, [*arguments, *values], None, span)

        return self.expanded(inputs, arity - len(arguments), body, output, what, span)

    def expanded(
        self,
        inputs: Sequence[RiseType],
        count: int,
        body: Callable[[list[build.Node]], build.Node],
        output: RiseType | None,
        what: str,
        span: Span,
    ) -> build.Node:
        """A lambda over `inputs` whose body gets `count` values, components of pairs if need be."""
        with self.inner_scope() as inner:
            variables = [
                self.variable(f"x{number}", self.resolve(input), span)
                for number, input in enumerate(inputs)
            ]
            result = body(self.spread(variables, count, what, span))
            if output is not None:
                self.unify(output, result.type, f"{what}, its result", span)
        return self.function(variables, result, inner, span)


def _after_sizes(spec: PatternSpec) -> str:
    return f" after the size(s) {', '.join(spec.explicit)}" if spec.explicit else ""


def _name(function: build.Node) -> str:
    return f"'{function.name}'" if isinstance(function, build.Variable) else "this function"
