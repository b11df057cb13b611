"""Divides stores of long vectors in optimized LLVM IR into stores of one register each, in order.

LLVM divides them itself, but does not order the parts by their addresses. Vectors whose address is
not a multiple of their size share cache lines; if the stores to a line do not follow each other, a
CPU may write the line twice. On x86-64 with AVX-512 this takes up to 1.5 times as long.

This is done after LLVM's optimizations: these replace loads of stored vectors only if both have the
same length.
"""

from __future__ import annotations

import re
from itertools import count

_BITS = {
    "double": 64, "float": 32, "half": 16, "bfloat": 16, "i64": 64, "i32": 32, "i16": 16, "i8": 8,
}  # fmt: skip
_STORE = re.compile(
    r"^  store <(?P<lanes>\d+) x (?P<element>\w+)> (?P<value>[%@][^,]+), "
    r"ptr (?P<pointer>[%@][^,]+), align (?P<align>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)
_PREFERRED = re.compile(r'"prefer-vector-width"="(\d+)"')


def has_wide_stores(ir: str, register_bits: int | None) -> bool:
    """Whether a module stores vectors of several registers; False if their size is unknown."""
    return any(_register_lanes(store, register_bits or 0) for store in _STORE.finditer(ir))


def divide_wide_stores(ir: str, register_bits: int | None) -> str:
    """Return a module that stores vectors of at most `register_bits` bits, by rising addresses."""
    bits = min([register_bits or 0, *map(int, _PREFERRED.findall(ir))])
    numbers = count()

    def divide(store: re.Match[str]) -> str:
        lanes = _register_lanes(store, bits)
        return "\n".join(_parts(store, lanes, f"%part.{next(numbers)}")) if lanes else store[0]

    return _STORE.sub(divide, ir)


def _register_lanes(store: re.Match[str], register_bits: int) -> int:
    """Return the lanes of a register, if a vector fills several of them; else 0."""
    lanes, element_bits = int(store["lanes"]), _BITS.get(store["element"])
    width = register_bits // element_bits if element_bits else 0
    return width if 1 < width < lanes and lanes % width == 0 else 0


def _parts(store: re.Match[str], width: int, name: str) -> list[str]:
    lanes, rest = int(store["lanes"]), store["rest"]
    type, bytes = f"<{lanes} x {store['element']}>", width * _BITS[store["element"]] // 8
    alignment = min(int(store["align"]), bytes)
    lines: list[str] = []
    for start in range(0, lanes, width):
        positions = ", ".join(f"i32 {each}" for each in range(start, start + width))
        offset = start // width * bytes
        part, pointer = f"{name}.{start}", f"{name}.{start}.pointer"
        lines += [
            f"  {part} = shufflevector {type} {store['value']}, {type} poison, "
            f"<{width} x i32> <{positions}>",
            f"  {pointer} = getelementptr inbounds i8, ptr {store['pointer']}, i64 {offset}",
            f"  store <{width} x {store['element']}> {part}, ptr {pointer}, "
            f"align {alignment}{rest}",
        ]
    return lines
