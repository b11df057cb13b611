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
from typing import Any

from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import Strategy
from riselang.rewrite.parameters import Parameter, escape_keywords
from riselang.rewrite.registry import vocabulary
from riselang.rewrite.selectors import Selector
from riselang.support.errors import SourceLocation, UserError
from riselang.support.spelling import closest_name

_READ_KEYWORDS = re.compile(r"\b(try|not)_(?=\s*\()")
MAX_CHARACTERS = 100_000
MAX_DEPTH = 200
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
    reader = _Reader(name, escape_keywords(text), vocabulary())
    if len(text) > MAX_CHARACTERS:
        raise reader.error_at(1, 1, f"a strategy has at most {MAX_CHARACTERS} characters")
    try:
        module = ast.parse(reader.text, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        detail = getattr(error, "msg", None) or str(error)
        raise reader.error_at(line, column, f"this is not a strategy: {detail}") from None
    reader.check_depth(module)
    return reader.read_module(module)


def restore_keywords(text: str) -> str:
    """Remove the underscores that `escape_keywords` appends."""
    return _READ_KEYWORDS.sub(r"\1", text)


class _Reader:
    def __init__(self, file: str, text: str, names: Mapping[str, Any]):
        self.file = file
        self.text = text
        self.lines = text.splitlines()
        self.names = dict(names)

    def error(self, node: ast.AST, message: str) -> UserError:
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        prefix = self.line(line).encode()[:offset].decode(errors="replace")
        return self.error_at(line, len(prefix) + 1, message)

    def error_at(self, line: int, column: int, message: str) -> UserError:
        underscores = len(_READ_KEYWORDS.findall(self.line(line)[: column - 1] + "("))
        text = restore_keywords(self.line(line))
        return UserError(message, SourceLocation(self.file, line, column - underscores, text=text))

    def line(self, number: int) -> str:
        return self.lines[number - 1] if number <= len(self.lines) else ""

    def source_text(self, node: ast.AST) -> str:
        """The source text of a node, if it is short."""
        text = ast.get_source_segment(self.text, node) if isinstance(node, ast.expr) else None
        text = restore_keywords(text or "this")
        return text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}..."

    def check_depth(self, module: ast.Module) -> None:
        """Reject text that is nested too deeply to parse; a chain of operators is not nested."""
        stack: list[tuple[ast.AST, int]] = [(module, 0)]
        while stack:
            node, depth = stack.pop()
            if depth > MAX_DEPTH:
                raise self.error(node, f"strategies are nested at most {MAX_DEPTH} deep")
            parts: list[ast.AST] = list(ast.iter_child_nodes(node))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift | ast.BitOr):
                parts = list(chain_operands(node))
            stack.extend((part, depth + 1) for part in parts)

    def read_module(self, module: ast.Module) -> Strategy:
        for statement in module.body[:-1]:
            self.read_definition(statement)
        if not module.body or not isinstance(module.body[-1], ast.Expr):
            raise self.error(module.body[-1] if module.body else module, "expected a strategy")
        return self.read_strategy(module.body[-1].value)

    def read_definition(self, statement: ast.stmt) -> None:
        is_name = isinstance(statement, ast.Assign) and len(statement.targets) == 1
        target = statement.targets[0] if isinstance(statement, ast.Assign) and is_name else None
        if not isinstance(statement, ast.Assign) or not isinstance(target, ast.Name):
            raise self.error(statement, "expected name = strategy, and a strategy at the end")
        self.names[target.id] = self.read_strategy(statement.value)

    def read_strategy(self, node: ast.expr) -> Strategy:
        value = self.read_value(node)
        if isinstance(value, Strategy):
            return value
        if callable(value):
            raise self.error(node, f"{self.source_text(node)} needs its arguments in parentheses")
        raise self.error(node, f"expected a strategy, but found {self.source_text(node)}")

    def read_value(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self.look_up(node, name)
            case ast.Attribute():
                return self.look_up(node, ast.unparse(node))
            case ast.Constant(value=int() | str() as value):
                return value
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return [self.read_value(item) for item in items]
            case ast.BinOp(op=ast.RShift()):
                return seq(*map(self.read_strategy, chain_operands(node)))
            case ast.BinOp(op=ast.BitOr()):
                return choice(*map(self.read_strategy, chain_operands(node)))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                address = self.read_value(right)
                if not isinstance(address, Selector):
                    raise self.error(right, 'expected an address such as outermost("map")')
                return self.read_strategy(left) @ address
            case ast.Call():
                return self.read_call(node)
            case _:
                raise self.error(node, f"{self.source_text(node)} is not a strategy")

    def look_up(self, node: ast.expr, name: str) -> Any:
        strategy_name = name.removesuffix("_") if name in ("try_", "not_") else name
        if strategy_name in self.names:
            return self.names[strategy_name]
        suggestion = closest_name(strategy_name, self.names)
        hint = f"; did you mean {suggestion}?" if suggestion else ""
        raise self.error(node, f"there is no rule or strategy {strategy_name}{hint}")

    def read_call(self, node: ast.Call) -> Any:
        function = self.read_value(node.func)
        arguments = [self.read_value(argument) for argument in node.args]
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.error(node, "** has no meaning here")
            if keyword.arg in kwargs:
                raise self.error(keyword, f"{keyword.arg} is given twice")
            kwargs[keyword.arg] = self.read_value(keyword.value)
        function_name = self.source_text(node.func).removesuffix("_")
        if not callable(function):
            raise self.error(node, f"{function_name} takes no arguments")
        try:
            bound = inspect.signature(function).bind(*arguments, **kwargs)
        except TypeError as error:
            raise self.error(node, f"{function_name}: {error}") from None
        for name, value in bound.arguments.items():
            self.check_argument(node, function_name, bound.signature.parameters[name], value)
        try:
            return function(*arguments, **kwargs)
        except UserError as error:
            raise self.error(node, error.message) from None

    def check_argument(
        self, node: ast.Call, function_name: str, parameter: inspect.Parameter, value: Any
    ) -> None:
        """Reject a value that does not have the annotated type of its parameter."""
        values = value if parameter.kind is parameter.VAR_POSITIONAL else [value]
        if parameter.kind is parameter.VAR_KEYWORD:
            values = list(value.values())
        expected = [part.strip() for part in str(parameter.annotation).split("|")]
        types = tuple(
            kind for part in expected if part in PARAMETER_TYPES for kind in PARAMETER_TYPES[part]
        )
        for item in values:
            if isinstance(item, Parameter):
                continue
            if types and (not isinstance(item, types) or isinstance(item, bool)):
                type_names = " or ".join(
                    TYPE_NAMES[part] for part in expected if part in TYPE_NAMES
                )
                raise self.error(
                    node, f"{function_name}: expected {type_names}, but found {_format_value(item)}"
                )


def chain_operands(node: ast.BinOp) -> list[ast.expr]:
    """Return the operands of `a >> b >> c`, however many there are."""
    operands: list[ast.expr] = []
    operator, left = type(node.op), node
    while isinstance(left, ast.BinOp) and isinstance(left.op, operator):
        operands.append(left.right)
        left = left.left
    return [left, *reversed(operands)]


def _format_value(value: Any) -> str:
    return str(value) if isinstance(value, Strategy | Selector) else repr(value)
