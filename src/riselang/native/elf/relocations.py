"""The relocations of each architecture: which value is stored where, and in which bits.

The names and numbers are those of the System V ABI for x86-64 and of the ELF ABI for AArch64. A
relocation that is not listed is not supported: LLVM loads an object that has one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.native.elf.object_file import AARCH64, X86_64

Numbers = np.ndarray[Any, np.dtype[np.int64]]
"""Addresses and differences, which wrap around."""


class UnsupportedObjectError(Exception):
    """An object file has a property that only LLVM's loader supports."""


@dataclass(frozen=True)
class Operands:
    """The values that relocations of one kind refer to; each relocation has an element in each."""

    symbol: Numbers
    """The addresses of the symbols, S in the ABI."""
    addend: Numbers
    place: Numbers
    """The addresses of the bytes that change, P in the ABI."""
    stub: Numbers
    """The addresses to call: of a stub, for a symbol that may be far away."""
    slot: Numbers
    """The addresses of the slots that contain the addresses of the symbols, GOT + G in the ABI."""
    table: int
    """The address of the global offset table, which consists of the slots."""


Formula = Callable[[Operands], Numbers]


def _absolute(each: Operands) -> Numbers:
    return each.symbol + each.addend


def _relative(each: Operands) -> Numbers:
    return each.symbol + each.addend - each.place


def _call(each: Operands) -> Numbers:
    return each.stub + each.addend - each.place


def _slot(each: Operands) -> Numbers:
    return each.slot + each.addend - each.place


def _page(address: Numbers) -> Numbers:
    # Instructions of AArch64 count pages of 4 KiB, whatever the system's page size is.
    return address & ~0xFFF


def _pages(each: Operands) -> Numbers:
    return _page(each.symbol + each.addend) - _page(each.place)


def _slot_pages(each: Operands) -> Numbers:
    return _page(each.slot + each.addend) - _page(each.place)


def _slot_address(each: Operands) -> Numbers:
    return each.slot + each.addend


def _table_offset(each: Operands) -> Numbers:
    return each.symbol + each.addend - each.table


def _table_distance(each: Operands) -> Numbers:
    return each.table + each.addend - each.place


SLOT_FORMULAS = (_slot, _slot_pages, _slot_address)
"""Formulas that need a slot for each symbol."""


@dataclass(frozen=True)
class Relocation:
    """A kind of relocation."""

    formula: Formula
    bytes: int = 4
    """The number of bytes that it changes."""
    parts: Sequence[tuple[int, int, int]] = ()
    """The parts of the value that an instruction contains: for each, the number of the lowest bit
    in the value, the number of bits, and the number of the lowest bit in the instruction. Empty if
    the value replaces the bytes."""
    limits: tuple[int, int] | None = None
    """The least value, and the one after the greatest; None if the value is not checked."""
    alignment: int = 1
    """The value must be a multiple of this."""

    @property
    def needs_slot(self) -> bool:
        return self.formula in SLOT_FORMULAS

    @property
    def is_call(self) -> bool:
        return self.formula is _call

    def apply(self, image: np.ndarray[Any, Any], offsets: Numbers, operands: Operands) -> None:
        """Change the bytes at some offsets; raise a ValueError if a value does not fit."""
        values = self.formula(operands)
        if self.limits is not None:
            least, end = self.limits
            if np.any(values < least) or np.any(values >= end):
                raise ValueError("a relocation is out of range")
        if np.any(values & (self.alignment - 1)):
            raise ValueError("a relocation is not aligned")
        places = offsets[:, None] + np.arange(self.bytes)
        if self.parts:
            values = self._encode(image[places].view("<u4").reshape(-1).astype(np.int64), values)
        image[places] = values.astype("<i8").view(np.uint8).reshape(-1, 8)[:, : self.bytes]

    def _encode(self, instructions: Numbers, values: Numbers) -> Numbers:
        """Return instructions that contain the values."""
        for low, count, position in self.parts:
            mask = (1 << count) - 1
            instructions &= ~(mask << position)
            instructions |= ((values >> low) & mask) << position
        return instructions


def _signed(bits: int) -> tuple[int, int]:
    return -(1 << (bits - 1)), 1 << (bits - 1)


_WORD_LIMITS = (-(1 << 31), 1 << 32)
"""AArch64 permits a word to be signed or unsigned."""

X86_64_RELOCATIONS: Mapping[int, Relocation] = {
    1: Relocation(_absolute, 8),  # R_X86_64_64
    2: Relocation(_relative, limits=_signed(32)),  # R_X86_64_PC32
    4: Relocation(_call, limits=_signed(32)),  # R_X86_64_PLT32
    9: Relocation(_slot, limits=_signed(32)),  # R_X86_64_GOTPCREL
    10: Relocation(_absolute, limits=(0, 1 << 32)),  # R_X86_64_32
    11: Relocation(_absolute, limits=_signed(32)),  # R_X86_64_32S
    24: Relocation(_relative, 8),  # R_X86_64_PC64
    25: Relocation(_table_offset, 8),  # R_X86_64_GOTOFF64
    26: Relocation(_table_distance, limits=_signed(32)),  # R_X86_64_GOTPC32
    29: Relocation(_table_distance, 8),  # R_X86_64_GOTPC64
    41: Relocation(_slot, limits=_signed(32)),  # R_X86_64_GOTPCRELX
    42: Relocation(_slot, limits=_signed(32)),  # R_X86_64_REX_GOTPCRELX
}


def _instruction(
    formula: Formula, *parts: tuple[int, int, int], bits: int = 0, alignment: int = 1
) -> Relocation:
    """A relocation of an AArch64 instruction; its value has `bits` bits, or is not checked."""
    return Relocation(formula, 4, parts, _signed(bits) if bits else None, alignment)


def _move(number: int, *, is_checked: bool = False) -> Relocation:
    """A relocation of a `movz` or `movk`, which contains one of four groups of 16 bits."""
    limits = (0, 1 << 16 * (number + 1)) if is_checked else None
    return Relocation(_absolute, 4, [(16 * number, 16, 5)], limits)


def _offset(formula: Formula, shift: int) -> Relocation:
    """A relocation of the 12 lowest bits of an address, in units of `1 << shift` bytes."""
    return _instruction(formula, (shift, 12 - shift, 10), alignment=1 << shift)


AARCH64_RELOCATIONS: Mapping[int, Relocation] = {
    257: Relocation(_absolute, 8),  # R_AARCH64_ABS64
    258: Relocation(_absolute, limits=_WORD_LIMITS),  # R_AARCH64_ABS32
    260: Relocation(_relative, 8),  # R_AARCH64_PREL64
    261: Relocation(_relative, limits=_WORD_LIMITS),  # R_AARCH64_PREL32
    263: _move(0, is_checked=True),  # R_AARCH64_MOVW_UABS_G0
    264: _move(0),  # R_AARCH64_MOVW_UABS_G0_NC
    265: _move(1, is_checked=True),  # R_AARCH64_MOVW_UABS_G1
    266: _move(1),  # R_AARCH64_MOVW_UABS_G1_NC
    267: _move(2, is_checked=True),  # R_AARCH64_MOVW_UABS_G2
    268: _move(2),  # R_AARCH64_MOVW_UABS_G2_NC
    269: _move(3),  # R_AARCH64_MOVW_UABS_G3
    273: _instruction(_relative, (2, 19, 5), bits=21, alignment=4),  # R_AARCH64_LD_PREL_LO19
    274: _instruction(_relative, (0, 2, 29), (2, 19, 5), bits=21),  # R_AARCH64_ADR_PREL_LO21
    275: _instruction(_pages, (12, 2, 29), (14, 19, 5), bits=33),  # R_AARCH64_ADR_PREL_PG_HI21
    277: _offset(_absolute, 0),  # R_AARCH64_ADD_ABS_LO12_NC
    278: _offset(_absolute, 0),  # R_AARCH64_LDST8_ABS_LO12_NC
    279: _instruction(_relative, (2, 14, 5), bits=16, alignment=4),  # R_AARCH64_TSTBR14
    280: _instruction(_relative, (2, 19, 5), bits=21, alignment=4),  # R_AARCH64_CONDBR19
    282: _instruction(_call, (2, 26, 0), bits=28, alignment=4),  # R_AARCH64_JUMP26
    283: _instruction(_call, (2, 26, 0), bits=28, alignment=4),  # R_AARCH64_CALL26
    284: _offset(_absolute, 1),  # R_AARCH64_LDST16_ABS_LO12_NC
    285: _offset(_absolute, 2),  # R_AARCH64_LDST32_ABS_LO12_NC
    286: _offset(_absolute, 3),  # R_AARCH64_LDST64_ABS_LO12_NC
    299: _offset(_absolute, 4),  # R_AARCH64_LDST128_ABS_LO12_NC
    311: _instruction(_slot_pages, (12, 2, 29), (14, 19, 5), bits=33),  # R_AARCH64_ADR_GOT_PAGE
    312: _offset(_slot_address, 3),  # R_AARCH64_LD64_GOT_LO12_NC
}
NO_RELOCATION = (0, 256)
"""The numbers of the relocations that change nothing."""


@dataclass(frozen=True)
class Architecture:
    """What differs between CPUs."""

    relocations: Mapping[int, Relocation]
    stub: bytes
    """Instructions that jump to the address after them, which has 8 bytes."""


ARCHITECTURES: Mapping[int, Architecture] = {
    # jmp *2(%rip); int3; int3
    X86_64: Architecture(X86_64_RELOCATIONS, bytes.fromhex("ff2502000000cccc")),
    # ldr x16, .+8; br x16
    AARCH64: Architecture(AARCH64_RELOCATIONS, bytes.fromhex("5000005800021fd6")),
}
STUB_BYTES, SLOT_BYTES = 16, 8
