"""How C passes structures by value: in registers or in memory, by the rules of the platform."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.record_types import RecordType
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct

_WORD = 8
"""The bytes of a register for integers."""
_REGISTERS = {"integer": 6, "float": 8}
"""The registers for arguments on x86-64."""


@dataclass(frozen=True)
class PassedRecord:
    """The LLVM parameters of a structure that is passed by value."""

    types: tuple[str, ...]
    """The types of its parts, which are stored one behind another, eight bytes apart; none if it is
    passed as a pointer."""
    attributes: str = ""
    """The attributes of the pointer."""


@dataclass
class RecordPassing:
    """Classifies the arguments of one function, in order."""

    machine: str = field(default_factory=platform.machine)
    _left: dict[str, int] = field(default_factory=lambda: dict(_REGISTERS))

    def pass_scalar(self, type: CType) -> None:
        self._use_register("float" if type.is_float else "integer")

    def pass_pointer(self) -> None:
        self._use_register("integer")

    def _use_register(self, kind: str) -> None:
        # Later arguments are in memory, and take none.
        self._left[kind] = max(self._left[kind] - 1, 0)

    def pass_record(self, variable: Variable) -> PassedRecord:
        type = variable.type
        assert isinstance(type, RecordType)
        if self.machine in ("x86_64", "AMD64"):
            return self._pass_on_x86(type)
        if self.machine in ("aarch64", "arm64"):
            return _pass_on_arm(type)
        raise UnsupportedConstruct(
            variable.location, f"{variable.name} is a structure that is passed by value, which is "
            f"not known on {self.machine}", "pass a pointer to it",
        )  # fmt: skip

    def _pass_on_x86(self, type: RecordType) -> PassedRecord:
        size = type.bits // 8
        words = _classify_words(type)
        needed = {kind: sum(kind == k for k, _ in words) for kind in _REGISTERS}
        is_short = size <= 2 * _WORD
        if not is_short or any(needed[kind] > self._left[kind] for kind in needed):
            return PassedRecord((), f" byval([{size} x i8]) align 8")
        for kind, count in needed.items():
            self._left[kind] -= count
        return PassedRecord(tuple(name for _, name in words))


def _pass_on_arm(type: RecordType) -> PassedRecord:
    size = type.bits // 8
    parts = [part for _, part in _numbers(type, 0)]
    if len(parts) <= 4 and parts[0].is_float and len({part.bits for part in parts}) == 1:
        return PassedRecord((f"[{len(parts)} x {'float' if parts[0].bits == 32 else 'double'}]",))
    if size <= _WORD:
        return PassedRecord(("i64",))
    return PassedRecord(("[2 x i64]",)) if size <= 2 * _WORD else PassedRecord(())


def _classify_words(type: RecordType) -> list[tuple[str, str]]:
    """Return the register class and the LLVM type of each word of a short structure."""
    size, parts = type.bits // 8, list(_numbers(type, 0))
    words: list[tuple[str, str]] = []
    for start in range(0, min(size, 2 * _WORD), _WORD):
        inside = [part for offset, part in parts if start <= offset < start + _WORD]
        if not inside or not all(part.is_float for part in inside):
            words.append(("integer", f"i{8 * min(_WORD, size - start)}"))
        elif inside[0].bits == 64:
            words.append(("float", "double"))
        else:
            words.append(("float", "float" if len(inside) == 1 else "<2 x float>"))
    return words


def _numbers(type: RecordType, start: int) -> Iterator[tuple[int, CType]]:
    """Yield the offsets and types of all numbers in a structure; a pointer is an integer."""
    for member in type.members:
        count = 1
        for length in member.lengths:
            count *= length
        for position in range(count):
            offset = start + member.offset + position * (member.type.bits // 8)
            if isinstance(member.type, RecordType) and not member.is_pointer:
                yield from _numbers(member.type, offset)
            else:
                yield offset, _POINTER if member.is_pointer else member.type


_POINTER = CType("pointer", 64)


def check_known(variable: Variable, members: Sequence[str] = ()) -> None:
    """Check that all members of a structure that is passed by value are known."""
    type = variable.type
    assert isinstance(type, RecordType)
    for member in type.members:
        if member.refusal:
            raise UnsupportedConstruct(
                variable.location,
                f"{variable.name} is passed by value, but {member.refusal}",
                "pass a pointer to it",
            )
