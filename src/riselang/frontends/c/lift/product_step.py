"""Matrix multiplications that run as RISE programs, compiled for the sizes of a call."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from riselang.api.kernel import TermKernel
from riselang.api.load import term_kernel
from riselang.frontends.c.calling import Arrays, Values
from riselang.frontends.c.lift.call_numbers import (
    Numbers,
    evaluate_lengths,
    evaluate_slice,
    parameter_numbers,
)
from riselang.frontends.c.lift.choices import choose_for_product
from riselang.frontends.c.lift.costs import LOOP_CODE
from riselang.frontends.c.lift.product_programs import build_program, scalar_factors
from riselang.frontends.c.lift.triangular_product import Load, TriangularProduct
from riselang.frontends.c.model.footprints import Footprints
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.syntax import Literal
from riselang.frontends.c.tactics.matching import Factor
from riselang.frontends.c.tactics.matrix_products import MatrixProduct, group_order
from riselang.frontends.c.tactics.row_products import RowProduct
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class ProductStep:
    """A product of a region, and the program that computes it."""

    scop: Scop
    computation: MatrixProduct | RowProduct
    options: Options
    load: Load

    @property
    def product(self) -> MatrixProduct:
        return (
            self.computation.product
            if isinstance(self.computation, RowProduct)
            else self.computation
        )

    @cached_property
    def _kernel(self) -> TermKernel:
        return term_kernel("product", build_program(self.product), float=self.options.float)

    @cached_property
    def _triangular_product(self) -> TriangularProduct:
        return TriangularProduct(self.product, self.load)

    @cached_property
    def _footprints(self) -> Footprints:
        return Footprints(self.scop)

    def is_profitable(self, values: Values) -> bool:
        """Whether patterns are faster than loops at the sizes of a call."""
        lengths = evaluate_lengths(self.product.ranges, parameter_numbers(self._footprints, values))
        choice = choose_for_product(self.scop, self.product, self.options, lengths)
        return choice.implementation is not LOOP_CODE

    def run(self, arrays: Arrays, values: Values) -> None:
        product, numbers = self.product, parameter_numbers(self._footprints, values)
        target, left, right = (self._part(factor, arrays, numbers) for factor in product.factors)
        row = None
        if isinstance(self.computation, RowProduct):
            row = self._part(self.computation.row, arrays, numbers)
        if 0 in evaluate_lengths(product.ranges, numbers).values():
            self._run_empty(target, row)
        elif product.half:
            self._run_half(target, left, right, values)
        else:
            self._run_whole(target, left, right, values)
            if row is not None:
                row[...] = target[(-1,) * len(product.rows)]

    def _part(self, factor: Factor, arrays: Arrays, numbers: Numbers) -> Array:
        """Return the part of an array that the loops cover."""
        ranges = [self.product.ranges[loop] for loop in factor.loops]
        slices = [evaluate_slice(each.first, each.length, numbers) for each in ranges]
        return arrays[factor.array][tuple(slices)]

    def _run_empty(self, target: Array, row: Array | None) -> None:
        """Handle products with an empty contracted dimension, or an empty result."""
        if self.product.begins_with_zero:
            target[...] = 0
        if row is not None and target.size:
            row[...] = 0

    def _run_whole(self, target: Array, left: Array, right: Array, values: Values) -> None:
        """Compute all elements; programs take contiguous matrices."""
        product = self.product
        scalars = [values[part.variable] for part in scalar_factors(product)]
        start, *factors = (
            np.asarray(self._as_matrix(factor, part), order="C")
            for factor, part in zip(product.factors, (target, left, right), strict=True)
        )
        if not product.batch:
            start, factors = start[None], [each[None] for each in factors]
        result = start if product.begins_with_zero else np.empty_like(start)
        if any(np.shares_memory(result, each) for each in factors):
            result = np.empty_like(start)
        for out, sums, *matrices in zip(result, start, *factors, strict=True):
            inputs = matrices if product.begins_with_zero else [sums, *matrices]
            self._kernel(*inputs, *scalars, out=out)
        if not np.shares_memory(result, target):
            target[...] = result.reshape(target.shape)

    def _as_matrix(self, factor: Factor, part: Array) -> Array:
        """Return a part of an array with its groups of loops as dimensions."""
        product = self.product
        groups = group_order(factor, (product.batch, product.rows, product.columns, product.depth))
        assert groups is not None
        lengths = dict(zip(factor.loops, part.shape, strict=True))
        return part.reshape([prod(lengths[loop] for loop in group) for group in groups])

    def _run_half(self, target: Array, left: Array, right: Array, values: Values) -> None:
        """Compute the elements on one side of the diagonal."""
        product = self.product
        one, other = (
            self._rows_of_factor(factor, part)
            for factor, part in ((product.left, left), (product.right, right))
        )
        pairs = [(one, other), (other, one)] if product.is_both else [(one, other)]
        scale = prod(_scalar_value(part, values) for part in product.scale)
        sums = np.asarray(target, order="C")
        self._triangular_product.run(sums, pairs, scale)
        if sums is not target:
            target[...] = sums

    def _rows_of_factor(self, factor: Factor, part: Array) -> Array:
        """Return a factor with the contracted dimension as the inner one."""
        is_turned = factor.loops[-1] not in self.product.depth
        return np.asarray(part.T if is_turned else part, order="C")


def _scalar_value(part: Any, values: Values) -> float:
    return float(part.value) if isinstance(part, Literal) else float(values[part.variable])
