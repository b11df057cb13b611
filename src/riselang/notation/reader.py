"""Parsing text to syntax: the grammar, and the syntax node that each of its rules builds."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise import type_binding, type_printer, types
from riselang.dialects.rise.types import SOURCE_SCALARS, RiseType
from riselang.nat import Nat, NatError, nat_max, nat_min
from riselang.nat.natural import MAX_DIGITS
from riselang.notation import syntax
from riselang.notation.parse_tables import load_parser
from riselang.notation.source import Comment, Source
from riselang.notation.syntax import Span, join_spans
from riselang.notation.syntax_errors import explain_syntax_error
from riselang.support.errors import LimitationError

if TYPE_CHECKING:
    from lark import Lark, Token

MAXIMUM_NESTING = 30_000
MAXIMUM_TYPE_NESTING = 100
MAXIMUM_DIGITS = 400
_BRACKET = re.compile(r"[()\[\]]")
SIZE_OPERATORS: dict[str, Callable[[Nat, Nat], Nat]] = {
    "+": Nat.__add__,
    "-": Nat.__sub__,
    "*": Nat.__mul__,
    "floordiv": Nat.__floordiv__,
    "mod": Nat.__mod__,
}


class Problem(Exception):
    """An error at `span`, which the entry point converts to a located error."""

    def __init__(self, message: str, span: Span):
        super().__init__(message)
        self.message = message
        self.span = span


class _TooDeep(Problem):
    pass


def parse_definitions(source: Source) -> tuple[list[syntax.Definition], list[Comment]]:
    """Parse the definitions of a file; a single expression is the definition of `main`."""
    from lark.exceptions import UnexpectedInput

    comments = source.find_comments()
    text = source.blank_comments(comments)
    try:
        _check_bracket_depth(text)
        tree: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise explain_syntax_error(error, source) from None
    except _TooDeep as error:
        raise LimitationError(error.message, source.location(error.span)) from None
    except Problem as error:
        raise source.error(error.message, error.span) from None
    return tree, comments


def _check_bracket_depth(text: str) -> None:
    """Reject brackets that nest too deeply before the parser, which is slow on them, runs."""
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += 1 if match[0] in "([" else -1
        if depth > MAXIMUM_NESTING:
            raise _TooDeep(
                f"brackets nest deeper than the limit of {MAXIMUM_NESTING} levels", match.span()
            )


@cache
def _parser() -> Lark:
    from lark import Transformer, v_args

    # One callback for each rule that `_Builder` has a method for, called with its children.
    members = {name: value for name, value in vars(_Builder).items() if name[0] != "_"}
    return load_parser(v_args(inline=True)(type("Builder", (Transformer,), members))())


def _span(token: Token) -> Span:
    return token.start_pos or 0, token.end_pos or 0


def _check_depth(node: syntax.Syntax) -> syntax.Syntax:
    if node.depth > MAXIMUM_NESTING:
        raise _TooDeep(
            f"the expression nests deeper than the limit of {MAXIMUM_NESTING} levels", node.span
        )
    return node


class _Builder:
    """The actions of the grammar rules. Sizes and types come with their span."""

    # Definitions and expressions

    def definitions(self, *definitions: syntax.Definition) -> list[syntax.Definition]:
        names: set[str] = set()
        for definition in definitions:
            if definition.name in names:
                raise Problem(f"'{definition.name}' is defined twice", definition.span)
            names.add(definition.name)
        return list(definitions)

    def expression(self, value: syntax.Syntax) -> list[syntax.Definition]:
        return [syntax.Definition("main", value, span=value.span)]

    def definition(self, keyword: Token, name: Token, value: syntax.Syntax) -> syntax.Definition:
        return syntax.Definition(str(name), value, keyword.start_pos or 0, span=_span(name))

    def let(
        self, _: Token, name: Token, value: syntax.Syntax, body: syntax.Syntax
    ) -> syntax.Syntax:
        return _check_depth(syntax.Let(str(name), value, body, span=_span(name)))

    def if_(
        self, keyword: Token, condition: syntax.Syntax, chosen: syntax.Syntax, other: syntax.Syntax
    ) -> syntax.Syntax:
        return _check_depth(syntax.If(condition, chosen, other, span=_span(keyword)))

    def pipe(self, value: syntax.Syntax, function: syntax.Syntax) -> syntax.Syntax:
        return _check_depth(syntax.Pipe(value, function, span=function.span))

    def binary(self, left: syntax.Syntax, operator: Token, right: syntax.Syntax) -> syntax.Syntax:
        return _check_depth(syntax.Binary(str(operator), left, right, span=join_spans(left, right)))

    def negation(self, sign: Token, operand: syntax.Syntax) -> syntax.Syntax:
        span = (_span(sign)[0], operand.span[1])
        if isinstance(operand, syntax.Constant) and operand.text[0] != "-":
            text = f"-{operand.text}"
            return syntax.Constant(-operand.value, text, operand.type, span=span)
        return _check_depth(syntax.Unary(str(sign), operand, span=span))

    def complement(self, sign: Token, operand: syntax.Syntax) -> syntax.Syntax:
        span = (_span(sign)[0], operand.span[1])
        return _check_depth(syntax.Unary(str(sign), operand, span=span))

    def call(self, function: syntax.Syntax, arguments: tuple[syntax.Syntax, ...]) -> syntax.Syntax:
        return _check_depth(syntax.Call(function, arguments, span=function.span))

    def empty_call(self, function: syntax.Syntax) -> syntax.Syntax:
        raise Problem("expected an argument between the parentheses", function.span)

    def arguments(self, *arguments: syntax.Syntax) -> tuple[syntax.Syntax, ...]:
        return arguments

    def name(self, name: Token) -> syntax.Syntax:
        return syntax.Name(str(name), span=_span(name))

    def option(self, name: Token, choice: _ParsedType | str) -> syntax.Syntax:
        if isinstance(choice, str):
            return syntax.Option(str(name), choice, span=_span(name))
        return syntax.Option(str(name), choice.type, choice.text, span=_span(name))

    def dep_fun(
        self, keyword: Token, name: Token, kind: Token, body: syntax.Syntax
    ) -> syntax.Syntax:
        return _check_depth(syntax.DepFun(str(name), str(kind), body, span=_span(keyword)))

    def size_call(self, function: syntax.Syntax, _: Token, size: _ParsedSize) -> syntax.Syntax:
        span = (function.span[0], size.span[1])
        return _check_depth(syntax.DepCall(function, size.size, size.text, span=span))

    def type_call(self, function: syntax.Syntax, _: Token, type: _ParsedType) -> syntax.Syntax:
        span = (function.span[0], type.span[1])
        return _check_depth(syntax.DepCall(function, type.type, f"[{type.text}]", span=span))

    def choice(self, type: _ParsedType) -> _ParsedType | str:
        # A single name is not a type but an option such as `affine`.
        return type.text if isinstance(type.type, types.TypeVariable) else type

    def word(self, word: Token) -> str:
        return str(word)

    def truth(self, token: Token) -> syntax.Syntax:
        return syntax.Constant(int(token == "true"), str(token), types.i1, span=_span(token))

    def text(self, token: Token) -> syntax.Syntax:
        return syntax.Text(str(token), span=_span(token))

    def number(self, token: Token) -> syntax.Syntax:
        digits, _, suffix = token.partition("_")
        if suffix and suffix not in SOURCE_SCALARS:
            names = ", ".join(SOURCE_SCALARS)
            raise Problem(f"'{suffix}' is not a scalar type; expected {names}", _span(token))
        if len(digits) > MAXIMUM_DIGITS:
            raise Problem(
                f"this number has {len(digits)} characters; the limit is {MAXIMUM_DIGITS}",
                _span(token),
            )
        value = int(digits) if digits.isdecimal() else float(digits.removesuffix("j"))
        if value == float("inf") and digits != "inf":
            raise Problem(f"the number {digits} is too large; write inf for infinity", _span(token))
        number = complex(0.0, value) if digits[-1] == "j" else value
        return syntax.Constant(number, str(token), SOURCE_SCALARS.get(suffix), span=_span(token))

    def fun(
        self, keyword: Token, parameters: tuple[syntax.Parameter, ...], body: syntax.Syntax
    ) -> syntax.Syntax:
        names: set[str] = set()
        for parameter in parameters:
            if parameter.name in names:
                raise Problem(f"the parameter '{parameter.name}' occurs twice", parameter.span)
            names.add(parameter.name)
        return _check_depth(syntax.Fun(parameters, body, span=_span(keyword)))

    def parameters(self, *parameters: syntax.Parameter) -> tuple[syntax.Parameter, ...]:
        return parameters

    def parameter(self, name: Token, type: _ParsedType | None) -> syntax.Parameter:
        if type is None:
            return syntax.Parameter(str(name), span=_span(name))
        return syntax.Parameter(str(name), type.type, type.text, span=_span(name))

    def group(self, inner: Any) -> Any:
        return inner

    def ascription(self, value: syntax.Syntax, type: _ParsedType) -> syntax.Syntax:
        return _check_depth(syntax.Ascription(value, type.type, type.text, span=value.span))

    def tuple(self, *items: syntax.Syntax) -> syntax.Syntax:
        return _check_depth(syntax.Tuple(items, span=join_spans(items[0], items[-1])))

    def array(self, *items: syntax.Syntax) -> syntax.Syntax:
        return _check_depth(syntax.Array(items, span=join_spans(items[0], items[-1])))

    # Types

    def scalar_type(self, name: Token) -> _ParsedType:
        return _ParsedType(SOURCE_SCALARS[str(name)], _span(name), str(name))

    def type_name(self, name: Token) -> _ParsedType:
        return _ParsedType(types.variable(str(name)), _span(name), str(name))

    def dep_fun_type(self, name: Token, kind: Token, body: _ParsedType) -> _ParsedType:
        text = f"({name} : {kind}) -> {body.text}"
        return _make_type(
            _span(name), text, lambda: type_binding.dep_fun(kind, str(name), body.type), body
        )

    def type_group(self, type: _ParsedType) -> _ParsedType:
        return _ParsedType(type.type, type.span, f"({type.text})", type.depth)

    def array_type(self, length: _ParsedSize, element: _ParsedType) -> _ParsedType:
        span, text = (length.span[0], element.span[1]), f"{length.text}.{element.text}"
        return _make_type(span, text, lambda: types.array(length.size, element.type), element)

    def function_type(self, input: _ParsedType, output: _ParsedType) -> _ParsedType:
        span, text = (input.span[0], output.span[1]), f"{input.text} -> {output.text}"
        return _make_type(span, text, lambda: types.fun(input.type, output.type), input, output)

    def tuple_type(self, *parts: _ParsedType) -> _ParsedType:
        result = parts[-1]
        for part in reversed(parts[:-1]):
            result = _pair_type(part, result)
        result.text = f"({' x '.join(part.text for part in parts)})"
        return result

    def idx_type(self, keyword: Token, size: _ParsedSize) -> _ParsedType:
        return _make_type(_span(keyword), f"idx[{size.text}]", lambda: types.idx(size.size))

    def vec_type(self, keyword: Token, size: _ParsedSize, element: _ParsedType) -> _ParsedType:
        text = f"vec[{size.text}, {element.text}]"
        return _make_type(
            _span(keyword), text, lambda: types.vector(size.size, element.type), element
        )

    # Sizes

    def size_number(self, token: Token) -> _ParsedSize:
        if len(token) > MAX_DIGITS:
            raise Problem(
                f"this size has {len(token)} digits; the limit is {MAX_DIGITS}",
                _span(token),
            )
        return _ParsedSize(Nat.const(int(token)), _span(token), str(token))

    def size_name(self, token: Token) -> _ParsedSize:
        return _make_size(_span(token), str(token), lambda: Nat.var(str(token)))

    def size_group(self, size: _ParsedSize) -> _ParsedSize:
        return _ParsedSize(size.size, size.span, f"({size.text})")

    def size_negation(self, _: Token, size: _ParsedSize) -> _ParsedSize:
        return _make_size(size.span, f"-{size.text}", lambda: -size.size)

    def size_binary(self, left: _ParsedSize, operator: Token, right: _ParsedSize) -> _ParsedSize:
        function = SIZE_OPERATORS[str(operator)]
        span, text = (left.span[0], right.span[1]), f"{left.text} {operator} {right.text}"
        return _make_size(span, text, lambda: function(left.size, right.size))

    def size_extreme(self, name: Token, *sizes: _ParsedSize) -> _ParsedSize:
        function = nat_min if name == "min" else nat_max
        text = f"{name}({', '.join(size.text for size in sizes)})"
        return _make_size(_span(name), text, lambda: function(*[size.size for size in sizes]))


class _ParsedSize:
    """A size, its span, and its text."""

    __slots__ = ("size", "span", "text")

    def __init__(self, size: Nat, span: Span, text: str):
        self.size = size
        self.span = span
        self.text = text


class _ParsedType:
    """A type, its span, and its text."""

    __slots__ = ("depth", "span", "text", "type")

    def __init__(self, type: RiseType, span: Span, text: str, depth: int = 1):
        self.type = type
        self.span = span
        self.text = text
        self.depth = depth


def _make_size(span: Span, text: str, make: Callable[[], Nat]) -> _ParsedSize:
    try:
        return _ParsedSize(make(), span, text)
    except NatError as error:
        raise Problem(f"this is not a size: {error}", span) from None


def _make_type(
    span: Span, text: str, make: Callable[[], RiseType], *parts: _ParsedType
) -> _ParsedType:
    depth = 1 + max((part.depth for part in parts), default=0)
    if depth > MAXIMUM_TYPE_NESTING:
        raise _TooDeep(
            f"the type nests deeper than the limit of {MAXIMUM_TYPE_NESTING} levels", span
        )
    try:
        return _ParsedType(make(), span, text, depth)
    except VerifyException as error:
        raise Problem(_format_message(str(error), parts), span) from None


def _format_message(message: str, parts: tuple[_ParsedType, ...]) -> str:
    """Return the message of a type's verifier, with its parts in notation."""
    for part in parts:
        message = message.replace(str(part.type), type_printer.format_type(part.type))
    return message


def _pair_type(first: _ParsedType, second: _ParsedType) -> _ParsedType:
    span = (first.span[0], second.span[1])
    return _make_type(span, "", lambda: types.pair(first.type, second.type), first, second)
