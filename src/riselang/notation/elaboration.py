"""Elaboration of syntax to nodes: names are looked up, and types are inferred.

Typing is bidirectional. `infer` finds the type of an expression; `check` makes an expression fit an
expected type, which determines the types of a function's parameters. A pattern checks its data
before its functions, so the functions know the types of their arguments. Functions that `let` or
`def` name are inlined: in an application, the arguments replace the parameters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from riselang.dialects.rise.pattern_registry import (
    LET,
)
from riselang.dialects.rise.types import (
    DataType,
    DepFunType,
    FunType,
    RiseType,
    ScalarType,
    TypeVariable,
    array,
    contains_array,
    uncurry,
)
from riselang.notation.application_elaboration import ApplicationElaborator
from riselang.notation.context import unexpected_number_message
from riselang.notation.lookup import Argument, Closure, Frame
from riselang.notation.operators import (
    COMPARISONS,
    FUNCTIONS,
    ScalarFunction,
    comparison_function,
    infix_function,
    prefix_function,
)
from riselang.notation.syntax import (
    Array,
    Ascription,
    Binary,
    Call,
    Constant,
    DepCall,
    DepFun,
    Fun,
    If,
    Let,
    Name,
    Option,
    Pipe,
    Span,
    Syntax,
    Text,
    Tuple,
    Unary,
)
from riselang.support.lazy import cached_property
from riselang.term import build

IF = replace(FUNCTIONS["select"], name="if")


class Elaborator(ApplicationElaborator):
    """Elaborates one definition."""

    def infer(self, syntax: Syntax, frame: Frame) -> build.Node:
        """Return the node of an expression, with the type inferred from the expression alone."""
        match syntax:
            case Name() | Call() | Pipe() | Option():
                head, arguments = self.head(Closure(syntax, frame))
                return self.application(head, arguments, None, syntax.span)
            case Constant(value=value, type=type):
                return self.constant(value, type, syntax.span)
            case Fun():
                return self.elaborate_lambda(syntax, frame, [])
            case DepFun():
                return self.dependent_function(syntax, frame)
            case DepCall():
                return self.dependent_application(syntax, frame)
            case Let():
                return self.let(syntax, frame, None, "")
            case If():
                parts = [syntax.condition, syntax.chosen, syntax.other]
                return self.elaborate_operation(IF, parts, frame, syntax.span)
            case Binary():
                return self.binary(syntax, frame)
            case Unary():
                function = prefix_function(syntax.operator)
                return self.elaborate_operation(function, [syntax.operand], frame, syntax.span)
            case Tuple():
                return self.tuple(syntax, frame)
            case Array():
                return self.array_literal(syntax)
            case Text():
                message = (
                    'a string is not a value; it is the first argument of embed[f32]("...", a)'
                )
                raise self.error(message, syntax.span)
            case Ascription(value=value, type=type):
                return self.check(Closure(value, frame), type, "type annotation", value.span)
            case _:
                raise TypeError(f"{syntax} is not an expression")

    def check(self, argument: Argument, expected: RiseType, what: str, span: Span) -> build.Node:
        """Return the node of an argument after unifying its type with `expected`."""
        if isinstance(argument, build.Node):
            self.unify(expected, argument.type, what, span)
            return argument
        expected = self.resolve(expected)
        syntax, frame = argument.syntax, argument.frame
        if isinstance(syntax, Let):
            return self.let(syntax, frame, expected, what)
        if isinstance(syntax, Constant) and not isinstance(expected, ScalarType | TypeVariable):
            raise self.error(
                f"{what}: {unexpected_number_message(expected, syntax.text)}", syntax.span
            )
        if isinstance(expected, FunType):
            return self.check_function(argument, expected, what)
        node = self.infer(syntax, frame)
        self.unify(expected, node.type, what, syntax.span)
        return node

    def let(self, syntax: Let, frame: Frame, expected: RiseType | None, what: str) -> build.Node:
        """Elaborate `let x = value; body` to the pattern `let`; a function is inlined instead.

        A function that returns arrays is not inlined if it is mentioned more than once and its
        parameters have types.
        """
        closure = Closure(syntax.value, frame)
        if self.is_called_often(syntax):
            function = self.infer(syntax.value, frame)
            if _returns_array(self.resolve(function.type)):
                function.label = syntax.name
                frame.values[syntax] = function
                return self.infer_or_check(Closure(syntax.body, frame), expected, what)
        value = None if self.is_function(closure) else self.infer(syntax.value, frame)
        if value is None or isinstance(self.resolve(value.type), FunType | DepFunType):
            frame.values[syntax] = closure
            return self.infer_or_check(Closure(syntax.body, frame), expected, what)
        with self.inner_scope() as inner:
            variable = self.variable(syntax.name, value.type, syntax.span)
            frame.values[syntax] = variable
            body = self.infer_or_check(Closure(syntax.body, frame), expected, what)
        function = self.function([variable], body, inner, syntax.span)
        if isinstance(self.resolve(value.type), FunType):  # inferred from its uses
            return self.apply(function, [value], body.type, syntax.span)
        pattern = self.pattern(LET, {"s": value.type, "t": body.type}, None, syntax.span)
        return self.apply(pattern, [value, function], body.type, syntax.span)

    def is_called_often(self, syntax: Let) -> bool:
        """Whether a let names a function with typed parameters and is mentioned more than once."""
        value = syntax.value
        if not isinstance(value, Fun) or any(each.type is None for each in value.parameters):
            return False
        return self.mentions[syntax] > 1

    @cached_property
    def mentions(self) -> Counter[object]:
        """The number of mentions of each binder."""
        return Counter(self.bindings.values())

    def infer_or_check(self, closure: Closure, expected: RiseType | None, what: str) -> build.Node:
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

    def array_literal(self, syntax: Array) -> build.Node:
        """Elaborate an array of numbers of one type, in lists of equal lengths."""
        elements: list[build.Node] = []
        type: RiseType = self.inference.fresh_type()
        lengths, items = [len(syntax.items)], [*syntax.items]
        while any(isinstance(item, Array) for item in items):
            rows = [item.items if isinstance(item, Array) else () for item in items]
            if len(set(map(len, rows))) > 1:
                raise self.error("the elements of an array must have equal shapes", syntax.span)
            lengths.append(len(rows[0]))
            items = [item for row in rows for item in row]
        for item in items:
            if not isinstance(item, Constant):
                raise self.error(
                    "the elements of an array in brackets are numbers; use generate and concat to "
                    "make an array of other values",
                    item.span,
                )
            element = self.constant(item.value, item.type, item.span)
            self.unify(type, element.type, "an element of an array", item.span)
            elements.append(element)
        for length in reversed(lengths):
            type = array(length, type)
        return self.array(elements, type, syntax.span)

    def binary(self, syntax: Binary, frame: Frame) -> build.Node:
        left, right = self.infer(syntax.left, frame), self.infer(syntax.right, frame)
        operator, span = syntax.operator, syntax.span
        if operator in COMPARISONS:
            return self.operation(comparison_function(operator), [left, right], span)
        if operator in ("%", "mod"):
            quotient = self.operation(infix_function(operator), [left, right], span)
            multiple = self.operation(FUNCTIONS["mult"], [quotient, right], span)
            return self.operation(FUNCTIONS["sub"], [left, multiple], span)
        return self.operation(infix_function(operator), [left, right], span)

    def elaborate_operation(
        self, function: ScalarFunction, operands: Sequence[Syntax], frame: Frame, span: Span
    ) -> build.Node:
        nodes: list[build.Node] = []
        for operand in operands:
            nodes.append(self.infer(operand, frame))
        return self.operation(function, nodes, span)


def _returns_array(type: RiseType) -> bool:
    """Whether a type is a function from data to arrays."""
    inputs, result = uncurry(type)
    is_data = all(isinstance(each, DataType) for each in (*inputs, result))
    return bool(inputs) and is_data and contains_array(result)
