"""Each relocation of both architectures changes bytes as GNU ld does."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.native.elf.object_file import AARCH64, X86_64
from riselang.native.elf.relocations import ARCHITECTURES, Operands

# The kind, the address of the symbol, the addend, the address of the bytes, and the bytes before
# and after GNU ld 2.40 relocated them.
LINKED = {
    X86_64: [
        (1, 0x7654321098765432, 5, 0x1000000E, "0000000000000000", "3754769810325476"),
        (2, 0x12345670, 20, 0x10000003, "00000000", "81563402"),
        (2, 0x12345670, -3, 0x11000010, "00000000", "5d563401"),
        (4, 0x12345670, -4, 0x10000008, "00000000", "64563402"),
        (4, 0xFFFF004, -4, 0x1000002A, "00000000", "d6efffff"),
        (10, 0x76543210, 0, 0x10000017, "00000000", "10325476"),
        (11, 0x76543210, 0, 0x1000001E, "00000000", "10325476"),
        (11, 0xFFFFFFFF80000010, 0, 0x10000025, "00000000", "10000080"),
        (24, 0x7654321098765432, 0, 0x11000008, "0000000000000000", "2a54768710325476"),
    ],
    AARCH64: [
        (257, 0x7654321098765432, 9, 0x11000000, "0000000000000000", "3b54769810325476"),
        (258, 0x76543210, 8, 0x11000008, "00000000", "18325476"),
        (260, 0x7654321098765432, 0, 0x1100000C, "0000000000000000", "2654768710325476"),
        (261, 0x12345670, 0, 0x11000014, "00000000", "5c563401"),
        (263, 0xFEDC, 0, 0x10000050, "090080d2", "89db9fd2"),
        (264, 0x7654321098765432, 5, 0x10000044, "090080f2", "e9868af2"),
        (265, 0x76543210, 0, 0x1000004C, "0900a0d2", "89caaed2"),
        (266, 0x7654321098765432, 5, 0x10000040, "0900a0f2", "c90eb3f2"),
        (267, 0x987654321000, 0, 0x10000048, "0900c0d2", "c90ed3d2"),
        (268, 0x7654321098765432, 5, 0x1000003C, "0900c0f2", "0942c6f2"),
        (269, 0x7654321098765432, 5, 0x10000038, "0900e0d2", "89caeed2"),
        (273, 0x10001FF8, 0, 0x10000020, "04000058", "c4fe0058"),
        (274, 0x10001FF8, 0, 0x1000001C, "03000010", "e3fe0010"),
        (274, 0xFFFF004, 0, 0x10000058, "03000010", "637dff10"),
        (275, 0x12345670, 24, 0x10000000, "00000090", "201a01b0"),
        (275, 0xFFFF004, -4096, 0x10000054, "00000090", "e0ffffd0"),
        (277, 0x12345670, 24, 0x10000004, "00000091", "00201a91"),
        (278, 0x12345670, 3, 0x10000008, "01004039", "01cc5939"),
        (279, 0x10001FF8, 0, 0x10000024, "050008b6", "a5fe08b6"),
        (280, 0x10001FF8, 0, 0x10000028, "01000054", "81fe0054"),
        (280, 0x10001FF8, 0, 0x1000002C, "070000b4", "67fe00b4"),
        (282, 0x10001FF8, 0, 0x10000030, "00000014", "f2070014"),
        (283, 0x10001FF8, 0, 0x10000034, "00000094", "f1070094"),
        (283, 0xFFFF004, 0, 0x1000005C, "00000094", "eafbff97"),
        (284, 0x12345670, 6, 0x1000000C, "01004079", "01ec4c79"),
        (285, 0x12345670, 12, 0x10000010, "010040b9", "017c46b9"),
        (286, 0x12345670, 24, 0x10000014, "010040f9", "014443f9"),
        (299, 0x12345670, 48, 0x10000018, "0100c03d", "01a8c13d"),
    ],
}
# The same with the address of the slot of the symbol, or of the global offset table.
SLOTS = {
    X86_64: [
        (9, 0x12345670, -4, 0x10000008, "00000000", "64563402"),
        (41, 0x12345670, -4, 0x10000008, "00000000", "64563402"),
        (42, 0x12345670, -4, 0x10000008, "00000000", "64563402"),
    ],
    AARCH64: [
        (311, 0x12345688, 0, 0x10000000, "00000090", "201a01b0"),
        (312, 0x12345688, 0, 0x10000014, "010040f9", "014443f9"),
    ],
}
TABLE, SYMBOL, PLACE = 0x12345670, 0x23456780, 0x10000008
TABLES = [
    (25, (SYMBOL + 5 - TABLE).to_bytes(8, "little")),
    (26, (TABLE + 5 - PLACE).to_bytes(4, "little")),
    (29, (TABLE + 5 - PLACE).to_bytes(8, "little")),
]
# Values that do not fit, next to those that do: the kind, the address, the address of the bytes.
FITS = {
    X86_64: [
        (2, 0x17FFFFFFF, 0x100000000), (2, 0x80000000, 0x100000000),
        (10, 0xFFFFFFFF, 0), (11, 0x7FFFFFFF, 0), (11, 0xFFFFFFFF80000000, 0),
        (4, 0x17FFFFFFF, 0x100000000),
    ],
    AARCH64: [
        (258, 0xFFFFFFFF, 0), (258, 0xFFFFFFFF80000000, 0), (261, 0xFFFFFFFF, 0),
        (263, 0xFFFF, 0), (265, 0xFFFFFFFF, 0), (267, 0xFFFFFFFFFFFF, 0),
        (273, 0xFFFFC, 0), (274, 0xFFFFF, 0), (275, 0xFFFFFFFF, 0),
        (279, 0x7FFC, 0), (280, 0xFFFFC, 0), (283, 0x7FFFFFC, 0), (283, 0, 0x8000000),
    ],
}  # fmt: skip
FAILS = {
    X86_64: [
        (2, 0x180000000, 0x100000000), (2, 0x7FFFFFFF, 0x100000000),
        (10, 0x100000000, 0), (10, 0xFFFFFFFFFFFFFFFF, 0), (11, 0x80000000, 0),
        (4, 0x180000000, 0x100000000),
    ],
    AARCH64: [
        (258, 0x100000000, 0), (261, 0x100000000, 0), (263, 0x10000, 0), (265, 0x100000000, 0),
        (267, 0x1000000000000, 0), (273, 0x100000, 0), (274, 0x100000, 0), (275, 0x100000000, 0),
        (279, 0x8000, 0), (280, 0x100000, 0), (283, 0x8000000, 0), (282, 0, 0x8000004),
        (273, 2, 0), (279, 1, 0), (280, 2, 0), (283, 2, 0), (284, 1, 0), (285, 2, 0), (286, 4, 0),
        (299, 8, 0),
    ],
}  # fmt: skip


def relocated(
    machine: int, kind: int, place: int, before: bytes, addend: int = 0, *,
    symbol: int = 0, slot: int = 0, table: int = 0,
) -> bytes:  # fmt: skip
    """The bytes of a relocation, between others that must stay."""
    memory = np.frombuffer(b"\xaa" * 3 + before + b"\xbb" * 9, np.uint8).copy()
    symbols, slots = (np.array([each], np.uint64).view(np.int64) for each in (symbol, slot))
    operands = Operands(
        symbols, np.array([addend]), np.array([place]), symbols, slots, table
    )  # fmt: skip
    ARCHITECTURES[machine].relocations[kind].apply(memory, np.array([3]), operands)
    assert memory[:3].tobytes() == b"\xaa" * 3
    assert memory[3 + len(before) :].tobytes() == b"\xbb" * 9
    return memory[3 : 3 + len(before)].tobytes()


def cases(table: dict[int, list[tuple[int, int, int, int, str, str]]]) -> list[object]:
    return [
        pytest.param(machine, *each, id=f"{machine}-{each[0]}-{position}")
        for machine, rows in table.items()
        for position, each in enumerate(rows)
    ]


@pytest.mark.parametrize(
    ("machine", "kind", "symbol", "addend", "place", "before", "after"), cases(LINKED)
)
def test_a_relocation(
    machine: int, kind: int, symbol: int, addend: int, place: int, before: str, after: str
) -> None:
    content = bytes.fromhex(before)
    assert relocated(machine, kind, place, content, addend, symbol=symbol).hex() == after


@pytest.mark.parametrize(
    ("machine", "kind", "slot", "addend", "place", "before", "after"), cases(SLOTS)
)
def test_a_relocation_that_refers_to_a_slot(
    machine: int, kind: int, slot: int, addend: int, place: int, before: str, after: str
) -> None:
    content = bytes.fromhex(before)
    assert relocated(machine, kind, place, content, addend, slot=slot).hex() == after


@pytest.mark.parametrize(("kind", "after"), TABLES)
def test_a_relocation_that_refers_to_the_table(kind: int, after: bytes) -> None:
    content = bytes(len(after))
    found = relocated(X86_64, kind, PLACE, content, 5, symbol=SYMBOL, table=TABLE)
    assert found == after


def test_what_the_instruction_contained_is_replaced() -> None:
    for kind, symbol, addend, place, before, after in LINKED[AARCH64]:
        if len(before) == 8:
            assert relocated(AARCH64, kind, place, bytes.fromhex(after), addend, symbol=symbol) == (
                relocated(AARCH64, kind, place, bytes.fromhex(before), addend, symbol=symbol)
            )


@pytest.mark.parametrize("machine", [X86_64, AARCH64])
def test_values_that_do_not_fit_are_errors(machine: int) -> None:
    for kind, symbol, place in FITS[machine]:
        relocated(machine, kind, place, bytes(4), symbol=symbol)
    for kind, symbol, place in FAILS[machine]:
        with pytest.raises(ValueError, match=r"out of range|not aligned"):
            relocated(machine, kind, place, bytes(4), symbol=symbol)


def test_every_relocation_is_tested() -> None:
    tested = {
        machine: {each[0] for each in (*LINKED[machine], *SLOTS[machine])} for machine in LINKED
    }
    tested[X86_64] |= {kind for kind, _ in TABLES}
    assert tested == {machine: {*each.relocations} for machine, each in ARCHITECTURES.items()}
