"""Device functions in LLVM IR text that convert floats of 8 bits.

Instructions round numbers that are too large to the greatest one; programs round them to infinity,
or to NaN where there is no infinity.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from riselang.native.llvm.ir_writer import IrWriter

NAN = 0x7F
F32_INFINITY = 0x7F800000


@dataclass(frozen=True)
class _Format:
    instruction: str
    """The name of the type in instructions."""
    mantissa: int
    bias: int
    overflow: int
    """The bits of numbers that are too large, and of what follows them."""
    limit: float
    """The least number that is rounded to `overflow`, or the greatest that is not."""
    includes_limit: bool


_FORMATS: Mapping[str, _Format] = {
    "f8E4M3FN": _Format("e4m3", 3, 7, 0x7F, 464.0, includes_limit=False),
    "f8E5M2": _Format("e5m2", 2, 15, 0x7C, 61440.0, includes_limit=True),
}


def add_small_float_functions(ir: str, *, has_instructions: bool) -> str:
    """Define the functions that a module declares."""
    for name, format in _FORMATS.items():
        for kind, write in _WRITERS.items():
            symbol = f"rise_{kind}_{name}"
            ir, count = re.subn(rf"(?m)^declare .*@{symbol}\(.*\n", "", ir)
            if count:
                ir = f"{ir}\n{write(_Writer(format), symbol, has_instructions)}"
    return ir


class _Writer(IrWriter):
    def __init__(self, format: _Format):
        super().__init__()
        self.format = format

    @property
    def shift(self) -> int:
        return 23 - self.format.mantissa

    @property
    def step(self) -> str:
        """The smallest positive number."""
        return _float(2.0 ** (1 - self.format.bias - self.format.mantissa))

    def extend(self, symbol: str, has_instructions: bool) -> str:
        if has_instructions:
            pair = self.let("zext i8 %x to i16")
            text = f"cvt.rn.f16x2.{self.format.instruction}x2 $0, $1;"
            halves = self.let(f'call i32 asm "{text}", "=r,h"(i16 {pair})')
            low = self.let(f"trunc i32 {halves} to i16")
            half = self.let(f"bitcast i16 {low} to half")
            return self._function(symbol, "float", "i8", self.let(f"fpext half {half} to float"))
        wide = self.let("sext i8 %x to i32")
        magnitude = self.let(f"and i32 {wide}, 127")
        shifted = self.let(f"shl i32 {magnitude}, {self.shift}")
        normal = self.let(f"add i32 {shifted}, {127 - self.format.bias << 23}")
        number = self.let(f"sitofp i32 {magnitude} to float")
        small = self.let(f"bitcast float {self.let(f'fmul float {number}, {self.step}')} to i32")
        is_small = self.let(f"icmp slt i32 {magnitude}, {1 << self.format.mantissa}")
        finite = self.let(f"select i1 {is_small}, i32 {small}, i32 {normal}")
        is_finite = self.let(f"icmp slt i32 {magnitude}, {self.format.overflow}")
        special = self.let(f"or i32 {shifted}, {F32_INFINITY}")
        bits = self.let(f"select i1 {is_finite}, i32 {finite}, i32 {special}")
        signed = self.let(f"or i32 {bits}, {self.let(f'and i32 {wide}, -2147483648')}")
        return self._function(symbol, "float", "i8", self.let(f"bitcast i32 {signed} to float"))

    def round(self, symbol: str, has_instructions: bool) -> str:
        bits = self.let("bitcast float %x to i32")
        sign = self.let(f"and i32 {self.let(f'lshr i32 {bits}, 24')}, 128")
        magnitude = self.let(f"and i32 {bits}, 2147483647")
        absolute = self.let(f"bitcast i32 {magnitude} to float")
        format = self.format
        if has_instructions:
            pair = self.let(
                f'call i16 asm "cvt.rn.satfinite.{format.instruction}x2.f32 $0, $1, $2;", '
                '"=h,f,f"(float 0.0, float %x)'
            )
            converted = self.let(f"zext i16 {pair} to i32")
            comparison = "oge" if format.includes_limit else "ogt"
            is_large = self.let(f"fcmp {comparison} float {absolute}, {_float(format.limit)}")
            large = self.let(f"or i32 {sign}, {format.overflow}")
            result = self.let(f"select i1 {is_large}, i32 {large}, i32 {converted}")
            return self._function(symbol, "i8", "float", self.let(f"trunc i32 {result} to i8"))
        odd = self.let(f"and i32 {self.let(f'lshr i32 {magnitude}, {self.shift}')}, 1")
        added = self.let(f"add i32 {magnitude}, {(1 << self.shift - 1) - 1}")
        nearest = self.let(f"lshr i32 {self.let(f'add i32 {added}, {odd}')}, {self.shift}")
        normal = self.let(f"sub i32 {nearest}, {127 - format.bias << format.mantissa}")
        offset = 2.0 ** (24 - format.bias - format.mantissa)
        sum = self.let(f"fadd float {absolute}, {_float(offset)}")
        sum_bits = self.let(f"bitcast float {sum} to i32")
        offset_bits = self.let(f"bitcast float {_float(offset)} to i32")
        subnormal = self.let(f"sub i32 {sum_bits}, {offset_bits}")
        is_small = self.let(f"icmp slt i32 {magnitude}, {128 - format.bias << 23}")
        finite = self.let(f"select i1 {is_small}, i32 {subnormal}, i32 {normal}")
        is_large = self.let(f"icmp sgt i32 {finite}, {format.overflow}")
        rounded = self.let(f"select i1 {is_large}, i32 {format.overflow}, i32 {finite}")
        is_nan = self.let("fcmp uno float %x, 0.0")
        chosen = self.let(f"select i1 {is_nan}, i32 {NAN}, i32 {rounded}")
        signed = self.let(f"or i32 {chosen}, {sign}")
        return self._function(symbol, "i8", "float", self.let(f"trunc i32 {signed} to i8"))

    def _function(self, symbol: str, result: str, parameter: str, value: str) -> str:
        header = f"define internal {result} @{symbol}({parameter} %x) alwaysinline {{"
        return "\n".join([header, *self.lines, f"  ret {result} {value}", "}", ""])


_WRITERS: Mapping[str, Callable[[_Writer, str, bool], str]] = {
    "extend": _Writer.extend, "round": _Writer.round,
}  # fmt: skip


def _float(value: float) -> str:
    return f"{value:.17e}"
