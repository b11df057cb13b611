"""Loops by hand as MLIR text, in the affine dialect or in scf, to compare RISE programs with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

Body = Callable[..., list[str]]


@dataclass
class Writer:
    """Writes loops, loads and stores in a dialect."""

    dialect: str
    _numbers: count[int] = field(default_factory=count)

    def function(
        self, name: str, names: Sequence[str], shapes: Sequence[tuple[int, ...]], body: list[str]
    ) -> str:
        types = {
            name: f"memref<{'x'.join(map(str, shape))}xf32>"
            for name, shape in zip(names, shapes, strict=True)
        }
        parameters = ", ".join(f"%{name} : {type}" for name, type in types.items())
        text = "\n".join(body)
        for buffer, type in types.items():
            text = text.replace(f"<{buffer}>", type)
        zero = "%zero = arith.constant 0.0 : f32"
        return f"func.func @{name}({parameters}) {{\n{zero}\n{text}\nfunc.return\n}}\n"

    def nest(self, lengths: Sequence[int], body: Body) -> list[str]:
        """Loops in each other; the body gets their indices."""
        indices = [f"%i{next(self._numbers)}" for _ in lengths]
        lines = body(*indices)
        for index, length in reversed(list(zip(indices, lengths, strict=True))):
            lines = [*self._for("", index, length, ""), *lines, "}"]
        return lines

    def fold(self, result: str, length: int, body: Body, following: str) -> list[str]:
        """A loop that hands a number on; the body gets index and number and defines `following`."""
        number = next(self._numbers)
        index, acc = f"%i{number}", f"%acc{number}"
        carried = f" iter_args({acc} = %zero) -> (f32)"
        return [
            *self._for(f"{result} = ", index, length, carried),
            *body(index, acc),
            f"{self.dialect}.yield {following} : f32",
            "}",
        ]

    def _for(self, results: str, index: str, length: int, carried: str) -> list[str]:
        if self.dialect == "affine":
            return [f"{results}affine.for {index} = 0 to {length}{carried} {{"]
        start, end, step = (f"{index}_{part}" for part in ("start", "end", "step"))
        return [
            f"{start} = arith.constant 0 : index",
            f"{end} = arith.constant {length} : index",
            f"{step} = arith.constant 1 : index",
            f"{results}scf.for {index} = {start} to {end} step {step}{carried} {{",
        ]

    def load(self, result: str, buffer: str, *at: str) -> str:
        return f"{result} = {self._memory}.load %{buffer}[{', '.join(at)}] : <{buffer}>"

    def store(self, value: str, buffer: str, *at: str) -> str:
        return f"{self._memory}.store {value}, %{buffer}[{', '.join(at)}] : <{buffer}>"

    def sum(self, result: str, first: str, second: str) -> list[str]:
        """The sum of two indices, where an access cannot say it."""
        is_needed = self.dialect == "scf"
        return [f"{result} = arith.addi {first}, {second} : index"] if is_needed else []

    def at(self, first: str, second: str, sum: str) -> str:
        """The sum of two indices in an access."""
        return sum if self.dialect == "scf" else f"{first} + {second}"

    @property
    def _memory(self) -> str:
        return "affine" if self.dialect == "affine" else "memref"


AFFINE, SCF = Writer("affine"), Writer("scf")
