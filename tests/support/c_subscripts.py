"""Random C programs whose subscripts may leave their arrays, and what they do.

A program is a tree that is written as C and evaluated in Python, where every subscript is compared
with the length of its dimension. `python -m support.c_subscripts FIRST COUNT` runs programs between
protected pages, so that an access outside of an array ends the process; it prints a line for each.
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from support.guarded import SIDES, guarded

SCHEDULES = ("source", "isl", "patterns")
LIMIT = 1 << 31
Env = Mapping[str, Any]


class Outside(Exception):
    """An access outside of an array."""


class Undefined(Exception):
    """A signed overflow, after which C may do anything."""


@dataclass(frozen=True)
class Term:
    """An expression: how it is written, and what it is."""

    text: str
    value: Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Step:
    """A statement: its lines, and what it does."""

    text: str
    run: Callable[[dict[str, Any]], None]


@dataclass
class Case:
    """A program, its sizes and its arrays."""

    text: str
    run: Callable[[dict[str, Any]], None]
    sizes: dict[str, int]
    arrays: dict[str, Any]


def _integer(value: int) -> int:
    if not -LIMIT <= value < LIMIT:
        raise Undefined
    return value


def _element(env: dict[str, Any], name: str, indices: list[int]) -> tuple[int, ...]:
    for index, length in zip(indices, env[name].shape, strict=True):
        if not 0 <= index < length:
            raise Outside(name)
    return tuple(indices)


@dataclass
class Generator:
    seed: int
    loops: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        wild = self.random.random() < 0.5
        n = self.random.randint(2, 6) if wild else self.random.randint(4, 7)
        m = self.random.randint(2, 5) if wild else n
        self.sizes = {"n": n, "m": m}
        self.margin = 0 if wild or self.random.random() < 0.2 else 1
        """How far loops stay away from the ends of arrays."""
        values = np.random.default_rng(self.seed)
        low, high = (-2, n + 2) if wild else (1, n - 1)
        self.arrays = {
            "x": values.integers(-5, 6, n).astype(np.float64),
            "y": values.integers(-5, 6, n).astype(np.float64),
            "a": values.integers(-5, 6, (n, m)).astype(np.float64),
            "k": values.integers(low, high, n).astype(np.int32),
            "l": values.integers(low, high, m).astype(np.int32),
        }
        if wild and self.random.random() < 0.3:
            self.arrays["k"][self.random.randrange(n)] = self.random.choice((10**9, -(10**9)))

    def case(self) -> Case:
        steps = [self._loop(1) for _ in range(self.random.randint(1, 2))]
        head = "int n, int m, double x[n], double *y, double a[n][m], int k[n], int *l"
        text = f"void f({head}) {{\n{''.join(step.text for step in steps)}}}\n"

        def run(env: dict[str, Any]) -> None:
            for step in steps:
                step.run(env)

        return Case(text, run, self.sizes, self.arrays)

    def _loop(self, depth: int) -> Step:
        name, end = f"i{len(self.loops)}", self.random.choice("nm")
        margin = self.margin
        first = self.random.choice((0, 0, 1)) if not margin else 1
        self.loops.append(name)
        if depth < 3 and self.random.random() < 0.4:
            body = self._loop(depth + 1)
        else:
            body = self._statement(depth)
        self.loops.pop()

        def run(env: dict[str, Any]) -> None:
            for value in range(first, env[end] - margin):
                env[name] = value
                body.run(env)

        last = f"{end} - 1" if margin else end
        head = f"{'  ' * depth}for (int {name} = {first}; {name} < {last}; {name}++)\n"
        return Step(head + body.text, run)

    def _statement(self, depth: int) -> Step:
        target, value = self._access("xya"), self._value()
        name, indices, text = target
        space = "  " * (depth + 1)
        guard = self._guard() if self.random.random() < 0.5 else None

        def run(env: dict[str, Any]) -> None:
            if guard is not None and not guard.value(env):
                return
            found = value.value(env)
            env[name][_element(env, name, [each.value(env) for each in indices])] = found

        condition = "" if guard is None else f"if ({guard.text})\n{space}  "
        return Step(f"{space}{condition}{text} = {value.text};\n", run)

    def _access(self, arrays: str) -> tuple[str, list[Term], str]:
        name = self.random.choice(arrays)
        indices = [self._index(2) for _ in self.arrays[name].shape]
        return name, indices, name + "".join(f"[{each.text}]" for each in indices)

    def _read(self, arrays: str) -> Term:
        name, indices, text = self._access(arrays)
        return Term(
            text,
            lambda env: env[name][_element(env, name, [each.value(env) for each in indices])],
        )

    def _index(self, depth: int) -> Term:
        """A subscript: affine, from data, or a product."""
        form = self.random.random()
        loop = self.random.choice(self.loops)
        if depth == 0 or form < 0.45:
            return Term(loop, lambda env: env[loop])
        if form < 0.6:
            by = self.random.choice((-1, 1, 1, 1, 1, 2))
            return Term(
                f"{loop} + {by}" if by > 0 else f"{loop} - {-by}", lambda env: env[loop] + by
            )
        inner = self._index(depth - 1)
        if form < 0.8:
            name = self.random.choice("kl")
            return Term(
                f"{name}[{inner.text}]",
                lambda env: int(env[name][_element(env, name, [inner.value(env)])]),
            )
        if form < 0.86:
            return Term(
                f"({inner.text}) * {loop}", lambda env: _integer(inner.value(env) * env[loop])
            )
        other = self._index(depth - 1)
        return Term(
            f"({loop} > 0 ? {inner.text} : {other.text})",
            lambda env: (inner if env[loop] > 0 else other).value(env),
        )

    def _guard(self) -> Term:
        form = self.random.random()
        loop = self.random.choice(self.loops)
        if form < 0.3:
            return Term(f"{loop} > 1", lambda env: env[loop] > 1)
        read = self._read("xyk")
        if form < 0.6:
            return Term(f"{read.text} > 0", lambda env: read.value(env) > 0)
        return Term(
            f"{loop} > 0 && {read.text} > 0", lambda env: env[loop] > 0 and read.value(env) > 0
        )

    def _value(self) -> Term:
        first, second = self._read("xya"), self._read("xyak")
        form = self.random.random()
        if form < 0.4:
            return first
        if form < 0.7:
            return Term(
                f"{first.text} + {second.text}", lambda env: first.value(env) + second.value(env)
            )
        guard = self._guard()
        return Term(
            f"({guard.text} ? {first.text} : {second.text})",
            lambda env: (first if guard.value(env) else second).value(env),
        )


def expected(case: Case) -> dict[str, Any] | str | None:
    """The arrays after a program; None where it leaves one, or a text where C says nothing."""
    env: dict[str, Any] = {**case.sizes, **{n: a.copy() for n, a in case.arrays.items()}}
    try:
        with np.errstate(over="ignore"):
            case.run(env)
    except Outside:
        return None
    except Undefined:
        return "undefined"
    return {name: env[name] for name in case.arrays}


def found(case: Case, schedule: str, side: str) -> dict[str, Any] | None:
    """The same by compiled code; None where it refuses, at a line of the program."""
    import riselang as rl

    function = rl.from_c(case.text, schedule=schedule, float="strict")
    with contextlib.ExitStack() as stack:
        arrays = {
            name: stack.enter_context(guarded(array, side, read_only=False))
            for name, array in case.arrays.items()
        }
        try:
            function(*case.sizes.values(), *arrays.values())
        except rl.UserError as error:
            place = error.location
            if place is None or not 1 < place.line <= case.text.count("\n"):
                raise ValueError(f"no place in the program: {error}") from None
            return None
        return {name: array.copy() for name, array in arrays.items()}


def verdict(seed: int) -> str:
    """`same`, `refused` or `undefined`, or what is wrong."""
    case = Generator(seed).case()
    right = expected(case)
    ours = found(case, SCHEDULES[seed % 3], SIDES[seed // 3 % 2])
    if isinstance(right, str):
        return right
    if (right is None) != (ours is None):
        return f"wrong: {'not ' if ours is not None else ''}refused\n{case.text}{case.sizes}"
    if right is None or ours is None:
        return "refused"
    wrong = [name for name in right if not np.array_equal(right[name], ours[name], equal_nan=True)]
    return f"wrong: {wrong}\n{case.text}{case.sizes}" if wrong else "same"


if __name__ == "__main__":
    start, count = map(int, sys.argv[1:])
    for number in range(start, start + count):
        print(f"seed {number}", flush=True)
        print(verdict(number), flush=True)
