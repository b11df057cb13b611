"""Windows that are prefixes or suffixes of a dimension: their reductions are scans.

`jnp.cumsum` and similar functions are exported as a `reduce_window` whose window has as many
elements as the dimension, and whose padding is on one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.attributes import LiteralAttr
from riselang.frontends.stablehlo.ops.data_movement import permute_dimensions
from riselang.frontends.stablehlo.ops.window_views import WindowMove
from riselang.frontends.stablehlo.tensors import fill_array
from riselang.frontends.term_builder import BinaryFunction, Builder
from riselang.term.build import Constant, Node

NEUTRAL_STARTS = {
    "stablehlo.add": (0,), "stablehlo.xor": (0,), "stablehlo.multiply": (0, 1),
}  # fmt: skip
"""The starts that may be combined with themselves without a change."""
IDEMPOTENT_OPS = ("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or")
"""The ops for which this holds for any start."""
MIN_ROW = 8
"""The minimum number of elements of rows that are combined as a whole, in vectors."""


@dataclass(frozen=True)
class CumulativeWindow:
    """Windows that are the prefixes of one dimension, or its suffixes."""

    dimension: int
    is_reversed: bool

    def scan(self, builder: Builder, xs: Node, shape: Sequence[int], start: Node,
             step: BinaryFunction) -> Node:  # fmt: skip
        """Return the reductions of all windows."""
        rank, inner = len(shape), tuple(shape[self.dimension + 1 :])
        if prod(inner) >= MIN_ROW or not inner:
            return builder.map_at(
                self.dimension, lambda each: self._scan_rows(builder, each, inner, start, step), xs
            )
        order = [*(k for k in range(rank) if k != self.dimension), self.dimension]
        scanned = builder.map_at(
            rank - 1, lambda each: self._scan_rows(builder, each, (), start, step),
            permute_dimensions(builder, xs, order),
        )  # fmt: skip
        return permute_dimensions(builder, scanned, [order.index(k) for k in range(rank)])

    def _scan_rows(
        self, builder: Builder, rows: Node, shape: Sequence[int], start: Node, step: BinaryFunction
    ) -> Node:
        """Scan an array whose elements have the given shape."""

        def combine(total: Node, row: Node) -> Node:
            if not shape:
                return step(total, row)
            return builder.map_pairs_at(
                len(shape), lambda pair: step(*builder.unpack_tuple(pair, 2)), total, row
            )

        first = fill_array(builder, start, shape)
        if not self.is_reversed:
            return builder.scan(combine, first, rows)
        return builder.reverse(builder.scan(combine, first, builder.reverse(rows)))


def cumulative_window(moves: Sequence[WindowMove], shape: Sequence[int]) -> CumulativeWindow | None:
    """Return the windows if they are prefixes or suffixes of a dimension; else None."""
    scanned = [k for k, move in enumerate(moves) if move.size > 1]
    is_plain = all(
        move.stride == move.dilation == move.base_dilation == 1
        and (move.size > 1 or move.padding == (0, 0))
        for move in moves
    )
    if len(scanned) != 1 or not is_plain:
        return None
    (dimension,) = scanned
    move, border = moves[dimension], moves[dimension].size - 1
    if move.size < shape[dimension] or move.padding not in ((border, 0), (0, border)):
        return None
    return CumulativeWindow(dimension, move.padding == (0, border))


def ignores_padding(op: str, start: Node) -> bool:
    """Whether padding with the start of a reduction does not change its result."""
    if op in IDEMPOTENT_OPS:
        return True
    number = start.number if isinstance(start, Constant) else None
    value = number.number if isinstance(number, LiteralAttr) else number
    return value in NEUTRAL_STARTS.get(op, ())
