"""Pass `expand-small-floats`: computes floats of 8 bits as f32, and converts them by integer ops.

Neither CPUs nor LLVM have instructions for floats of 8 bits, so they are stored as integers. Sums,
products and quotients of them are rounded once: f32 has more than twice as many bits of mantissa.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    ModuleOp,
    VectorType,
    f32,
    i8,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.arith import conversion
from riselang.dialects.module import walk
from riselang.lowering.f32_arithmetic import Arithmetic
from riselang.lowering.origins import builder_at
from riselang.support.recursion import with_deep_stack


@dataclass(frozen=True)
class ExpandSmallFloatsPass(ModulePass):
    """Computes floats of 8 bits as f32, and converts them by integer ops."""

    name = "expand-small-floats"
    keeps_conversions: bool = False
    """Whether conversions from and to f32 remain, for GPUs that have instructions for them."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(walk(op)):
            if inner.name in COMPUTING_OPS or inner.name.startswith("math."):
                values = (*inner.operands, *inner.results)
                is_kept = self.keeps_conversions and _is_conversion_of_f32(inner)
                if not is_kept and any(is_small_float(value.type) for value in values):
                    _expand(inner, keeps_conversions=self.keeps_conversions)


COMPUTING_OPS = frozenset(
    f"arith.{name}"
    for name in ("extf", "truncf", "addf", "subf", "mulf", "divf", "remf", "negf", "cmpf",
                 "maximumf", "minimumf", "maxnumf", "minnumf")
)  # fmt: skip
"""The ops that compute with the values of floats, besides those of the math dialect."""


@dataclass(frozen=True)
class Format:
    """A float of 8 bits: a sign, an exponent, and a mantissa."""

    mantissa: int
    """The bits of the mantissa."""
    bias: int
    """The bias of the exponent."""
    special: int
    """The smallest bits that are not a finite number."""
    overflow: int
    """The bits of numbers that are too large."""

    @property
    def shift(self) -> int:
        """The number of bits by which the mantissa of f32 is longer."""
        return F32_MANTISSA - self.mantissa

    @property
    def step(self) -> int:
        """The exponent of the smallest positive number."""
        return 1 - self.bias - self.mantissa


FORMATS: Mapping[type[Attribute], Format] = {
    Float8E4M3FNType: Format(3, 7, 0x7F, 0x7F),
    Float8E5M2Type: Format(2, 15, 0x7C, 0x7C),
}
F32_MANTISSA, F32_BIAS, F32_INFINITY = 23, 127, 0x7F800000
SIGN, MAGNITUDE, NAN = 0x80, 0x7F, 0x7F


def is_small_float(type: Attribute) -> bool:
    """Whether it is a float of 8 bits, or a vector of them."""
    return _format_of(type) is not None


def _is_conversion_of_f32(op: Operation) -> bool:
    types = [_element_type(value.type) for value in (*op.operands, *op.results)]
    return isinstance(op, arith.ExtFOp | arith.TruncFOp) and f32 in types


def _format_of(type: Attribute) -> Format | None:
    return FORMATS.get(_element_type(type).__class__)


def _element_type(type: Attribute) -> Attribute:
    return type.element_type if isinstance(type, VectorType) else type


def _with_element(type: Attribute, element: Attribute) -> Attribute:
    """Return the type, or that of vectors, with another element."""
    return VectorType(element, type.get_shape()) if isinstance(type, VectorType) else element


def _expand(op: Operation, *, keeps_conversions: bool) -> None:
    """Replace an op by one on f32, and conversions of its operands and results."""
    extend, round = (_extended, _rounded) if keeps_conversions else (_extend, _round)
    on = Arithmetic(
        builder_at(InsertPoint.before(op), op.location), _with_element(op.results[0].type, f32)
    )
    operands = [extend(on, each) if is_small_float(each.type) else each for each in op.operands]
    wide = [on.type if _format_of(each.type) is not None else each.type for each in op.results]
    if isinstance(op, arith.ExtFOp | arith.TruncFOp):
        results = [_convert(on, operands[0], wide[0])]
    else:
        wide_op = op.__class__.create(
            operands=operands, result_types=wide, properties=op.properties, attributes=op.attributes
        )
        results = on.builder.insert(wide_op).results
    for old, new in zip(op.results, results, strict=True):
        is_small = is_small_float(old.type)
        old.replace_all_uses_with(round(on, new, old.type) if is_small else new)
    op.detach()
    op.erase()


def _convert(on: Arithmetic, value: SSAValue, type: Attribute) -> SSAValue:
    """Convert a float to a type that is not small."""
    if value.type == type:
        return value
    is_wider = _element_type(type).bitwidth > _element_type(value.type).bitwidth  # type: ignore[attr-defined]
    return on.builder.insert((arith.ExtFOp if is_wider else arith.TruncFOp)(value, type)).result


def _extended(on: Arithmetic, value: SSAValue) -> SSAValue:
    return on.builder.insert(arith.ExtFOp(value, on.type)).result


def _rounded(on: Arithmetic, value: SSAValue, type: Attribute) -> SSAValue:
    return on.builder.insert(arith.TruncFOp(value, type)).result


def _extend(on: Arithmetic, value: SSAValue) -> SSAValue:
    """Convert a small float to f32 by integer ops."""
    format = _format_of(value.type)
    assert format is not None
    bits = on.builder.insert(arith.BitcastOp(value, _with_element(value.type, i8))).result
    wide = on.extend_int(bits)
    magnitude = on.bitwise_and(wide, MAGNITUDE)
    shifted = on.shift_left(magnitude, format.shift)
    normal = on.add_int(shifted, on.integer_constant(F32_BIAS - format.bias << F32_MANTISSA))
    subnormal = on.mul(on.from_int(magnitude), on.float_constant(2.0**format.step))
    special = on.bitwise_or(shifted, on.integer_constant(F32_INFINITY))
    is_subnormal = on.less_int(magnitude, on.integer_constant(1 << format.mantissa))
    is_finite = on.less_int(magnitude, on.integer_constant(format.special))
    finite = on.select(is_subnormal, on.bitcast_to_int(subnormal), normal)
    sign = on.shift_left(on.bitwise_and(wide, SIGN), 24)
    return on.bitcast_to_float(on.bitwise_or(on.select(is_finite, finite, special), sign))


def _round(on: Arithmetic, value: SSAValue, type: Attribute) -> SSAValue:
    """Round f32 to the nearest small float, of two to the even one, by integer ops."""
    format = _format_of(type)
    assert format is not None
    bits = on.bitcast_to_int(value)
    magnitude = on.bitwise_and(bits, 0x7FFFFFFF)
    odd = on.bitwise_and(on.shift_right(magnitude, format.shift), 1)
    almost_half = on.integer_constant((1 << format.shift - 1) - 1)
    nearest = on.shift_right(on.add_int(on.add_int(magnitude, odd), almost_half), format.shift)
    normal = on.sub_int(nearest, on.integer_constant(F32_BIAS - format.bias << format.mantissa))
    # The sum has so large a unit in its last place that the addition rounds to a subnormal number.
    offset = on.float_constant(2.0 ** (F32_MANTISSA + format.step))
    sum = on.add(on.bitcast_to_float(magnitude), offset)
    subnormal = on.sub_int(on.bitcast_to_int(sum), on.bitcast_to_int(offset))
    least_normal = on.integer_constant(F32_BIAS + 1 - format.bias << F32_MANTISSA)
    finite = on.select(on.less_int(magnitude, least_normal), subnormal, normal)
    too_large = on.less_int(on.integer_constant(format.overflow), finite)
    rounded = on.select(too_large, on.integer_constant(format.overflow), finite)
    rounded = on.select(on.is_nan(value), on.integer_constant(NAN), rounded)
    sign = on.bitwise_and(on.shift_right(bits, 24), SIGN)
    truncated = conversion("arith.trunci", on.bitwise_or(rounded, sign), _with_element(type, i8))
    byte = on.builder.insert(truncated).results[0]
    return on.builder.insert(arith.BitcastOp(byte, type)).result
