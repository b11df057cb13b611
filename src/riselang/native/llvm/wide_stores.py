"""Divides stores of long vectors in LLVM IR text into stores of one register each, in order.

LLVM divides them itself, but does not order the parts by their addresses. Vectors whose address is
not a multiple of their size share cache lines; if the stores to a line do not follow each other, a
CPU may write the line twice. On x86-64 with AVX-512 this takes up to 1.5 times as long.
"""

from __future__ import annotations

import re

_BITS = {
    "double": 64, "float": 32, "half": 16, "bfloat": 16, "i64": 64, "i32": 32, "i16": 16, "i8": 8,
}  # fmt: skip
_STORE = re.compile(
    r"^  store <(?P<lanes>\d+) x (?P<element>\w+)> (?P<value>[%@][^,]+), "
    r"ptr (?P<pointer>[%@][^,]+), align (?P<align>\d+)(?P<rest>.*)$",
    re.MULTILINE,
)
_PREFERRED = re.compile(r'"prefer-vector-width"="(\d+)"')


def divide_wide_stores(ir: str, register_bits: int) -> str:
    """Return a module that stores vectors of at most `register_bits` bits, by rising addresses."""
    bits = min([register_bits, *map(int, _PREFERRED.findall(ir))])
    numbers = iter(range(len(ir)))

    def divide(store: re.Match[str]) -> str:
        lanes, element = int(store["lanes"]), store["element"]
        width = bits // _BITS.get(element, bits)
        if not 1 < width < lanes or lanes % width:
            return store[0]
        return "\n".join(_parts(store, lanes, width, f"%part.{next(numbers)}"))

    return _STORE.sub(divide, ir)


def _parts(store: re.Match[str], lanes: int, width: int, name: str) -> list[str]:
    type, rest = f"<{lanes} x {store['element']}>", store["rest"]
    bytes = width * _BITS[store["element"]] // 8
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
