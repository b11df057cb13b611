"""LU decomposition: Gaussian elimination with partial pivoting.

A reduction over the columns, whose state is the matrix, which the triangular factors overwrite, and
the indices of the swapped rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ScalarType, i64
from riselang.frontends.stablehlo.ops.triangular_solve import (
    first_position,
    index_array,
    replace_element,
)
from riselang.frontends.stablehlo.tensors import fill_array
from riselang.frontends.term_builder import Builder
from riselang.term.build import Node


@dataclass(frozen=True)
class LuDecomposition:
    """LU decomposition of matrices with these numbers of rows and columns."""

    builder: Builder
    scalar: ScalarType
    rows: int
    columns: int

    @property
    def steps(self) -> int:
        return min(self.rows, self.columns)

    def decompose(self, matrix: Node) -> Node:
        """Return the triangular factors in one matrix, and the pivot row of each step, counted from
        1."""
        builder = self.builder
        swaps = fill_array(builder, builder.literal(0, i64), [self.steps])

        def step(state: Node, k: Node) -> Node:
            matrix, swaps = builder.unpack_tuple(state, 2)
            p = self._find_pivot_row(k, matrix)
            swapped = builder.store_if_computed(self._swap_rows(k, p, matrix))
            number = builder.operation("arith.addi", [p, builder.literal(1, i64)], i64)
            taken = replace_element(builder, swaps, index_array(builder, self.steps), k, number)
            return builder.tuple([self._eliminate_column(k, swapped), taken])

        start = builder.tuple([matrix, swaps])
        return builder.reduce(step, start, index_array(builder, self.steps))

    def first_zero_pivot(self, matrix: Node) -> Node:
        """Return the first step whose pivot is zero, counted from 1; 0 if there is none."""
        builder = self.builder
        zero = builder.literal(0.0, self.scalar)
        return first_position(
            builder,
            self.steps,
            lambda k: builder.compare("eq", self._element_at(k, k, matrix), zero),
        )

    def _row_at(self, i: Node, matrix: Node) -> Node:
        return self.builder.at(self.builder.clamp_idx(self.rows, i), matrix)

    def _element_at(self, i: Node, j: Node, matrix: Node) -> Node:
        row = self._row_at(i, matrix)
        return self.builder.at(self.builder.clamp_idx(self.columns, j), row)

    def _find_pivot_row(self, k: Node, matrix: Node) -> Node:
        """Return the first row, from k on, with the largest magnitude in column k."""
        builder = self.builder

        def larger(state: Node, i: Node) -> Node:
            size, best = builder.unpack_tuple(state, 2)
            value = builder.operation("math.absf", [self._element_at(i, k, matrix)], self.scalar)
            is_larger = builder.compare("gt", value, size)
            is_below = builder.compare("ge", i, k)
            is_taken = builder.select(is_below, is_larger, is_below)
            return builder.tuple(
                [builder.select(is_taken, value, size), builder.select(is_taken, i, best)]
            )

        start = builder.tuple([builder.literal(-1.0, self.scalar), k])
        found = builder.reduce(larger, start, index_array(builder, self.rows))
        return builder.unpack_tuple(found, 2)[1]

    def _swap_rows(self, k: Node, p: Node, matrix: Node) -> Node:
        builder = self.builder

        def row(parts: Node) -> Node:
            i, own = builder.unpack_tuple(parts, 2)

            def element(parts: Node) -> Node:
                own, at_k, at_p = builder.unpack_tuple(parts, 3)
                other = builder.select(builder.compare("eq", i, p), at_k, own)
                return builder.select(builder.compare("eq", i, k), at_p, other)

            rows = [own, self._row_at(k, matrix), self._row_at(p, matrix)]
            return builder.map(element, builder.zip_all(rows))

        return builder.map(row, builder.zip(index_array(builder, self.rows), matrix))

    def _eliminate_column(self, k: Node, matrix: Node) -> Node:
        """Subtract multiples of row k from the rows below it, and store the factors in column k."""
        builder, zero = self.builder, self.builder.literal(0.0, self.scalar)
        pivot = self._element_at(k, k, matrix)
        is_zero = builder.compare("eq", pivot, zero)

        def row(parts: Node) -> Node:
            i, own = builder.unpack_tuple(parts, 2)
            first = builder.at(builder.clamp_idx(self.columns, k), own)
            quotient = builder.operation("arith.divf", [first, pivot], self.scalar)
            factor = builder.select(is_zero, first, quotient)

            def element(parts: Node) -> Node:
                j, value, above = builder.unpack_tuple(parts, 3)
                product = builder.operation("arith.mulf", [factor, above], self.scalar)
                rest = builder.operation("arith.subf", [value, product], self.scalar)
                right = builder.select(builder.compare("gt", j, k), rest, value)
                below = builder.select(builder.compare("eq", j, k), factor, right)
                return builder.select(builder.compare("gt", i, k), below, value)

            elements = [index_array(builder, self.columns), own, self._row_at(k, matrix)]
            return builder.map(element, builder.zip_all(elements))

        return builder.map(row, builder.zip(index_array(builder, self.rows), matrix))
