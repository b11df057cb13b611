"""Matrix multiplications that run as RISE programs, compiled for the sizes of a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from riselang.api.kernel import TermKernel
from riselang.api.load import term_kernel
from riselang.frontends.c.calling import Arrays, Values
from riselang.frontends.c.lift.choices import choose_for_product
from riselang.frontends.c.lift.costs import LOOP_CODE
from riselang.frontends.c.lift.product_programs import build_program, scalar_factors
from riselang.frontends.c.lift.triangular_product import Load, TriangularProduct
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

    def is_profitable(self, arrays: Arrays) -> bool:
        """Whether patterns are faster than loops at the sizes of a call."""
        choice = choose_for_product(
            self.scop, self.product, self.options, self._loop_lengths(arrays)
        )
        return choice.implementation is not LOOP_CODE

    def _loop_lengths(self, arrays: Arrays) -> dict[str, int]:
        product = self.product
        return {
            loop: length
            for factor in (product.target, product.left, product.right)
            for loop, length in zip(factor.loops, arrays[factor.array].shape, strict=True)
        }

    def run(self, arrays: Arrays, values: Values) -> None:
        product = self.product
        if 0 in self._loop_lengths(arrays).values():
            self._run_empty(arrays)
            return
        if product.half:
            self._run_half(arrays, values)
            return
        numbers = [values[part.variable] for part in scalar_factors(product)]
        for target, left, right in self._batch_matrices(arrays):
            if not product.begins_with_zero:
                target[...] = self._kernel(target, left, right, *numbers)
            elif np.shares_memory(target, left) or np.shares_memory(target, right):
                target[...] = self._kernel(left, right, *numbers)
            else:
                self._kernel(left, right, *numbers, out=target)
        if isinstance(self.computation, RowProduct):
            (target, _, _), *_ = self._batch_matrices(arrays)
            row = arrays[self.computation.row.array]
            row[...] = target[-1].reshape(row.shape)

    def _run_empty(self, arrays: Arrays) -> None:
        """Handle products with an empty contracted dimension, or an empty result."""
        target = arrays[self.product.target.array]
        if self.product.begins_with_zero:
            target[...] = 0
        if isinstance(self.computation, RowProduct) and target.size:
            arrays[self.computation.row.array][...] = 0

    def _batch_matrices(self, arrays: Arrays) -> Iterator[tuple[Array, Array, Array]]:
        """Yield target, left and right, each with two dimensions, for each batch element."""
        product = self.product
        factors = (product.target, product.left, product.right)
        matrices = [self._as_matrix(factor, arrays) for factor in factors]
        if not product.batch:
            yield matrices[0], matrices[1], matrices[2]
            return
        yield from zip(matrices[0], matrices[1], matrices[2], strict=True)

    def _as_matrix(self, factor: Factor, arrays: Arrays) -> Array:
        """Return an array with its groups of loops as dimensions."""
        product, array = self.product, arrays[factor.array]
        groups = group_order(factor, (product.batch, product.rows, product.columns, product.depth))
        assert groups is not None
        lengths = dict(zip(factor.loops, array.shape, strict=True))
        return array.reshape([prod(lengths[loop] for loop in group) for group in groups])

    def _run_half(self, arrays: Arrays, values: Values) -> None:
        """Compute the elements on one side of the diagonal."""
        product = self.product
        left, right = (
            self._rows_of_factor(factor, arrays) for factor in (product.left, product.right)
        )
        pairs = [(left, right), (right, left)] if product.is_both else [(left, right)]
        scale = prod(_scalar_value(part, values) for part in product.scale)
        self._triangular_product.run(arrays[product.target.array], pairs, scale)

    def _rows_of_factor(self, factor: Factor, arrays: Arrays) -> Array:
        """Return a factor with the contracted dimension as the inner one."""
        array = arrays[factor.array]
        is_turned = factor.loops[-1] not in self.product.depth
        return np.ascontiguousarray(array.T) if is_turned else array


def _scalar_value(part: Any, values: Values) -> float:
    return float(part.value) if isinstance(part, Literal) else float(values[part.variable])
