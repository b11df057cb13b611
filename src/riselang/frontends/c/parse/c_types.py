"""C arithmetic types: their widths, and their names in MLIR, NumPy and C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute

from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class CType:
    """The type of an expression."""

    name: str
    bits: int
    is_float: bool = False
    is_signed: bool = True
    rank: int = 0
    """The integer conversion rank; floats rank above all integers."""

    @property
    def is_integer(self) -> bool:
        return not self.is_float

    @property
    def is_record(self) -> bool:
        """Whether it has members: a structure or a complex number (`record_types.py`)."""
        return False

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_bool(self) -> bool:
        return self.name == "_Bool"

    @cached_property
    def mlir_type(self) -> Attribute:
        if self.is_float:
            return Float32Type() if self.bits == 32 else Float64Type()
        return IntegerType(1 if self.is_bool else self.bits)

    @cached_property
    def stored_type(self) -> Attribute:
        """The type in memory: a byte for a Boolean."""
        return IntegerType(8) if self.is_bool else self.mlir_type

    @cached_property
    def dtype(self) -> np.dtype[np.generic]:
        if self.is_bool:
            return np.dtype(np.bool_)
        kind = "f" if self.is_float else "i" if self.is_signed else "u"
        return np.dtype(f"{kind}{self.bits // 8}")

    @property
    def smallest(self) -> int:
        return -(1 << (self.bits - 1)) if self.is_signed and not self.is_bool else 0

    @property
    def largest(self) -> int:
        if self.is_bool:
            return 1
        return (1 << (self.bits - int(self.is_signed))) - 1

    def wrap(self, value: int) -> int:
        """Wrap an integer to the range of this type."""
        if self.is_bool:
            return int(value != 0)
        value &= (1 << self.bits) - 1
        return value - (1 << self.bits) if value > self.largest else value

    def __str__(self) -> str:
        return self.name


BOOL = CType("_Bool", 8, is_signed=False, rank=1)
INT = CType("int", 32, rank=4)
UNSIGNED = CType("unsigned int", 32, is_signed=False, rank=4)
LONG = CType("long", 64, rank=5)
FUNCTION = CType("function pointer", 64, rank=0)
FLOAT = CType("float", 32, is_float=True, rank=8)
DOUBLE = CType("double", 64, is_float=True, rank=9)


def types_by_kind(long_bits: int) -> Mapping[str, CType]:
    """Return the types by the names of libclang's kinds; the width of `long` depends on the
    platform."""
    return {
        "BOOL": BOOL,
        "CHAR_S": CType("char", 8, rank=2),
        "CHAR_U": CType("char", 8, is_signed=False, rank=2),
        "SCHAR": CType("signed char", 8, rank=2),
        "UCHAR": CType("unsigned char", 8, is_signed=False, rank=2),
        "SHORT": CType("short", 16, rank=3),
        "USHORT": CType("unsigned short", 16, is_signed=False, rank=3),
        "INT": INT,
        "UINT": UNSIGNED,
        "LONG": CType("long", long_bits, rank=5),
        "ULONG": CType("unsigned long", long_bits, is_signed=False, rank=5),
        "LONGLONG": CType("long long", 64, rank=6),
        "ULONGLONG": CType("unsigned long long", 64, is_signed=False, rank=6),
        "FLOAT": FLOAT,
        "DOUBLE": DOUBLE,
    }


def promote_type(type: CType) -> CType:
    """Apply C's integer promotion: at least an int."""
    return INT if type.is_integer and type.rank < INT.rank else type


def common_type(left: CType, right: CType) -> CType:
    """Return the type in which two operands are computed: C's usual arithmetic conversions."""
    left, right = promote_type(left), promote_type(right)
    if left.is_float or right.is_float or left.is_signed == right.is_signed:
        return max(left, right, key=lambda type: type.rank)
    signed, other = (left, right) if left.is_signed else (right, left)
    if other.rank >= signed.rank:
        return other
    if signed.bits > other.bits:
        return signed
    return CType(f"unsigned {signed.name}", signed.bits, is_signed=False, rank=signed.rank)
