"""C text of expressions: those of the model, and those of isl's loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.frontends.c.emit.isl_expressions import operation_name, read_number
from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Fma,
    Literal,
    Unary,
    Variable,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

HELPERS = {
    "rise_floord": "static inline long rise_floord(long a, long b) "
    "{ return a / b - (a % b != 0 && (a < 0) != (b < 0)); }",
    "rise_max": "static inline long rise_max(long a, long b) { return a > b ? a : b; }",
    "rise_min": "static inline long rise_min(long a, long b) { return a < b ? a : b; }",
}
"""The functions that bounds of loops call."""
ATOM, UNARY, LOWEST = 20, 15, 0
_PRECEDENCE = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10,
    ">=": 10, "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4,
}  # fmt: skip
_CONDITIONAL = 3
_MIXED = frozenset(("&&", "||", "&", "|", "^", "<<", ">>"))
"""Operators whose operands are in parentheses, unless they are atoms: gcc warns otherwise."""
_SUFFIXES = {("int", 32): "", ("unsigned int", 32): "u"}


@dataclass(frozen=True)
class CText:
    """C text, the precedence of its operator, and whether its type is long."""

    text: str
    precedence: int = ATOM
    is_long: bool = True

    def inside(self, precedence: int) -> str:
        """Return the text as an operand of an operator."""
        return self.text if self.precedence >= precedence else f"({self.text})"


def type_name(type: CType) -> str:
    return "_Bool" if type.is_bool else str(type)


class CExpressions:
    """Formats expressions of the model; `name` gives the text of variables that are in memory."""

    def __init__(self, name: Callable[[Variable], str], fixed: Mapping[Variable, Expression]):
        self._name = name
        self._fixed = fixed
        self.counters: dict[Variable, CText] = {}
        """The loop variables, in terms of the loops that are emitted."""

    def format(self, expression: Expression, precedence: int = LOWEST) -> str:
        return self._format(expression).inside(precedence)

    def _format(self, expression: Expression) -> CText:
        match expression:
            case Literal():
                return format_literal(expression)
            case Access():
                return self._format_access(expression)
            case Unary(operator=operator, operand=operand):
                return CText(f"{operator}{self.format(operand, UNARY + 1)}", UNARY)
            case Binary():
                return self._format_binary(expression)
            case Conditional(condition=condition, first=first, second=second):
                parts = [self.format(e, _CONDITIONAL + 1) for e in (condition, first, second)]
                return CText(f"{parts[0]} ? {parts[1]} : {parts[2]}", _CONDITIONAL)
            case Convert(operand=Literal() as literal) if expression.type.is_float:
                value = float(literal.value)
                value = float(np.float32(value)) if expression.type.bits == 32 else value
                return format_literal(Literal(literal.location, expression.type, value))
            case Convert(operand=operand):
                text = self.format(operand, UNARY)
                return CText(f"({type_name(expression.type)}){text}", UNARY)
            case Call(function=function, arguments=arguments):
                values = ", ".join(self.format(each, _CONDITIONAL) for each in arguments)
                return CText(f"{function}({values})")
            case Fma(first=first, second=second, third=third):
                values = ", ".join(self.format(e, _CONDITIONAL) for e in (first, second, third))
                suffix = "f" if expression.type.bits == 32 else ""
                return CText(f"__builtin_fma{suffix}({values})")
            case _:
                raise UnsupportedConstruct(
                    expression.location, "this expression cannot be written as C"
                )

    def _format_access(self, access: Access) -> CText:
        variable = access.variable
        if variable in self.counters:
            counter = self.counters[variable]
            if variable.type.is_signed:
                return counter
            return CText(f"({type_name(variable.type)}){counter.inside(UNARY)}", UNARY)
        if variable in self._fixed:
            value = self.format(self._fixed[variable], UNARY)
            return CText(f"({type_name(variable.type)}){value}", UNARY)
        indices = "".join(f"[{self.format(index)}]" for index in access.indices)
        return CText(f"{self._name(variable)}{indices}")

    def _format_binary(self, expression: Binary) -> CText:
        precedence = _PRECEDENCE[expression.operator]
        inner = UNARY if expression.operator in _MIXED else precedence
        left = self.format(expression.left, inner)
        right = self.format(expression.right, max(inner, precedence + 1))
        return CText(f"{left} {expression.operator} {right}", precedence)


def format_literal(literal: Literal) -> CText:
    """Format a constant exactly."""
    type, value = literal.type, literal.value
    if type.is_float:
        suffix = "f" if type.bits == 32 else ""
        if not math.isfinite(value):
            name = f'__builtin_nan{suffix}("")' if math.isnan(value) else f"__builtin_inf{suffix}()"
            return CText(f"-{name}", UNARY) if value < 0 else CText(name)
        text = repr(np.float32(value).item() if suffix else float(value))
        if suffix:
            text = np.format_float_scientific(np.float32(value), unique=True, trim="0")
            text = min(text, str(np.float32(value)), key=len)
        text = text if any(mark in text for mark in ".en") else f"{text}.0"
        return CText(f"{text}{suffix}", UNARY if value < 0 or text.startswith("-") else ATOM)
    number = int(value)
    suffix = _SUFFIXES.get((type.name, type.bits), "")
    if type.bits == 64:
        suffix = "L" if type.is_signed else "UL"
    if number == -(1 << 63):
        return CText(f"-{(1 << 63) - 1}L - 1", _PRECEDENCE["-"])
    if number == -(1 << 31) and not suffix:
        return CText(f"-{(1 << 31) - 1} - 1", _PRECEDENCE["-"])
    return CText(f"{number}{suffix}", UNARY if number < 0 else ATOM)


class IslExpressions:
    """Formats isl's expressions; `names` gives the text of loop variables and parameters."""

    def __init__(self, names: Mapping[str, CText]):
        self._names = names
        self.helpers: set[str] = set()
        """The helpers that are called."""

    def format(self, expression: Any, precedence: int = LOWEST) -> str:
        return self.read(expression).inside(precedence)

    def read(self, expression: Any) -> CText:
        types = isl().ast_expr_type
        if expression.get_type() == types.id:
            return self._names[expression.get_id().get_name()]
        if expression.get_type() == types.int:
            number = read_number(expression)
            return CText(str(number), UNARY if number < 0 else ATOM, is_long=False)
        kind = operation_name(expression)
        count = expression.get_op_n_arg()
        arguments = [self.read(expression.get_op_arg(position)) for position in range(count)]
        if kind in ("cond", "select"):
            parts = [each.inside(_CONDITIONAL + 1) for each in arguments]
            return CText(f"{parts[0]} ? {parts[1]} : {parts[2]}", _CONDITIONAL)
        if kind == "minus":
            return CText(f"-{_as_long(arguments[0]).inside(UNARY + 1)}", UNARY)
        if kind in _FUNCTIONS:
            return self._call(_FUNCTIONS[kind], arguments)
        total = arguments[0]
        for argument in arguments[1:]:
            total = _apply(_OPERATORS[kind], total, argument)
        return total

    def _call(self, function: str, arguments: Sequence[CText]) -> CText:
        self.helpers.add(function)
        total = arguments[0]
        for argument in arguments[1:]:
            total = CText(f"{function}({total.text}, {argument.text})")
        return total


def _as_long(value: CText) -> CText:
    return value if value.is_long else CText(f"(long){value.inside(UNARY)}", UNARY)


def _apply(operator: str, left: CText, right: CText) -> CText:
    if operator in ("+", "-", "*") and not (left.is_long or right.is_long):
        left = _as_long(left)
    if operator == "+" and right.text.startswith("-") and right.precedence == UNARY:
        operator, right = "-", CText(right.text[1:])
    precedence = _PRECEDENCE[operator]
    inner = UNARY if operator in _MIXED else precedence
    text = f"{left.inside(inner)} {operator} {right.inside(max(inner, precedence + 1))}"
    return CText(text, precedence)


_FUNCTIONS = {"max": "rise_max", "min": "rise_min", "fdiv_q": "rise_floord"}
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pdiv_q": "/", "pdiv_r": "%", "zdiv_r": "%",
    "eq": "==", "ge": ">=", "gt": ">", "le": "<=", "lt": "<", "and_": "&&", "and_then": "&&",
    "or_": "||", "or_else": "||",
}  # fmt: skip
