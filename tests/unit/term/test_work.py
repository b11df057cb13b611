"""The work of programs as written, and of the loops that they become."""

from __future__ import annotations

from typing import Any

import pytest

import riselang as rl
from riselang.api.lowered import Lowered
from riselang.term.work import Work


def lowered(text: str) -> Lowered:
    program: Any = rl.loads(f"def main = {text}", name="program.rise", strategy="none")
    return program.main.lower()


def works(text: str) -> tuple[Work, Work]:
    """The work of a program as written, and that of its loops."""
    costs = lowered(text).cost_analysis()
    assert costs.work is not None
    assert costs.optimized_work is not None
    return costs.work, costs.optimized_work


@pytest.mark.parametrize(
    ("text", "work"),
    [
        ("fun((x : 8.f32) => x |> map(fun(a => a)))", Work(0, 4 * 16)),
        ("fun((x : 8.f32) => x |> map(fun(a => a + 1.0)))", Work(8, 4 * 16)),
        ("fun((x : 8.i32) => x |> map(fun(a => a + a)))", Work(8, 4 * 16)),
        ("fun((x : 8.f32) => x |> map(fun(a => exp(a))))", Work(8 * 16, 4 * 16)),
        ("fun((x : 8.f32) => x |> reduce(add, 0.0))", Work(8, 4 * 9)),
        ("fun((x : 8.f32) => x |> scan(add, 0.0))", Work(8, 4 * 16)),
        ("fun((x : 8.f32) => x |> slide(3, 1) |> map(reduce(add, 0.0)))", Work(18, 4 * 24)),
        ("fun((x : 4.6.f32) => x |> transpose)", Work(0, 4 * 48)),
        ("fun((x : 4.6.f32) => x |> map(map(fun(a => a * a))) |> transpose)", Work(24, 4 * 48)),
        ("fun((x : 8.f32) => generate(fun((i : idx[8]) => 1.0)))", Work(0, 4 * 8)),
        ("fun((x : 8.f32, y : f32) => x |> map(fun(a => fma(a, y, y))))", Work(16, 68)),
        (
            "fun((x : 8.f32) => x |> asVector(4) |> map(fun(v => v * v)) |> asScalar)",
            Work(8, 4 * 16),
        ),
        # Two floats of 8 bits are extended, and their sum is rounded.
        (
            "fun((x : 8.f8e5m2, y : 8.f8e5m2) => zip(x, y) |> map(fun(p => fst(p) + snd(p))))",
            Work(8 * (2 * 8 + 1 + 12), 24),
        ),
        ("fun((x : 8.f8e4m3fn) => x |> map(fun(a => cast[f32](a))))", Work(8 * 8, 8 + 4 * 8)),
        ("fun((x : 8.f32) => x |> map(fun(a => cast[f8e4m3fn](a))))", Work(8 * 12, 8 + 4 * 8)),
    ],
)
def test_loops_do_what_is_written(text: str, work: Work) -> None:
    written, compiled = works(text)
    assert written == work
    assert compiled == work


def test_an_array_that_is_computed_twice_counts_twice() -> None:
    written, compiled = works(
        "fun((x : 8.f32) => x |> map(fun(a => a * 2.0)) |> slide(3, 1) |> map(reduce(add, 0.0)))"
    )
    # The doubled numbers are stored once and loaded 18 times as written, but computed 18 times.
    assert written == Work(8 + 18, 4 * (16 + 24))
    assert compiled == Work(18 + 18, 4 * 24)


def test_iterations_that_depend_on_data_are_an_estimate() -> None:
    written, compiled = works("fun((x : f32) => while(fun(a => a < 10.0), fun(a => a * a), x))")
    assert not written.is_exact
    assert not compiled.is_exact
    assert written.operations == compiled.operations == 16


def test_work_in_symbolic_sizes() -> None:
    program: Any = rl.loads(
        "def main = fun((x : N.f32) => x |> map(fun(a => a + a)))", name="program.rise"
    )
    work = program.main.trace().cost_analysis().work
    assert str(work) == "N operations, N * 8 bytes"


def test_a_traced_program_has_no_loops_yet() -> None:
    program: Any = rl.loads(
        "def main = fun((x : 8.f32) => x |> map(fun(a => a + a)))", name="program.rise"
    )
    assert program.main.trace().cost_analysis().optimized_work is None
