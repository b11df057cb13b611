"""isl's expressions of loop bounds and conditions as quasi-affine ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.model.isl_text import isl
from riselang.frontends.c.model.linear import Linear

Bindings = Mapping[str, Linear]
"""The expressions that are bound to the variables of loops with one iteration."""


class NotLinear(Exception):
    """An expression is piecewise, so it is not a single quasi-affine one."""


@dataclass(frozen=True)
class Constraint:
    """`left` is equal to zero, or at least zero."""

    left: Linear
    is_equality: bool


def read_linear(expression: Any, bindings: Bindings) -> Linear:
    """Read an expression that is not piecewise."""
    types = isl().ast_expr_type
    type = expression.get_type()
    if type == types.id:
        name = expression.get_id().get_name()
        return bindings.get(name, Linear.of(name))
    if type == types.int:
        return Linear(read_number(expression))
    arguments = [expression.get_op_arg(position) for position in range(expression.get_op_n_arg())]
    kind = operation_name(expression)
    if kind == "minus":
        return -read_linear(arguments[0], bindings)
    if kind not in _BINARY:
        raise NotLinear
    left, right = (read_linear(each, bindings) for each in arguments)
    return _BINARY[kind](left, right)


def _multiply(left: Linear, right: Linear) -> Linear:
    if right.is_constant:
        return left.times(right.constant)
    if not left.is_constant:
        raise NotLinear
    return right.times(left.constant)


def _divide(left: Linear, right: Linear) -> Linear:
    if not right.is_constant or right.constant <= 0:
        raise NotLinear
    return left.floor_divide(right.constant)


def _remainder(left: Linear, right: Linear) -> Linear:
    if not right.is_constant or right.constant <= 0:
        raise NotLinear
    return left.remainder(right.constant)


_BINARY = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": _multiply,
    # isl's divisions are exact, of naturals, or rounded down.
    "div": _divide,
    "pdiv_q": _divide,
    "fdiv_q": _divide,
    "pdiv_r": _remainder,
    # Only whether this is zero matters.
    "zdiv_r": _remainder,
}


def operation_name(expression: Any) -> str:
    return str(isl().ast_expr_op_type(expression.get_op_type()).name)


def read_number(expression: Any) -> int:
    return int(expression.get_val().to_python())


def bound_operands(expression: Any, kind: str, bindings: Bindings) -> list[Linear]:
    """Return the operands of which a bound is the maximum (`max`) or minimum (`min`)."""
    if expression.get_type() == isl().ast_expr_type.op and operation_name(expression) == kind:
        return [
            choice
            for position in range(expression.get_op_n_arg())
            for choice in bound_operands(expression.get_op_arg(position), kind, bindings)
        ]
    return [read_linear(expression, bindings)]


def read_constraints(expression: Any, bindings: Bindings) -> list[Constraint]:
    """Read a conjunction of comparisons."""
    if expression.get_type() != isl().ast_expr_type.op:
        raise NotLinear
    kind = operation_name(expression)
    arguments = [expression.get_op_arg(position) for position in range(expression.get_op_n_arg())]
    if kind in ("and_", "and_then"):
        return [each for argument in arguments for each in read_constraints(argument, bindings)]
    if kind not in _GAPS:
        raise NotLinear
    left, right = (read_linear(each, bindings) for each in arguments)
    return [Constraint(_GAPS[kind](left, right), kind == "eq")]


_GAPS = {
    "eq": lambda left, right: left - right,
    "ge": lambda left, right: left - right,
    "le": lambda left, right: right - left,
    "gt": lambda left, right: left - right + Linear(-1),
    "lt": lambda left, right: right - left + Linear(-1),
}
