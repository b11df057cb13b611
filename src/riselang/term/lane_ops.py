"""The scalar operations that CPUs apply to all lanes of a vector."""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.types import (
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    is_float,
    u8,
    u16,
    u32,
    u64,
)
from riselang.term.nodes import Literal, Scalar, Term, scalar_type

LANE_TYPES = (f32, f64, i8, i16, i32, i64, u8, u16, u32, u64)
"""Scalar types for which CPUs have vector registers; vectors of i1 are masks."""
LANE_OPS = frozenset(
    f"{dialect}.{name}"
    for dialect, names in (
        ("arith", "addf subf mulf divf negf maximumf minimumf addi subi muli andi ori xori "
                  "maxsi minsi maxui minui shli shrsi shrui cmpf cmpi select bitcast"),
        ("math", "fma absf sqrt"),
    )
    for name in names.split()
)  # fmt: skip
"""Operations with vector instructions; shifts are compared with the width first."""
SHIFT_FOR_DIVISION: Mapping[str, str] = {
    "arith.floordivsi": "arith.shrsi",
    "arith.divui": "arith.shrui",
}
"""The divisions that round down, each with the shift that divides by a power of two."""
CONSTANT_PREDICATES = ("true", "false")


def has_vector_form(term: Scalar) -> bool:
    """Whether there is a vector instruction for an operation."""
    if term.op in SHIFT_FOR_DIVISION:
        return shift_amount(term.operands[1]) is not None
    return term.op in LANE_OPS and term.predicate not in CONSTANT_PREDICATES


def shift_amount(divisor: Term) -> int | None:
    """Return k for the literal 2**k: a division by it that rounds down is a shift. Else None."""
    if not isinstance(divisor, Literal) or scalar_type(divisor) not in LANE_TYPES:
        return None
    type, number = scalar_type(divisor), int(divisor.attribute.scalar)
    is_power = number > 0 and number.bit_count() == 1
    return number.bit_length() - 1 if is_power and not is_float(type) else None
