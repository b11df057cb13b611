"""Random C programs that mix control flow with every other construct that the C front end reads.

Each program has a few features, such as structures, row pointers, complex numbers or `goto`, and
the parameters, helpers and local variables that these need. Behaviour stays defined as in
`c_control_flow`: subscripts are masked, integers stay small or are unsigned, and complex numbers
only shrink.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.frontends.c.calling import CFunction
from support.c_control_flow import HELPERS, LENGTH, ControlFlowGenerator
from support.c_data_programs import DATA, DataGenerator

SCALARS = {"n": 9, "m": 7}
"""Programs that change them keep them between 3 and 10."""
ROWS = 8
SHAPES = {"g": (6, 8), "h": (8, 6), "a": (LENGTH,), "b": (LENGTH,), "d": (LENGTH,), "e": (LENGTH,),
          "p": (LENGTH,), "q": (1,), "c": (), "z": (LENGTH,), "w": ()}  # fmt: skip

PARAMETERS = {
    "structures": ("struct point p[16]", "struct point *q", "struct pair c"),
    "matrices": ("double g[6][8]", "int h[8][6]"),
    "rows": ("double **rows",),
    "complex": ("double complex z[16]", "double complex w"),
}
HEADERS = {"complex": "complex.h", "memory": "string.h", "library": "math.h"}
LOCALS = {
    "narrow": "unsigned char uc = 250; short sh = -300; unsigned un = 7; long lo = -5;",
    "tables": "int tab[8] = {3, -1, [4] = 7, s}; double loc[2][4] = {{1, 2}, {[2] = x}};",
    "floats": "float fl = 0.75f;",
}
FUNCTIONS = """\
static double twice(double x) { return x * 2; }
static double halve(double x) { return x < 0.25 ? 0.25 : x * 0.5; }
static double apply(double (*g)(double), double x) { return g(x) - 0.5; }
static int is_odd(int x) { return x & 1; }
static int is_large(int x) { return x > 20; }
static int scan(int n, const int *v, int (*test)(int)) {
  int i = 0;
  while (i < n && !test(v[i]))
    i++;
  return i;
}
static void add(int n, double *restrict x, const double *restrict y, double by) {
  for (int i = 0; i < n; i++)
    x[i] = x[i] * 0.5 + by * y[i];
}
static void move(const int n, int v[n], int by) {
  if (by == 0)
    return;
  for (int i = n - 1; i > 0; i--)
    v[i] = v[i - 1];
  v[0] = by;
}
"""
FEATURES = (
    "structures", "structures", "matrices", "matrices", "rows", "complex", "functions", "memory",
    "library", "goto", "parameters", "tables", "narrow", "floats", "commas", "pointers",
)  # fmt: skip


@dataclass
class ConstructGenerator(DataGenerator):
    """Statements of the features are among those of control flow."""

    features: set[str] = field(default_factory=set[str])
    is_in_loop: bool = False
    """Whether a break in the current statement of a feature would leave a loop."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.features = set(self.random.sample(FEATURES, self.random.choice((0, 1, 2, 2, 3, 4))))
        self.size = self.random.choice((2, 2, 2, 3, 3, 4))

    def program(self) -> str:
        names = [name for name in LOCALS if name in self.features]
        declared = ", ".join(f"{name} = {self.random.randint(-9, 9)}" for name in self.integers)
        body = self._block(1, self.size, is_loop=False, count=self.random.randint(2, 4))
        value = self._pick("s", "t", "a[n - 1]", "s + t * 3", "a[u & 15]", self._integer(1))
        lines = [
            f"  int {declared}, fuel = 250;", "  double x = 0.5, y = -1.25;",
            *(f"  {LOCALS[name]}" for name in names), *body,
            f"  d[0] += x - y;\n  return {value};",
        ]  # fmt: skip
        text = "\n".join(lines)
        parameters = [self.parameters.partition(", struct")[0]]
        for feature, more in PARAMETERS.items():
            parameters += more if feature in self.features else ()
        headers = "".join(
            f"#include <{HEADERS[name]}>\n" for name in HEADERS if name in self.features
        )
        data = DATA if "structures" in self.features else ""
        helpers = "".join(
            each for each in _definitions(HELPERS + FUNCTIONS) if _is_used(each, text)
        )
        return f"{headers}{data}{helpers}int f({', '.join(parameters)}) {{\n{text}\n}}\n"

    # Values

    def _element(self, *arrays: str, without: str = "") -> str:
        if "structures" in self.features:
            plain = super()._element(*arrays, without=without)
        else:
            plain = ControlFlowGenerator._element(self, *arrays, without=without)
        return self._choose(plain, self._elements("d" in arrays, without))

    def _elements(self, is_float: bool, without: str) -> list[str]:
        """Elements of the arrays that features have."""
        row, column = (ControlFlowGenerator._integer(self, 0, without) for _ in range(2))
        found: list[str] = []
        if "matrices" in self.features:
            found.append(
                f"g[{row} & 3][{column} & 7]" if is_float else f"h[{row} & 7][{column} & 3]"
            )
        if "rows" in self.features and is_float:
            found.append(f"rows[{row} & 7][{column} & 15]")
        if "tables" in self.features:
            found.append(f"loc[{row} & 1][{column} & 3]" if is_float else f"tab[{column} & 7]")
        return found

    def _choose(self, plain: str, more: list[str]) -> str:
        return self._pick(*more) if more and self.random.random() < 0.4 else plain

    def _integer(self, depth: int, without: str = "") -> str:
        if depth == 0 and self.random.random() < 0.2:
            if "narrow" in self.features:
                return self._pick("(uc % 101)", "(sh % 101)", "(int)(un % 101)", "(int)(lo % 101)")
            if "complex" in self.features:
                return "(z[3] == w)"
        if "structures" in self.features:
            return super()._integer(depth, without)
        return ControlFlowGenerator._integer(self, depth, without)

    def _float(self, depth: int) -> str:
        if self.random.random() < 0.75:
            return super()._float(depth)
        inner = super()._float(max(depth - 1, 0))
        more: list[str] = []
        if "library" in self.features:
            more += [f"fabs({inner})", f"sqrt(fabs({inner}))", f"floor({inner})",
                     f"fmax({inner}, -3.5)", f"fmin({inner}, 9.5)"]  # fmt: skip
        if "functions" in self.features:
            more.append(f"apply({self._pick('twice', 'halve')}, {inner} * 0.25)")
        if "complex" in self.features:
            index = self._integer(0)
            more += [f"creal(z[{index} & 15])", f"cabs(z[{index} & 15] - w)", "cimag(w)"]
        if "floats" in self.features:
            more += ["fl", f"(fl * {self._integer(0)})"]
        return self._choose(inner, more)

    # Statements

    def _statement(self, indent: int, depth: int, is_loop: bool) -> list[str]:
        if self.features and self.random.random() < 0.3:
            feature = self._pick(*sorted(self.features))
            if (make := getattr(self, f"_{feature}_statement", None)) is not None:
                self.is_in_loop = is_loop
                return [f"{'  ' * indent}{line}" for line in make(depth)]
        if self.random.random() < 0.02:
            return [f"{'  ' * indent}if ({self._condition(1)}) return {self._integer(1)};"]
        return super()._statement(indent, depth, is_loop)

    def _assignment(self) -> str:
        name, value = self.random.choice(self.integers), self._integer(1)
        form = self.random.randrange(16)
        if form == 0:
            return f"a[{self._integer(1, name)} & 15] = {name}{self._pick('++', '--')};"
        if form == 1:
            left, right = (self._integer(0) for _ in range(2))
            return f"a[{left} & 15] += b[{right} & 15] -= {value} & 7;"
        if form == 2:
            other = self._other(name)
            return f"{name} = a[{other}++ & 15] % 50 + --k % 7;" if other != "k" != name else ";"
        if "structures" in self.features:
            return super()._assignment()
        return ControlFlowGenerator._assignment(self)

    def _nest(self, body: str, rows: int = 6, columns: int = 8) -> list[str]:
        """An affine nest with some control flow in it."""
        self.count += 1
        i, j = f"r{self.count}", f"c{self.count}"
        inner = self._pick(f"{j} < {columns}", f"{j} <= {i}", f"{j} < {columns} && {j} < n",
                           f"{j} + 1 < {columns}")  # fmt: skip
        jump = self._pick("break", "continue")
        stop = self._pick("", "", f"if ({self._condition(0)}) {jump};", f"if ({i} == 2) {jump};")
        return [
            f"for (int {i} = 0; {i} < {rows}; {i}++) {{", f"  {stop}",
            f"  for (int {j} = {self._pick('0', '1')}; {inner}; {j}++) {{",
            f"    {body.replace('ROW', i).replace('COLUMN', j)}", "  }", "}",
        ]  # fmt: skip

    def _matrices_statement(self, depth: int) -> list[str]:
        index, other = self._integer(0), self._integer(0)
        name = self.random.choice(self.integers)
        if depth and self.random.random() < 0.5:
            return self._nest(self._pick(
                f"g[ROW][COLUMN] = g[ROW][COLUMN] * 0.5 + {self._float(1)};",
                "g[ROW][COLUMN] -= 0.25 * g[5 - ROW][COLUMN];",
                "if (h[COLUMN][ROW] > 3) h[COLUMN][ROW] -= ROW + COLUMN; else g[ROW][COLUMN] = 1;",
                "s = (s + h[COLUMN][ROW]) % 1009;",
                "{ double *r = g[ROW]; r[COLUMN] = r[7 - COLUMN] * 0.5 + e[COLUMN]; }",
            ))  # fmt: skip
        return [self._pick(
            f"{{ double *r = g[{index} & 3]; r[{other} & 7] += r[2] * 0.25; x = r[7]; }}",
            f"{{ const int *r = h[{index} & 7]; {name} = r[{other} & 3] % 101; }}",
            f"g[{index} & 3][{other} & 7] = {self._float(1)};",
        )]  # fmt: skip

    def _rows_statement(self, depth: int) -> list[str]:
        if depth and self.random.random() < 0.4:
            return self._nest("rows[ROW][COLUMN] = rows[COLUMN][ROW] * 0.5 + d[COLUMN];")
        index, other = self._integer(0), self._integer(0)
        return [self._pick(
            f"{{ double *r = rows[{index} & 7]; r[{other} & 15] = r[1] * 0.5 - 1; }}",
            f"rows[{index} & 7][{other} & 15] = {self._float(1)};",
        )]  # fmt: skip

    def _complex_statement(self, depth: int) -> list[str]:
        one, other, third = (f"z[{self._integer(0)} & 15]" for _ in range(3))
        number = self._integer(1)
        if depth and self.random.random() < 0.3:
            return self._nest("z[COLUMN] = z[COLUMN + ROW] * (0.5 - 0.25 * I) + w * 0.125;")
        return [self._pick(
            f"{one} = ({other} + {third} * w) * 0.125;", f"{one} = {number} * 0.25;",
            f"{one} = {self._condition(0)} ? {other} : conj({third});", f"w = {one} * 0.0625 + 2;",
            f"{one} *= 0.5 + 0.25 * I;", f"if ({one} == {other}) {one} = {number} * 0.5 * I;",
            f"{{ double complex v = {one}; v -= {other}; {one} = v / 4; }}",
        )]  # fmt: skip

    def _functions_statement(self, depth: int) -> list[str]:
        name = self.random.choice(self.integers)
        test = self._pick("is_odd", "is_large")
        return [self._pick(
            f"{name} = scan({self._pick('n', 'm', '16')}, {self._pick('a', 'b')}, {test});",
            f"y = apply({self._pick('twice', 'halve')}, {self._float(0)} * 0.25);",
            f"add({self._pick('4', 'm', '8')}, d, e, {self._pick('0.5', 'x')});",
            f"add(4, d + {self.random.randint(4, 12)}, d, 0.25);",
            f"move({self._pick('n', '5')}, {self._pick('a', 'b + 2')}, {self._integer(1)});",
        )]  # fmt: skip

    def _memory_statement(self, depth: int) -> list[str]:
        return [self._pick(
            "memcpy(a, b, 16 * sizeof(int));", "memcpy(d + 8, e, 4 * sizeof(double));",
            "memset(b, 0, 16 * sizeof(int));", "memset(e + 2, 0, m * sizeof(double));",
            "memcpy(e, d + 3, n * sizeof *d);",
        )]  # fmt: skip

    def _library_statement(self, depth: int) -> list[str]:
        name = self.random.choice(self.integers)
        return [self._pick(
            f"{name} = (int)fmin(fmax({self._float(1)}, -50), 50);",
            f"x = floor({self._float(1)}) * 0.5;", f"y = sqrt(fabs({self._float(1)}));",
        )]  # fmt: skip

    def _goto_statement(self, depth: int) -> list[str]:
        self.count += 1
        label = f"out{self.count}"
        jump = f"if ({self._condition(1)}) goto {label};"
        if depth and self.random.random() < 0.6:
            body = ["a[ROW] += COLUMN & 3;", "d[COLUMN] = d[COLUMN] * 0.5 + ROW;"]
            return [*self._nest(f"{jump} {self._pick(*body)}"), self._assignment(), f"{label}:;"]
        jumps = self._pick("break", "continue")
        leave = [f"if ({self._condition(0)}) {jumps};"] if self.is_in_loop else []
        inner = self._block(1, max(depth - 1, 0), is_loop=self.is_in_loop)
        return [jump, "{", *inner, "}", *leave, f"{label}:;"]

    def _parameters_statement(self, depth: int) -> list[str]:
        name = self._pick("n", "m")
        return [self._pick(f"{name} = ({self._integer(1)} & 7) + 3;", f"if ({name} > 3) {name}--;")]

    def _tables_statement(self, depth: int) -> list[str]:
        index, other = self._integer(0), self._integer(0)
        name = self.random.choice(self.integers)
        return [self._pick(
            f"{{ int v[4] = {{{index}, [2] = {other}}}; v[{other} & 3] += 5; {name} = v[2]; }}",
            f"tab[{index} & 7] = {other};",
            f"for (int r = 0; r < 4; r++) loc[1][r] = loc[0][3 - r] * 0.5 + {self._float(0)};",
        )]  # fmt: skip

    def _narrow_statement(self, depth: int) -> list[str]:
        value = self._integer(1)
        return [self._pick(
            f"uc {self._pick('=', '+=', '-=', '^=')} {value};", f"sh = {value} * 321;", "uc++;",
            f"un = un * 7u + {value};", "un >>= 3;", f"lo = (lo * 3 + {value}) % 1001;", "sh--;",
            f"un = {value} & 15; while (un-- > 2 && fuel-- > 0) {self._assignment()}",
            f"if (un {self._pick('<', '>=')} {value}) {self._assignment()}",
            f"if (sh {self._pick('<', '==')} uc) {self._assignment()}", "uc = -uc; sh = ~sh;",
        )]  # fmt: skip

    def _floats_statement(self, depth: int) -> list[str]:
        value = self._integer(1)
        return [self._pick(f"fl = {value} * 0.3f;", f"fl = (float){value} / 7;", "x = fl * 0.1;",
                           f"if (fl > 0.3) {self._assignment()}", "fl -= 0.1;")]  # fmt: skip

    def _commas_statement(self, depth: int) -> list[str]:
        self.count += 1
        i, j = f"i{self.count}", f"j{self.count}"
        name, other = self.random.sample(self.integers, 2)
        head = self._pick(
            f"for (int {i} = ({name}++, 0), {j} = n; {i} < {j}; {i}++, {j}--)",
            f"for (int {i} = 1, {j} = 0; {i} < 40; {i} = {i} * 2 + 1, {j}++)",
            f"for (int {i} = 0, {j} = 3; {i} < 12; {i} += {j}, {j} ^= 1)",
        )
        self.counters += [i, j]
        body = self._block(1, max(depth - 1, 0), is_loop=True)
        del self.counters[-2:]
        first = f"int v{self.count} = ({name}--, {self._integer(0, name)});"
        last = f"{other} = v{self.count};"
        return [first, f"{head} {{", "  if (fuel-- <= 0) break;", *body, "}", last]

    def _pointers_statement(self, depth: int) -> list[str]:
        index, other = self._integer(0), self._integer(0)
        name, offset = self.random.choice(self.integers), self.random.randint(0, 8)
        return [self._pick(
            f"{{ int *v = a + {offset}; v[{index} & 7] = *v + 1; {name} = v[{other} & 7] % 101; }}",
            f"{{ double *v = &d[{offset}]; *v = v[{index} & 7] * 0.5; *(v + 2) += 0.25; }}",
            f"{{ const int *v = b; for (int r = 0; r < n; r++) {name} = ({name} + v[r]) % 77; }}",
        )]  # fmt: skip


def _definitions(text: str) -> list[str]:
    return [f"static {each}" for each in text.split("static ")[1:]]


def _is_used(definition: str, text: str) -> bool:
    """Whether a program calls a function, or a function that only this one calls."""
    name = re.split(r"\W+", definition.partition("(")[0])[-1]
    return re.search(rf"\b{name}\b", text) is not None


def random_constructs(seed: int) -> str:
    return ConstructGenerator(seed).program()


def random_arguments(function: CFunction, seed: int) -> list[Any]:
    """Arguments for the parameters that a program has."""
    random = np.random.default_rng(seed)

    def fill(array: Any) -> Any:
        if array.dtype.names is not None:
            for name in array.dtype.names:
                fill(array[name])
        elif array.dtype.kind == "i":
            array[...] = random.integers(-20, 60, array.shape)
        elif array.dtype.kind == "c":
            array[...] = fill(array.real) + 1j * fill(array.imag)
        else:
            array[...] = random.uniform(-1.5, 1.5, array.shape).round(3)
        return array

    made: list[Any] = []
    for name in function.parameters:
        if name in SCALARS:
            made.append(SCALARS[name])
        elif name == "rows":
            made.append([fill(np.zeros(LENGTH)) for _ in range(ROWS)])
        else:
            made.append(fill(np.zeros(SHAPES[name], function.dtype(name))))
    return made
