"""Patterns of a C function on arrays in GPU memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from riselang.api.compiled import Compiled
from riselang.api.kernel import TermKernel
from riselang.api.load import term_kernel
from riselang.frontends.c.calling import Arrays, Values
from riselang.frontends.c.lift.call_numbers import (
    Numbers,
    evaluate_lengths,
    evaluate_slice,
    parameter_numbers,
)
from riselang.frontends.c.lift.choices import WINDOW_TACTICS, has_known_scalars, is_permitted
from riselang.frontends.c.lift.product_programs import build_program, scalar_factors
from riselang.frontends.c.lift.statement_step import StatementStep, statement_steps
from riselang.frontends.c.model.dependences import dependences
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.loop_fission import (
    RegionPart,
    is_separable,
    merge_loop_parts,
    part_region,
    separate_parts,
    shares_local_variables,
)
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.matrix_products import MatrixProduct, group_order
from riselang.frontends.c.tactics.recognition import recognize_statements
from riselang.pipelines import GPU
from riselang.runtime.arrays import Array, address
from riselang.runtime.device_arrays import new_device_array
from riselang.support.config import Options
from riselang.support.lazy import cached_property


@dataclass
class _DeviceKernel:
    """A program for a GPU, compiled for the shapes of its arguments."""

    kernel: TermKernel
    compiled: dict[tuple[tuple[int, ...], ...], Compiled] = field(
        default_factory=dict[tuple[tuple[int, ...], ...], Compiled]
    )

    def run(self, arguments: Sequence[Any], scalars: Sequence[Any], out: Array) -> None:
        """Store the result in an array, which may be one of the arguments."""
        arrays = [*arguments, *(np.asarray(each, out.dtype) for each in scalars)]
        key = tuple(each.shape for each in arrays)
        if key not in self.compiled:
            self.compiled[key] = self.kernel.lower(*arrays).compile()
        is_read = any(np.shares_memory(out, each) for each in arguments)
        target = new_device_array(out.shape, out.dtype) if is_read else out
        self.compiled[key].run_into(arrays, target)
        if is_read:
            _copy_on_device(out, target)


def _copy_on_device(target: Array, source: Array) -> None:
    from riselang.native import cuda

    driver = cuda.driver()
    with driver.make_current():
        driver.copy_within(address(target), address(source), source.nbytes)


@dataclass(frozen=True)
class ProductOnDevice:
    """A matrix multiplication."""

    scop: Scop
    product: MatrixProduct
    options: Options

    @cached_property
    def _kernel(self) -> _DeviceKernel:
        term = build_program(self.product)
        return _DeviceKernel(term_kernel("product", term, float=self.options.float, loops=GPU))

    def _numbers(self, values: Values) -> Numbers:
        return parameter_numbers(Footprints(self.scop), values)

    def is_runnable(self, arrays: Arrays, values: Values) -> bool:
        """Whether the loops cover arrays, or parts of them that are contiguous."""
        numbers = self._numbers(values)
        if 0 in evaluate_lengths(self.product.ranges, numbers).values():
            return False
        parts = [self._part(factor, arrays, numbers) for factor in self.product.factors]
        return all(part.flags.c_contiguous for part in parts)

    def run(self, arrays: Arrays, values: Values) -> None:
        product, numbers = self.product, self._numbers(values)
        target, *factors = (
            self._as_matrix(factor, self._part(factor, arrays, numbers))
            for factor in product.factors
        )
        scalars = [values[part.variable] for part in scalar_factors(product)]
        inputs = factors if product.begins_with_zero else [target, *factors]
        if not product.batch:
            self._kernel.run(inputs, scalars, target)
            return
        for position in range(target.shape[0]):
            self._kernel.run([each[position] for each in inputs], scalars, target[position])

    def _part(self, factor: Factor, arrays: Arrays, numbers: Numbers) -> Array:
        ranges = [self.product.ranges[loop] for loop in factor.loops]
        slices = [evaluate_slice(each.first, each.length, numbers) for each in ranges]
        return arrays[factor.array][tuple(slices)]

    def _as_matrix(self, factor: Factor, part: Array) -> Array:
        """Return a part of an array with its groups of loops as dimensions."""
        product = self.product
        groups = group_order(factor, (product.batch, product.rows, product.columns, product.depth))
        assert groups is not None
        lengths = dict(zip(factor.loops, part.shape, strict=True))
        return part.reshape([prod(lengths[loop] for loop in group) for group in groups])


@dataclass(frozen=True)
class StatementsOnDevice:
    """Statements that are sliding windows."""

    scop: Scop
    steps: Sequence[StatementStep]
    options: Options

    @cached_property
    def _kernels(self) -> Sequence[_DeviceKernel]:
        return [
            _DeviceKernel(
                term_kernel("statement", step.lifting.term, float=self.options.float, loops=GPU)
            )
            for step in self.steps
        ]

    def _numbers(self, values: Values) -> Numbers:
        return parameter_numbers(Footprints(self.scop), values)

    def is_runnable(self, arrays: Arrays, values: Values) -> bool:
        numbers = self._numbers(values)
        for step in self.steps:
            if 0 in evaluate_lengths(step.lifting.structure.ranges, numbers).values():
                return False
            parts = [step.argument_part(each, arrays, numbers) for each in step.lifting.arrays]
            parts.append(_target_part(step, arrays, numbers))
            if not all(each.flags.c_contiguous for each in parts):
                return False
        return True

    def run(self, arrays: Arrays, values: Values) -> None:
        numbers = self._numbers(values)
        for step, kernel in zip(self.steps, self._kernels, strict=True):
            inputs = [step.argument_part(each, arrays, numbers) for each in step.lifting.arrays]
            scalars = [values[each.variable] for each in step.lifting.scalars]
            kernel.run(inputs, scalars, _target_part(step, arrays, numbers))


def _target_part(step: StatementStep, arrays: Arrays, numbers: Numbers) -> Array:
    target, slices = step.target_place(arrays, numbers)
    part: Any = target[slices]
    return part


DeviceStep = ProductOnDevice | StatementsOnDevice


def device_steps(scop: Scop, options: Options) -> list[DeviceStep | Scop]:
    """Return products and windows as patterns, with the loops between them; empty if there are no
    patterns."""
    if not is_separable(scop) or dependences(scop) is None:
        return []
    parts = separate_parts(scop)
    found = {part.names: step for part in parts if (step := _lift(scop, part, options))}

    def is_lifted(part: RegionPart) -> bool:
        return part.names in found

    merged = merge_loop_parts(parts, is_lifted)
    if not found or shares_local_variables(scop, merged, is_lifted):
        return []
    return [
        found.get(part.names) or part_region(scop, part, number)
        for number, part in enumerate(merged)
    ]


def _lift(scop: Scop, part: RegionPart, options: Options) -> DeviceStep | None:
    product = part.product
    if isinstance(product, MatrixProduct):
        is_whole = not product.half and is_permitted(product, options)
        is_known = has_known_scalars(scop, product)
        return ProductOnDevice(scop, product, options) if is_whole and is_known else None
    by_name = {each.statement.name: each for each in recognize_statements(scop)}
    recognition = by_name.get(part.names[0])
    if len(part.names) > 1 or product is not None or recognition is None:
        return None
    if recognition.tactic not in WINDOW_TACTICS or recognition.outer_loops:
        return None
    steps = statement_steps(scop, part.names, options)
    return None if steps is None else StatementsOnDevice(scop, tuple(steps.steps), options)
