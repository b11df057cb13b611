"""A C function of which some parts run as patterns, and the rest as loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from riselang.frontends.c.calling import Arrays, CFunction, Values
from riselang.frontends.c.fast_path import MAX_KNOWN_SIZES, FastPath
from riselang.frontends.c.lift.choices import WINDOW_TACTICS, choose_for_product
from riselang.frontends.c.lift.costs import PATTERN_CODE
from riselang.frontends.c.lift.product_step import ProductStep
from riselang.frontends.c.lift.scalar_expansion import expand_accumulators
from riselang.frontends.c.lift.statement_step import StatementSteps, statement_steps
from riselang.frontends.c.lift.triangular_product import Load
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.footprints import evaluate_expression
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.tactics.loop_fission import (
    RegionPart,
    dependence_cycles,
    is_separable,
    merge_loop_parts,
    part_region,
    separate_parts,
    shares_local_variables,
)
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.runtime.arrays import Array, address
from riselang.support.config import Options
from riselang.support.lazy import cached_property

Step = ProductStep | StatementSteps


def lift_function(scop: Scop, options: Options, load: Load) -> LiftedFunction | None:
    """Return a region with the parts that are faster as patterns; None if there are none."""
    if not is_separable(scop) or dependences(scop) is None:
        return None
    expanded = expand_accumulators(scop)
    steps_by_part = {
        part.names: _lift_if_faster(expanded, part, options, load)
        for part in separate_parts(expanded)
    }
    steps = _make_steps(expanded, separate_parts(expanded), steps_by_part)
    return LiftedFunction(scop, load, steps, expanded) if steps else None


def _lift_if_faster(scop: Scop, part: RegionPart, options: Options, load: Load) -> Step | None:
    """Return a part as patterns, if that is faster when lengths are not known."""
    if part.product is not None:
        step = ProductStep(scop, part.product, options, load)
        return (
            step
            if choose_for_product(scop, step.product, options).implementation is PATTERN_CODE
            else None
        )
    by_name = {each.statement.name: each for each in recognize_statements(scop)}
    recognition = by_name[part.names[0]]
    if len(part.names) > 1 or recognition.tactic not in WINDOW_TACTICS or recognition.outer_loops:
        return None
    steps = statement_steps(scop, part.names, options)
    return steps if steps is not None and steps.is_profitable(recognition.tactic) else None


def lift_all_statements(scop: Scop, options: Options, load: Load) -> PatternFunction | None:
    """Return a region with every lifted statement as a separate program; None if there are none."""
    if not is_separable(scop):
        return None
    cycles = [RegionPart(tuple(cycle)) for cycle in dependence_cycles(scop)]
    steps_by_part = {part.names: statement_steps(scop, part.names, options) for part in cycles}
    steps = _make_steps(scop, cycles, steps_by_part)
    return PatternFunction(scop, load, steps, scop) if steps else None


def _make_steps(
    scop: Scop, parts: Sequence[RegionPart], steps_by_part: Mapping[tuple[str, ...], Step | None]
) -> list[Step | Scop]:
    """Return parts with their patterns, and loops between them; empty if that is not possible."""

    def is_lifted(part: RegionPart) -> bool:
        return steps_by_part.get(part.names) is not None

    merged = merge_loop_parts(parts, is_lifted)
    if not any(map(is_lifted, merged)) or shares_local_variables(scop, merged, is_lifted):
        return []
    return [
        steps_by_part.get(part.names) or part_region(scop, part, number)
        for number, part in enumerate(merged)
    ]


class LiftedFunction(CFunction):
    """Runs the parts of a region in sequence; if a call is small, the whole region as loops.

    Both are compiled when first needed.
    """

    def __init__(self, scop: Scop, load: Load, steps: Sequence[Step | Scop], expanded: Scop):
        """`expanded` is the region of the steps: arrays may replace scalars in it."""
        super().__init__(scop, load)
        self._steps = tuple(steps)
        self._expanded = expanded
        self._choices: dict[tuple[object, ...], bool] = {}
        """Whether patterns are faster, by the integers of a call: estimates take longer than small
        calls."""

    @cached_property
    def _loop_version(self) -> CFunction:
        return self._load([self._scop])[self._scop.name]

    @cached_property
    def _loop_parts(self) -> Mapping[str, CFunction]:
        loops = [step for step in self._steps if isinstance(step, Scop)]
        return self._load(loops) if loops else {}

    @cached_property
    def _tactics(self) -> Mapping[str, str]:
        return {
            each.statement.name: each.tactic or "" for each in recognize_statements(self._expanded)
        }

    def _fast_path_of(self, values: Values) -> FastPath | None:
        """Return the fast path of the loops for small calls; patterns have none."""
        if self._runs_as_patterns(values):
            return None
        self._fast_path = self._loop_version._fast_path
        return self._fast_path

    def run(self, passed: Sequence[Any], arrays: Arrays, values: Values) -> Any:
        if not self._runs_as_patterns(values):
            return self._loop_version.run(passed, arrays, values)
        made = self._make_arrays(values)
        passed = [*passed, *map(address, made.values())]
        arrays = {**arrays, **made}
        for step in self._steps:
            if isinstance(step, Scop):
                self._loop_parts[step.name].run(passed, arrays, values)
            else:
                step.run(arrays, values)
        return None

    def _make_arrays(self, values: Values) -> dict[Variable, Array]:
        """Return the arrays that replace scalars, for one call."""
        scalars = {each: int(value) for each, value in values.items() if each.type.is_integer}
        return {
            variable: np.empty(
                [max(0, evaluate_expression(e, scalars) or 0) for e in variable.extents if e],
                variable.type.dtype,
            )
            for variable in self._expanded.inputs[len(self._scop.inputs) :]
        }

    def _runs_as_patterns(self, values: Values) -> bool:
        sizes = tuple(value for each, value in values.items() if each.type.is_integer)
        if sizes not in self._choices:
            if len(self._choices) >= MAX_KNOWN_SIZES:
                self._choices.clear()
            self._choices[sizes] = self._is_profitable(values)
        return self._choices[sizes]

    def _is_profitable(self, values: Values) -> bool:
        """Whether any step is faster as patterns, for the sizes of a call."""
        return any(
            step.is_profitable(values)
            if isinstance(step, ProductStep)
            else step.is_profitable(self._tactics[step.name], values)
            for step in self._steps
            if not isinstance(step, Scop)
        )


class PatternFunction(LiftedFunction):
    """Runs as patterns at all sizes."""

    def _is_profitable(self, values: Values) -> bool:
        return True
