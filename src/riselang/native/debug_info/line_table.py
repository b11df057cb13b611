"""Functions and line tables of an ELF object with one code section, read by pyelftools."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass(frozen=True)
class Function:
    """A function at an offset in the code section."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True)
class CodeLine:
    """The line of the code from `start` to before `end`; line 0 is code without a source line."""

    start: int
    end: int
    file: str
    line: int


def functions(data: bytes) -> list[Function]:
    """The functions of an object, in the order of their code."""
    table = _elf_file(data).get_section_by_name(".symtab")
    result = [
        Function(symbol.name, symbol["st_value"], symbol["st_size"])
        for symbol in table.iter_symbols()
        if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
    ]
    return sorted(result, key=lambda function: function.offset)


def code_lines(data: bytes) -> list[CodeLine]:
    """The line table of an object, in the order of its code; empty without debug info."""
    # Offsets in an object are relative to its sections; relocations would add nothing to them.
    info = _elf_file(data).get_dwarf_info(relocate_dwarf_sections=False)
    result = [
        line
        for unit in info.iter_CUs()
        if (program := info.line_program_for_CU(unit)) is not None
        for line in _lines_of(program)
    ]
    return sorted(result, key=lambda line: line.start)


def _lines_of(program: Any) -> Iterator[CodeLine]:
    """A row of a line table holds until the address of the next row."""
    rows = [entry.state for entry in program.get_entries() if entry.state is not None]
    for row, following in pairwise(rows):
        if not row.end_sequence and row.address < following.address:
            file = _file_name(program.header, row.file)
            yield CodeLine(row.address, following.address, file, row.line)


def _file_name(header: Any, number: int) -> str:
    entry = header["file_entry"][number - 1]
    folder = header["include_directory"][entry.dir_index - 1] if entry.dir_index else b""
    name = entry.name.decode(errors="replace")
    return f"{folder.decode(errors='replace')}/{name}" if folder else name


def _elf_file(data: bytes) -> Any:
    # Loaded here, since only profiles need it.
    from elftools.elf.elffile import ELFFile

    return ELFFile(io.BytesIO(data))
