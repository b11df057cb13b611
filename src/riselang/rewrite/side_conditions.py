"""Side conditions of laws, on their unknown functions, values and types.

Operators are identified by their MLIR names. An operator may be regrouped or swapped if the results
are bitwise identical: always for integers and for maximum and minimum. Sums and products of floats
may be regrouped in relaxed programs, and where the operator has the option `any`.
"""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import ScalarType, is_float, wrap_integer
from riselang.nat import Nat
from riselang.rewrite.core import Setting
from riselang.rewrite.law_matching import Match
from riselang.rewrite.rule import Condition, Unmet
from riselang.term.conversion import bit_width
from riselang.term.nodes import Bound, Lambda, Literal, Scalar, Term, scalar_type
from riselang.term.scalar_ops import ANY_ORDER

EXACT = frozenset(
    f"arith.{name}"
    for name in ("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui",
                 "maximumf", "minimumf")
)  # fmt: skip
"""Operators whose results are bitwise identical in any grouping and order."""
RELAXED = frozenset({"arith.addf", "arith.mulf"})
"""Float operators that relaxed programs permit to regroup and reorder."""
ADDITION_FOR: Mapping[str, str] = {"arith.muli": "arith.addi", "arith.mulf": "arith.addf"}
"""The operator over which a multiplication distributes."""


def operator_name(function: Term) -> str | None:
    """Return the op of `fun((a, b), a op b)`, in either order for commutative ops."""
    operation = _operation(function)
    return None if operation is None else operation.op


def _operation(function: Term) -> Scalar | None:
    """Return the body of `fun((a, b), a op b)`, in either order for commutative ops."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    body = function.body.body
    if not isinstance(body, Scalar) or body.op not in EXACT | RELAXED:
        return None
    indices = [operand.index for operand in body.operands if isinstance(operand, Bound)]
    return body if sorted(indices) == [0, 1] else None


def may_reorder(function: Term, setting: Setting) -> bool:
    """Whether a reduction with this function may combine floats in a different order.

    The function need not be an operator: its result may be computed from the element."""
    body = function
    while isinstance(body, Lambda):
        body = body.body
    has_option = isinstance(body, Scalar) and body.predicate == ANY_ORDER
    return has_option or setting.float == "relaxed"


def regroups(name: str) -> Condition:
    """A condition: the function is an operator that may be regrouped and reordered."""

    def check(match: Match, setting: Setting) -> None:
        check_regroups(match.term(name), name, setting)

    return Condition(f"{name} is associative and commutative", check, (name,), True)


def check_regroups(function: Term, name: str, setting: Setting) -> str:
    """Return the operator that a function is, if it may be regrouped and reordered."""
    op = operator_name(function)
    if op is None:
        raise Unmet(f"{name} is not known to be associative")
    if op in RELAXED and not may_reorder(function, setting):
        raise Unmet(
            f'{op} on floats may be reassociated only with float="relaxed", or if the reduction '
            'has order="any"'
        )
    return op


def neutral(value: str, function: str) -> Condition:
    """A condition: the value is a neutral element of the function."""

    def check(match: Match, setting: Setting) -> None:
        op, literal = operator_name(match.term(function)), match.term(value)
        if not isinstance(literal, Literal) or op is None:
            raise Unmet(f"{value} is not known to be neutral")
        if literal.number != neutral_element(op, scalar_type(literal)):
            raise Unmet(f"{literal.number} is not neutral for {op}")

    return Condition(f"{value} is neutral for {function}", check, (value, function))


def neutral_element(op: str, type: ScalarType) -> float | int | None:
    """The neutral element of an operator on a scalar type."""
    largest = 0 if is_float(type) else (1 << (bit_width(type) - 1)) - 1
    numbers: Mapping[str, float | int] = {
        "arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0,
        "arith.maxsi": -largest - 1, "arith.minsi": largest, "arith.maxui": 0, "arith.minui": -1,
        "arith.maximumf": float("-inf"), "arith.minimumf": float("inf"),
        "arith.addf": 0.0, "arith.mulf": 1.0,
    }  # fmt: skip
    number = numbers.get(op)
    return wrap_integer(number, type) if isinstance(number, int) else number


def relaxed() -> Condition:
    """A condition: floats may be rounded once more, or once less."""

    def check(match: Match, setting: Setting) -> None:
        if setting.float != "relaxed":
            raise Unmet('the rounding of floats may only change with float="relaxed"')

    return Condition("the rounding of floats may change", check, decides_floats=True)


def reorderable() -> Condition:
    """A condition on a law for operations with the option `any`, which may be rounded once more, or
    once less, unless the program is strict."""

    def check(match: Match, setting: Setting) -> None:
        if setting.float == "strict":
            raise Unmet('the rounding of floats may not change with float="strict"')

    return Condition("the program is not strict", check, decides_floats=True)


def distributes(times: str, plus: str) -> Condition:
    """A condition: the multiplication distributes over the addition."""

    def check(match: Match, setting: Setting) -> None:
        op = check_regroups(match.term(times), times, setting)
        total = check_regroups(match.term(plus), plus, setting)
        if ADDITION_FOR.get(op) != total:
            raise Unmet(f"{op} does not distribute over {total}")

    return Condition(f"{times} distributes over {plus}", check, (times, plus), True)


def scalar(name: str) -> Condition:
    """A condition: the data type is a scalar type."""

    def check(match: Match, setting: Setting) -> None:
        type = match.type(name)
        if not isinstance(type, ScalarType):
            raise Unmet(f"vector elements must be scalars, but {format_type(type)} is not one")

    return Condition(f"{name} is a scalar type", check, (name,))


def not_empty(name: str) -> Condition:
    """A condition: a chosen size is not zero, so that the other sizes are determined."""

    def check(match: Match, setting: Setting) -> None:
        if match.size(name) == Nat.const(0):
            raise Unmet(f"the size {name} must not be zero")

    return Condition(f"{name} is not zero", check)
