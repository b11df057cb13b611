"""A triangular half of a matrix multiplication, by blocks of rows.

Both matrices are packed into panels once, each row when it is first needed. A block of rows
multiplies with all columns up to its diagonal, by a RISE program for any sizes; the few elements
that it computes beyond the diagonal are dropped when the sums are added. These loops are C, like
any others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from pathlib import Path

import numpy as np

from riselang.api.kernel import TermKernel
from riselang.api.load import term_kernel
from riselang.frontends.c.calling import CFunction
from riselang.frontends.c.file import CFile
from riselang.frontends.c.lift.product_programs import build_packing_program, build_panels_program
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.matrix_products import MatrixProduct
from riselang.rewrite.core import Strategy
from riselang.rewrite.strategies.matmul import goto
from riselang.rewrite.strategies.tile_sizes import choose_tiles
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.runtime.arrays import Array, address
from riselang.support.lazy import cached_property
from riselang.support.machine import this_machine
from riselang.term.nodes import Term

Load = Callable[[Sequence[Scop]], Mapping[str, CFunction]]
"""Compiles regions as loops."""
MIN_BLOCK_ROWS = 48
"""The least rows of a block: few, since half of the block on the diagonal is wasted."""
LARGE_SIZE = 1024
"""A matrix size whose tiles suit all large matrices."""
ADD_SOURCE = Path(__file__).parent / "add_half.c"


@dataclass(frozen=True)
class TriangularProduct:
    """Computes a triangular half of a matrix multiplication."""

    product: MatrixProduct
    load: Load

    @property
    def _is_lower(self) -> bool:
        return self.product.half == "lower"

    @cached_property
    def _panel_shape(self) -> tuple[int, int]:
        """The rows and columns of a panel."""
        size = self.product.target.array.type.bits // 8
        shape = MatmulShape(LARGE_SIZE, LARGE_SIZE, LARGE_SIZE, size)
        tiles = choose_tiles(shape, this_machine(), max_multiple=2 * MIN_BLOCK_ROWS)
        return tiles.rows, tiles.columns

    @cached_property
    def _block_rows(self) -> int:
        """The rows of a block: whole panels of both matrices."""
        panels = lcm(*self._panel_shape)
        return -(-MIN_BLOCK_ROWS // panels) * panels

    @cached_property
    def _multiply_kernel(self) -> TermKernel:
        return _make_kernel(build_panels_program(self.product, *self._panel_shape), goto)

    @cached_property
    def _packing_kernels(self) -> Mapping[int, TermKernel]:
        """Programs that pack rows into panels, by the rows of a panel."""
        return {
            size: _make_kernel(build_packing_program(self.product, size))
            for size in self._panel_shape
        }

    @cached_property
    def _add_function(self) -> CFunction:
        macros = {
            "ELEMENT": self.product.target.array.type,
            "SIDE": "<=" if self._is_lower else ">=",
        }
        scop = CFile.parse_text(
            ADD_SOURCE.read_text("utf-8"), ADD_SOURCE.name, defines=macros
        ).model_function()
        return self.load([scop])[scop.name]

    def run(self, target: Array, pairs: Sequence[tuple[Array, Array]], scale: float) -> None:
        """Add the products of pairs of matrices, both with the contracted dimension as the inner
        one, to one half of `target`."""
        rows, (height, width) = self._block_rows, self._panel_shape
        count = -(-len(target) // rows)
        depth = pairs[0][0].shape[1]
        columns = [np.empty((count * rows // width, depth, width), target.dtype) for _ in pairs]
        for block in range(count) if self._is_lower else reversed(range(count)):
            first = block * rows
            sums: Array | None = None
            for (left, right), panels in zip(pairs, columns, strict=True):
                here = panels[first // width : (first + rows) // width]
                self._pack_panels(right, first, width, out=here)
                part = self._pack_panels(left, first, height)
                known = panels[: (first + rows) // width] if self._is_lower else (
                    panels[first // width :]
                )  # fmt: skip
                found = self._multiply_kernel(part, known)
                sums = found if sums is None else np.add(sums, found, out=sums)
            assert sums is not None
            self._add_block(target, sums, first, scale)

    def _pack_panels(self, matrix: Array, first: int, size: int, out: Array | None = None) -> Array:
        """Pack a block of rows into panels of a size; missing rows at the end are zero."""
        block = matrix[first : first + self._block_rows]
        if len(block) < self._block_rows:
            block = np.pad(block, ((0, self._block_rows - len(block)), (0, 0)))
        panels = block.reshape(-1, size, block.shape[1])
        return self._packing_kernels[size](panels, out=out)

    def _add_block(self, target: Array, sums: Array, first: int, scale: float) -> None:
        # The arrays are new, or were checked before: no checks are needed.
        column = 0 if self._is_lower else first
        addresses = (address(target), address(sums))
        self._add_function.run((len(target), *sums.shape, first, column, scale, *addresses), {}, {})


def _make_kernel(term: Term, strategy: Strategy | None = None) -> TermKernel:
    kernel = term_kernel("product", term, strategy=strategy, float="relaxed")
    kernel.symbolic = True
    return kernel
