"""A function of C whose products of matrices run as patterns, and all else as loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from riselang.config import Options
from riselang.frontends.c.calling import Arrays, CFunction, Values
from riselang.frontends.c.lifted.choices import for_product
from riselang.frontends.c.lifted.costs import PATTERNS
from riselang.frontends.c.lifted.running import PatternStep
from riselang.frontends.c.lifted.statements import StatementSteps, statement_steps
from riselang.frontends.c.model import Scop
from riselang.frontends.c.tactics.parts import (
    Part,
    circles_of,
    is_separable,
    part_of,
    parts_of,
    shares,
    together,
)

Load = Callable[[Sequence[Scop]], Mapping[str, CFunction]]
"""Compiles regions as loops."""


def lifted_function(scop: Scop, options: Options, load: Load) -> LiftedFunction | None:
    """A region with its products as patterns; None where it has none that is one of them."""
    steps: list[PatternStep | Scop] = []
    for number, part in enumerate(parts_of(scop)):
        step = None if part.product is None else PatternStep(scop, part.product, options)
        if step is not None and for_product(scop, step.product, options).way is PATTERNS:
            steps.append(step)
        else:
            steps.append(part_of(scop, part, number))
    if not any(isinstance(step, PatternStep) for step in steps):
        return None
    return LiftedFunction(scop, load, steps)


def function_of_patterns(scop: Scop, options: Options, load: Load) -> PatternFunction | None:
    """A region with every statement that is lifted as a program of its own; None without any."""
    if not is_separable(scop):
        return None
    circles = [tuple(circle) for circle in circles_of(scop)]
    found = {circle: statement_steps(scop, circle, options) for circle in circles}

    def is_lifted(part: Part) -> bool:
        return found.get(part.names) is not None

    parts = together([Part(circle) for circle in circles], is_lifted)
    if not any(map(is_lifted, parts)) or shares(scop, parts, is_lifted):
        return None
    steps = [
        found.get(part.names) or part_of(scop, part, number) for number, part in enumerate(parts)
    ]
    return PatternFunction(scop, load, steps)


class PatternFunction(CFunction):
    """Runs the parts of a region one after the other, as programs or as loops."""

    def __init__(self, scop: Scop, load: Load, steps: Sequence[StatementSteps | Scop]):
        super().__init__(scop)
        self._load = load
        self._steps = tuple(steps)

    @cached_property
    def _parts(self) -> Mapping[str, CFunction]:
        loops = [step for step in self._steps if isinstance(step, Scop)]
        return self._load(loops) if loops else {}

    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        for step in self._steps:
            if isinstance(step, StatementSteps):
                step.run(arrays, values)
            else:
                self._parts[step.name].run(passed, arrays, values)
        return None


class LiftedFunction(CFunction):
    """Runs the parts of a region one after the other; where a call is small, the whole of it.

    Both are compiled when they are first needed.
    """

    def __init__(self, scop: Scop, load: Load, steps: Sequence[PatternStep | Scop]):
        super().__init__(scop)
        self._load = load
        self._steps = tuple(steps)

    @cached_property
    def _whole(self) -> CFunction:
        return self._load([self._scop])[self._scop.name]

    @cached_property
    def _parts(self) -> Mapping[str, CFunction]:
        loops = [step for step in self._steps if isinstance(step, Scop)]
        return self._load(loops) if loops else {}

    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        products = [step for step in self._steps if isinstance(step, PatternStep)]
        if not any(step.is_worth_it(arrays) for step in products):
            return self._whole.run(passed, arrays, values)
        for step in self._steps:
            if isinstance(step, PatternStep):
                step.run(arrays, values)
            else:
                self._parts[step.name].run(passed, arrays, values)
        return None
