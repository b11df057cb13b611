"""C arithmetic on quasi-affine values, with C's rounding of divisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product as pairs_of
from typing import Protocol

from riselang.frontends.c.model.isl_text import join_conditions
from riselang.frontends.c.model.linear import Linear, Strided
from riselang.frontends.c.model.scop_parameters import LoopNest
from riselang.frontends.c.parse.syntax import Binary, Expression
from riselang.support.errors import SourceLocation

Piece = tuple[str, Strided]
"""A condition (empty if unconditional) and a value."""
Pieces = tuple[Piece, ...]


class NotAffine(Exception):
    """An expression is not affine, with the reason."""

    def __init__(self, location: SourceLocation, reason: str):
        super().__init__(reason)
        self.location = location
        self.reason = reason


class Reader(Protocol):
    """The interface that operators need from the reader of their operands."""

    nest: LoopNest

    def read_value(self, expression: Expression) -> Pieces: ...

    def is_impossible(self, condition: str) -> bool: ...

    def drop_impossible(self, pieces: Sequence[Piece]) -> Pieces: ...


def _operand_pieces(reader: Reader, expression: Binary) -> list[tuple[str, Strided, Strided]]:
    left, right = reader.read_value(expression.left), reader.read_value(expression.right)
    pairs = [(join_conditions([c, d]) if c or d else "", a, b)
             for (c, a), (d, b) in pairs_of(left, right)]  # fmt: skip
    return [
        each for each in pairs if len(pairs) == 1 or not reader.is_impossible(each[0] or "0 = 0")
    ]


def _add_or_subtract(reader: Reader, expression: Binary) -> Pieces:
    sign = 1 if expression.operator == "+" else -1
    return tuple((c, a + b.times(sign)) for c, a, b in _operand_pieces(reader, expression))


def _multiply(reader: Reader, expression: Binary) -> Pieces:
    return tuple(
        (c, _multiply_strided(reader, a, b, expression))
        for c, a, b in _operand_pieces(reader, expression)
    )


def _multiply_strided(reader: Reader, left: Strided, right: Strided, expression: Binary) -> Strided:
    for one, other in ((left, right), (right, left)):
        linear = one.linear
        if linear is not None and linear.is_constant:
            return other.times(linear.constant)
    for one, other in ((right, left), (left, right)):
        if (stride := _stride_of(reader, one)) is not None:
            return other.multiply_stride(stride)
    raise NotAffine(expression.location, "two values that vary in the region are multiplied")


def _stride_of(reader: Reader, value: Strided) -> tuple[Linear, ...] | None:
    """Return the factor that a value of parameters alone contributes as a stride."""
    iterators = set(reader.nest.names)
    if value.linear is not None:
        return None if iterators & set(value.linear.names()) else (value.linear,)
    if len(value.parts) == 1 and value.parts[0][1] == Linear(1):
        return value.parts[0][0]
    return None


def _divide(reader: Reader, expression: Binary) -> Pieces:
    """Divide, rounding toward zero."""
    return _apply_by_sign(
        reader, expression, lambda linear, by: linear.floor_divide(by), flips=lambda by: by < 0
    )


def _remainder(reader: Reader, expression: Binary) -> Pieces:
    """Compute the remainder, with the sign of the dividend."""
    return _apply_by_sign(
        reader, expression, lambda linear, by: linear.remainder(by), flips=lambda by: False
    )


def _apply_by_sign(
    reader: Reader,
    expression: Binary,
    natural: Callable[[Linear, int], Linear],
    flips: Callable[[int], bool],
) -> Pieces:
    """Extend an operation on naturals to integers, with one piece for each sign."""
    pieces: list[Piece] = []
    for condition, dividend, divisor in _operand_pieces(reader, expression):
        number = _constant_divisor(divisor, expression)
        linear = dividend.linear
        if linear is None or number == 0:
            raise NotAffine(expression.location, "this division is not affine")
        sign = -1 if flips(number) else 1
        pieces += [
            (join_conditions([condition, f"{linear} >= 0"]),
             Strided.of(natural(linear, abs(number)).times(sign))),
            (join_conditions([condition, f"{linear} < 0"]),
             Strided.of(natural(-linear, abs(number)).times(-sign))),
        ]  # fmt: skip
    return reader.drop_impossible(pieces)


def _constant_divisor(value: Strided, expression: Expression) -> int:
    linear = value.linear
    if linear is None or not linear.is_constant:
        raise NotAffine(expression.location, "the divisor is not a constant")
    return linear.constant


def _left_shift(reader: Reader, expression: Binary) -> Pieces:
    return _shift(reader, expression, lambda linear, by: linear.times(1 << by))


def _right_shift(reader: Reader, expression: Binary) -> Pieces:
    return _shift(reader, expression, lambda linear, by: linear.floor_divide(1 << by))


def _shift(reader: Reader, expression: Binary, shift: Callable[[Linear, int], Linear]) -> Pieces:
    pieces: list[Piece] = []
    for condition, value, amount in _operand_pieces(reader, expression):
        number, linear = _constant_divisor(amount, expression), value.linear
        if linear is None or not 0 <= number < 62:
            raise NotAffine(expression.location, "this shift is not affine")
        pieces.append((condition, Strided.of(shift(linear, number))))
    return tuple(pieces)


def _mask(reader: Reader, expression: Binary) -> Pieces:
    """Read `a & 7` as the remainder of a modulo 8, also for negatives."""
    pieces: list[Piece] = []
    for condition, left, right in _operand_pieces(reader, expression):
        mask = _constant_divisor(right, expression)
        linear = left.linear
        if linear is None or mask < 0 or mask & (mask + 1):
            raise NotAffine(expression.location, "this mask is not affine")
        pieces.append((condition, Strided.of(linear.remainder(mask + 1))))
    return tuple(pieces)


OPERATIONS: Mapping[str, Callable[[Reader, Binary], Pieces]] = {
    "+": _add_or_subtract,
    "-": _add_or_subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "<<": _left_shift,
    ">>": _right_shift,
    "&": _mask,
}
