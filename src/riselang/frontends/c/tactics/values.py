"""What an element becomes, in RISE's notation: the operations of C, in the order of the text."""

from __future__ import annotations

import math
from collections.abc import Callable

from riselang.frontends.c.syntax import (
    Access,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
)
from riselang.frontends.c.tactics.structures import NotLifted
from riselang.frontends.c.types import CType
from riselang.term.mathlib import LIBRARY_NAMES

_LEVELS = {"+": 1, "-": 1, "*": 2, "/": 2}
_COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
_ATOM = 3
FUNCTIONS = {
    **{name: name for name in (*LIBRARY_NAMES, "sqrt", "floor", "ceil", "trunc", "pow")},
    "fabs": "abs",
}
"""Functions of C that are operations of RISE with the same result."""


def type_text(type: CType) -> str:
    if type.is_float:
        return f"f{type.bits}"
    if type.is_bool or not type.is_signed:
        raise NotLifted(f"RISE has no type {type}")
    return f"i{type.bits}"


class ValueWriter:
    """Writes values; `element` says what stands for an access."""

    def __init__(self, element: Callable[[Access], str]):
        self._element = element

    def text(self, expression: Expression) -> str:
        return self._leveled(expression)[0]

    def _inner(self, expression: Expression, least: int) -> str:
        """In parentheses where it binds less than what is around it."""
        text, level = self._leveled(expression)
        return text if level >= least else f"({text})"

    def _leveled(self, expression: Expression) -> tuple[str, int]:
        match expression:
            case Access():
                return self._element(expression), _ATOM
            case Literal():
                return _number(expression), _ATOM
            case Unary(operator="-", operand=operand):
                if expression.type.is_float:
                    return f"neg({self.text(operand)})", _ATOM
                zero = f"0_{type_text(expression.type)}"
                return f"{zero} - {self._inner(operand, 2)}", 1
            case Binary():
                return self._binary(expression)
            case Conditional():
                return self._choice(expression), 0
            case Convert():
                return self._converted(expression), _ATOM
            case Call():
                return self._called(expression), _ATOM
            case _:
                raise NotLifted("it has an operation that RISE has not")

    def _binary(self, expression: Binary) -> tuple[str, int]:
        operator, type = expression.operator, expression.type
        type_text(type)
        if operator not in _LEVELS or (operator == "/" and not type.is_float):
            raise NotLifted(f"{operator} of {type} has no operation of RISE")
        level = _LEVELS[operator]
        left, right = self._inner(expression.left, level), self._inner(expression.right, level + 1)
        return f"{left} {operator} {right}", level

    def _choice(self, expression: Conditional) -> str:
        test = expression.condition
        if not isinstance(test, Binary) or test.operator not in _COMPARISONS:
            raise NotLifted("its condition is no comparison")
        type_text(test.left.type)
        condition = f"{self._inner(test.left, 1)} {test.operator} {self._inner(test.right, 1)}"
        first, second = self._inner(expression.first, 1), self._inner(expression.second, 1)
        return f"if {condition} then {first} else {second}"

    def _converted(self, expression: Convert) -> str:
        source, target = expression.operand.type, expression.type
        type_text(source)
        if source.is_float and not target.is_float:
            raise NotLifted("it makes an integer of a float")
        if source == target:
            return self._inner(expression.operand, _ATOM)
        if isinstance(expression.operand, Literal):
            return _number(Literal(expression.place, target, expression.operand.value))
        return f"cast[{type_text(target)}]({self.text(expression.operand)})"

    def _called(self, expression: Call) -> str:
        suffix = "f" if expression.type.bits == 32 else ""
        name = FUNCTIONS.get(expression.function.removesuffix(suffix))
        if name is None or not expression.type.is_float:
            raise NotLifted(f"RISE has no function {expression.function}")
        return f"{name}({', '.join(self.text(each) for each in expression.arguments)})"


def _number(literal: Literal) -> str:
    suffix = type_text(literal.type)
    if not literal.type.is_float:
        value = int(literal.value)
        if -value > literal.type.largest:
            raise NotLifted("it has the least number of its type")
        return f"{value}_{suffix}" if value >= 0 else f"(0_{suffix} - {-value}_{suffix})"
    value = float(literal.value)
    if not math.isfinite(value):
        raise NotLifted("it has a number that is not finite")
    # The sign of zero counts.
    is_negative = math.copysign(1.0, value) < 0
    text = f"{abs(value)!r}_{suffix}"
    return f"neg({text})" if is_negative else text
