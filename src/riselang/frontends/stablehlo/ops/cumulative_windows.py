"""Windows that are prefixes or suffixes of a dimension: their reductions are scans.

`jnp.cumsum`, `lax.cumlogsumexp` and similar functions are exported as a `reduce_window` whose
window has as many elements as the dimension, and whose padding is on one side. The reductions of
prefixes are those of a scan if combining the start with itself does not change it, since the
padding comes first. Suffixes are combined from their end: StableHLO does not specify how the
elements of a reduction are associated if the start is neutral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.types import ScalarType
from riselang.frontends.stablehlo.ops.window_views import WindowMove
from riselang.frontends.stablehlo.tensors import (
    fill_array,
    permute_dimensions,
)
from riselang.frontends.term_builder import BinaryFunction, Builder
from riselang.interpreter.evaluate import run_term
from riselang.native.mlir.stablehlo_graph import GraphBlock
from riselang.term.build import Constant, Node
from riselang.term.finish import finish

IDEMPOTENT_OPS = ("stablehlo.maximum", "stablehlo.minimum", "stablehlo.and", "stablehlo.or")
"""The ops that combine any start with itself without a change."""
SAMPLES = (0, 1)
"""Numbers of any type that a neutral start does not change."""
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
            first, second = (row, total) if self.is_reversed else (total, row)
            if not shape:
                return step(first, second)
            return builder.map_pairs_at(
                len(shape), lambda pair: step(*builder.unpack_tuple(pair, 2)), first, second
            )

        initial = fill_array(builder, start, shape)
        if not self.is_reversed:
            return builder.scan(combine, initial, rows)
        return builder.reverse(builder.scan(combine, initial, builder.reverse(rows)))


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


def ignores_padding(
    region: GraphBlock, start: Node, step: BinaryFunction, *, is_neutral: bool
) -> bool:
    """Whether padding with the start of a reduction does not change its result.

    If it has to be neutral, it must not change some other numbers either.
    """
    if region.operations[0].name in IDEMPOTENT_OPS and len(region.operations) == 2:
        return True
    type = start.type
    if not isinstance(start, Constant) or not isinstance(type, ScalarType):
        return False
    numbers = SAMPLES if is_neutral else ()
    others = [Constant(type, literal(number, type), scope=start.scope) for number in numbers]
    return all(
        _evaluate(step(first, second)) == _evaluate(other)
        for other in (start, *others)
        for first, second in ((start, other), (other, start))
    )


def _evaluate(node: Node) -> str:
    """Return a number that depends on no variable as text, which tells zeros apart by sign."""
    return repr(run_term(finish(node), []))
