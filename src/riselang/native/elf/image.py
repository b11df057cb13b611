"""The image of object files in memory: where their sections are, with all relocations applied.

An image has three parts, each of complete pages: code with stubs, constants with the global offset
table, and data. They are next to each other, so that code reaches the rest with short offsets. A
function outside of the image may be far away, so calls of it with a short offset call a stub, which
jumps to it. The global offset table has a slot with the address of each symbol that code reads from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.native.elf.object_file import (
    ABSOLUTE,
    ALLOCATED,
    EXECUTABLE,
    INDIRECT_SYMBOL,
    NO_BITS,
    RESERVED,
    THREAD_LOCAL,
    THREAD_LOCAL_SYMBOL,
    UNDEFINED,
    WEAK,
    WRITABLE,
    ObjectFile,
    Section,
    Table,
)
from riselang.native.elf.relocations import (
    ARCHITECTURES,
    NO_RELOCATION,
    SLOT_BYTES,
    STUB_BYTES,
    Architecture,
    Numbers,
    Operands,
    Relocation,
    UnsupportedObjectError,
)

CODE, CONSTANTS, DATA = range(3)
"""The parts of an image."""
FRAME_SECTION = ".eh_frame"
"""The section that describes how to unwind the stack."""
FRAMES_END = 4
"""The bytes after the section: zeros mark its end."""
OFFSET_TABLE = "_GLOBAL_OFFSET_TABLE_"
_UNUSED = -1
FindSymbol = Callable[[str], int | None]
"""Returns the address of a symbol that no object defines; None if there is none."""


def check_relocations(content: ObjectFile) -> None:
    """Raise a ValueError for relocations that no loader supports: they come from damage."""
    known = ARCHITECTURES[content.machine].relocations.keys()
    if any({*_kinds(table)} - known for _, table in content.relocations()):
        raise ValueError("an unknown relocation")


@dataclass(eq=False)
class _PlacedObject:
    """An object and where its sections are."""

    content: ObjectFile
    architecture: Architecture
    offsets: Numbers
    """The offset of each section in the image, or `_UNUSED`."""
    globals: Mapping[str, int]
    """The positions of the symbols that other objects define or may use."""
    stubs: Numbers
    """The offset of the stub of each symbol, or `_UNUSED`."""
    slots: Numbers
    """The offset of the slot of each symbol, or `_UNUSED`."""

    def is_weak(self, position: int) -> bool:
        return int(self.content.symbols["info"][position]) >> 4 == WEAK

    def is_defined(self, position: int) -> bool:
        return int(self.content.symbols["section"][position]) != UNDEFINED

    def loaded_relocations(self) -> Iterator[tuple[int, Table]]:
        """Yield the relocations of loaded sections, with the offsets of these."""
        for number, table in self.content.relocations():
            if self.offsets[number] != _UNUSED:
                yield int(self.offsets[number]), table

    def relocation(self, kind: int) -> Relocation:
        found = self.architecture.relocations.get(kind)
        if found is None:
            raise UnsupportedObjectError(f"relocation {kind} is not supported")
        return found

    def own_addresses(self, base: int) -> Numbers:
        """Return the addresses of the symbols that the object defines, and zeros for others."""
        symbols = self.content.symbols
        values = symbols["value"].astype(np.int64)
        addresses = np.where(self._section_offsets() != _UNUSED, values, 0)
        is_placed = self._is_in_section() & (self._section_offsets() != _UNUSED)
        addresses[is_placed] += base + self._section_offsets()[is_placed]
        return addresses

    def unloaded_symbols(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which symbols are in sections that are not loaded."""
        return self._is_in_section() & (self._section_offsets() == _UNUSED)

    def _is_in_section(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        sections = self.content.symbols["section"]
        return (sections != UNDEFINED) & (sections < RESERVED)

    def _section_offsets(self) -> Numbers:
        """Return the offset of the section of each symbol; zero for symbols without a section."""
        is_placed = self._is_in_section()
        offsets = self.offsets[np.where(is_placed, self.content.symbols["section"], 0)]
        return np.where(is_placed, offsets, 0)


class Image:
    """The layout of some objects."""

    def __init__(self, objects: Sequence[ObjectFile], page_bytes: int):
        self._page_bytes = page_bytes
        self._ends = [0, 0, 0]
        """The size of each part."""
        self._frames: list[tuple[_PlacedObject, int]] = []
        self._objects = [self._place_object(each) for each in objects]
        self._table = self._reserve(CONSTANTS, 0, SLOT_BYTES)
        for each in self._objects:
            self._place_stubs(each)
        self.starts = [0, *np.cumsum([self._full_pages(end) for end in self._ends]).tolist()]
        """The offset of each part, and the size of the image."""
        for each in self._objects:
            self._finish(each)
        self._table += self.starts[CONSTANTS]

    @property
    def size(self) -> int:
        return self.starts[-1]

    @property
    def frames(self) -> list[tuple[int, int]]:
        """The offsets and sizes of the sections that describe how to unwind the stack."""
        return [
            (int(each.offsets[number]), each.content.sections[number].length)
            for each, number in self._frames
        ]

    def _full_pages(self, size: int) -> int:
        return -(-size // self._page_bytes) * self._page_bytes

    def _reserve(self, part: int, size: int, alignment: int) -> int:
        """Return an offset in a part for some bytes."""
        start = -(-self._ends[part] // alignment) * alignment
        self._ends[part] = start + size
        return start

    # While sections are placed, offsets are relative to their part.

    def _place_object(self, content: ObjectFile) -> _PlacedObject:
        _check_is_supported(content)
        count = len(content.symbols)
        offsets, stubs, slots = (
            np.full(size, _UNUSED, np.int64) for size in (len(content.sections), count, count)
        )
        placed = _PlacedObject(
            content, ARCHITECTURES[content.machine], offsets,
            {name: position for position, name in content.global_symbols()}, stubs, slots,
        )  # fmt: skip
        for number, section in enumerate(content.sections):
            if section.flags & ALLOCATED:
                if section.alignment > self._page_bytes:
                    raise UnsupportedObjectError("a section is aligned to several pages")
                has_frames = content.section_name(section) == FRAME_SECTION
                size = section.length + (FRAMES_END if has_frames else 0)
                offsets[number] = self._reserve(_part(section), size, max(section.alignment, 1))
                if has_frames:
                    self._frames.append((placed, number))
        return placed

    def _place_stubs(self, placed: _PlacedObject) -> None:
        for _, table in placed.loaded_relocations():
            for kind in _kinds(table):
                relocation = placed.relocation(kind)
                for symbol in _distinct(table["symbol"][table["kind"] == kind]):
                    self._place_stub(placed, relocation, symbol)

    def _place_stub(self, placed: _PlacedObject, relocation: Relocation, symbol: int) -> None:
        """Reserve what a relocation needs for a symbol, once."""
        if relocation.needs_slot and placed.slots[symbol] == _UNUSED:
            placed.slots[symbol] = self._reserve(CONSTANTS, SLOT_BYTES, SLOT_BYTES)
        is_outside = not placed.is_defined(symbol)
        if relocation.is_call and is_outside and placed.stubs[symbol] == _UNUSED:
            placed.stubs[symbol] = self._reserve(CODE, STUB_BYTES, STUB_BYTES)

    def _finish(self, placed: _PlacedObject) -> None:
        """Make offsets relative to the image."""
        for number, section in enumerate(placed.content.sections):
            if placed.offsets[number] != _UNUSED:
                placed.offsets[number] += self.starts[_part(section)]
        placed.slots[placed.slots != _UNUSED] += self.starts[CONSTANTS]

    def write(self, memory: Table, base: int, find_symbol: FindSymbol) -> dict[str, int]:
        """Write the image for an address to memory that contains zeros.

        Return the addresses of global symbols. Raise a ValueError if a symbol is missing.
        """
        for each in self._objects:
            self._copy_sections(each, memory)
        defined = self._definitions(base)

        def find(name: str, is_weak: bool) -> int:
            if name == OFFSET_TABLE:
                return base + self._table
            address = defined[name] if name in defined else find_symbol(name)
            if address is None and not is_weak:
                raise ValueError(f"there is no {name}")
            return address or 0

        for each in self._objects:
            addresses = each.own_addresses(base)
            for name, position in each.globals.items():
                if each.is_weak(position) or not each.is_defined(position):
                    addresses[position] = find(name, each.is_weak(position))
            self._write_stubs(each, memory, addresses)
            self._relocate(each, memory, base, addresses)
        return defined

    def _copy_sections(self, placed: _PlacedObject, memory: Table) -> None:
        for section, offset in zip(placed.content.sections, placed.offsets.tolist(), strict=True):
            if offset != _UNUSED and section.kind != NO_BITS and section.length:
                data = np.frombuffer(placed.content.section_bytes(section), np.uint8)
                memory[offset : offset + section.length] = data

    def _definitions(self, base: int) -> dict[str, int]:
        """Return the global symbols that objects define: a weak one, if there is no other."""
        found: dict[str, int] = {}
        for is_weak in (False, True):
            for each in self._objects:
                addresses = each.own_addresses(base)
                for name, position in each.globals.items():
                    if each.is_defined(position) and each.is_weak(position) == is_weak:
                        found.setdefault(name, int(addresses[position]))
        return found

    def _write_stubs(self, placed: _PlacedObject, memory: Table, addresses: Numbers) -> None:
        code = np.frombuffer(placed.architecture.stub, np.uint8)
        for symbol in np.flatnonzero(placed.stubs != _UNUSED).tolist():
            offset = int(placed.stubs[symbol])
            memory[offset : offset + len(code)] = code
            _write_address(memory, offset + len(code), addresses[symbol])
        for symbol in np.flatnonzero(placed.slots != _UNUSED).tolist():
            _write_address(memory, int(placed.slots[symbol]), addresses[symbol])

    def _relocate(
        self, placed: _PlacedObject, memory: Table, base: int, addresses: Numbers
    ) -> None:
        is_missing = placed.unloaded_symbols()
        stubs = np.where(placed.stubs != _UNUSED, base + placed.stubs, addresses)
        for start, table in placed.loaded_relocations():
            for kind in _kinds(table):
                chosen = table[table["kind"] == kind]
                symbols = chosen["symbol"]
                if np.any(is_missing[symbols]):
                    raise ValueError("a symbol is in a section that is not loaded")
                offsets = start + chosen["offset"].astype(np.int64)
                operands = Operands(
                    addresses[symbols], chosen["addend"].astype(np.int64), base + offsets,
                    stubs[symbols], base + placed.slots[symbols], base + self._table,
                )  # fmt: skip
                placed.relocation(kind).apply(memory, offsets, operands)


def _part(section: Section) -> int:
    if section.flags & EXECUTABLE:
        return CODE
    return DATA if section.flags & WRITABLE else CONSTANTS


def _distinct(numbers: Table) -> list[int]:
    # `np.unique` and `np.isin` would import masked arrays, which takes 20 ms.
    return sorted({*numbers.tolist()})


def _kinds(relocations: Table) -> list[int]:
    return [kind for kind in _distinct(relocations["kind"]) if kind not in NO_RELOCATION]


def _write_address(memory: Table, offset: int, address: Any) -> None:
    memory[offset : offset + 8] = np.array([address], "<i8").view(np.uint8)


def _check_is_supported(content: ObjectFile) -> None:
    """Raise an UnsupportedObjectError for an object that only LLVM's loader supports."""
    if content.machine not in ARCHITECTURES:
        raise UnsupportedObjectError("another architecture")
    for section in content.sections:
        both = section.flags & WRITABLE and section.flags & EXECUTABLE
        if section.flags & ALLOCATED and (both or section.flags & THREAD_LOCAL):
            raise UnsupportedObjectError("a section is thread-local, or code that can be written")
    symbols = content.symbols
    if {*_distinct(symbols["info"] & 15)} & {THREAD_LOCAL_SYMBOL, INDIRECT_SYMBOL}:
        raise UnsupportedObjectError("a symbol is thread-local or indirect")
    if np.any((symbols["section"] >= RESERVED) & (symbols["section"] != ABSOLUTE)):
        raise UnsupportedObjectError("a symbol has no section")
