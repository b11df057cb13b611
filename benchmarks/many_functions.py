"""A module of many functions, compiled by one process and by two."""

from __future__ import annotations

import os
import time
from typing import Any

from reporting import report

import riselang as rl
from riselang.tools.figures import Rival

PROGRAM = """def main = fun((A : 16.24.f32, B : 24.32.f32),
  A |> map(fun(row, B |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""


def module(count: int) -> str:
    program: Any = rl.loads(PROGRAM, name="program.rise")
    text: str = program.main.lower().as_text("rise")
    function = text[text.index("func.func") : text.rindex("}")]
    return "\n".join(function.replace("@main", f"@f{number}") for number in range(count))


def compiled(text: str, processes: int) -> tuple[float, float]:
    """Seconds to compile, and to compile and read."""
    os.environ["RISE_JOBS"] = str(processes)
    start = time.perf_counter()
    loaded: Any = rl.loads(text)
    read = time.perf_counter()
    assert loaded.f0
    return time.perf_counter() - read, time.perf_counter() - start


def main(count: int, rounds: int) -> None:
    os.environ["RISE_CACHE"] = "0"
    text = module(count)
    compiled(module(16), 2)
    taken = {processes: list[tuple[float, float]]() for processes in (1, 2)}
    for _ in range(rounds):
        for processes, times in taken.items():
            times.append(compiled(text, processes))
    for name, at in (("", 0), (", read and compiled", 1)):
        one, two = ([times[at] for times in taken[processes]] for processes in (1, 2))
        rival = Rival("1 process", tuple(one))
        report(f"{count} functions{name}, 2 processes", two, rival, bound=1 / 1.6)


if __name__ == "__main__":
    if os.environ.get("RISE_SCALING_SHARE"):
        main(20, 1)
    else:
        main(200, 5)
