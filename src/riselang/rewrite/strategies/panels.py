"""Multiplications of matrices that are stored in panels, the format that packing produces."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType
from riselang.rewrite.combinators import seq, try_
from riselang.rewrite.core import Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.lowering import parallel_as_map
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.matmul_shapes import arguments_in_body, bytes_of, match_product
from riselang.rewrite.strategies.schedules import (
    interchange,
    keep,
    parallel,
    reorder,
    sequential,
    simplify,
    tile,
    vectorize,
)
from riselang.rewrite.strategies.tile_costs import can_load_rows_in_vectors
from riselang.rewrite.strategies.tile_sizes import register_count
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.rewrite.term_parts import pattern_arguments
from riselang.support.machine import Machine
from riselang.term.nodes import Bound, Term


@schedule
def panel_tiles(
    rows: int, columns: int, lanes: int, *, kept: bool = False, in_parallel: bool = True
) -> Strategy:
    """Multiplies matrices that are stored in panels of `rows` rows and `columns` columns, in
    register tiles, without packing."""
    steps: list[Strategy] = [
        try_(parallel_as_map),
        tile(rows, columns) @ loop(1),
        reorder(1, 2, 5, 3, 4) @ loop(1),
        vectorize(lanes) @ loop(3),
    ]
    if kept:
        steps.append(keep(lanes) @ loop(3))
    # The panel of columns stays in the L1 cache during the loop over all rows.
    steps += [interchange() @ loop(1), (parallel() if in_parallel else sequential()) @ loop(1)]
    steps += [sequential() @ loop(2), try_(simplify())]
    return seq(*steps)


@dataclass(frozen=True)
class Panels:
    """The tile of a matrix multiplication of panels: `x |> map(transpose) |> join`."""

    rows: int
    columns: int
    bytes: int
    shape: MatmulShape | None
    """The shape, if all sizes are constants."""

    def fits(self, machine: Machine) -> bool:
        lanes = machine.lanes(self.bytes)
        vectors, remainder = divmod(self.columns, lanes)
        return (
            not remainder
            and register_count(self.rows, vectors, lanes, machine) <= machine.registers
        )

    def strategy(self, machine: Machine) -> Strategy:
        lanes = machine.lanes(self.bytes)
        is_parallel = self.shape is None or self.shape.is_parallel
        kept = can_load_rows_in_vectors(self.rows, lanes, machine)
        return panel_tiles(self.rows, self.columns, lanes, kept=kept, in_parallel=is_parallel)

    def __str__(self) -> str:
        return f"panels of {self.rows} rows and of {self.columns} columns, without packing"


def panels_of(term: Term) -> Panels | None:
    """Return the panels of a matrix multiplication; None if its matrices are not in panels."""
    product = match_product(term)
    if product is None or not product.is_bare or product.has_matrix:
        return None
    rows, columns = _panel_rows(product.rows), _panel_rows(product.columns)
    if rows is None or columns is None:
        return None
    return Panels(rows, columns, bytes_of(product.type), product.shape)


def _panel_rows(matrix: Term) -> int | None:
    """Return the rows of a panel in `x |> map(transpose) |> join`, for a stored `x`."""
    join_arguments = pattern_arguments(matrix, "join")
    map_arguments = None if join_arguments is None else pattern_arguments(join_arguments[0], "map")
    operands = None if map_arguments is None else arguments_in_body(map_arguments[0], "transpose")
    if map_arguments is None or operands is None or not isinstance(map_arguments[1], Bound):
        return None
    panel = map_arguments[1].type
    if not isinstance(operands[0], Bound) or operands[0].index or not isinstance(panel, ArrayType):
        return None
    row = panel.element
    if not isinstance(row, ArrayType) or not isinstance(row.element, ArrayType):
        return None
    length = row.element.length
    return length.constant if length.is_constant and length.constant > 0 else None
