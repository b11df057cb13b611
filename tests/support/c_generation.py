"""Random C programs with affine loops, which run without undefined behaviour at their sizes.

Subscripts are moved so that none is negative, and arrays are declared as long as the largest needs,
so every program is right C. Signed integers stay small, since their overflow is undefined.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

FLOATS = ("double", "float")
INTEGERS = ("int", "long", "short", "signed char", "unsigned char", "unsigned short", "unsigned",
            "unsigned long", "long long")  # fmt: skip


def small_arithmetic(form: int, left: str, right: str) -> str:
    """One of four operations on integers between -100 and 100, with such a result."""
    if form == 3:
        return f"({left} / ({right} % 5 + 9))"
    return f"(({left} {'+-*'[form]} {right}) % 101)"


@dataclass
class Range:
    """An expression, and what its value is between."""

    text: str
    low: int
    high: int


@dataclass
class Array:
    name: str
    type: str
    lengths: list[int]
    """As long as what was accessed until now needs."""

    @property
    def is_float(self) -> bool:
        return self.type in FLOATS


@dataclass
class Program:
    text: str
    sizes: dict[str, int]


@dataclass
class Generator:
    seed: int
    iterators: list[Range] = field(default_factory=list[Range])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.sizes = {"n": self.random.randint(3, 9), "m": self.random.randint(2, 7)}
        self.parameters = [Range(name, value, value) for name, value in self.sizes.items()]
        self.arrays = [self._array(f"a{number}") for number in range(self.random.randint(2, 4))]
        self.scalars: list[tuple[str, str]] = []
        self.count = 0

    def program(self) -> Program:
        choice = self.random
        body: list[str] = []
        for number in range(choice.randint(0, 2)):
            type = choice.choice(("double", "float", "int"))
            self.scalars.append((f"s{number}", type))
            body.append(f"  {type} s{number} = {self._literal(type)};")
        for _ in range(choice.randint(1, 2)):
            body += self._statement(1, 3)
        declared = [f"{a.type} {a.name}{''.join(f'[{n}]' for n in a.lengths)}"
                    for a in self.arrays]  # fmt: skip
        head = ", ".join(["int n", "int m", *declared])
        helpers = (
            "#include <math.h>\n"
            "static double twice(double x) { return x + x; }\n"
            "static int clip(int x) { if (x > 50) return 50; return x; }\n"
        )
        text = f"{helpers}void f({head}) {{\n" + "\n".join(body) + "\n}\n"
        return Program(text, self.sizes)

    def _array(self, name: str) -> Array:
        type = self.random.choice((*FLOATS, *FLOATS, self.random.choice(INTEGERS)))
        return Array(name, type, [1] * self.random.randint(1, 3))

    # Affine expressions

    def _affine(self, terms: int, most: int = 2) -> Range:
        """A sum of loop variables and sizes times small numbers."""
        choice = self.random
        total = Range(str(number := choice.randint(-3, 4)), number, number)
        for _ in range(choice.randint(0, terms)):
            known = choice.choice([*self.iterators, *self.iterators, *self.parameters])
            factor = choice.choice((1, 1, 1, -1, 2, most, -most))
            low, high = sorted((factor * known.low, factor * known.high))
            total = Range(f"{total.text} + {factor} * {known.text}", total.low + low,
                          total.high + high)  # fmt: skip
        if choice.random() < 0.15:
            by = choice.choice((2, 3, 5, -3))
            bound = max(abs(total.low), abs(total.high))
            if choice.random() < 0.5:
                return Range(f"({total.text}) / {by}", -bound, bound)
            return Range(f"({total.text}) % {by}", 1 - abs(by), abs(by) - 1)
        return total

    def _subscript(self) -> Range:
        found = self._affine(2)
        if found.low < 0:
            found = Range(f"{found.text} + {-found.low}", 0, found.high - found.low)
        return found

    def _access(self, array: Array) -> str:
        parts: list[str] = []
        for dimension in range(len(array.lengths)):
            index = self._subscript()
            array.lengths[dimension] = max(array.lengths[dimension], index.high + 1)
            parts.append(f"[{index.text}]")
        return array.name + "".join(parts)

    def _condition(self, depth: int = 0) -> str:
        choice = self.random
        if depth < 2 and choice.random() < 0.35:
            left, right = self._condition(depth + 1), self._condition(depth + 1)
            return f"({left}) {choice.choice(('&&', '||'))} ({right})"
        if choice.random() < 0.15:
            return f"!({self._condition(depth + 1)})"
        operator = choice.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"{self._affine(2).text} {operator} {self._affine(1).text}"

    # Values

    def _literal(self, type: str) -> str:
        if type == "float":
            return f"{self.random.randint(-9, 9)}.5f"
        return f"{self.random.randint(-9, 9)}.25" if type == "double" else (
            str(self.random.randint(-9, 30)))  # fmt: skip

    def _float(self, depth: int) -> str:
        choice = self.random
        if depth <= 0 or choice.random() < 0.25:
            return self._float_leaf()
        left, right = self._float(depth - 1), self._float(depth - 1)
        form = choice.randrange(9)
        if form < 4:
            return f"({left} {'+-*/'[form]} {right})"
        if form == 4:
            return f"(-({left}))"
        if form == 5:
            return f"({self._condition()} ? {left} : {right})"
        if form == 6:
            return f"({left} < {right} ? {left} : {right})"
        if form == 7:
            return f"{choice.choice(('fabs', 'twice', 'floor', 'exp'))}({left} * 0.125)"
        return f"fmax({left}, {right})"

    def _float_leaf(self) -> str:
        choice = self.random
        form = choice.randrange(6)
        floats = [array for array in self.arrays if array.is_float]
        if form < 3 and floats:
            return self._access(choice.choice(floats))
        if form == 3 and self.iterators:
            return f"(double)({self._affine(2).text})"
        if form == 4:
            return self._access(choice.choice(self.arrays))
        scalars = [name for name, type in self.scalars if type in FLOATS]
        if form == 5 and scalars:
            return choice.choice(scalars)
        return self._literal(choice.choice(FLOATS))

    def _integer(self, depth: int) -> str:
        """Between -100 and 100, so that no product overflows."""
        choice = self.random
        if depth <= 0 or choice.random() < 0.3:
            return self._integer_leaf()
        left, right = self._integer(depth - 1), self._integer(depth - 1)
        form = choice.randrange(10)
        if form < 4:
            return small_arithmetic(form, left, right)
        if form == 4:
            return f"({left} % ({right} % 5 + 9))"
        if form == 5:
            return f"({self._condition()} ? {left} : {right})"
        if form == 6:
            return f"({left} {choice.choice(('&', '|', '^'))} {right}) % 101"
        if form == 7:
            return f"(({left} >> {choice.randint(0, 3)}) + ({right} != 0))"
        if form == 8:
            return f"({left} {choice.choice(('<', '>=', '=='))} {right})"
        return f"clip({left})"

    def _integer_leaf(self) -> str:
        choice = self.random
        integers = [array for array in self.arrays if not array.is_float]
        if integers and choice.random() < 0.5:
            return f"(int)({self._access(choice.choice(integers))} % 101)"
        scalars = [name for name, type in self.scalars if type == "int"]
        if scalars and choice.random() < 0.3:
            return choice.choice(scalars)
        if self.iterators and choice.random() < 0.6:
            return f"(({self._affine(2).text}) % 101)"
        return self._literal("int")

    # Statements

    def _statement(self, indent: int, depth: int) -> list[str]:
        choice = self.random
        space = "  " * indent
        form = choice.random()
        if depth > 0 and (form < 0.55 or not self.iterators):
            return self._loop(indent, depth)
        if depth > 0 and form < 0.7:
            lines = [f"{space}if ({self._condition()}) {{", *self._statement(indent + 1, depth - 1)]
            if choice.random() < 0.5:
                lines += [f"{space}}} else {{", *self._statement(indent + 1, depth - 1)]
            return [*lines, f"{space}}}"]
        if form < 0.76:
            array = choice.choice(self.arrays)
            test = f"{self._access(array)} > {self._literal('int')}"
            return [f"{space}if ({test}) {{", self._assignment(indent + 1), f"{space}}}"]
        return [self._assignment(indent)]

    def _assignment(self, indent: int) -> str:
        choice = self.random
        space = "  " * indent
        if self.scalars and choice.random() < 0.2:
            name, type = choice.choice(self.scalars)
            value = self._float(2) if type in FLOATS else self._integer(2)
            return f"{space}{name} = {value};"
        array = choice.choice(self.arrays)
        target = self._access(array)
        if array.is_float:
            operator = choice.choice(("=", "=", "+=", "-=", "*="))
            return f"{space}{target} {operator} {self._float(3)};"
        return f"{space}{target} = {self._integer(3)};"

    def _loop(self, indent: int, depth: int) -> list[str]:
        choice = self.random
        space = "  " * indent
        name = f"i{self.count}"
        self.count += 1
        step = choice.choice((1, 1, 1, 1, 2, 3))
        start, end = self._affine(1, 1), self._affine(2, 1)
        if end.high - start.low > 25:
            end = Range("m", self.sizes["m"], self.sizes["m"])
        if choice.random() < 0.3:
            other = choice.choice(self.parameters)
            end = Range(f"({end.text} < {other.text} ? {end.text} : {other.text})",
                        min(end.low, other.low), min(end.high, other.high))  # fmt: skip
        operator = choice.choice(("<", "<="))
        last = end.high - (operator == "<")
        if choice.random() < 0.25:
            # Downwards, from the end to the start.
            head = f"for (int {name} = {end.text}; {name} >= {start.text}; {name} -= {step})"
            known = Range(name, start.low, max(end.high, start.low))
        else:
            head = (
                f"for (int {name} = {start.text}; {name} {operator} {end.text}; {name} += {step})"
            )
            known = Range(name, start.low, max(last, start.low))
        self.iterators.append(known)
        body: list[str] = []
        for _ in range(choice.choice((1, 1, 2))):
            body += self._statement(indent + 1, depth - 1)
        self.iterators.pop()
        return [f"{space}{head} {{", *body, f"{space}}}"]


def random_program(seed: int) -> Program:
    return Generator(seed).program()
