"""Statements that run as separate RISE programs, compiled for the sizes of a call.

A program has the order of the C loops, so results are bitwise identical. Loops that remain around
statements run in Python, with a call for each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.api.kernel import TermKernel
from riselang.api.load import term_kernel
from riselang.frontends.c.calling import Arrays, Values
from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.lift.choices import choose_for_structure
from riselang.frontends.c.lift.costs import PATTERN_CODE
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.array_views import is_fixed
from riselang.frontends.c.tactics.dependence_cycles import find_cycle_structures
from riselang.frontends.c.tactics.lifted_programs import LiftedProgram, lift_structure
from riselang.frontends.c.tactics.structures import IndexAxis, LoopRange, NotLifted, Structure
from riselang.support.config import Options
from riselang.support.lazy import cached_property

Numbers = Mapping[str, int]
"""The values of parameters, and of the remaining loops."""


@dataclass(frozen=True)
class StatementStep:
    """A statement and its program."""

    lifting: LiftedProgram
    options: Options

    @cached_property
    def _kernel(self) -> TermKernel:
        return term_kernel("statement", self.lifting.term, float=self.options.float)

    def run(self, arrays: Arrays, values: Values, numbers: Numbers) -> None:
        structure = self.lifting.structure
        lengths = [_evaluate_linear(each.length, numbers) for each in structure.ranges.values()]
        if min(lengths) <= 0:
            return
        read = {each.array: each for each in (structure.target, *structure.reads)}
        # A part may be strided, such as a column, but programs take contiguous arrays.
        arguments = [
            np.asarray(
                arrays[array][tuple(self._read_slice(axis, numbers) for axis in read[array].axes)],
                order="C",
            )
            for array in self.lifting.arrays
        ]
        scalars = [values[each.variable] for each in self.lifting.scalars]
        slices = tuple(self._written_slice(axis, numbers) for axis in structure.target.axes)
        target = arrays[structure.target.array]
        part: Any = target[slices]
        is_whole = isinstance(part, np.ndarray) and part.flags.c_contiguous
        if is_whole and not any(np.shares_memory(part, each) for each in arguments):
            self._kernel(*arguments, *scalars, out=part)
        else:
            target[slices] = self._kernel(*arguments, *scalars)

    def _read_slice(self, axis: IndexAxis, numbers: Numbers) -> int | slice:
        """Return the part of an array that is passed to its program."""
        is_one = is_fixed(axis, self.lifting.structure)
        return _evaluate_linear(axis.offset, numbers) if is_one else slice(None)

    def _written_slice(self, axis: IndexAxis, numbers: Numbers) -> int | slice:
        start = _evaluate_linear(axis.offset, numbers)
        if not axis.loops:
            return start
        range_ = self.lifting.structure.ranges[axis.loops[0][0]]
        first = start + _evaluate_linear(range_.first, numbers)
        return slice(first, first + _evaluate_linear(range_.length, numbers))


@dataclass(frozen=True)
class StatementSteps:
    """Statements that run in sequence, in each iteration of the remaining loops."""

    scop: Scop
    outer_loops: Mapping[str, LoopRange]
    steps: Sequence[StatementStep]

    @cached_property
    def _footprints(self) -> Footprints:
        return Footprints(self.scop)

    @property
    def name(self) -> str:
        """The name of the first statement."""
        return self.steps[0].lifting.structure.statement.name

    def is_profitable(self, tactic: str, values: Values | None = None) -> bool:
        """Whether a single statement is faster this way, at the sizes of a call if they are
        known."""
        structure = self.steps[0].lifting.structure
        if values is None:
            return choose_for_structure(structure, tactic).implementation is PATTERN_CODE
        numbers = self._parameter_values(values)
        lengths = {
            loop: max(0, _evaluate_linear(each.length, numbers))
            for loop, each in structure.ranges.items()
        }
        return choose_for_structure(structure, tactic, lengths).implementation is PATTERN_CODE

    def _parameter_values(self, values: Values) -> Numbers:
        whole = {each: int(value) for each, value in values.items() if each.type.is_integer}
        known = self._footprints.parameter_values(whole)
        return {name: value for name, value in known.items() if value is not None}

    def run(self, arrays: Arrays, values: Values) -> None:
        for inner in self._iterations(list(self.outer_loops), self._parameter_values(values)):
            for step in self.steps:
                step.run(arrays, values, inner)

    def _iterations(self, loops: list[str], numbers: Numbers) -> Iterator[Numbers]:
        if not loops:
            yield numbers
            return
        loop_range = self.outer_loops[loops[0]]
        first = _evaluate_linear(loop_range.first, numbers)
        for value in range(first, first + _evaluate_linear(loop_range.length, numbers)):
            yield from self._iterations(loops[1:], {**numbers, loops[0]: value})


def statement_steps(scop: Scop, names: Sequence[str], options: Options) -> StatementSteps | None:
    """Return programs of one statement, or of a dependence cycle; None if any is not lifted."""
    try:
        cycle = find_cycle_structures(scop, names)
        steps = [StatementStep(_make_runnable(scop, each), options) for each in cycle.structures]
    except NotLifted:
        return None
    return StatementSteps(scop, cycle.outer_loops, steps)


def _make_runnable(scop: Scop, structure: Structure) -> LiftedProgram:
    """Return the program of a statement, if the function's arguments are enough to call it."""
    lifted = lift_structure(scop, structure)
    for array in (lifted.structure.target.array, *lifted.arrays):
        view = scop.views.get(array)
        if array not in scop.inputs or not array.is_array:
            raise NotLifted(f"{array.name} is not an input array")
        if view is not None and len(view.extents) != len(array.extents):
            raise NotLifted(f"{array.name} is declared with different dimensions")
    for scalar in lifted.scalars:
        if scalar.variable not in scop.inputs or is_buffer(scop, scalar.variable):
            raise NotLifted(f"{scalar.variable.name} is computed in the region")
    return lifted


def _evaluate_linear(linear: Linear, numbers: Numbers) -> int:
    total = linear.constant
    for atom, factor in linear.terms:
        assert isinstance(atom, str)
        total += factor * numbers[atom]
    return total
