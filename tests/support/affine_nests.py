"""Random nests of affine loops, written by hand as it were: many may not be tiled or vectorised."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from support.guarded import Call

TRIPS = (1, 2, 3, 4, 8, 8, 12, 16, 16, 32, 33, 64)
TYPES = {"f32": np.float32, "f64": np.float64}


@dataclass(frozen=True)
class Loop:
    name: str
    start: int
    trip: int

    @property
    def end(self) -> int:
        return self.start + self.trip


@dataclass(frozen=True)
class Subscript:
    """A formula over loop indices, and the largest value that it takes."""

    text: str
    largest: int


@dataclass(frozen=True)
class RandomNest:
    """A function that updates `%C` from itself, `%A` and `%B`."""

    text: str
    name: str
    type: str
    shapes: tuple[tuple[int, ...], ...]

    def call(self, seed: int) -> Call:
        source = np.random.default_rng(seed)
        c, a, b = (source.standard_normal(shape).astype(TYPES[self.type]) for shape in self.shapes)
        return Call(self.name, [c], [a, b])


def random_nest(seed: int, name: str) -> RandomNest:
    return _Generator(random.Random(seed)).nest(name)


class _Generator:
    def __init__(self, source: random.Random):
        self.source = source
        self.extents: dict[str, list[int]] = {}

    def nest(self, name: str) -> RandomNest:
        depth = self.source.choice((1, 2, 2, 2, 3))
        loops = [
            Loop(f"%i{at}", self.source.choice((0, 0, 0, 1)), self.source.choice(TRIPS))
            for at in range(depth)
        ]
        type = self.source.choice(tuple(TYPES))
        body = self.body(loops)
        for loop in reversed(loops):
            inner = "\n".join(f"  {line}" for line in body)
            body = [f"affine.for {loop.name} = {loop.start} to {loop.end} {{", inner, "}"]
        shapes = {buffer: tuple(self.extents.get(buffer, [1])) for buffer in "CAB"}
        parameters = ", ".join(f"%{b} : memref<{_shape(s)}x_t_>" for b, s in shapes.items())
        lines = "\n".join(body)
        for buffer, shape in shapes.items():
            lines = lines.replace(f"_{buffer}_", f"memref<{_shape(shape)}x_t_>")
        text = f"func.func @{name}({parameters}) {{\n{lines}\nfunc.return\n}}\n"
        return RandomNest(text.replace("_t_", type), name, type, tuple(shapes.values()))

    def body(self, loops: list[Loop]) -> list[str]:
        """One statement: mostly of the plain kind, else anything goes."""
        plain = self.source.random() < 0.5
        rank = len(loops) if plain else self.source.choice((1, 2))
        target = (
            [self.shifted(loop, 0) for loop in loops] if plain else self.subscripts(loops, rank)
        )
        if self.source.random() < 0.1:
            self.source.shuffle(target)
        if self.source.random() < 0.4:
            return self.reduction(loops, target)
        old = target if plain or self.source.random() < 0.6 else self.subscripts(loops, rank)
        return [
            self.load("%c", "C", old),
            self.load("%a", "A", self.subscripts(loops, 2)),
            "%p = arith.mulf %a, %c : _t_",
            "%s = arith.addf %p, %a : _t_",
            self.store("%s", target),
        ]

    def reduction(self, loops: list[Loop], target: list[Subscript]) -> list[str]:
        inner = Loop("%r", 0, self.source.choice(TRIPS))
        inside = [*loops, inner]
        return [
            "%zero = arith.constant 0.0 : _t_",
            f"%sum = affine.for %r = 0 to {inner.trip} iter_args(%acc = %zero) -> (_t_) {{",
            self.load("  %a", "A", self.subscripts(inside, 2)),
            self.load("  %b", "B", self.subscripts(inside, 2)),
            "  %p = arith.mulf %a, %b : _t_",
            "  %s = arith.addf %p, %acc : _t_",
            "  affine.yield %s : _t_",
            "}",
            self.store("%sum", target),
        ]

    def subscripts(self, loops: list[Loop], rank: int) -> list[Subscript]:
        return [self.subscript(loops) for _ in range(rank)]

    def subscript(self, loops: list[Loop]) -> Subscript:
        loop, other = self.source.choice(loops), self.source.choice(loops)
        kind = self.source.random()
        if kind < 0.65:
            return self.shifted(loop, 0)
        if kind < 0.8:
            return self.shifted(loop, self.source.choice((1, 2, -loop.start)))
        if kind < 0.9:
            return Subscript(f"{loop.name} + {other.name}", loop.end + other.end - 2)
        if kind < 0.95:
            return Subscript(f"2 * {loop.name}", 2 * (loop.end - 1))
        return Subscript(str(constant := self.source.choice((0, 1))), constant)

    def shifted(self, loop: Loop, by: int) -> Subscript:
        return Subscript(f"{loop.name} + {by}" if by else loop.name, loop.end - 1 + by)

    def load(self, result: str, buffer: str, at: list[Subscript]) -> str:
        return f"{result} = affine.load %{buffer}[{self.place(buffer, at)}] : _{buffer}_"

    def store(self, value: str, at: list[Subscript]) -> str:
        return f"affine.store {value}, %C[{self.place('C', at)}] : _C_"

    def place(self, buffer: str, at: list[Subscript]) -> str:
        extents = self.extents.setdefault(buffer, [1] * len(at))
        extents[:] = [max(old, new.largest + 1) for old, new in zip(extents, at, strict=True)]
        return ", ".join(subscript.text for subscript in at)


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
