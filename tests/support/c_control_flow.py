"""Random C programs with all kinds of control flow, without undefined behaviour.

Subscripts are masked, integers stay small, and all loops that might not end take from one amount of
fuel. A variable that an expression changes is used nowhere else in it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from support.c_generation import small_arithmetic

LENGTH = 16
"""The length of all arrays; a power of two, so that subscripts can be masked."""
FUEL = 250
HELPERS = """\
static int find(int n, const int a[16], int x) {
  for (int i = 0; i < n; i++)
    if (a[i] == x)
      return i;
  return -1;
}
static int digits(int x) {
  int count = 0;
  if (x < 0)
    x = -x;
  do
    count++;
  while ((x /= 10) > 0);
  return count;
}
static double climb(double x, int most) {
  while (most-- > 0) {
    if (x > 4.0)
      break;
    x = x * 1.5 + 0.25;
  }
  return x;
}
"""


@dataclass
class ControlFlowGenerator:
    seed: int
    counters: list[str] = field(default_factory=list[str])
    """The variables of the loops around, which must not be changed."""
    count: int = 0
    helpers: str = HELPERS
    parameters: str = "int n, int m, int a[16], int b[16], double d[16], double e[16]"

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.integers = ["s", "t", "u", "k"]
        self.floats = ["x", "y"]

    def program(self) -> str:
        declared = ", ".join(f"{name} = {self.random.randint(-9, 9)}" for name in self.integers)
        body = self._block(1, 4, is_loop=False, count=self.random.randint(3, 6))
        value = self.random.choice(("s", "t", "a[n - 1]", "s + t * 3", "a[u & 15]"))
        return (
            f"{self.helpers}int f({self.parameters}) {{\n"
            f"  int {declared}, fuel = {FUEL};\n  double x = 0.5, y = -1.25;\n"
            + "\n".join(body)
            + f"\n  d[0] += x - y;\n  return {value};\n}}\n"
        )

    def _pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    # Values

    def _integer(self, depth: int, without: str = "") -> str:
        """Between -100 and 100."""
        choice = self.random
        if depth == 0 or choice.random() < 0.3:
            names = [n for n in (*self.integers, *self.counters, "n", "m") if n != without]
            leaf = choice.random()
            if leaf < 0.3:
                return str(choice.randint(-9, 20))
            if leaf < 0.5:
                return f"({self._element('a', 'b', without=without)} % 101)"
            return f"({choice.choice(names)} % 101)"
        left = self._integer(depth - 1, without)
        right = self._integer(depth - 1, without)
        form = choice.randrange(9)
        if form < 4:
            return small_arithmetic(form, left, right)
        if form == 4:
            return f"({self._condition(depth - 1, without)} ? {left} : {right})"
        if form == 5:
            return f"({left} & {right})"
        if form == 6:
            return f"digits({left})"
        if form == 7:
            return f"(({left} >> 1) ^ ({right} & 7))"
        return f"({left} > {right})"

    def _element(self, *arrays: str, without: str = "") -> str:
        choice = self.random
        if self.counters and choice.random() < 0.5:
            return f"{choice.choice(arrays)}[{choice.choice(self.counters)} & 15]"
        return f"{choice.choice(arrays)}[{self._integer(0, without)} & 15]"

    def _float(self, depth: int) -> str:
        choice = self.random
        if depth == 0 or choice.random() < 0.3:
            return self._pick(*self.floats, self._element("d", "e"), f"{choice.randint(-4, 4)}.25")
        left, right = self._float(depth - 1), self._float(depth - 1)
        form = choice.randrange(6)
        if form < 3:
            return f"({left} {'+-*'[form]} {right})"
        if form == 3:
            return f"climb({left} * 0.125, {choice.randint(0, 5)})"
        if form == 4:
            return f"({self._condition(1)} ? {left} : {right})"
        return f"(double){self._integer(1)}"

    def _condition(self, depth: int, without: str = "") -> str:
        choice = self.random
        left, right = self._integer(depth, without), self._integer(0, without)
        test = f"{left} {self._pick('<', '<=', '>', '==', '!=')} {right}"
        if depth and choice.random() < 0.3:
            test = f"{test} {self._pick('&&', '||')} {self._condition(depth - 1, without)}"
        if not without and choice.random() < 0.1:
            return f"{self._float(1)} < {self._float(0)}"
        return test

    # Statements

    def _block(self, indent: int, depth: int, *, is_loop: bool, count: int = 0) -> list[str]:
        lines: list[str] = []
        for _ in range(count or self.random.choice((1, 1, 2, 3))):
            lines += self._statement(indent, depth, is_loop)
        return lines

    def _statement(self, indent: int, depth: int, is_loop: bool) -> list[str]:
        choice, space = self.random, "  " * indent
        form = choice.random()
        if depth > 0 and form < 0.4:
            return self._loop(indent, depth)
        if depth > 0 and form < 0.55:
            return self._if(indent, depth, is_loop)
        if depth > 0 and form < 0.62:
            return self._switch(indent, depth, is_loop)
        if is_loop and form < 0.72:
            return [
                f"{space}if ({self._condition(1)})",
                f"{space}  {self._pick('break', 'continue')};",
            ]
        if form > 0.985:
            return [f"{space}if ({self._condition(1)})", f"{space}  return {self._integer(1)};"]
        return [space + self._assignment()]

    def _assignment(self) -> str:
        choice = self.random
        name = choice.choice(self.integers)
        form = choice.randrange(14)
        if form == 0:
            return f"a[{name}++ & 15] = {self._integer(1, name)};"
        if form == 1:
            return f"{name} = (b[{self._integer(0, name)} & 15] = {self._integer(2, name)}) + 1;"
        if form == 2:
            element, value = self._element("a"), self._integer(1, name)
            return f"{name} = ({name} % 50) + ({element} -= {value} & 7);"
        if form == 3:
            other = choice.choice([each for each in self.integers if each != name])
            return f"{name} = {other} = {self._integer(2)};"
        if form == 4:
            return f"if ({name}-- > 3 && --{self._other(name)} < 9) {self._assignment()}"
        if form == 5:
            return f"{self._condition(1, name)} ? {name}++ : ({name} = {self._integer(1)});"
        if form == 6:
            return f"{name} = ({self._other(name)} = {self._integer(1)}, {self._integer(1)});"
        if form == 7:
            length, array = self._pick("n", "m", "16"), self._pick("a", "b")
            return f"{name} = find({length}, {array}, {self._integer(1)});"
        if form == 8:
            return f"{name} %= 100;"
        if form < 11:
            value = self._float(2)
            operator = self._pick("=", "=", "+=", "*=")
            return f"{self._pick(self._element('d', 'e'), 'x', 'y')} {operator} {value};"
        return f"{self._pick(self._element('a', 'b'), name)} = {self._integer(2)};"

    def _other(self, name: str) -> str:
        return self.random.choice([each for each in self.integers if each != name])

    def _if(self, indent: int, depth: int, is_loop: bool) -> list[str]:
        space = "  " * indent
        lines = [f"{space}if ({self._condition(2)}) {{"]
        lines += self._block(indent + 1, depth - 1, is_loop=is_loop)
        if self.random.random() < 0.5:
            lines += [f"{space}}} else {{", *self._block(indent + 1, depth - 1, is_loop=is_loop)]
        return [*lines, f"{space}}}"]

    def _switch(self, indent: int, depth: int, is_loop: bool) -> list[str]:
        choice, space = self.random, "  " * indent
        lines = [f"{space}switch ({self._integer(1)} & 7) {{"]
        labels = choice.sample(range(8), choice.randint(1, 5))
        default = choice.choice((None, *range(len(labels))))
        for position, label in enumerate(labels):
            lines.append(f"{space}case {label}:")
            if position == default:
                lines.append(f"{space}default:")
            if choice.random() < 0.15:
                continue
            lines += self._block(indent + 1, depth - 1, is_loop=False)
            if is_loop and choice.random() < 0.15:
                lines.append(f"{space}  continue;")
            elif choice.random() < 0.7:
                lines.append(f"{space}  break;")
        return [*lines, f"{space}  ;", f"{space}}}"]

    def _loop(self, indent: int, depth: int) -> list[str]:
        choice, space = self.random, "  " * indent
        self.count += 1
        name = f"i{self.count}"
        form = choice.randrange(10)
        before: list[str] = []
        end = f"{space}}}"
        is_counter = True
        if form < 3:
            start, step = choice.randint(0, 3), choice.choice((1, 1, 2, 3))
            size = self._pick("n", "m", "16")
            head = f"for (int {name} = {start}; {name} < {size}; {name} += {step})"
        elif form == 3:
            head = f"for (int {name} = {self._pick('n', 'm')}; {name}-- > {choice.randint(0, 2)}; )"
        elif form == 4:
            head = f"for (int {name} = 1; {name} < {choice.randint(2, 60)}; {name} *= 2)"
        elif form == 5:
            before = [f"{space}int {name}_step = ({self._integer(0)} & 3) + 1;"]
            start = f"int {name} = 0, {name}_end = n"
            head = f"for ({start}; {name} < {name}_end; {name} += {name}_step, k++)"
        elif form == 6:
            variable = choice.choice(self.integers)
            head = f"while ({self._condition(1)} && fuel-- > 0 && {variable} != 77)"
            is_counter = False
        elif form == 7:
            head, is_counter = "do", False
            end = f"{space}}} while ({self._condition(1)} && fuel-- > 0);"
        elif form == 8:
            before = [f"{space}int {name};"]
            head = f"for ({name} = 0; {name} < m && {self._condition(1)}; {name}++)"
            end = f"{space}}}\n{space}t = {name};"
        else:
            head, is_counter = "for (;;)", False
        if is_counter:
            self.counters.append(name)
        body = self._block(indent + 1, depth - 1, is_loop=True)
        if head == "for (;;)":
            body.insert(0, f"{space}  if (fuel-- <= 0 || {self._condition(1)}) break;")
        if is_counter:
            self.counters.pop()
        # Nested loops share the fuel, so that few programs take long.
        body.insert(0, f"{space}  if (fuel-- <= 0) break;")
        return [*before, f"{space}{head} {{", *body, end]


def random_control_flow(seed: int) -> str:
    return ControlFlowGenerator(seed).program()
