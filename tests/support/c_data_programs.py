"""Random C programs with control flow on structures, tables, globals and functions on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.frontends.c.calling import CFunction
from support.c_control_flow import HELPERS, LENGTH, ControlFlowGenerator

_TABLE = ", ".join(str(number * 37 % 23 - 11) for number in range(LENGTH))
DATA = f"""\
struct pair {{ double w; int u; }};
struct point {{ int u, v[4]; double w; struct pair in; }};
static const int table[16] = {{{_TABLE}}};
static int kept[16] = {{3, -1, [5] = 4, [11] = -7}};
int calls;
static struct pair last = {{0.5, 2}};
static void exchange(struct point *l, struct point *r) {{
  struct point t = *l;
  *l = *r;
  *r = t;
}}
static struct pair mixed(struct pair l, struct pair r) {{
  return (struct pair){{l.w * 0.5 + r.w, (l.u - r.u) % 101}};
}}
static struct pair limited(struct pair x, int most) {{
  if (x.u > most) {{
    x.u = most;
    x.w -= 1;
  }}
  return x;
}}
static int bump(int by) {{
  static int state = 1;
  state = (state * 5 + by) % 97;
  calls++;
  return state;
}}
static void fill(int n, struct point *p, int x) {{
  for (int i = 0; i < n; i++) {{
    if (p[i].u == x)
      continue;
    p[i].v[i & 3] = x;
    p[i].in = limited(p[i].in, x);
  }}
}}
static void add_to(double *x, double by) {{ *x = *x * 0.5 + by; }}
"""


@dataclass
class DataGenerator(ControlFlowGenerator):
    """Elements are also those of structures, tables and globals."""

    helpers: str = HELPERS + DATA
    parameters: str = (
        "int n, int m, int a[16], int b[16], double d[16], double e[16], struct point p[16],"
        " struct point *q, struct pair c"
    )
    written: bool = field(default=False)

    def _element(self, *arrays: str, without: str = "") -> str:
        choice = self.random
        plain = super()._element(*arrays, without=without)
        if choice.random() < 0.45:
            return plain
        index = plain[plain.index("[") :]
        if arrays[0] in "de":
            return choice.choice((
                f"p{index}.w", f"p{index}.in.w", "q->w", "q->in.w", "c.w", "last.w", plain,
            ))  # fmt: skip
        inner = f"[{self._integer(0, without)} & 3]"
        return choice.choice((
            f"p{index}.u", f"p{index}.v{inner}", f"q->v{inner}", "q->u", "q->in.u", "c.u",
            f"kept{index}", f"p{index}.in.u", plain,
        ))  # fmt: skip

    def _integer(self, depth: int, without: str = "") -> str:
        if depth == 0 and self.random.random() < 0.08:
            return f"table[{super()._integer(0, without)} & 15]"
        return super()._integer(depth, without)

    def _assignment(self) -> str:
        choice = self.random
        if choice.random() < 0.75:
            return super()._assignment()
        one, other = (f"p[{self._integer(0)} & 15]" for _ in range(2))
        pairs = [f"{one}.in", f"{other}.in", "c", "q->in", "last"]
        target, left, right = (choice.choice(pairs) for _ in range(3))
        name = choice.choice(self.integers)
        return choice.choice((
            f"exchange(&{one}, &{other});", f"exchange(q, &{one});", f"{one} = {other};",
            f"*q = {one};", f"{target} = {left};", f"{target} = mixed({left}, {right});",
            f"{target} = limited({left}, {self._integer(1)});",
            f"{name} = bump({self._integer(1)});",
            f"fill({choice.choice('nm')}, p + {choice.randint(0, 3)}, {self._integer(1)});",
            f"add_to(&{choice.choice(('x', 'y', 'q->w', one + '.w', 'last.w', 'd[3]'))}, 0.75);",
            f"{target} = (struct pair){{.u = {self._integer(1)}}};",
            f"{target} = {self._condition(1)} ? {left} : {right};",
            f"{{ struct point *r = &{one}; r->u = r->v[{choice.randint(0, 3)}]; r->in.w += 1; }}",
        ))  # fmt: skip


def random_data_program(seed: int) -> str:
    return DataGenerator(seed).program()


def random_data(function: CFunction, seed: int) -> list[Any]:
    """Arguments of a program."""
    random = np.random.default_rng(seed)

    def fill(array: Any) -> Any:
        if array.dtype.names is not None:
            for name in array.dtype.names:
                fill(array[name])
        elif array.dtype.kind == "i":
            array[...] = random.integers(-20, 60, array.shape)
        else:
            array[...] = random.uniform(-1.5, 1.5, array.shape).round(3)
        return array

    numbers = [fill(np.zeros(LENGTH, dtype)) for dtype in ("i4", "i4", "f8", "f8")]
    records = [fill(np.zeros(shape, function.dtype(name)))
               for name, shape in (("p", LENGTH), ("q", 1), ("c", ()))]  # fmt: skip
    return [9, 7, *numbers, *records]
