"""Deep and long programs: read, printed and run, in time that grows with their length."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

from riselang.interpreter.evaluate import run_term
from riselang.notation.formatting import format_program
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

pytestmark = pytest.mark.rotating(6)


def nested(count: int) -> str:
    before = "".join(f"(fun(x{i}, " for i in range(count))
    return f"fun(z : f32, {before}z{'))(z)' * count})"


def pipeline(count: int) -> str:
    return "fun(x : 2.f32, x" + " |> map(fun(a, a + 1.0))" * count + ")"


def lets(count: int) -> str:
    steps = "".join(f"let y{i + 1} = y{i} + x; " for i in range(count))
    return f"fun(x : f32, let y0 = x; {steps}y{count})"


def sums(count: int) -> str:
    return "fun(x : f32, x" + " + x" * count + ")"


DEEP = [(nested(1000), 1), (lets(1000), 1001), (sums(1000), 1001)]


@pytest.mark.parametrize(("text", "expected"), DEEP, ids=["lambdas", "lets", "sums"])
@pytest.mark.sampled(2)
def test_deep_programs_are_read_printed_and_run(text: str, expected: int) -> None:
    term = parse_term(text)
    assert parse_term(show_term(term)) == term
    assert run_term(term, [np.float32(1)]) == expected
    assert format_program(format_program(text)) == format_program(text)


def test_a_long_pipeline_is_read_printed_and_run() -> None:
    term = parse_term(pipeline(700))
    assert parse_term(show_term(term)) == term
    assert run_term(term, [[np.float32(0), np.float32(1)]]) == [700, 701]


def test_ten_thousand_stages_are_read() -> None:
    text = "fun(x : f32, x" + " |> neg" * 10_000 + ")"
    assert parse_term(text).depth == 10_002


def calls(text: str) -> int:
    """How many calls it takes to read a program and to print it."""
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    threading.setprofile(counted)  # for the thread with the deep stack
    try:
        show_term(parse_term(text))
    finally:
        threading.setprofile(None)
    return count


@pytest.mark.sampled(2)
@pytest.mark.parametrize("make", [pipeline, sums, lets], ids=["pipeline", "sums", "lets"])
def test_twice_the_program_takes_about_twice_the_work(make: Callable[[int], str]) -> None:
    show_term(parse_term(make(10)))  # what is imported and remembered
    once = calls(make(150))
    assert once > 1000
    assert calls(make(300)) < 2.2 * once
