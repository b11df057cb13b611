"""The text form of strategies: on the command line, in strategy files, in pass pipelines.

The syntax is Python's calls, `>>`, `|` and `@`, which are parsed here and not executed. Names refer
to rules, combinators, traversals, addresses and schedules. Lines before the last one may define
names, as in `blocks = tile(32, 32)`; the last line is the strategy.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import vocabulary
from riselang.rewrite.selectors import Selector
from riselang.support.errors import SourceLocation, UserError

_KEYWORDS = re.compile(r"\b(try|not)\b(?=\s*\()")
"""Python keywords that are names here: they are parsed with an underscore appended."""
_READ_KEYWORDS = re.compile(r"\b(try|not)_(?=\s*\()")
MOST_CHARACTERS = 100_000
MOST_DEPTH = 200
"""How deeply a text may be nested; Python permits as many parentheses."""
MAX_QUOTED = 60
"""How many characters of the text an error quotes."""
PARAMETER_TYPES: Mapping[str, Any] = {
    "Strategy": (Strategy,), "int": (int,), "str": (str,), "Selector": (Selector,),
    "Sequence[int]": (list,), "Value": (int, str), "None": (type(None),),
}  # fmt: skip
TYPE_NAMES: Mapping[str, str] = {
    "Strategy": "a strategy", "int": "a number", "str": "a text", "Selector": "an address",
    "Sequence[int]": "a list of numbers", "Value": "a size",
}  # fmt: skip
"""The annotations of parameters, and what error messages call them."""


def parse_strategy(text: str, name: str = "<strategy>") -> Strategy:
    """Parse a strategy; `name` is the file name in errors."""
    reader = _Reader(name, _KEYWORDS.sub(lambda found: f"{found[1]}_", text), vocabulary())
    if len(text) > MOST_CHARACTERS:
        raise reader.error_at(1, 1, f"a strategy has at most {MOST_CHARACTERS} characters")
    try:
        module = ast.parse(reader.text, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        detail = getattr(error, "msg", None) or str(error)
        raise reader.error_at(line, column, f"this is not a strategy: {detail}") from None
    reader.check_depth(module)
    return reader.module(module)


class _Reader:
    def __init__(self, file: str, text: str, known: Mapping[str, Any]):
        self.file = file
        self.text = text
        self.lines = text.splitlines()
        self.known = dict(known)

    def error(self, node: ast.AST, message: str) -> UserError:
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        before = self.line(line).encode()[:offset].decode(errors="replace")
        return self.error_at(line, len(before) + 1, message)

    def error_at(self, line: int, column: int, message: str) -> UserError:
        added = len(_READ_KEYWORDS.findall(self.line(line)[: column - 1] + "("))
        text = _READ_KEYWORDS.sub(r"\1", self.line(line))
        return UserError(message, SourceLocation(self.file, line, column - added, text=text))

    def line(self, number: int) -> str:
        return self.lines[number - 1] if number <= len(self.lines) else ""

    def source_text(self, node: ast.AST) -> str:
        """The source text of a node, if it is short."""
        text = ast.get_source_segment(self.text, node) if isinstance(node, ast.expr) else None
        text = _READ_KEYWORDS.sub(r"\1", text or "this")
        return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."

    def check_depth(self, module: ast.Module) -> None:
        """Reject text that is nested too deeply to parse; a chain of operators is not nested."""
        stack: list[tuple[ast.AST, int]] = [(module, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > MOST_DEPTH:
                raise self.error(node, f"strategies are nested at most {MOST_DEPTH} deep")
            parts: list[ast.AST] = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift | ast.BitOr):
                parts = list(_chain_operands(node))
            stack.extend((part, depth + 1) for part in parts)

    def module(self, module: ast.Module) -> Strategy:
        for statement in module.body[:-1]:
            self.definition(statement)
        if not module.body or not isinstance(module.body[-1], ast.Expr):
            raise self.error(module.body[-1] if module.body else module, "expected a strategy")
        return self.strategy(module.body[-1].value)

    def definition(self, statement: ast.stmt) -> None:
        is_name = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        target = statement.targets[0] if isinstance(statement, ast.Assign) and is_name else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            raise self.error(statement, "expected name = strategy, and a strategy at the end")
        self.known[target.id] = self.strategy(statement.value)

    def strategy(self, node: ast.expr) -> Strategy:
        value = self.value(node)
        if isinstance(value, Strategy):
            return value
        if callable(value):
            raise self.error(node, f"{self.source_text(node)} needs its arguments in parentheses")
        raise self.error(node, f"expected a strategy, but found {self.source_text(node)}")

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.Attribute():
                return self.name(node, ast.unparse(node))
            case ast.Constant(value=int() | str() as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.value(item) for item in items]
            case ast.BinOp(op=ast.RShift()):
                return seq(*map(self.strategy, _chain_operands(node)))
            case ast.BinOp(op=ast.BitOr()):
                return choice(*map(self.strategy, _chain_operands(node)))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                address = self.value(right)
                if not isinstance(address, Selector):
                    raise self.error(right, 'expected an address such as outermost("map")')
                return self.strategy(left) @ address
            case ast.Call():
                return self.call(node)
            case _:
                raise self.error(node, f"{self.source_text(node)} is not a strategy")

    def name(self, node: ast.expr, name: str) -> Any:
        written = name.removesuffix("_") if name in ("try_", "not_") else name
        if written in self.known:
            return self.known[written]
        near = get_close_matches(written, self.known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise self.error(node, f"there is no rule or strategy {written}{hint}")

    def call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        arguments = [self.value(each) for each in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error(node, "** has no meaning here")
            if keyword.arg in named:
                raise self.error(keyword, f"{keyword.arg} is given twice")
            named[keyword.arg] = self.value(keyword.value)
        called = self.source_text(node.func).removesuffix("_")
        if not callable(function):
            raise self.error(node, f"{called} takes no arguments")
        try:
            bound = inspect.signature(function).bind(*arguments, **named)
        except TypeError as error:
            raise self.error(node, f"{called}: {error}") from None
        for name, value in bound.arguments.items():
            self.check(node, called, bound.signature.parameters[name], value)
        try:
            return function(*arguments, **named)
        except UserError as error:
            raise self.error(node, error.message) from None

    def check(self, node: ast.Call, called: str, parameter: inspect.Parameter, value: Any) -> None:
        """Reject a value that does not have the annotated type of its parameter."""
        values = value if parameter.kind is parameter.VAR_POSITIONAL else [value]
        if parameter.kind is parameter.VAR_KEYWORD:
            values = list(value.values())
        expected = [part.strip() for part in str(parameter.annotation).split("|")]
        allowed = tuple(
            kind for part in expected if part in PARAMETER_TYPES for kind in PARAMETER_TYPES[part]
        )
        for each in values:
            if allowed and (not isinstance(each, allowed) or isinstance(each, bool)):
                words = " or ".join(TYPE_NAMES[part] for part in expected if part in TYPE_NAMES)
                raise self.error(
                    node, f"{called}: expected {words}, but found {_format_value(each)}"
                )


def _chain_operands(node: ast.BinOp) -> list[ast.expr]:
    """Return the operands of `a >> b >> c`, however many there are."""
    operands: list[ast.expr] = []
    operator, left = type(node.op), node
    while isinstance(left, ast.BinOp) and isinstance(left.op, operator):
        operands.append(left.right)
        left = left.left
    return [left, *reversed(operands)]


def _format_value(value: Any) -> str:
    return str(value) if isinstance(value, Strategy | Selector) else repr(value)
