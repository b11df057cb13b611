"""Random C statements over boxes of elements: maps, stencils, windows, sums, and what looks alike.

Arrays are declared as long as what is accessed or longer, for all sizes: every program is right C.
In some programs they all have constant lengths, which suffice for the largest sizes.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12)
INTEGERS = ("int", "long", "short", "signed char", "unsigned", "unsigned char", "unsigned long")
_OPERATORS = ("+", "-", "*", "+", "*", "/")
_WHOLE = ("+", "-", "+", "-", "*")


@dataclass
class Loop:
    name: str
    size: str
    """A parameter or a number."""
    low: int
    cut: int
    """How much before its size it ends."""
    is_folded: bool

    @property
    def header(self) -> str:
        end = f"{self.size} - {self.cut}" if self.cut else self.size
        return f"for (int {self.name} = {self.low}; {self.name} < {end}; {self.name}++)"


@dataclass
class Structured:
    text: str
    sizes: dict[str, int]


@dataclass
class StructureGenerator:
    """Makes one program of a seed."""

    seed: int
    declared: list[str] = field(default_factory=list[str])
    count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.type = self.random.choice(("double", "double", "double", "float", "float", *INTEGERS))
        self.operators = _WHOLE if self.type in INTEGERS else _OPERATORS
        self.has_constant_lengths = random.Random(self.seed + 1).random() < 0.4

    def program(self) -> Structured:
        choice = self.random
        out = [self._loop(name, size, False) for name, size in zip("ijh", "nmk", strict=True)]
        out = out[: choice.choice((1, 1, 2, 2, 3))]
        folded = [self._loop(f"r{at}", choice.choice(("p", "2", "3")), True)
                  for at in range(choice.choice((0, 0, 0, 1, 1, 2)))]  # fmt: skip
        target = self._element("t", out if choice.random() < 0.7 else choice.sample(out, len(out)))
        value = self._value(target, out, folded)
        nest = [*out, *folded]
        if choice.random() < 0.3:
            choice.shuffle(nest)
        statement = f"{target} = {value};"
        body = " ".join([*(loop.header for loop in nest), statement])
        steps = f"for (int s = 0; s < {choice.randint(1, 3)}; s++) {{ {body} }}"
        body = steps if choice.random() < 0.15 else body
        sizes = {name: choice.choice(SIZES) for name in "nmkp"}
        parameters = ", ".join(["int n, int m, int k, int p", f"{self.type} g", *self.declared])
        text = f"#include <math.h>\nvoid f({parameters}) {{\n  {body}\n}}\n"
        return Structured(self._broken(text), sizes)

    def _loop(self, name: str, size: str, is_folded: bool) -> Loop:
        choice = self.random
        is_whole = is_folded or choice.random() < 0.5
        low, cut = (0, 0) if is_whole else (choice.randint(0, 2), choice.randint(0, 2))
        return Loop(name, size, low, cut, is_folded)

    # Elements

    def _array(self, extents: list[str]) -> str:
        name = f"a{self.count}"
        self.count += 1
        if self.has_constant_lengths:
            extents = [re.sub(r"\b[nmkp]\b", str(max(SIZES)), each) for each in extents]
        self.declared.append(f"{self.type} {name}{''.join(f'[{each}]' for each in extents)}")
        return name

    def _element(self, kind: str, loops: list[Loop], most: int = 2) -> str:
        """An element of a new array along loops, at small offsets."""
        offsets = [self.random.choice((0, 0, 1, 2)[: most + 2]) for _ in loops]
        extents = [f"{loop.size} + {offset}" if offset else loop.size
                   for loop, offset in zip(loops, offsets, strict=True)]  # fmt: skip
        name = self._array(extents)
        places = [f"[{loop.name} + {offset}]" if offset else f"[{loop.name}]"
                  for loop, offset in zip(loops, offsets, strict=True)]  # fmt: skip
        return f"{name}{''.join(places)}"

    def _window(self, out: Loop, folded: Loop) -> str:
        step = self.random.choice((1, 1, 1, 2))
        moved = f"{step} * {out.name}" if step > 1 else out.name
        extent = (
            f"{step} * {out.size} + {folded.size}" if step > 1 else f"{out.size} + {folded.size}"
        )
        name = self._array([extent])
        if self.random.random() < 0.3:
            return f"{name}[{moved} + {folded.size} - 1 - {folded.name}]"
        return f"{name}[{moved} + {folded.name}]"

    def _near(self, out: list[Loop]) -> str:
        """A sum of neighbours."""
        name = self._array([f"{loop.size} + 4" for loop in out])
        terms: list[str] = []
        for _ in range(self.random.randint(2, 5)):
            places = "".join(f"[{loop.name} + {self.random.randint(0, 4)}]" for loop in out)
            terms.append(f"{name}{places}")
        return f"({' + '.join(terms)})"

    def _reversed(self, loop: Loop) -> str:
        return f"{self._array([loop.size])}[{loop.size} - 1 - {loop.name}]"

    # Values

    def _leaf(self, out: list[Loop], folded: list[Loop]) -> str:
        choice = self.random
        kind = choice.random()
        loops = [*out, *folded]
        if folded and kind < 0.35:
            return self._window(choice.choice(out), choice.choice(folded))
        if kind < 0.5:
            return self._near(out)
        if kind < 0.56:
            return self._reversed(choice.choice(loops))
        if kind < 0.6:
            return "g"
        if kind < 0.65:
            return "3" if self.type in INTEGERS else choice.choice(("0.75", "0.3f", "0.3"))
        if kind < 0.7:
            return f"{self._array([f'{out[0].size} + 3'])}[2]"
        return self._element("r", choice.sample(loops, choice.randint(1, len(loops))))

    def _expression(self, out: list[Loop], folded: list[Loop], depth: int) -> str:
        choice = self.random
        if depth == 0:
            return self._leaf(out, folded)
        if choice.random() < 0.1 and self.type not in INTEGERS:
            return f"fabs({self._expression(out, folded, depth - 1)})"
        left = self._expression(out, folded, depth - 1)
        right = self._expression(out, folded, choice.randint(0, depth - 1))
        return f"({left} {choice.choice(self.operators)} {right})"

    def _value(self, target: str, out: list[Loop], folded: list[Loop]) -> str:
        choice = self.random
        if not folded:
            value = self._expression(out, folded, choice.randint(0, 2))
            return f"{target} * {value}" if choice.random() < 0.2 else value
        # Each folded loop is on something that is read.
        along = " * ".join(self._element("r", [loop]) for loop in folded)
        value = f"{along} * {self._expression(out, folded, choice.randint(0, 1))}"
        if choice.random() < 0.25:
            return f"{target} < {value} ? {value} : {target}"
        return f"{target} + {value}" if choice.random() < 0.8 else f"{value} + {target}"

    def _broken(self, text: str) -> str:
        """Sometimes something that keeps it from being lifted, and that is right C all the same."""
        choice = self.random
        kind = choice.random()
        if kind < 0.05:
            return text.replace("int r0 = 0; r0 < p; r0++", "int r0 = p - 1; r0 >= 0; r0--")
        if kind < 0.1:
            return text.replace("j++", "j += 2")
        if kind < 0.15:
            is_inner = "int i" in text.partition("j < m")[0]
            return text.replace("j < m", "j < m && j <= i") if is_inner else text
        if kind < 0.2:
            # What is written is what is read.
            second = f", {self.type} a1[n]"
            is_possible = second in text and f"{self.type} a0[n]" in text
            return text.replace(second, "").replace("a1[", "a0[") if is_possible else text
        if kind < 0.25:
            return text.replace("{\n  ", "{\n  if (k > 3) ")
        return text


def random_structure(seed: int) -> Structured:
    return StructureGenerator(seed).program()
