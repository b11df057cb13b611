"""The derivatives of the scalar operations.

For each operand, a *partial* maps a derivative of the operand to its part of the derivative of the
result, or, since the map is multiplication by a number, a cotangent of the result to that of the
operand. An operand without a partial does not influence the derivative: the result is constant in
it, or its type is not a float.

At points where a function has no derivative, the conventions are JAX's: the derivative of `abs` at
0 is 1, and `max` and `min` of equal numbers give one half to each. See
docs/how-to/derivatives.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from riselang.autodiff.building import Builder, is_number, number_of, scalar_of
from riselang.dialects.rise.types import ScalarType
from riselang.term import build
from riselang.term.build import Node

Partial = Callable[[Builder, Node, Sequence[Node], Node], Node]
"""Takes a builder, the derivative to be scaled, the operands, and the result."""

SELECT = "arith.select"


def scale(
    builder: Builder, partial: Partial, value: Node, operands: Sequence[Node], result: Node
) -> Node:
    """Apply a partial to a derivative. One that a `select` sets to zero stays zero, even where the
    partial is infinite or NaN, so that a branch that is not taken does not matter."""
    guard = _guard_of(value)
    if guard is None:
        return partial(builder, value, operands, result)
    condition, chosen, other = guard
    scaled = [
        each if is_number(each, 0.0) else partial(builder, each, operands, result)
        for each in (chosen, other)
    ]
    return builder.select(condition, *scaled)


def _guard_of(value: Node) -> Sequence[Node] | None:
    """Return the operands of a `select` between a number and zero."""
    if not isinstance(value, build.Operation) or value.op != SELECT:
        return None
    _, chosen, other = value.operands
    return value.operands if is_number(chosen, 0.0) or is_number(other, 0.0) else None


def _float(builder: Builder, number: float, like: Node) -> Node:
    return builder.number(number, scalar_of(like.type))


def _identity(builder: Builder, value: Node, operands: Sequence[Node], result: Node) -> Node:
    return value


def _negation(builder: Builder, value: Node, operands: Sequence[Node], result: Node) -> Node:
    return builder.negate(value)


def _times(factor: Callable[[Builder, Sequence[Node], Node], Node]) -> Partial:
    """Multiply by a factor."""
    return lambda builder, value, operands, result: builder.multiply(
        value, factor(builder, operands, result)
    )


def _over(divisor: Callable[[Builder, Sequence[Node], Node], Node]) -> Partial:
    """Divide by a divisor."""
    return lambda builder, value, operands, result: builder.divide(
        value, divisor(builder, operands, result)
    )


def _sign(builder: Builder, x: Node) -> Node:
    """Return 1 if a number is at least 0, and -1 otherwise."""
    is_positive = builder.compare("ge", x, _float(builder, 0, x))
    return builder.select(is_positive, _float(builder, 1, x), _float(builder, -1, x))


def _share(own: int) -> Partial:
    """The operand that a maximum or minimum selects receives everything; equal ones halves."""

    def partial(builder: Builder, value: Node, operands: Sequence[Node], result: Node) -> Node:
        is_own = builder.compare("eq", operands[own], result)
        is_other = builder.compare("eq", operands[1 - own], result)
        half = builder.multiply(value, _float(builder, 0.5, value))
        share = builder.select(is_other, half, value)
        return builder.select(is_own, share, _float(builder, 0, value))

    return partial


def _selected(position: int) -> Partial:
    def partial(builder: Builder, value: Node, operands: Sequence[Node], result: Node) -> Node:
        parts = [value, _float(builder, 0, value)]
        return builder.select(operands[0], *(parts if position == 1 else parts[::-1]))

    return partial


def _square(builder: Builder, x: Node) -> Node:
    return builder.multiply(x, x)


def _plus_one(builder: Builder, x: Node) -> Node:
    return builder.add(_float(builder, 1, x), x)


def _one_minus_square(builder: Builder, x: Node) -> Node:
    return builder.subtract(_float(builder, 1, x), _square(builder, x))


def _power_of_base(builder: Builder, operands: Sequence[Node], result: Node) -> Node:
    """y * x ** (y - 1), which is 0 if y is 0, also for x = 0."""
    x, y = operands
    if (number := number_of(y)) is not None:
        return _power_of_known_base(builder, x, number)
    one, zero = _float(builder, 1, y), _float(builder, 0, y)
    is_constant = builder.compare("eq", y, zero)
    exponent = builder.select(is_constant, one, builder.subtract(y, one))
    product = builder.multiply(y, builder.math("powf", x, exponent))
    return builder.select(is_constant, zero, product)


def _power_of_known_base(builder: Builder, x: Node, exponent: float) -> Node:
    factor = _float(builder, exponent, x)
    if exponent in (0.0, 1.0):
        return factor
    power = x if exponent == 2.0 else builder.math("powf", x, _float(builder, exponent - 1, x))
    return builder.multiply(factor, power)


def _power_of_exponent(builder: Builder, operands: Sequence[Node], result: Node) -> Node:
    """x ** y * log(x), which is 0 if x is 0."""
    x = operands[0]
    is_zero = builder.compare("eq", x, _float(builder, 0, x))
    base = builder.select(is_zero, _float(builder, 1, x), x)
    return builder.multiply(result, builder.math("log", base))


def _quotient_of_divisor(
    builder: Builder, value: Node, operands: Sequence[Node], result: Node
) -> Node:
    return builder.negate(builder.divide(builder.multiply(value, result), operands[1]))


def _squared_radius(builder: Builder, operands: Sequence[Node]) -> Node:
    return builder.add(_square(builder, operands[0]), _square(builder, operands[1]))


def _converted(builder: Builder, value: Node, operands: Sequence[Node], result: Node) -> Node:
    """Convert between the types of the operand and the result, in either direction."""
    source, target = operands[0].type, result.type
    type = source if value.type == target else target
    assert isinstance(type, ScalarType)
    return builder.convert(value, type)


PARTIALS: Mapping[str, tuple[Partial | None, ...]] = {
    "arith.addf": (_identity, _identity),
    "arith.subf": (_identity, _negation),
    "arith.mulf": (_times(lambda b, xs, r: xs[1]), _times(lambda b, xs, r: xs[0])),
    "arith.divf": (_over(lambda b, xs, r: xs[1]), _quotient_of_divisor),
    "arith.negf": (_negation,),
    "arith.maximumf": (_share(0), _share(1)),
    "arith.minimumf": (_share(0), _share(1)),
    "arith.maxnumf": (_share(0), _share(1)),
    "arith.minnumf": (_share(0), _share(1)),
    SELECT: (None, _selected(1), _selected(2)),
    "arith.extf": (_converted,),
    "arith.truncf": (_converted,),
    "math.fma": (
        _times(lambda b, xs, r: xs[1]),
        _times(lambda b, xs, r: xs[0]),
        _identity,
    ),
    "math.absf": (_times(lambda b, xs, r: _sign(b, xs[0])),),
    "math.copysign": (
        _times(
            lambda b, xs, r: b.multiply(
                _sign(b, xs[0]), b.math("copysign", _float(b, 1, xs[0]), xs[1])
            )
        ),
        None,
    ),
    "math.sqrt": (_times(lambda b, xs, r: b.divide(_float(b, 0.5, r), r)),),
    "math.cbrt": (_over(lambda b, xs, r: b.multiply(_float(b, 3, r), _square(b, r))),),
    "math.exp": (_times(lambda b, xs, r: r),),
    "math.exp2": (_times(lambda b, xs, r: b.multiply(r, _float(b, math.log(2), r))),),
    "math.expm1": (_times(lambda b, xs, r: _plus_one(b, r)),),
    "math.log": (_over(lambda b, xs, r: xs[0]),),
    "math.log2": (_over(lambda b, xs, r: b.multiply(xs[0], _float(b, math.log(2), r))),),
    "math.log10": (_over(lambda b, xs, r: b.multiply(xs[0], _float(b, math.log(10), r))),),
    "math.log1p": (_over(lambda b, xs, r: _plus_one(b, xs[0])),),
    "math.sin": (_times(lambda b, xs, r: b.math("cos", xs[0])),),
    "math.cos": (_times(lambda b, xs, r: b.negate(b.math("sin", xs[0]))),),
    "math.tan": (_times(lambda b, xs, r: _plus_one(b, _square(b, r))),),
    "math.asin": (_over(lambda b, xs, r: b.math("sqrt", _one_minus_square(b, xs[0]))),),
    "math.acos": (_over(lambda b, xs, r: b.negate(b.math("sqrt", _one_minus_square(b, xs[0])))),),
    "math.atan": (_over(lambda b, xs, r: _plus_one(b, _square(b, xs[0]))),),
    "math.sinh": (_times(lambda b, xs, r: b.math("cosh", xs[0])),),
    "math.cosh": (_times(lambda b, xs, r: b.math("sinh", xs[0])),),
    "math.tanh": (_times(lambda b, xs, r: _one_minus_square(b, r)),),
    "math.erf": (
        _times(
            lambda b, xs, r: b.multiply(
                _float(b, 2 / math.sqrt(math.pi), r),
                b.math("exp", b.negate(_square(b, xs[0]))),
            )
        ),
    ),
    "math.powf": (_times(_power_of_base), _times(_power_of_exponent)),
    "math.atan2": (
        _times(lambda b, xs, r: b.divide(xs[1], _squared_radius(b, xs))),
        _times(lambda b, xs, r: b.negate(b.divide(xs[0], _squared_radius(b, xs)))),
    ),
    "math.floor": (None,),
    "math.ceil": (None,),
    "math.trunc": (None,),
    "math.round": (None,),
    "math.roundeven": (None,),
}
"""For each op on floats, the partial of each operand."""
CONSTANT_OPS = frozenset(
    {"arith.cmpf", "arith.fptosi", "arith.fptoui", "arith.sitofp", "arith.uitofp", "arith.bitcast"}
)
"""The ops between floats and other types, whose results have no derivative."""


def partials_of(op: str) -> tuple[Partial | None, ...]:
    """Return the partials of an op; none for ops on integers and Booleans."""
    return PARTIALS.get(op, ())
