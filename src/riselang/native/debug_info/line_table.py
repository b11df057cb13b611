"""Line tables: the source line of each piece of code.

They are read from the `.debug_line` section in DWARF 4 format (section 6.2 of the standard) of a
file with one code section.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from riselang.native.debug_info.object_file import sections

READABLE_VERSIONS = (2, 3, 4)


@dataclass(frozen=True)
class CodeLine:
    """Code from `start` to before `end`; line 0 is code without a source line."""

    start: int
    end: int
    file: str
    line: int


def code_lines(data: bytes) -> list[CodeLine]:
    """Return the lines of an object file, in the order of the code; none without debug info."""
    section = sections(data).get(".debug_line")
    found: list[CodeLine] = []
    reader = _Reader(section.data if section is not None else b"")
    while reader.at < len(reader.data):
        found += _unit(reader)
    return sorted(found, key=lambda line: line.start)


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def number(self, format: str) -> int:
        (value,) = struct.unpack_from(f"<{format}", self.data, self.at)
        self.at += struct.calcsize(format)
        return value

    def unsigned(self) -> int:
        """Read a LEB128 number: seven bits per byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def signed(self) -> int:
        start = self.at
        value, bits = self.unsigned(), 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def string(self) -> str:
        start = self.at
        self.at = self.data.index(b"\0", start) + 1
        return self.data[start : self.at - 1].decode(errors="replace")

    def strings(self) -> Iterator[str]:
        while text := self.string():
            yield text


@dataclass
class _Header:
    step: int
    """The minimum instruction length."""
    line_base: int
    line_range: int
    lengths: list[int]
    """The number of operands of each standard opcode, from opcode 1 on."""
    files: list[str] = field(default_factory=list[str])

    @property
    def opcode_base(self) -> int:
        return len(self.lengths) + 1


def _unit(reader: _Reader) -> list[CodeLine]:
    length = reader.number("I")
    end = reader.at + length
    if reader.number("H") not in READABLE_VERSIONS:
        reader.at = end
        return []
    program = reader.number("I") + reader.at
    header = _header(reader)
    reader.at = program
    return list(_Machine(reader, header, end).run())


def _header(reader: _Reader) -> _Header:
    step, _, _ = (reader.number("B") for _ in range(3))
    base, width, opcodes = reader.number("b"), reader.number("B"), reader.number("B")
    header = _Header(step, base, width, [reader.number("B") for _ in range(opcodes - 1)])
    folders = ["", *reader.strings()]
    for name in reader.strings():
        folder, _, _ = (reader.unsigned() for _ in range(3))
        header.files.append(f"{folders[folder]}/{name}" if folder else name)
    return header


class _Machine:
    """The state machine that a line number program runs on."""

    def __init__(self, reader: _Reader, header: _Header, end: int):
        self.reader = reader
        self.header = header
        self.end = end
        self._reset()

    def _reset(self) -> None:
        # Before linking, addresses are relative to the code section.
        self.address, self.file, self.line = 0, 1, 1
        self.row: tuple[int, int, int] | None = None

    def run(self) -> Iterator[CodeLine]:
        reader, header = self.reader, self.header
        while reader.at < self.end:
            opcode = reader.number("B")
            if opcode >= header.opcode_base:
                advance, line = divmod(opcode - header.opcode_base, header.line_range)
                self.address += advance * header.step
                self.line += header.line_base + line
                yield from self._add_row()
            elif opcode == 0:
                yield from self._extended()
            elif opcode == 1:
                yield from self._add_row()
            else:
                self._standard(opcode)

    def _add_row(self) -> Iterator[CodeLine]:
        """End the previous row at the current address, and start a new one."""
        if self.row is not None and self.row[0] < self.address:
            start, file, line = self.row
            yield CodeLine(start, self.address, self.header.files[file - 1], line)
        self.row = (self.address, self.file, self.line)

    def _extended(self) -> Iterator[CodeLine]:
        length = self.reader.number("B")
        end = self.reader.at + length
        if self.reader.number("B") == 1:
            yield from self._add_row()
            self._reset()
        self.reader.at = end

    def _standard(self, opcode: int) -> None:
        reader, header = self.reader, self.header
        if opcode == 2:
            self.address += reader.unsigned() * header.step
        elif opcode == 3:
            self.line += reader.signed()
        elif opcode == 4:
            self.file = reader.unsigned()
        elif opcode == 8:
            self.address += (255 - header.opcode_base) // header.line_range * header.step
        elif opcode == 9:
            self.address += reader.number("H")
        else:
            for _ in range(header.lengths[opcode - 1]):
                reader.unsigned()
