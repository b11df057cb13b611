"""Parsing and printing RISE types inside angle brackets, where they have no prefix."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xdsl.ir import TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.lexer import Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from riselang.nat import Nat, NatError, NatSyntaxError, parse_nat

if TYPE_CHECKING:
    from riselang.dialects.rise.types import RiseType

TYPE_KEYWORDS = ("scalar", "array", "tuple", "fun", "func", "idx", "vector", "var", "depfun")
MAXIMUM_TYPE_NESTING = 200


def parse_nat_text(parser: AttrParser) -> Nat:
    """Parse a size expression, up to the `,` or `>` that ends it."""
    content = parser.lexer.input.content
    start = end = parser.pos
    depth = 0
    while end < len(content) and not (depth == 0 and content[end] in ",>"):
        if content[end] in '<\n"{':
            break
        depth += {"(": 1, ")": -1}.get(content[end], 0)
        end += 1
    try:
        result = parse_nat(content[start:end])
    except NatSyntaxError as error:
        parser.raise_error(
            f"this is not a size: {error}",
            Span(start + error.position, start + error.position + 1, parser.lexer.input),
        )
    parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
    return result


def parse_bare_type(parser: AttrParser, depth: int = 0) -> RiseType:
    """Parse a nested type: `array<4, scalar<f32>>`, or with its prefix `!rise.array<...>`."""
    if depth > MAXIMUM_TYPE_NESTING:
        parser.raise_error(f"types nest deeper than {MAXIMUM_TYPE_NESTING} levels")
    token = parser._parse_optional_token(  # pyright: ignore[reportPrivateUsage]
        MLIRTokenKind.EXCLAMATION_IDENT
    )
    if token is not None:
        keyword = token.text.removeprefix("!").removeprefix("rise.")
        if keyword not in TYPE_KEYWORDS:
            parser.raise_error(f"'{token.text}' is not a RISE type", token.span)
        return parse_type_body(parser, keyword, depth)
    keyword = parser.parse_optional_keyword_in(TYPE_KEYWORDS)
    if keyword is None:
        parser.raise_error(f"expected one of {', '.join(TYPE_KEYWORDS)} here")
    return parse_type_body(parser, keyword, depth)


def parse_type_body(parser: AttrParser, keyword: str, depth: int = 0) -> RiseType:
    """Parse the `<...>` after a type keyword; cached, since types are repeated in a text."""
    start = parser.pos
    end = _closing_bracket(parser.lexer.input.content, start)
    text = parser.lexer.input.content[start:end]
    known: dict[tuple[str, str], RiseType] = getattr(parser, "types_read", {})
    found = known.get((keyword, text))
    if found is not None:
        parser._resume_from(end)  # pyright: ignore[reportPrivateUsage]
        return found
    type = _parse_type_body(parser, keyword, depth)
    if not parser.lexer.input.content[end : parser.pos].strip():
        known[keyword, text] = type
    return type


_BRACKET = re.compile(r"->|[<>]")


def _closing_bracket(content: str, start: int) -> int:
    """The position after the bracket that closes the one at `start`, or the end of the text."""
    depth = 0
    for found in _BRACKET.finditer(content, start):
        depth += {"<": 1, ">": -1}.get(found[0], 0)
        if depth <= 0:
            return found.end()
    return len(content)


def _parse_type_body(parser: AttrParser, keyword: str, depth: int) -> RiseType:
    # Deferred: types are parsed and printed here, and their classes call this module to do so.
    from riselang.dialects.rise import type_binding, types

    position = parser.pos
    with parser.in_angle_brackets():
        if keyword == "scalar":
            parts: tuple[TypeAttribute | types.NatAttr, ...] = (parser.parse_type(),)
            kind = types.ScalarType
        elif keyword == "idx":
            parts, kind = (types.NatAttr(parse_nat_text(parser)),), types.IdxType
        elif keyword in ("array", "vector"):
            size = types.NatAttr(parse_nat_text(parser))
            owner = "an array" if keyword == "array" else "a vector"
            parser.parse_punctuation(",", f" between {owner}'s length and its element type")
            kind = types.ArrayType if keyword == "array" else types.VectorType
            parts = (size, parse_bare_type(parser, depth + 1))
        elif keyword == "tuple":
            first = parse_bare_type(parser, depth + 1)
            parser.parse_punctuation(",", " between the two types of a tuple")
            parts, kind = (first, parse_bare_type(parser, depth + 1)), types.TupleType
        elif keyword == "var":
            return types.variable(parser.parse_str_literal())
        elif keyword == "depfun":
            name, kind = parse_binder(parser)
            parser.parse_punctuation(",", " between the variable and the type that mentions it")
            return type_binding.dep_fun(kind, name, parse_bare_type(parser, depth + 1))
        else:
            source = parse_bare_type(parser, depth + 1)
            parser.parse_punctuation("->", " between argument and result of a function type")
            parts, kind = (source, parse_bare_type(parser, depth + 1)), types.FunType
    type = create_attribute(parser, position, kind, parts)
    if isinstance(type, types.ScalarType) and type.is_complex:
        parser.raise_error("in the dialect, a complex number is a tuple of two floats", position)
    return type


def parse_binder(parser: AttrParser) -> tuple[str, str]:
    """Parse `n : nat` or `t : data`: the variable of a dependent function, and its kind."""
    # Deferred: types are parsed and printed here, and their classes call this module to do so.
    from riselang.dialects.rise.types import KINDS

    position = parser.pos
    name = parser.parse_identifier(" for the variable of a dependent function")
    try:
        Nat.var(name)
    except NatError as error:
        parser.raise_error(f"this is not a name for a variable: {error}", position)
    parser.parse_punctuation(":", " and 'nat' or 'data'")
    kind = parser.parse_optional_keyword_in(KINDS)
    if kind is None:
        parser.raise_error("expected 'nat' or 'data' here")
    return name, kind


def create_attribute(
    parser: AttrParser,
    position: int,
    kind: type[RiseType],
    parts: tuple[object, ...],
) -> RiseType:
    """Create an attribute; if its verifier rejects it, raise a located error."""
    from xdsl.utils.exceptions import VerifyException

    try:
        return kind(*parts)
    except VerifyException as error:
        parser.raise_error(str(error), position)


def print_bare_type(printer: Printer, type: TypeAttribute) -> None:
    printer.print_string(type.name.removeprefix("rise."))
    print_type_body(printer, type)


def print_type_body(printer: Printer, type: TypeAttribute) -> None:
    # Deferred: types are parsed and printed here, and their classes call this module to do so.
    from riselang.dialects.rise import type_binding, types

    with printer.in_angle_brackets():
        match type:
            case types.ScalarType():
                printer.print_attribute(type.element)
            case types.IdxType():
                printer.print_string(str(type.bound))
            case types.ArrayType() | types.VectorType():
                printer.print_string(f"{type.length}, ")
                print_bare_type(printer, type.element)
            case types.TupleType():
                print_bare_type(printer, type.first)
                printer.print_string(", ")
                print_bare_type(printer, type.second)
            case types.FunType():
                print_bare_type(printer, type.input)
                printer.print_string(" -> ")
                print_bare_type(printer, type.output)
            case types.DepFunType():
                name, body = type_binding.open_type_binder(type)
                printer.print_string(f"{name} : {type.kind.data}, ")
                print_bare_type(printer, body)
            case types.TypeVariable():
                printer.print_string_literal(type.label.data)
            case _:
                raise TypeError(f"{type} is not a RISE type")
