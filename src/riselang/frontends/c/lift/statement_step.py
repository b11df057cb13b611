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
from riselang.frontends.c.lift.call_numbers import (
    Numbers,
    evaluate_length,
    evaluate_lengths,
    evaluate_linear,
    evaluate_slice,
    parameter_numbers,
)
from riselang.frontends.c.lift.choices import choose_for_structure
from riselang.frontends.c.lift.costs import PATTERN_CODE
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Variable
from riselang.frontends.c.tactics.array_views import is_fixed
from riselang.frontends.c.tactics.boxes import LoopRange, NotLifted
from riselang.frontends.c.tactics.dependence_cycles import find_cycle_structures
from riselang.frontends.c.tactics.lifted_programs import LiftedProgram, lift_structure
from riselang.frontends.c.tactics.structures import IndexAxis, Structure
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.support.lazy import cached_property


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
        if 0 in evaluate_lengths(structure.ranges, numbers).values():
            return
        arguments = [self._argument(array, arrays, numbers) for array in self.lifting.arrays]
        scalars = [values[each.variable] for each in self.lifting.scalars]
        target, slices = self.target_place(arrays, numbers)
        part: Any = target[slices]
        is_whole = isinstance(part, np.ndarray) and part.flags.c_contiguous
        if is_whole and not any(np.shares_memory(part, each) for each in arguments):
            self._kernel(*arguments, *scalars, out=part)
        else:
            target[slices] = self._kernel(*arguments, *scalars)

    def target_place(
        self, arrays: Arrays, numbers: Numbers
    ) -> tuple[Array, tuple[int | slice, ...]]:
        """Return the array that is written, and the indices of the part of it."""
        target = self.lifting.structure.target
        slices = tuple(self._written_slice(axis, numbers) for axis in target.axes)
        return _as_declared(target.array, arrays), slices

    def _argument(self, array: Variable, arrays: Arrays, numbers: Numbers) -> Array:
        """Return the part of an array that is passed to its program, which takes contiguous
        arrays."""
        return np.asarray(self.argument_part(array, arrays, numbers), order="C")

    def argument_part(self, array: Variable, arrays: Arrays, numbers: Numbers) -> Array:
        """Return the part of an array that its program reads; it may be strided, such as a
        column."""
        structure = self.lifting.structure
        operands = (structure.target, *structure.reads)
        axes = next(each.axes for each in operands if each.array is array)
        parts = self.lifting.parts.get(array, (None,) * len(axes))
        indices = (
            evaluate_linear(axis.offset, numbers)
            if is_fixed(axis, structure)
            else slice(None)
            if part is None
            else evaluate_slice(part.first, part.length, numbers)
            for axis, part in zip(axes, parts, strict=True)
        )
        return _as_declared(array, arrays)[tuple(indices)]

    def _written_slice(self, axis: IndexAxis, numbers: Numbers) -> int | slice:
        if not axis.loops:
            return evaluate_linear(axis.offset, numbers)
        range_ = self.lifting.structure.ranges[axis.loops[0][0]]
        return evaluate_slice(axis.offset + range_.first, range_.length, numbers)


def _as_declared(array: Variable, arrays: Arrays) -> Array:
    """Return the argument for an array; a pointer may point into one with several dimensions."""
    return arrays[array].reshape(-1) if len(array.extents) == 1 else arrays[array]


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
        lengths = evaluate_lengths(structure.ranges, parameter_numbers(self._footprints, values))
        return choose_for_structure(structure, tactic, lengths).implementation is PATTERN_CODE

    def run(self, arrays: Arrays, values: Values) -> None:
        for inner in self._iterations(
            list(self.outer_loops), parameter_numbers(self._footprints, values)
        ):
            for step in self.steps:
                step.run(arrays, values, inner)

    def _iterations(self, loops: list[str], numbers: Numbers) -> Iterator[Numbers]:
        if not loops:
            yield numbers
            return
        loop_range = self.outer_loops[loops[0]]
        first = evaluate_linear(loop_range.first, numbers)
        for value in range(first, first + evaluate_length(loop_range.length, numbers)):
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
