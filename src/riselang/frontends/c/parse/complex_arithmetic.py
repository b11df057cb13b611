"""Complex arithmetic on pairs of floats.

A real operand has no imaginary part, as in C. A product is computed by the usual formula: unlike
C's, it does not recover infinities if both parts are NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from riselang.frontends.c.parse.c_types import INT, CType
from riselang.frontends.c.parse.record_types import IM, RE, RecordType
from riselang.frontends.c.parse.syntax import (
    Binary,
    Call,
    Convert,
    Expression,
    Literal,
    Unary,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

Pair = tuple[Expression, Expression | None]
"""The real and the imaginary part; None for that of a real number."""
MAX_DEPTH = 6
"""The limit on the nesting of products: both parts of each factor are used twice."""


class ComplexReader:
    """Reads complex expressions as pairs."""

    def __init__(
        self,
        select: Callable[[Expression, Sequence[str]], Expression],
        expand: Callable[[Expression], Expression],
    ):
        self._select_part = select
        self._expand = expand
        self._depth = 0

    def select(self, expression: Expression, name: str) -> Expression:
        """Return one part of a complex number."""
        real, imaginary = self._read_pair(expression)
        if name == RE:
            return real
        return _zero(real) if imaginary is None else imaginary

    def read_number(self, expression: Expression) -> Expression | None:
        """Return a number that is computed from complex ones; None for other expressions."""
        match expression:
            case Call(function=function, arguments=(argument,)) if argument.type.is_complex:
                return self._read_function(expression, function.removesuffix("f"), argument)
            case Convert(operand=operand) if operand.type.is_complex:
                if expression.type.is_bool:
                    return self.is_nonzero(expression.location, operand)
                return convert_to(self.select(operand, RE), expression.type)
            case Binary(operator="==" | "!=" as operator, left=left, right=right) if (
                left.type.is_complex or right.type.is_complex
            ):
                return self._compare(expression.location, operator, left, right)
            case Unary(operator="!", operand=operand) if operand.type.is_complex:
                test = self.is_nonzero(expression.location, operand)
                return Unary(expression.location, INT, "!", test)
            case _:
                return None

    def _read_function(self, call: Call, name: str, argument: Expression) -> Expression:
        if name == "creal":
            return self.select(argument, RE)
        if name == "cimag":
            return self.select(argument, IM)
        if name == "cabs":
            # The C library computes it in this way.
            parts = (self.select(argument, RE), self.select(argument, IM))
            suffix = "f" if call.type.bits == 32 else ""
            return Call(call.location, call.type, f"hypot{suffix}", parts)
        raise _unknown(call)

    def _read_pair(self, expression: Expression) -> Pair:
        if not expression.type.is_complex:
            return self._expand(expression), None
        location = expression.location
        match expression:
            case Convert(operand=operand):
                real, imaginary = self._read_pair(operand)
                part = _part_type(expression.type)
                return convert_to(real, part), imaginary and convert_to(imaginary, part)
            case Unary(operator="-", operand=operand):
                real, imaginary = self._read_pair(operand)
                return _negate(real), imaginary and _negate(imaginary)
            case Unary(operator="~", operand=operand):
                return self._conjugate(operand)
            case Binary(operator=operator, left=left, right=right):
                return self._read_operation(location, operator, left, right)
            case Call(function="conj" | "conjf", arguments=(argument,)):
                return self._conjugate(argument)
            case Call():
                raise _unknown(expression)
            case _:
                return self._select_part(expression, (RE,)), self._select_part(expression, (IM,))

    def _conjugate(self, operand: Expression) -> Pair:
        real, imaginary = self._read_pair(operand)
        return real, _negate(_zero(real) if imaginary is None else imaginary)

    def _read_operation(
        self, location: SourceLocation, operator: str, left: Expression, right: Expression
    ) -> Pair:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnsupportedConstruct(
                location, "complex operations nest too deeply", "assign parts of them to variables"
            )
        try:
            first, second = self._read_pair(left), self._read_pair(right)
        finally:
            self._depth -= 1
        match operator:
            case "+" | "-":
                return _sum(operator, first, second)
            case "*":
                return _product(first, second)
            case "/" if second[1] is None:
                real, imaginary = first
                return _apply("/", real, second[0]), imaginary and _apply("/", imaginary, second[0])
            case _:
                raise UnsupportedConstruct(
                    location, f"the operator {operator} on complex numbers cannot be modeled",
                    "multiply by the conjugate, and divide by a real number",
                )  # fmt: skip

    def _compare(
        self, location: SourceLocation, operator: str, left: Expression, right: Expression
    ) -> Expression:
        first, second = (
            [self.select(each, name) if each.type.is_complex else part
             for name, part in ((RE, self._expand(each)), (IM, _zero(self._expand(each))))]
            if not each.type.is_complex else [self.select(each, RE), self.select(each, IM)]
            for each in (left, right)
        )  # fmt: skip
        tests = [Binary(location, INT, operator, a, b) for a, b in zip(first, second, strict=True)]
        return Binary(location, INT, "&&" if operator == "==" else "||", *tests)

    def is_nonzero(self, location: SourceLocation, operand: Expression) -> Expression:
        """Return whether a part of a number is not zero."""
        parts = [self.select(operand, name) for name in (RE, IM)]
        tests = [Binary(location, INT, "!=", part, _zero(part)) for part in parts]
        return Binary(location, INT, "||", *tests)


def _sum(operator: str, first: Pair, second: Pair) -> Pair:
    (a, b), (c, d) = first, second
    real = _apply(operator, a, c)
    if d is None:
        return real, b
    if b is None:
        return real, d if operator == "+" else _negate(d)
    return real, _apply(operator, b, d)


def _product(first: Pair, second: Pair) -> Pair:
    (a, b), (c, d) = first, second
    if d is None:
        return _apply("*", a, c), b and _apply("*", b, c)
    if b is None:
        return _apply("*", a, c), _apply("*", a, d)
    real = _apply("-", _apply("*", a, c), _apply("*", b, d))
    return real, _apply("+", _apply("*", a, d), _apply("*", b, c))


def _apply(operator: str, left: Expression, right: Expression) -> Expression:
    type = max(left.type, right.type, key=lambda type: type.rank)
    operands = (convert_to(left, type), convert_to(right, type))
    return Binary(left.location, type, operator, *operands)


def _negate(operand: Expression) -> Expression:
    return Unary(operand.location, operand.type, "-", operand)


def _zero(like: Expression) -> Expression:
    return convert_to(Literal(like.location, INT, 0), like.type)


def _part_type(type: CType) -> CType:
    assert isinstance(type, RecordType)
    return type.find_member(RE).type


def _unknown(call: Call) -> UnsupportedConstruct:
    return UnsupportedConstruct(
        call.location, f"{call.function} of complex numbers cannot be modeled",
        "use creal, cimag, conj, cabs and arithmetic",
    )  # fmt: skip
