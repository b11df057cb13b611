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
from riselang.frontends.c.model.isl_text import isl, join_conditions
from riselang.frontends.c.model.linear import Linear, Strided
from riselang.frontends.c.model.scop_parameters import LoopNest, Parameters
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
    walk_expression,
)
from riselang.support.errors import SourceLocation

MAX_PIECES = 16
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


class AffineReader:
    """Reads expressions in a loop nest."""

    def __init__(
        self,
        nest: LoopNest,
        parameters: Parameters,
        is_invariant: Callable[[Variable], bool],
        fixed: Mapping[Variable, Expression],
    ):
        """`fixed` maps variables that are set once to their values."""
        self.nest = nest
        self._parameters = parameters
        self._is_invariant = is_invariant
        self._fixed = fixed

    def restrict(self, condition: str) -> AffineReader:
        return self.with_nest(self.nest.with_condition(condition))

    def with_nest(self, nest: LoopNest) -> AffineReader:
        """Return a reader for the same region in another loop nest."""
        return AffineReader(nest, self._parameters, self._is_invariant, self._fixed)

    # Proofs

    def points_where(self, condition: str) -> Any:
        """Return the points of the nest where a condition holds, for all values of the
        parameters."""
        ranges = self._parameters.ranges
        conditions = join_conditions([*self.nest.conditions, condition, ranges])
        names = ", ".join(self.nest.names)
        return isl().Set(f"{self._parameters.prefix}{{ [{names}] : {conditions} }}")

    def is_impossible(self, condition: str) -> bool:
        return bool(self.points_where(condition).is_empty())

    # Conditions

    def read_condition(self, expression: Expression) -> str:
        """Return the condition under which an expression is nonzero, as isl text."""
        match expression:
            case Binary(operator="&&"):
                left = self.read_condition(expression.left)
                return f"({left}) and ({self.restrict(left).read_condition(expression.right)})"
            case Binary(operator="||"):
                left = self.read_condition(expression.left)
                inner = self.restrict(f"not ({left})")
                return f"({left}) or ({inner.read_condition(expression.right)})"
            case Unary(operator="!"):
                return f"not ({self.read_condition(expression.operand)})"
            case Binary(operator=operator) if operator in _NEGATED:
                return self._read_comparison(expression)
            case Convert() if expression.type.is_bool or _is_boolean(expression.operand):
                return self.read_condition(expression.operand)
            case _:
                zero = Literal(expression.location, expression.type, 0)
                location = expression.location
                return self._read_comparison(
                    Binary(location, expression.type, "!=", expression, zero)
                )

    def _read_comparison(self, expression: Binary) -> str:
        cases: list[str] = []
        operator = "=" if expression.operator == "==" else expression.operator
        left, right = self.read_linear(expression.left), self.read_linear(expression.right)
        for (first, a), (second, b) in product(left, right):
            cases.append(join_conditions([first, second, f"{a} {operator} {b}"]))
        return " or ".join(f"({each})" for each in cases)

    # Values

    def read_linear(self, expression: Expression) -> tuple[tuple[str, Linear], ...]:
        """Read a value without strides; products of parameters become parameters."""
        pieces: list[tuple[str, Linear]] = []
        for condition, strided in self.read_value(expression):
            total = Linear()
            for strides, linear in strided.parts:
                if strides and not linear.is_constant:
                    raise NotAffine(
                        expression.location,
                        "a loop variable is multiplied by a value that may vary",
                    )
                part = self._parameters.add_product(strides) if strides else None
                total += linear if part is None else part.times(linear.constant)
            pieces.append((condition, total))
        return tuple(pieces)

    def read_value(self, expression: Expression) -> Pieces:
        if expression.type.is_float:
            raise NotAffine(expression.location, "this depends on a floating-point value")
        try:
            pieces = self._read_pieces(expression)
        except NotAffine:
            if not self._is_computable_before(expression):
                raise
            return (("", Strided.of(self._parameters.add_expression(expression))),)
        if len(pieces) > MAX_PIECES:
            raise NotAffine(expression.location, "there are too many cases to distinguish")
        return pieces

    def _is_computable_before(self, expression: Expression) -> bool:
        """Whether the value can be computed before the region, where this cannot fail."""
        return all(self._is_parametric(each) for each in walk_expression(expression))

    def _is_parametric(self, expression: Expression) -> bool:
        match expression:
            case Access(variable=variable, indices=()):
                is_loop = self.nest.iterator_name(variable) is not None
                return not is_loop and self._is_invariant(variable)
            case Binary(operator="/" | "%"):
                divisor = expression.right
                return isinstance(divisor, Literal) and divisor.value not in (0, -1)
            case Literal() | Unary() | Convert() | Binary() | Conditional():
                return True
            case _:
                return False

    def _read_pieces(self, expression: Expression) -> Pieces:
        location = expression.location
        match expression:
            case Literal(value=int(value)):
                return (("", Strided.of(Linear(value))),)
            case Access(variable=variable, indices=()):
                return self._read_variable(variable, location)
            case Access():
                raise NotAffine(location, f"it depends on an element of {expression.variable.name}")
            case Convert():
                return self._read_conversion(expression)
            case Unary(operator="-"):
                negated = [(c, v.times(-1)) for c, v in self.read_value(expression.operand)]
                return self._check_no_wrap(tuple(negated), expression)
            case Unary(operator="!"):
                return self._read_boolean(expression)
            case Conditional():
                return self._read_conditional(expression)
            case Binary(operator=operator) if operator in _NEGATED or operator in ("&&", "||"):
                return self._read_boolean(expression)
            case Binary(operator=operator) if operator in OPERATIONS:
                return self._check_no_wrap(OPERATIONS[operator](self, expression), expression)
            case Binary():
                raise NotAffine(location, f"the operator {expression.operator} is not affine")
            case _:
                raise NotAffine(location, "this is not affine")

    def _read_variable(self, variable: Variable, location: SourceLocation) -> Pieces:
        iterator = self.nest.iterator_name(variable)
        if iterator is not None:
            return (("", Strided.of(Linear.of(iterator))),)
        if variable in self._fixed:
            return self.read_value(self._fixed[variable])
        if not self._is_invariant(variable):
            raise NotAffine(location, f"the value of {variable.name} changes in the region")
        return (("", Strided.of(self._parameters.add_variable(variable))),)

    def _read_boolean(self, expression: Expression) -> Pieces:
        condition = self.read_condition(expression)
        return (
            (condition, Strided.of(Linear(1))),
            (f"not ({condition})", Strided.of(Linear(0))),
        )

    def _read_conditional(self, expression: Conditional) -> Pieces:
        condition = self.read_condition(expression.condition)
        both = [(condition, expression.first), (f"not ({condition})", expression.second)]
        branches = [
            (holds, branch) for holds, branch in both if not self.is_impossible(holds)
        ] or both[:1]
        return self.drop_impossible(
            [
                (join_conditions([holds, inner]), value)
                for holds, branch in branches
                for inner, value in self.restrict(holds).read_value(branch)
            ]
        )

    def drop_impossible(self, pieces: Sequence[Piece]) -> Pieces:
        """Drop the pieces that are never reached; a single remaining one becomes unconditional."""
        left = [(c, v) for c, v in pieces if not self.is_impossible(c or "0 = 0")]
        if len(left) > 1:
            return tuple(left)
        # Where nothing is possible, nothing runs, and any value is correct.
        return (("", (left or pieces)[0][1]),)

    def _read_conversion(self, expression: Convert) -> Pieces:
        source, target = expression.operand.type, expression.type
        if target.is_bool:
            return self._read_boolean(expression.operand)
        pieces = self.read_value(expression.operand)
        if source.smallest >= target.smallest and source.largest <= target.largest:
            return pieces
        self._check_range(pieces, target, expression.location)
        return pieces

    def _check_no_wrap(self, pieces: Pieces, expression: Expression) -> Pieces:
        """Check that a result does not wrap; signed overflow is undefined, so it does not
        happen."""
        if not expression.type.is_signed:
            self._check_range(pieces, expression.type, expression.location)
        return pieces

    def _check_range(self, pieces: Pieces, type: CType, location: SourceLocation) -> None:
        for condition, value in pieces:
            linear = value.linear
            if linear is None and value.parts and _is_wide(type):
                continue  # a subscript with strides, whose rows are proven to be in range later
            outside = f"{linear} < {type.smallest} or {linear} > {type.largest}"
            if linear is None or not self.is_impossible(join_conditions([condition, outside])):
                raise NotAffine(location, f"this may wrap around: it does not always fit in {type}")


def _is_boolean(expression: Expression) -> bool:
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
