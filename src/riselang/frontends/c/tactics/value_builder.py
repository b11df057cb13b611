"""Element values as RISE operations: those of C, in source order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from riselang.dialects.rise.types import ScalarType
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Call,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
)
from riselang.frontends.c.tactics.boxes import NotLifted
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node
from riselang.term.mathlib import LIBRARY_NAMES

_OPERATIONS = {"+": "add", "-": "sub", "*": "mult", "/": "div"}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
FUNCTION_OPS = {
    **{name: name for name in (*LIBRARY_NAMES, "sqrt", "floor", "ceil", "trunc", "pow")},
    "fabs": "abs",
}
"""C functions that are RISE operations with the same result."""


def scalar_type(type: CType) -> ScalarType:
    if type.is_bool:
        raise NotLifted("in memory, a _Bool is a byte")
    scalar = ScalarType(type.mlir_type)
    return scalar if type.is_signed else scalar.unsigned


class ValueBuilder:
    """Builds values; `element` returns the node of an access."""

    def __init__(self, builder: Builder, element: Callable[[Access], Node]):
        self._builder = builder
        self._element = element

    def build_value(self, expression: Expression) -> Node:
        with self._builder.at_location(expression.location):
            return self._build_expression(expression)

    def _build_expression(self, expression: Expression) -> Node:
        match expression:
            case Access():
                return self._element(expression)
            case Literal():
                return self._build_literal(expression, expression.type)
            case Unary(operator="-", operand=operand):
                return self._build_operation("neg", expression, operand)
            case Binary():
                return self._build_binary(expression)
            case Conditional():
                return self._build_select(expression)
            case Convert():
                return self._build_conversion(expression)
            case Call():
                return self._build_call(expression)
            case _:
                raise NotLifted("it contains an operation that RISE does not support")

    def _build_operation(self, name: str, expression: Expression, *operands: Expression) -> Node:
        type = scalar_type(expression.type)
        return self._builder.operation(name, [self.build_value(each) for each in operands], type)

    def _build_binary(self, expression: Binary) -> Node:
        operator, type = expression.operator, expression.type
        if operator not in _OPERATIONS or (operator == "/" and not type.is_float):
            raise NotLifted(f"RISE has no operation for {operator} on {type}")
        return self._build_operation(
            _OPERATIONS[operator], expression, expression.left, expression.right
        )

    def _build_select(self, expression: Conditional) -> Node:
        test = expression.condition
        if not isinstance(test, Binary) or test.operator not in _COMPARISONS:
            raise NotLifted("its condition is not a comparison")
        scalar_type(test.left.type)
        with self._builder.at_location(test.location):
            operands = self.build_value(test.left), self.build_value(test.right)
            condition = self._builder.compare(_COMPARISONS[test.operator], *operands)
        then_value, else_value = (
            self.build_value(expression.first),
            self.build_value(expression.second),
        )
        return self._builder.select(condition, then_value, else_value)

    def _build_conversion(self, expression: Convert) -> Node:
        operand, target = expression.operand, expression.type
        scalar_type(operand.type)
        if operand.type.is_float and not target.is_float:
            raise NotLifted("it converts a float to an integer")
        if isinstance(operand, Literal):
            return self._build_literal(operand, target)
        type = scalar_type(target)
        return self._builder.convert(self.build_value(operand), type)

    def _build_call(self, expression: Call) -> Node:
        suffix = "f" if expression.type.bits == 32 else ""
        name = FUNCTION_OPS.get(expression.function.removesuffix(suffix))
        if name is None or not expression.type.is_float:
            raise NotLifted(f"RISE has no function {expression.function}")
        return self._build_operation(name, expression, *expression.arguments)

    def _build_literal(self, literal: Literal, type: CType) -> Node:
        """Return a constant that notation can represent."""
        element = scalar_type(type)
        if type.is_float:
            largest = np.finfo(np.float32 if type.bits == 32 else np.float64).max
            if not abs(literal.value) <= float(largest):
                raise NotLifted("it contains a constant that is not finite")
            return self._builder.literal(float(literal.value), element)
        number = type.wrap(int(literal.value))
        if type.is_signed and number == type.smallest:
            raise NotLifted("it contains the smallest value of its type")
        return self._builder.literal(number, element)
