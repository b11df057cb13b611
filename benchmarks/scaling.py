"""How the time of each step grows with a program: chains of patterns, and nested lambdas.

Prints milliseconds, and how many times longer a program of twice the length takes: 2 is linear.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reporting import record

import riselang as rl
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.interpreter.evaluate import run_term
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.tools.figures import Rival
from support.checking import term_in
from support.deep_programs import (
    chain_module,
    chain_notation,
    chain_python,
    nested_module,
    nested_notation,
)

CHAINS = (1000, 2000, 4000, 8000)
NESTED = (125, 250, 500, 1000)
NESTED_REGIONS = (35, 70, 140)
"""A module may nest 150 regions."""
SHARE = float(os.environ.get("RISE_SCALING_SHARE", "1"))
"""A test takes programs of a share of their full size, once."""
ROUNDS = 5 if SHARE == 1 else 1
Times = dict[str, list[float]]
"""Seconds of each step, in each round."""
Measure = Callable[[int], Times]


def timed(action: Callable[[], Any], taken: Times, name: str) -> Any:
    """The result; and the time of several runs, in this process.

    As `timeit` does, without collections of garbage, which come at any moment.
    """
    seconds: list[float] = []
    result = None
    for _ in range(ROUNDS):
        gc.collect()
        gc.disable()
        start = time.process_time()
        result = action()
        seconds.append(time.process_time() - start)
        gc.enable()
    taken[name] = seconds
    return result


def notation(text: Callable[[int], str], value: Any) -> Measure:
    def measure(size: int) -> Times:
        taken: Times = {}
        source = text(size)
        term = timed(lambda: parse_term(source), taken, "parse and check")
        timed(lambda: show_term(term), taken, "print")
        timed(lambda: run_term(term, [value]), taken, "interpret")
        return taken

    return measure


def module(text: Callable[[int], str], value: Any) -> Measure:
    def measure(size: int) -> Times:
        taken: Times = {}
        source = text(size)
        module = timed(lambda: parse_module(source), taken, "parse")
        timed(lambda: verify_module(module), taken, "check")
        timed(lambda: module_text(module), taken, "print")
        term = timed(lambda: term_in(module), taken, "read the term")
        timed(lambda: run_term(term, [value]), taken, "interpret")
        return taken

    return measure


def python(size: int) -> Times:
    taken: Times = {}
    timed(rl.jit(chain_python(size)).trace, taken, "trace")
    return taken


ARRAY = [1.0, 2.0, 3.0, 4.0]
MEASURES: tuple[tuple[str, Measure, tuple[int, ...]], ...] = (
    ("a chain in notation", notation(chain_notation, ARRAY), CHAINS),
    ("a chain in a module", module(chain_module, ARRAY), CHAINS),
    ("a chain in Python", python, CHAINS),
    ("nested lambdas in notation", notation(nested_notation, 1.0), NESTED),
    ("nested lambdas in a module", module(nested_module, 1.0), NESTED_REGIONS),
)


def main() -> None:
    for label, measure, sizes in MEASURES:
        scaled = [max(1, round(size * SHARE)) for size in sizes]
        results = [measure(size) for size in scaled]
        print(f"{label} of {', '.join(map(str, scaled))}")
        for step in results[0]:
            show(step, [min(result[step]) * 1e3 for result in results])
            for size, result in dict(zip(scaled, results, strict=True)).items():
                if size != scaled[-1]:
                    record(f"{label} of {size}, {step}", result[step])
            half = Rival(f"of {scaled[-2]}", tuple(results[-2][step]))
            record(f"{label} of {scaled[-1]}, {step}", results[-1][step], half)
        show("together", [sum(map(min, result.values())) * 1e3 for result in results])


def show(step: str, times: Sequence[float]) -> None:
    ratios = [after / before for before, after in pairwise(times)]
    shown = "  ".join(f"{taken:9.1f} ms" for taken in times)
    print(f"  {step:16} {shown}   doubling: {'  '.join(f'{r:.2f}' for r in ratios)}")


if __name__ == "__main__":
    main()
