"""Conditions of laws: what has to hold of the functions, values and types that they are about.

Operators are known by their MLIR names. Which of them may be regrouped or swapped is a matter of
bits: for integers and for maximum and minimum it is always so, for sums and products of floats only
where the program is relaxed.
"""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.type_printer import show
from riselang.dialects.rise.types import ScalarType, is_float
from riselang.rewrite.core import Setting
from riselang.rewrite.matching import Match
from riselang.rewrite.rule import Condition, Unmet
from riselang.term.conversion import width
from riselang.term.nodes import Bound, Lambda, Literal, Scalar, Term, scalar_type

EXACT = frozenset(
    f"arith.{name}"
    for name in ("addi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui",
                 "maximumf", "minimumf")
)  # fmt: skip
"""Operators that give the same bits however they are grouped and ordered."""
RELAXED = frozenset({"arith.addf", "arith.mulf"})
"""Those of floats that a relaxed program permits to group and order otherwise."""
SUM_OF: Mapping[str, str] = {"arith.muli": "arith.addi", "arith.mulf": "arith.addf"}
"""The operator over which a product distributes."""


def operator(function: Term) -> str | None:
    """The op of `fun((a, b), a op b)`, in either order where that does not matter."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    body = function.body.body
    if not isinstance(body, Scalar) or body.op not in EXACT | RELAXED:
        return None
    indices = [operand.index for operand in body.operands if isinstance(operand, Bound)]
    return body.op if sorted(indices) == [0, 1] else None


def regroups(name: str) -> Condition:
    """The function is an operator that may be grouped and ordered in any way."""

    def check(match: Match, setting: Setting) -> None:
        check_regroups(match.term(name), name, setting)

    return Condition(f"{name} is associative and commutative", check, (name,), True)


def check_regroups(function: Term, name: str, setting: Setting) -> str:
    """The operator that a function is, if it may be grouped and ordered in any way."""
    op = operator(function)
    if op is None:
        raise Unmet(f"{name} is not known to be associative")
    if op in RELAXED and setting.float != "relaxed":
        raise Unmet(f'{op} on floats is only regrouped with float="relaxed"')
    return op


def neutral(value: str, function: str) -> Condition:
    """A value that the function leaves the other one as it is with."""

    def check(match: Match, setting: Setting) -> None:
        op, literal = operator(match.term(function)), match.term(value)
        if not isinstance(literal, Literal) or op is None:
            raise Unmet(f"{value} is not known to be neutral")
        if literal.number != neutral_number(op, scalar_type(literal)):
            raise Unmet(f"{literal.number} is not neutral for {op}")

    return Condition(f"{value} is neutral for {function}", check, (value, function))


def neutral_number(op: str, type: ScalarType) -> float | int | None:
    """The number that an operator on numbers of a type leaves the other one as it is with."""
    top = 0 if is_float(type) else (1 << (width(type) - 1)) - 1
    numbers: Mapping[str, float | int] = {
        "arith.addi": 0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0, "arith.xori": 0,
        "arith.maxsi": -top - 1, "arith.minsi": top, "arith.maxui": 0, "arith.minui": -1,
        "arith.maximumf": float("-inf"), "arith.minimumf": float("inf"),
        "arith.addf": 0.0, "arith.mulf": 1.0,
    }  # fmt: skip
    return numbers.get(op)


def relaxed() -> Condition:
    """The program permits that a float is rounded once more, or once less."""

    def check(match: Match, setting: Setting) -> None:
        if setting.float != "relaxed":
            raise Unmet('floats are only rounded otherwise with float="relaxed"')

    return Condition("floats may be rounded otherwise", check, decides_floats=True)


def distributes(times: str, plus: str) -> Condition:
    """A product, and the sum over which it distributes."""

    def check(match: Match, setting: Setting) -> None:
        op = check_regroups(match.term(times), times, setting)
        total = check_regroups(match.term(plus), plus, setting)
        if SUM_OF.get(op) != total:
            raise Unmet(f"{op} does not distribute over {total}")

    return Condition(f"{times} distributes over {plus}", check, (times, plus), True)


def scalar(name: str) -> Condition:
    """The data type is one of numbers."""

    def check(match: Match, setting: Setting) -> None:
        type = match.type(name)
        if not isinstance(type, ScalarType):
            raise Unmet(f"a vector is made of scalars, but {show(type)} is none")

    return Condition(f"{name} is a scalar type", check, (name,))
