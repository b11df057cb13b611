"""Read an ELF object file, and check that it is well-formed.

An object may come from a damaged file, and neither the loader nor LLVM checks what it reads. So
each object is checked before it is loaded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Buffer = bytes | bytearray | memoryview
Table = np.ndarray[Any, Any]
"""The records of a table: symbols or relocations."""
FUNCTION_SYMBOL, THREAD_LOCAL_SYMBOL, INDIRECT_SYMBOL = 2, 6, 10
"""Types of symbols."""
GLOBAL, WEAK = 1, 2
"""Bindings of symbols."""
UNDEFINED, RESERVED, ABSOLUTE = 0, 0xFF00, 0xFFF1
"""Section numbers of symbols; those from `RESERVED` on are reserved."""
WRITABLE, ALLOCATED, EXECUTABLE, THREAD_LOCAL = 1, 2, 4, 0x400
"""Flags of sections."""
NO_BITS = 8
"""The type of a section that is not stored in the file: it contains zeros."""
X86_64, AARCH64 = 62, 183
MACHINES = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
_OBJECT, _CURRENT = 1, 1
_SYMBOLS, _STRINGS, _RELOCATIONS = 2, 3, 4
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"),
     ("size", "<u8")]
)  # fmt: skip
_RELOCATION = np.dtype(
    [("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")]
)  # fmt: skip
_EIGHT_BYTE_RELOCATIONS = (1, 24, 25, 27, 29, 31, 257, 260)
"""Relocations that change eight bytes, on any CPU; the others change at most four."""
_MAX_SECTION_BYTES = 1 << 40
"""The maximum number of bytes of a section that is not stored in the file."""


def is_elf64(data: Buffer) -> bool:
    """Whether this is 64-bit little-endian ELF."""
    return bytes(data[:6]) == b"\x7fELF\x02\x01"


@dataclass(frozen=True)
class Symbols:
    """The names that an object defines, and those that it needs."""

    defined: set[str] = field(default_factory=set[str])
    """Functions that other objects can call."""
    needed: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class Section:
    """An entry of the section header table."""

    name: int
    """The offset of its name."""
    kind: int
    flags: int
    offset: int
    length: int
    link: int
    info: int
    alignment: int
    entry: int


@dataclass(frozen=True, eq=False)
class ObjectFile:
    """An object file that is well-formed."""

    data: memoryview
    machine: int
    sections: Sequence[Section]
    names_section: int
    """The number of the section with the names of sections."""
    symbols: Table
    symbol_names: bytes

    def section_bytes(self, section: Section) -> memoryview:
        return self.data[section.offset : section.offset + section.length]

    def section_name(self, section: Section) -> str:
        names = bytes(self.section_bytes(self.sections[self.names_section]))
        return _read_string(names, section.name)

    def has_section(self, name: str) -> bool:
        return any(self.section_name(each) == name for each in self.sections)

    def relocations(self) -> Iterator[tuple[int, Table]]:
        """Yield the relocations of sections, with the numbers of these."""
        for each in self.sections:
            if each.kind == _RELOCATIONS:
                yield each.info, np.frombuffer(self.section_bytes(each), _RELOCATION)

    def global_symbols(self) -> Iterator[tuple[int, str]]:
        """Yield the positions and names of symbols that other objects define or may use."""
        is_global = (self.symbols["info"] >> 4 != 0) | (self.symbols["section"] == UNDEFINED)
        for position in np.flatnonzero(is_global).tolist():
            name = _read_string(self.symbol_names, int(self.symbols["name"][position]))
            if name:
                yield position, name

    def symbol_summary(self) -> Symbols:
        symbols = Symbols()
        for position, name in self.global_symbols():
            info, section = (int(self.symbols[key][position]) for key in ("info", "section"))
            if section == UNDEFINED and info >> 4 != WEAK:
                symbols.needed.add(name)
            elif 0 < section < RESERVED and info in _GLOBAL_FUNCTIONS:
                symbols.defined.add(name)
        return symbols


_GLOBAL_FUNCTIONS = tuple(binding << 4 | FUNCTION_SYMBOL for binding in (GLOBAL, WEAK))


def read_symbols(data: Buffer, machine: str = "") -> Symbols:
    """Return the symbols of an object file, after checking its structure.

    `machine` is the expected architecture, or empty for any. Raise ValueError if it is invalid.
    """
    return read_object(data, machine).symbol_summary()


def read_object(data: Buffer, machine: str = "") -> ObjectFile:
    """Read an object file of an architecture, or of any; raise ValueError if it is invalid."""
    try:
        return _read_object(memoryview(data), machine)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ValueError(f"not an object file: {error}") from None


def _read_object(data: memoryview, machine: str) -> ObjectFile:
    kind, found, version = struct.unpack_from("<HHI", data, 16)
    _expect(is_elf64(data) and kind == _OBJECT and version == _CURRENT, "not an object file")
    _expect(found == MACHINES.get(machine, found), "for another machine")
    (names,) = struct.unpack_from("<H", data, 62)
    sections = list(_read_sections(data))
    _expect(names < len(sections), "bad sections")
    tables = [each for each in sections if each.kind == _SYMBOLS]
    _expect(len(tables) <= 1, "several tables of symbols")
    symbols, texts = np.zeros(0, _SYMBOL), b""
    if tables:
        symbols, texts = _read_symbol_table(data, sections, tables[0])
    result = ObjectFile(data, found, sections, names, symbols, texts)
    _check_section_names(result)
    for _ in result.global_symbols():
        pass  # Raises an error for a bad name.
    _check_relocations(result)
    return result


def _read_sections(data: memoryview) -> Iterator[Section]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    _expect(size == _SECTION.size and 0 < count < RESERVED, "bad sections")
    _expect(start + size * count <= len(data), "its sections are cut off")
    for position in range(count):
        fields = _SECTION.unpack_from(data, start + position * size)
        name, kind, flags, _, offset, length, link, info, alignment, entry = fields
        _expect(alignment & (alignment - 1) == 0 if alignment else True, "a bad alignment")
        _expect(alignment <= 1 << 20 and link < count, "a bad section")
        if kind == NO_BITS:
            _expect(length <= _MAX_SECTION_BYTES, "a section is too long")
        else:
            _expect(offset + length <= len(data), "a section is cut off")
        yield Section(name, kind, flags, offset, length, link, info, alignment, entry)


def _check_section_names(content: ObjectFile) -> None:
    names = content.sections[content.names_section]
    _expect(names.kind == _STRINGS and names.length > 0, "sections without names")
    for each in content.sections:
        content.section_name(each)


def _read_symbol_table(
    data: memoryview, sections: Sequence[Section], table: Section
) -> tuple[Table, bytes]:
    strings = sections[table.link]
    _expect(strings.kind == _STRINGS and strings.length > 0, "symbols without names")
    _expect(data[strings.offset + strings.length - 1] == 0, "a name without an end")
    size = _SYMBOL.itemsize
    _expect(table.entry == size and table.length % size == 0, "bad symbols")
    symbols = np.frombuffer(data, _SYMBOL, table.length // size, table.offset)
    _expect(bool(np.all(symbols["name"] < strings.length)), "bad symbols")
    _check_places(symbols, sections)
    return symbols, bytes(data[strings.offset : strings.offset + strings.length])


def _check_places(symbols: Table, sections: Sequence[Section]) -> None:
    """Check that symbols are in their sections."""
    placed = symbols[(symbols["section"] != UNDEFINED) & (symbols["section"] < RESERVED)]
    _expect(bool(np.all(placed["section"] < len(sections))), "bad symbols")
    lengths = np.array([each.length for each in sections], np.uint64)[placed["section"]]
    fits = (placed["value"] <= lengths) & (placed["size"] <= lengths - placed["value"])
    _expect(bool(np.all(fits)), "a symbol is not in its section")


def _check_relocations(content: ObjectFile) -> None:
    for each in content.sections:
        if each.kind != _RELOCATIONS:
            continue
        size, sections = _RELOCATION.itemsize, content.sections
        _expect(each.info < len(sections), "bad relocations")
        symbols, target = sections[each.link], sections[each.info]
        _expect(symbols.kind == _SYMBOLS and target.kind != NO_BITS, "bad relocations")
        _expect(each.entry == size and each.length % size == 0, "bad relocations")
        table = np.frombuffer(content.section_bytes(each), _RELOCATION)
        is_long = [kind in _EIGHT_BYTE_RELOCATIONS for kind in table["kind"].tolist()]
        widths = np.where(is_long, 8, 4).astype(np.uint64)
        length = np.uint64(target.length)
        fits = (widths <= length) & (table["offset"] <= length - np.minimum(widths, length))
        is_known = table["symbol"] < len(content.symbols)
        _expect(bool(np.all(fits & is_known)), "bad relocations")


def _read_string(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
