"""A page of many steps, which has to stay quick; its steps are made up, as real ones take long."""

from __future__ import annotations

from typing import Any

import riselang as rl
from riselang.explorer.page import Page

LINES = 60
"""How many lines the program has in each of the states."""
WORDS_EVERY = 9


def long_page(steps: int) -> Page:
    """The page of a small program, with many steps, each of which writes three lines anew."""
    program: Any = rl.loads("fun((x : 8.f32), x |> map(sqrt) |> reverse)", name="long.rise")
    data = rl.explore(program).data
    part = next(at for at, (name, _) in enumerate(data["parts"]) if name == "map")
    lines = [_line(number, part) for number in range(LINES)]
    states: list[list[Any]] = [[0, 0, list(range(LINES)), None, None]]
    for step in range(steps):
        first = step * 7 % (LINES - 3)
        added = [_line(LINES + 3 * step + at, part) for at in range(3)]
        mark = [first, 2, first + 2, 9]
        states.append([first, 3, list(range(len(lines), len(lines) + 3)), mark, mark])
        lines += added
    rules = [
        {"name": f"rule_{at}", "law": "x |> map(f) ~> x |> split(m) |> map(map(f)) |> join",
         "family": "algorithmic", "permission": "strict", "summary": ""}
        for at in range(40)
    ]  # fmt: skip
    made = [[at % len(rules), "0.1.0.1"] for at in range(steps)]
    return Page({**data, "lines": lines, "states": states, "rules": rules, "steps": made})


def _line(number: int, part: int) -> list[Any]:
    text = f"  x{number} |> map(fun(row, row |> split(4) |> map(fun(v, v |> transpose)) |> join))"
    words = [at for start in range(8, 8 + 4 * WORDS_EVERY, WORDS_EVERY)
             for at in (start, 3, 0, part)]  # fmt: skip
    return [text, words]
