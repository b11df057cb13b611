"""Pass `approximate-math`: computes exp, log, tanh and erf inline, for relaxed floats.

f32 is computed as it is; f16 and bf16 are computed as f32, and rounded.

A math library call computes one scalar at a time, and prevents vectorization of its loop. The
approximations here have an error of at most 4 ulp for all inputs, as `float="relaxed"` permits;
results for infinities, NaN and denormals agree with the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    ModuleOp,
    VectorType,
    f32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.lowering.f32_arithmetic import Arithmetic
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class ApproximateMathPass(ModulePass):
    """Replaces exp, log, tanh and erf with polynomial approximations."""

    name = "approximate-math"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(walk(op)):
            function = APPROXIMATIONS.get(inner.name)
            if function is None:
                continue
            type = inner.results[0].type
            if not isinstance(_element_type(type), APPROXIMATED_TYPES):
                continue
            builder = builder_at(InsertPoint.before(inner), inner.location)
            value, wide = inner.operands[0], _with_f32(type)
            if wide != type:
                value = builder.insert(arith.ExtFOp(value, wide)).result
            value = function(Arithmetic(builder, wide), value)
            if wide != type:
                value = builder.insert(arith.TruncFOp(value, type)).result
            inner.results[0].replace_all_uses_with(value)
            inner.detach()
            inner.erase()


APPROXIMATED_TYPES = (Float32Type, Float16Type, BFloat16Type)


def _element_type(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, VectorType) else type


def _with_f32(type: Attribute) -> Attribute:
    """Return f32, or vectors of f32 of the same length."""
    return VectorType(f32, type.get_shape()) if isinstance(type, VectorType) else f32


LOG2_E = 1.44269504088896341
LN_2, LN_2_REST = 0.693359375, -2.12194440e-4
"""The logarithm of 2 in two parts; the first has so few digits that small multiples of it are
exact."""
ROUNDING_OFFSET = 1.5 * 2**23
"""Adding it rounds a number to an integer: no bits are left for the fraction."""
EXP = (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1,
       5.0000001201e-1)  # fmt: skip
LOG = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
       -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip
TANH = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
        -3.33332819422e-1)  # fmt: skip
ERF = (7.889119526826151e-05, -0.0008020841278282678, 0.005189535339175285, -0.026854444591822048,
       0.11283600176255226, -0.3761262713596565, 0.12837916591375154)  # fmt: skip
ERF_LARGE = (3.5570073086098115e-06, -2.8435379469747537e-05, -0.00013874962247525404,
             0.0031820154110982317, -0.02309164173465394, 0.10566906071926013, 0.6354101188816917,
             1.1285995853984991)  # fmt: skip
"""The coefficients of polynomials, from the highest degree down."""
LARGEST_ERF = 4.0
"""Above, the result is 1."""
SMALLEST_EXP, LARGEST_EXP = -104.0, 89.0
"""Below, the result is zero; above, it is infinite."""
BIAS, FRACTION = 127, 23
"""The exponent bias, and the number of fraction bits."""


def exp(on: Arithmetic, x: SSAValue) -> SSAValue:
    """Emit 2^n * e^r, for the n with the smallest r."""
    near = on.min(on.max(x, on.float_constant(SMALLEST_EXP)), on.float_constant(LARGEST_EXP))
    shifted = on.add(on.mul(near, on.float_constant(LOG2_E)), on.float_constant(ROUNDING_OFFSET))
    count = on.sub(shifted, on.float_constant(ROUNDING_OFFSET))
    power = on.sub_int(
        on.bitcast_to_int(shifted), on.bitcast_to_int(on.float_constant(ROUNDING_OFFSET))
    )
    remainder = on.sub(near, on.mul(count, on.float_constant(LN_2)))
    remainder = on.sub(remainder, on.mul(count, on.float_constant(LN_2_REST)))
    squared = on.mul(remainder, remainder)
    value = on.add(
        on.add(on.mul(on.polynomial(EXP, remainder), squared), remainder), on.float_constant(1.0)
    )
    # In two steps, since the power alone may overflow or underflow.
    half = on.shift_right(power, 1)
    value = on.mul(on.mul(value, _power_of_2(on, half)), _power_of_2(on, on.sub_int(power, half)))
    return on.select(on.is_nan(x), x, value)


def _power_of_2(on: Arithmetic, power: SSAValue) -> SSAValue:
    return on.bitcast_to_float(
        on.shift_left(on.add_int(power, on.integer_constant(BIAS)), FRACTION)
    )


def log(on: Arithmetic, x: SSAValue) -> SSAValue:
    """Emit the exponent times the logarithm of 2, plus the logarithm of the mantissa."""
    # Denormals are scaled to normal numbers.
    is_tiny = on.less(x, on.float_constant(2.0**-126))
    scaled = on.select(is_tiny, on.mul(x, on.float_constant(2.0**FRACTION)), x)
    # The exponent counts from the square root of a half, so that the mantissa is around 1.
    above = on.sub_int(
        on.bitcast_to_int(scaled), on.bitcast_to_int(on.float_constant(0.70710678118654752))
    )
    power = on.shift_right(above, FRACTION)
    left = on.bitcast_to_float(
        on.sub_int(on.bitcast_to_int(scaled), on.shift_left(power, FRACTION))
    )
    exponent = on.sub(
        on.from_int(power), on.select(is_tiny, on.float_constant(FRACTION), on.float_constant(0.0))
    )
    z = on.sub(left, on.float_constant(1.0))
    squared = on.mul(z, z)
    value = on.mul(on.mul(on.polynomial(LOG, z), squared), z)
    value = on.add(value, on.mul(exponent, on.float_constant(LN_2_REST)))
    value = on.sub(value, on.mul(squared, on.float_constant(0.5)))
    value = on.add(on.add(z, value), on.mul(exponent, on.float_constant(LN_2)))
    value = on.select(on.less(x, on.float_constant(float("inf"))), value, x)
    value = on.select(on.equal(x, on.float_constant(0.0)), on.float_constant(float("-inf")), value)
    return on.select(on.less(x, on.float_constant(0.0)), on.float_constant(float("nan")), value)


def tanh(on: Arithmetic, x: SSAValue) -> SSAValue:
    """Emit 1 - 2 / (e^2x + 1), or a polynomial near 0, where this would cancel."""
    size = on.abs(x)
    doubled = exp(on, on.add(size, size))
    large = on.sub(
        on.float_constant(1.0),
        on.div(on.float_constant(2.0), on.add(doubled, on.float_constant(1.0))),
    )
    squared = on.mul(x, x)
    small = on.add(on.mul(on.mul(on.polynomial(TANH, squared), squared), x), x)
    return on.copysign(on.select(on.less(size, on.float_constant(0.625)), small, large), x)


def erf(on: Arithmetic, x: SSAValue) -> SSAValue:
    """Emit a polynomial near 0, and 1 - e^-p elsewhere, for a polynomial p."""
    size = on.min(on.abs(x), on.float_constant(LARGEST_ERF))
    power = on.mul(on.polynomial(ERF_LARGE, size), size)
    large = on.sub(on.float_constant(1.0), exp(on, on.sub(on.float_constant(0.0), power)))
    small = on.add(on.mul(on.polynomial(ERF, on.mul(x, x)), x), x)
    result = on.select(on.less(size, on.float_constant(1.0)), small, on.copysign(large, x))
    return on.select(on.is_nan(x), x, result)


APPROXIMATIONS: Mapping[str, Callable[[Arithmetic, SSAValue], SSAValue]] = {
    "math.exp": exp,
    "math.log": log,
    "math.tanh": tanh,
    "math.erf": erf,
}
