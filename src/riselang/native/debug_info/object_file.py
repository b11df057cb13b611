"""Check that an ELF object file is well-formed, and list its symbols.

LLVM assumes that an object is well-formed, and ends the process if it is not. So an object that was
read from a file is checked before LLVM gets it, at each load of a cached kernel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

FUNCTION_SYMBOL = 2
"""The type of a symbol that is a function."""


def is_elf64(data: bytes) -> bool:
    """Whether this is 64-bit little-endian ELF."""
    return data[:6] == b"\x7fELF\x02\x01"


def _read_string(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()


@dataclass(frozen=True)
class Symbols:
    """The names that an object defines, and those that it needs."""

    defined: set[str] = field(default_factory=set[str])
    needed: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class _SectionHeader:
    """An entry of the section header table."""

    kind: int
    offset: int
    length: int
    link: int
    info: int
    entry: int


_OBJECT, _CURRENT = 1, 1
_MACHINES = {"x86_64": 62, "aarch64": 183, "arm64": 183}
_SYMBOLS, _STRINGS, _RELOCATIONS, _NO_BITS = 2, 3, 4, 8
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QIIq")
_RESERVED = 0xFF00
"""Section numbers from here on are reserved."""
_GLOBAL, _WEAK = 1, 2
_EIGHT_BYTE_RELOCATIONS = frozenset((1, 24, 25, 257, 260))
"""Relocations that change eight bytes, on any CPU; the others change at most four."""
_MAX_SECTION_BYTES = 1 << 40
"""The maximum number of bytes of a section that is not stored in the file."""


def read_symbols(data: bytes, machine: str = "") -> Symbols:
    """Return the symbols of an object file, after checking its structure.

    `machine` is the expected architecture, or empty for any. Raise ValueError if it is invalid.
    """
    try:
        headers = list(_read_headers(data, machine))
        symbols = Symbols()
        for header in headers:
            if header.kind == _SYMBOLS:
                _add_symbols(data, headers, header, symbols)
        for header in headers:
            if header.kind == _RELOCATIONS:
                _check_relocations(data, headers, header)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not an object file: {error}") from None
    return symbols


def _read_headers(data: bytes, machine: str) -> Iterator[_SectionHeader]:
    kind, found, version = struct.unpack_from("<HHI", data, 16)
    _expect(is_elf64(data) and kind == _OBJECT and version == _CURRENT, "not an object file")
    _expect(found == _MACHINES.get(machine, found), "for another machine")
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    _expect(size == _SECTION.size and 0 < count < _RESERVED and names < count, "bad sections")
    _expect(start + size * count <= len(data), "its sections are cut off")
    for position in range(count):
        fields = _SECTION.unpack_from(data, start + position * size)
        _, kind, _, _, offset, length, link, info, alignment, entry = fields
        _expect(alignment & (alignment - 1) == 0 if alignment else True, "a bad alignment")
        _expect(alignment <= 1 << 20 and link < count, "a bad section")
        if kind == _NO_BITS:
            _expect(length <= _MAX_SECTION_BYTES, "a section is too long")
        else:
            _expect(offset + length <= len(data), "a section is cut off")
        yield _SectionHeader(kind, offset, length, link, info, entry)


def _add_symbols(
    data: bytes, headers: list[_SectionHeader], table: _SectionHeader, symbols: Symbols
) -> None:
    strings = headers[table.link]
    _expect(strings.kind == _STRINGS and strings.length > 0, "symbols without names")
    _expect(data[strings.offset + strings.length - 1] == 0, "a name without an end")
    _expect(table.entry == _SYMBOL.size and table.length % _SYMBOL.size == 0, "bad symbols")
    texts = data[strings.offset : strings.offset + strings.length]
    content = data[table.offset : table.offset + table.length]
    for start, binding, _, section, value, size in _SYMBOL.iter_unpack(content):
        name = _read_string(texts, start)
        if section == 0:
            if name and binding >> 4 != _WEAK:
                symbols.needed.add(name)
        elif section < _RESERVED:
            _expect(value + size <= headers[section].length, f"{name} is not in its section")
            if binding >> 4 in (_GLOBAL, _WEAK) and binding & 15 == FUNCTION_SYMBOL:
                symbols.defined.add(name)


def _check_relocations(data: bytes, headers: list[_SectionHeader], table: _SectionHeader) -> None:
    symbols, target = headers[table.link], headers[table.info]
    _expect(symbols.kind == _SYMBOLS and target.kind != _NO_BITS, "bad relocations")
    _expect(
        table.entry == _RELOCATION.size and table.length % _RELOCATION.size == 0, "bad relocations"
    )
    count = symbols.length // _SYMBOL.size
    content = data[table.offset : table.offset + table.length]
    for offset, kind, symbol, _ in _RELOCATION.iter_unpack(content):
        end = offset + (8 if kind in _EIGHT_BYTE_RELOCATIONS else 4)
        _expect(symbol < count and end <= target.length, "bad relocations")


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
