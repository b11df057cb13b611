"""What an object file in ELF says: its sections, and where its functions are."""

from __future__ import annotations

import struct
from dataclasses import dataclass

FUNCTION = 2
"""The type of a symbol that is a function."""
OFFSET_TABLE = "_GLOBAL_OFFSET_TABLE_"
"""A symbol that whoever loads the object defines."""


@dataclass(frozen=True)
class Section:
    name: str
    flags: int
    """2 is in memory when the program runs, 4 is code."""
    data: bytes


@dataclass(frozen=True)
class Function:
    """A function at an offset in the section of the code."""

    name: str
    offset: int
    size: int


def is_readable(data: bytes) -> bool:
    """Whether this is ELF for a machine of 64 bits that starts with the lower byte."""
    return data[:6] == b"\x7fELF\x02\x01"


def sections(data: bytes) -> dict[str, Section]:
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, start + at * size) for at in range(count)]
    strings = data[headers[names][4] :]
    found: dict[str, Section] = {}
    for name, _, flags, _, offset, length in headers:
        text = _string(strings, name)
        found[text] = Section(text, flags, data[offset : offset + length])
    return found


def functions(data: bytes) -> list[Function]:
    """The functions of a file that has one section of code."""
    known = sections(data)
    table, strings = known[".symtab"].data, known[".strtab"].data
    found: list[Function] = []
    for name, kind, _, section, value, size in struct.iter_unpack("<IBBHQQ", table):
        if kind & 15 == FUNCTION and section != 0:
            found.append(Function(_string(strings, name), value, size))
    return sorted(found, key=lambda function: function.offset)


def undefined_symbols(data: bytes) -> set[str]:
    """What the code refers to and does not define."""
    known = sections(data)
    table, strings = known[".symtab"].data, known[".strtab"].data
    return {
        _string(strings, name)
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table)
        if section == 0 and name
    } - {OFFSET_TABLE}


def _string(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()
