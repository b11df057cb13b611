"""RISE against the same loops by hand, in one module (figure 10 of the paper).

Affine and scf loops as they are, and affine loops that MLIR tiles and vectorises on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from timing import pin_threads, samples

pin_threads()

import numpy as np  # noqa: E402
from hand_written import AFFINE, SCF, Writer  # noqa: E402
from reporting import report  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

Shape = tuple[int, ...]
BOUND = 1.03
"""RISE is to cost nothing: what is above is more than noise."""


@dataclass(frozen=True)
class Case:
    """A program, the loops by hand, and the shapes of the result and of the inputs."""

    name: str
    program: str
    by_hand: Any
    shapes: tuple[Shape, ...]
    rounds: int = 25
    calls: int = 1


def matmul(n: int, k: int, m: int, rounds: int, calls: int) -> Case:
    program = f"""fun((A : {n}.{k}.f32, B : {k}.{m}.f32),
      A |> map(fun(row, B |> transpose |> map(fun(column,
        zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""

    def by_hand(write: Writer) -> list[str]:
        def element(i: str, j: str) -> list[str]:
            def step(k: str, acc: str) -> list[str]:
                return [
                    write.load("%a", "A", i, k),
                    write.load("%b", "B", k, j),
                    "%p = arith.mulf %a, %b : f32",
                    f"%s = arith.addf %p, {acc} : f32",
                ]

            return [*write.fold("%sum", k, step, "%s"), write.store("%sum", "out", i, j)]

        return write.nest((n, m), element)

    return Case(f"matmul {n}x{k}x{m}", program, by_hand, ((n, m), (n, k), (k, m)), rounds, calls)


def convolution(n: int, k: int) -> Case:
    size = n + k - 1
    program = f"""fun((image : {size}.{size}.f32, weights : {k}.{k}.f32),
      image |> map(slide({k}, 1)) |> slide({k}, 1) |> map(transpose) |> map(map(fun(window,
        zip(window, weights) |> map(fun(rows,
          zip(fst(rows), snd(rows)) |> map(mult) |> reduce(add, 0.0))) |> reduce(add, 0.0)))))"""

    def by_hand(write: Writer) -> list[str]:
        def element(i: str, j: str) -> list[str]:
            def row(u: str, total: str) -> list[str]:
                def step(v: str, acc: str) -> list[str]:
                    return [
                        *write.sum("%y", i, u),
                        *write.sum("%x", j, v),
                        write.load("%a", "image", write.at(i, u, "%y"), write.at(j, v, "%x")),
                        write.load("%w", "weights", u, v),
                        "%p = arith.mulf %a, %w : f32",
                        f"%s = arith.addf %p, {acc} : f32",
                    ]

                return [
                    *write.fold("%part", k, step, "%s"),
                    f"%t = arith.addf %part, {total} : f32",
                ]

            return [*write.fold("%sum", k, row, "%t"), write.store("%sum", "out", i, j)]

        return write.nest((n, n), element)

    return Case(f"convolution {k}x{k} of {n}x{n}", program, by_hand,
                ((n, n), (size, size), (k, k)), calls=20)  # fmt: skip


def stencil(n: int) -> Case:
    """The mean of three neighbours, in the direction of the rows."""
    program = f"""fun((grid : {n}.{n + 2}.f32),
      grid |> map(fun(row, row |> slide(3, 1) |> map(fun(w, reduce(add, 0.0, w) * 0.25)))))"""

    def by_hand(write: Writer) -> list[str]:
        def element(i: str, j: str) -> list[str]:
            def step(k: str, acc: str) -> list[str]:
                return [
                    *write.sum("%x", j, k),
                    write.load("%a", "grid", i, write.at(j, k, "%x")),
                    f"%s = arith.addf %a, {acc} : f32",
                ]

            return [
                *write.fold("%sum", 3, step, "%s"),
                "%weight = arith.constant 0.25 : f32",
                "%mean = arith.mulf %sum, %weight : f32",
                write.store("%mean", "out", i, j),
            ]

        return write.nest((n, n), element)

    return Case(f"stencil {n}x{n}", program, by_hand, ((n, n), (n, n + 2)), calls=5)


# Columns of larger matrices are not in the cache: a product of 1024 takes eight seconds, almost all
# of them spent waiting for memory, which hides what the loops themselves cost.
CASES = (
    matmul(256, 256, 256, rounds=25, calls=1),
    matmul(1, 784, 128, rounds=25, calls=50),
    convolution(512, 3),
    stencil(1024),
)
SMALL_CASES = (matmul(32, 32, 32, 3, 1), matmul(1, 784, 128, 3, 1), convolution(16, 3), stencil(32))
"""For a test that only looks whether this runs."""


def measure(case: Case, loops: str) -> float:
    """How many times longer RISE takes."""
    writer = SCF if loops == "scf" else AFFINE
    names = ("out", *_parameters(case.program))
    program: Any = rl.loads(case.program, name="program.rise", float="strict", strategy="none")
    rise = program.main.lower().as_text("rise")
    functions = rise.split("\n", 1)[1].rsplit("}", 1)[0]  # without the module around them
    hand = writer.function("hand", names, case.shapes, case.by_hand(writer))
    module = rl.loads(functions + hand, loops=loops, float="strict")
    source = np.random.default_rng(0)
    ours, theirs = np.empty(case.shapes[0], np.float32), np.empty(case.shapes[0], np.float32)
    inputs = [source.random(shape, np.float32) for shape in case.shapes[1:]]
    module.main(ours, *inputs)
    module.hand(theirs, *inputs)
    assert np.array_equal(ours, theirs), "the two differ"
    rise_times, hand_times = samples(
        [lambda: module.main(ours, *inputs), lambda: module.hand(theirs, *inputs)],
        rounds=case.rounds, calls=case.calls,
    )  # fmt: skip
    figure = report(f"{case.name}, {loops}", rise_times, Rival("by hand", hand_times), bound=BOUND)
    assert figure.ratio is not None
    return figure.ratio


def _parameters(program: str) -> list[str]:
    return [part.split(":")[0].strip() for part in program[5 : program.index("),")].split(",")]


def main(cases: Sequence[Case]) -> None:
    ratios = [measure(case, loops) for case in cases for loops in ("affine", "scf", "polyhedral")]
    print(f"ratios from {min(ratios):.3f} to {max(ratios):.3f}")


if __name__ == "__main__":
    main(SMALL_CASES if os.environ.get("RISE_SCALING_SHARE") else CASES)
