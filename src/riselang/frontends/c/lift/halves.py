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
from riselang.frontends.c.lift.programs import panel_program, panels_program
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.tactics.products import Product
from riselang.rewrite.core import Strategy
from riselang.rewrite.strategies.matmul import goto
from riselang.rewrite.strategies.tile_sizes import Shape, chosen_tiles
from riselang.runtime.arrays import Array, address
from riselang.support.lazy import cached_property
from riselang.support.machine import this_machine
from riselang.term.nodes import Term

Load = Callable[[Sequence[Scop]], Mapping[str, CFunction]]
"""Compiles regions as loops."""
LEAST_ROWS = 48
"""The least rows of a block: few, since half of the block on the diagonal is wasted."""
LARGE = 1024
"""A matrix size whose tiles suit all large matrices."""
ADD = Path(__file__).parent / "add_half.c"


@dataclass(frozen=True)
class HalfProduct:
    """Computes a triangular half of a matrix multiplication."""

    product: Product
    load: Load

    @property
    def _is_lower(self) -> bool:
        return self.product.half == "lower"

    @cached_property
    def _tile(self) -> tuple[int, int]:
        """The rows and columns of a panel."""
        size = self.product.target.array.type.bits // 8
        tiles = chosen_tiles(Shape(LARGE, LARGE, LARGE, size), this_machine())
        return tiles.rows, tiles.columns

    @cached_property
    def _rows(self) -> int:
        """The rows of a block: whole panels of both matrices."""
        panels = lcm(*self._tile)
        return -(-LEAST_ROWS // panels) * panels

    @cached_property
    def _multiply(self) -> TermKernel:
        return _for_all_sizes(panels_program(self.product, *self._tile), goto)

    @cached_property
    def _copies(self) -> Mapping[int, TermKernel]:
        """Programs that pack rows into panels, by the rows of a panel."""
        return {size: _for_all_sizes(panel_program(self.product, size)) for size in self._tile}

    @cached_property
    def _add(self) -> CFunction:
        macros = {
            "ELEMENT": self.product.target.array.type,
            "SIDE": "<=" if self._is_lower else ">=",
        }
        scop = CFile.of(ADD.read_text("utf-8"), ADD.name, defines=macros).whole()
        return self.load([scop])[scop.name]

    def run(self, target: Array, pairs: Sequence[tuple[Array, Array]], scale: float) -> None:
        """Add the products of pairs of matrices, both with the contracted dimension as the inner
        one, to one half of `target`."""
        rows, (height, width) = self._rows, self._tile
        count = -(-len(target) // rows)
        depth = pairs[0][0].shape[1]
        columns = [np.empty((count * rows // width, depth, width), target.dtype) for _ in pairs]
        for block in range(count) if self._is_lower else reversed(range(count)):
            first = block * rows
            sums: Array | None = None
            for (left, right), panels in zip(pairs, columns, strict=True):
                here = panels[first // width : (first + rows) // width]
                self._in_panels(right, first, width, out=here)
                part = self._in_panels(left, first, height)
                known = panels[: (first + rows) // width] if self._is_lower else (
                    panels[first // width :]
                )  # fmt: skip
                found = self._multiply(part, known)
                sums = found if sums is None else np.add(sums, found, out=sums)
            assert sums is not None
            self._add_block(target, sums, first, scale)

    def _in_panels(self, matrix: Array, first: int, size: int, out: Array | None = None) -> Array:
        """Pack a block of rows into panels of a size; missing rows at the end are zero."""
        block = matrix[first : first + self._rows]
        if len(block) < self._rows:
            block = np.pad(block, ((0, self._rows - len(block)), (0, 0)))
        panels = block.reshape(-1, size, block.shape[1])
        return self._copies[size](panels, out=out)

    def _add_block(self, target: Array, sums: Array, first: int, scale: float) -> None:
        # The arrays are new, or were checked before: no checks are needed.
        column = 0 if self._is_lower else first
        places = (address(target), address(sums))
        self._add.run((len(target), *sums.shape, first, column, scale, *places), {}, {})


def _for_all_sizes(term: Term, strategy: Strategy | None = None) -> TermKernel:
    kernel = term_kernel("product", term, strategy=strategy, float="relaxed")
    kernel.symbolic = True
    return kernel
