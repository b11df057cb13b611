"""Statements that run as RISE programs of their own, compiled for the sizes of a call.

A program has the order of the C loops, so its result has the same bits. Where loops stay around
statements, they run in Python, with a call for each iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from riselang.api.entry import loads
from riselang.config import Options
from riselang.frontends.c.arrangement.order import groups
from riselang.frontends.c.calling import Arrays, Values
from riselang.frontends.c.entries import is_buffer
from riselang.frontends.c.footprints import Footprints
from riselang.frontends.c.linear import Linear
from riselang.frontends.c.model import ModelStatement, Scop
from riselang.frontends.c.tactics.isolation import edges_inside, loops_around
from riselang.frontends.c.tactics.notation import Lifting, lifting
from riselang.frontends.c.tactics.structures import (
    Axis,
    NotLifted,
    Range,
    is_upward_along,
    ranges_of,
)
from riselang.frontends.c.tactics.views import is_fixed

NAME = "statement"
Numbers = Mapping[str, int]
"""Of parameters, and of loops that stay."""


@dataclass(frozen=True)
class StatementStep:
    """A statement and its program."""

    lifting: Lifting
    options: Options

    @cached_property
    def _kernel(self) -> Any:
        text = f"def {NAME} =\n{self.lifting.text}\n"
        return getattr(loads(text, name="lifted.rise", float=self.options.float), NAME)

    def run(self, arrays: Arrays, values: Values, numbers: Numbers) -> None:
        structure = self.lifting.structure
        lengths = [_value(each.length, numbers) for each in structure.ranges.values()]
        if min(lengths) <= 0:
            return
        read = {each.array: each for each in (structure.target, *structure.reads)}
        given = [
            arrays[array][tuple(self._kept(axis, numbers) for axis in read[array].axes)]
            for array in self.lifting.arrays
        ]
        scalars = [values[each.variable] for each in self.lifting.scalars]
        place = tuple(self._written(axis, numbers) for axis in structure.target.axes)
        whole = arrays[structure.target.array]
        part = whole[place]
        is_whole = isinstance(part, np.ndarray) and part.flags.c_contiguous
        if is_whole and not any(np.shares_memory(part, each) for each in given):
            self._kernel(*given, *scalars, out=part)
        else:
            whole[place] = self._kernel(*given, *scalars)

    def _kept(self, axis: Axis, numbers: Numbers) -> int | slice:
        """The part of an array that its program gets."""
        is_one = is_fixed(axis, self.lifting.structure)
        return _value(axis.offset, numbers) if is_one else slice(None)

    def _written(self, axis: Axis, numbers: Numbers) -> int | slice:
        start = _value(axis.offset, numbers)
        if not axis.loops:
            return start
        range_ = self.lifting.structure.ranges[axis.loops[0][0]]
        first = start + _value(range_.first, numbers)
        return slice(first, first + _value(range_.length, numbers))


@dataclass(frozen=True)
class StatementSteps:
    """Statements that run one after the other, in each iteration of loops that stay."""

    scop: Scop
    around: Mapping[str, Range]
    steps: Sequence[StatementStep]

    @cached_property
    def _footprints(self) -> Footprints:
        return Footprints(self.scop)

    def run(self, arrays: Arrays, values: Values) -> None:
        whole = {each: int(value) for each, value in values.items() if each.type.is_integer}
        known = self._footprints.values(whole)
        numbers = {name: value for name, value in known.items() if value is not None}
        for inner in self._iterations(list(self.around), numbers):
            for step in self.steps:
                step.run(arrays, values, inner)

    def _iterations(self, loops: list[str], numbers: Numbers) -> Iterator[Numbers]:
        if not loops:
            yield numbers
            return
        range_ = self.around[loops[0]]
        first = _value(range_.first, numbers)
        for value in range(first, first + _value(range_.length, numbers)):
            yield from self._iterations(loops[1:], {**numbers, loops[0]: value})


def statement_steps(
    scop: Scop, names: Sequence[str], options: Options
) -> StatementSteps | None:
    """Statements that depend on each other, or one, as programs; None where one is none."""
    statements = [scop.statement(name) for name in names]
    try:
        around = _around(scop, statements)
        outer = ranges_of(scop, statements[0], len(around))
        _check_around(scop, statements, around, outer)
        steps = [StatementStep(_runnable(scop, each, around), options) for each in statements]
    except NotLifted:
        return None
    ordered = _in_order(scop, statements, len(around))
    by_name = dict(zip(names, steps, strict=True))
    return StatementSteps(scop, outer, [by_name[name] for name in ordered])


def _around(scop: Scop, statements: Sequence[ModelStatement]) -> tuple[str, ...]:
    """The loops that stay: those that one of the statements needs around it."""
    depth = max(loops_around(scop, each) for each in statements)
    found = {tuple(name for _, name in each.iterators[:depth]) for each in statements}
    if len(found) > 1 or any(len(each.iterators) <= depth for each in statements):
        raise NotLifted("the loops that stay are not around all statements")
    return found.pop()


def _check_around(
    scop: Scop,
    statements: Sequence[ModelStatement],
    around: Sequence[str],
    outer: Mapping[str, Range],
) -> None:
    """Whether loops that stay run upwards, for all statements alike."""
    if not around:
        return
    if any(ranges_of(scop, each, len(around)) != outer for each in statements):
        raise NotLifted("the loops that stay are not the same for all statements")
    if not is_upward_along(scop, statements, len(around)):
        raise NotLifted("the loops that stay run downwards")


def _in_order(scop: Scop, statements: Sequence[ModelStatement], depth: int) -> list[str]:
    """The statements in an order that keeps what they depend on, in one iteration."""
    edges = edges_inside(scop, statements[0], depth)
    names = [each.name for each in statements]
    return [name for group in groups(names, edges) for name in group]


def _runnable(scop: Scop, statement: ModelStatement, around: Sequence[str]) -> Lifting:
    """The program of a statement that can be called with what the function gets."""
    found = lifting(scop, statement, around)
    for array in (found.structure.target.array, *found.arrays):
        view = scop.views.get(array)
        if array not in scop.inputs or not array.is_array:
            raise NotLifted(f"{array.name} is no array from outside")
        if view is not None and len(view.extents) != len(array.extents):
            raise NotLifted(f"{array.name} is declared with other dimensions")
    for scalar in found.scalars:
        if scalar.variable not in scop.inputs or is_buffer(scop, scalar.variable):
            raise NotLifted(f"{scalar.variable.name} is computed in the region")
    return found


def _value(linear: Linear, numbers: Numbers) -> int:
    total = linear.constant
    for atom, factor in linear.terms:
        assert isinstance(atom, str)
        total += factor * numbers[atom]
    return total
