"""Writes LLVM IR functions as text, with inline PTX."""

from __future__ import annotations

from collections.abc import Sequence

Value = str
"""A typed operand, such as `i32 %x`."""


class IrWriter:
    """The lines of a function, with names for its values and blocks."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def let(self, expression: str) -> str:
        """Name the result of an instruction."""
        name = f"%{self.fresh()}"
        self.emit(f"{name} = {expression}")
        return name

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def jump(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}")

    def asm(self, text: str, operands: Sequence[Value] = (), kinds: str = "") -> None:
        """Emit PTX without results; `kinds` are the constraints of its operands."""
        constraints = ",".join([*kinds, "~{memory}"])
        arguments = ", ".join(operands)
        self.emit(f'call void asm sideeffect "{text}", "{constraints}"({arguments}) {ATTRIBUTES}')

    def asm_value(self, type: str, text: str, operands: Sequence[Value], kinds: str) -> str:
        """Emit PTX with one result."""
        constraints = ",".join([f"={_KINDS[type]}", *kinds, "~{memory}"])
        arguments = ", ".join(operands)
        return self.let(
            f'call {type} asm sideeffect "{text}", "{constraints}"({arguments}) {ATTRIBUTES}'
        )


_KINDS = {"i32": "r", "i64": "l", "float": "f"}

ATTRIBUTES = "convergent nounwind"
"""The attributes of inline PTX: it may not be moved to where other threads do not execute it."""
