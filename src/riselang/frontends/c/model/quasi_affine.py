"""C integer expressions as quasi-affine ones, exactly: signs, wrap-around and rounding included.

A value has pieces, each a condition in isl's text and an expression that is valid where the
condition holds. `a / b` and `a % b` round toward zero in C and down in isl, so each has a piece for
naturals and one for negatives. Unsigned arithmetic wraps, and so do conversions; a value that
cannot be proved to stay in the range of its type is not affine. An expression of values that the
region never writes can be computed before it, so it becomes a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from riselang.frontends.c.model.affine_arithmetic import OPERATIONS, NotAffine, Piece, Pieces
from riselang.frontends.c.model.isl_text import conjunction, isl
from riselang.frontends.c.model.linear import Linear, Strided
from riselang.frontends.c.model.scop_parameters import Nest, Parameters
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Conditional,
    Convert,
    Expression,
    Literal,
    Unary,
    Variable,
    inside,
)
from riselang.support.errors import SourceLocation

MOST_PIECES = 16
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class AffineReader:
    """Reads expressions in a loop nest."""

    def __init__(
        self,
        nest: Nest,
        parameters: Parameters,
        is_invariant: Callable[[Variable], bool],
        fixed: Mapping[Variable, Expression],
    ):
        """`fixed` maps variables that are set once to their values."""
        self.nest = nest
        self._parameters = parameters
        self._is_invariant = is_invariant
        self._fixed = fixed

    def under(self, condition: str) -> AffineReader:
        return self.moved(self.nest.under(condition))

    def moved(self, nest: Nest) -> AffineReader:
        """Return a reader for the same region in another loop nest."""
        return AffineReader(nest, self._parameters, self._is_invariant, self._fixed)

    # Proofs

    def points(self, condition: str) -> Any:
        """Return the points of the nest where a condition holds, for all values of the
        parameters."""
        ranges = self._parameters.ranges
        whole = conjunction([*self.nest.conditions, condition, ranges])
        names = ", ".join(self.nest.names)
        return isl().Set(f"{self._parameters.prefix}{{ [{names}] : {whole} }}")

    def never(self, condition: str) -> bool:
        return bool(self.points(condition).is_empty())

    # Conditions

    def condition(self, expression: Expression) -> str:
        """Return the condition under which an expression is nonzero, as isl text."""
        match expression:
            case Binary(operator="&&"):
                left = self.condition(expression.left)
                return f"({left}) and ({self.under(left).condition(expression.right)})"
            case Binary(operator="||"):
                left = self.condition(expression.left)
                inner = self.under(f"not ({left})")
                return f"({left}) or ({inner.condition(expression.right)})"
            case Unary(operator="!"):
                return f"not ({self.condition(expression.operand)})"
            case Binary(operator=operator) if operator in _NEGATED:
                return self._comparison(expression)
            case Convert() if expression.type.is_bool or _is_truth(expression.operand):
                return self.condition(expression.operand)
            case _:
                zero = Literal(expression.place, expression.type, 0)
                place = expression.place
                return self._comparison(Binary(place, expression.type, "!=", expression, zero))

    def _comparison(self, expression: Binary) -> str:
        cases: list[str] = []
        operator = "=" if expression.operator == "==" else expression.operator
        left, right = self.linear(expression.left), self.linear(expression.right)
        for (first, a), (second, b) in product(left, right):
            cases.append(conjunction([first, second, f"{a} {operator} {b}"]))
        return " or ".join(f"({each})" for each in cases)

    # Values

    def linear(self, expression: Expression) -> tuple[tuple[str, Linear], ...]:
        """Read a value without strides; products of parameters become parameters."""
        found: list[tuple[str, Linear]] = []
        for condition, strided in self.value(expression):
            total = Linear()
            for strides, linear in strided.parts:
                if strides and not linear.is_constant:
                    raise NotAffine(
                        expression.place, "a loop variable is multiplied by a value that may vary"
                    )
                part = self._parameters.product(strides) if strides else None
                total += linear if part is None else part.times(linear.constant)
            found.append((condition, total))
        return tuple(found)

    def value(self, expression: Expression) -> Pieces:
        if expression.type.is_float:
            raise NotAffine(expression.place, "this depends on a floating-point value")
        try:
            pieces = self._pieces(expression)
        except NotAffine:
            if not self._is_known_before(expression):
                raise
            return (("", Strided.of(self._parameters.expression(expression))),)
        if len(pieces) > MOST_PIECES:
            raise NotAffine(expression.place, "there are too many cases to distinguish")
        return pieces

    def _is_known_before(self, expression: Expression) -> bool:
        """Whether the value can be computed before the region, where this cannot fail."""
        return all(self._is_known(each) for each in inside(expression))

    def _is_known(self, expression: Expression) -> bool:
        match expression:
            case Access(variable=variable, indices=()):
                is_loop = self.nest.iterator(variable) is not None
                return not is_loop and self._is_invariant(variable)
            case Binary(operator="/" | "%"):
                divisor = expression.right
                return isinstance(divisor, Literal) and divisor.value not in (0, -1)
            case Literal() | Unary() | Convert() | Binary() | Conditional():
                return True
            case _:
                return False

    def _pieces(self, expression: Expression) -> Pieces:
        place = expression.place
        match expression:
            case Literal(value=int(value)):
                return (("", Strided.of(Linear(value))),)
            case Access(variable=variable, indices=()):
                return self._variable(variable, place)
            case Access():
                raise NotAffine(place, f"it depends on an element of {expression.variable.name}")
            case Convert():
                return self._converted(expression)
            case Unary(operator="-"):
                negated = [(c, v.times(-1)) for c, v in self.value(expression.operand)]
                return self._in_type(tuple(negated), expression)
            case Unary(operator="!"):
                return self._truth(expression)
            case Conditional():
                return self._conditional(expression)
            case Binary(operator=operator) if operator in _NEGATED or operator in ("&&", "||"):
                return self._truth(expression)
            case Binary(operator=operator) if operator in OPERATIONS:
                return self._in_type(OPERATIONS[operator](self, expression), expression)
            case Binary():
                raise NotAffine(place, f"the operator {expression.operator} is not affine")
            case _:
                raise NotAffine(place, "this is not affine")

    def _variable(self, variable: Variable, place: SourceLocation) -> Pieces:
        iterator = self.nest.iterator(variable)
        if iterator is not None:
            return (("", Strided.of(Linear.of(iterator))),)
        if variable in self._fixed:
            return self.value(self._fixed[variable])
        if not self._is_invariant(variable):
            raise NotAffine(place, f"the value of {variable.name} changes in the region")
        return (("", Strided.of(self._parameters.variable(variable))),)

    def _truth(self, expression: Expression) -> Pieces:
        condition = self.condition(expression)
        return (
            (condition, Strided.of(Linear(1))),
            (f"not ({condition})", Strided.of(Linear(0))),
        )

    def _conditional(self, expression: Conditional) -> Pieces:
        condition = self.condition(expression.condition)
        both = [(condition, expression.first), (f"not ({condition})", expression.second)]
        branches = [(holds, branch) for holds, branch in both if not self.never(holds)] or both[:1]
        return self.possible(
            [
                (conjunction([holds, inner]), value)
                for holds, branch in branches
                for inner, value in self.under(holds).value(branch)
            ]
        )

    def possible(self, pieces: Sequence[Piece]) -> Pieces:
        """Drop the pieces that are never reached; a single remaining one becomes unconditional."""
        left = [(c, v) for c, v in pieces if not self.never(c or "0 = 0")]
        if len(left) > 1:
            return tuple(left)
        # Where nothing is possible, nothing runs, and any value is correct.
        return (("", (left or pieces)[0][1]),)

    def _converted(self, expression: Convert) -> Pieces:
        source, target = expression.operand.type, expression.type
        if target.is_bool:
            return self._truth(expression.operand)
        pieces = self.value(expression.operand)
        if source.smallest >= target.smallest and source.largest <= target.largest:
            return pieces
        self._check_range(pieces, target, expression.place)
        return pieces

    def _in_type(self, pieces: Pieces, expression: Expression) -> Pieces:
        """Check that a result does not wrap; signed overflow is undefined, so it does not
        happen."""
        if not expression.type.is_signed:
            self._check_range(pieces, expression.type, expression.place)
        return pieces

    def _check_range(self, pieces: Pieces, type: CType, place: SourceLocation) -> None:
        for condition, value in pieces:
            linear = value.linear
            if linear is None and value.parts and _is_wide(type):
                continue  # a subscript with strides, whose rows are proven to be in range later
            outside = f"{linear} < {type.smallest} or {linear} > {type.largest}"
            if linear is None or not self.never(conjunction([condition, outside])):
                raise NotAffine(place, f"this may wrap around: it does not always fit in {type}")


def _is_truth(expression: Expression) -> bool:
    match expression:
        case Binary(operator=operator):
            return operator in _NEGATED or operator in ("&&", "||")
        case Unary(operator="!"):
            return True
        case _:
            return False


def _is_wide(type: CType) -> bool:
    """Whether the type can hold sizes of memory."""
    return type.bits == 64
