"""Attention on GPUs: the softmax in one pass over the keys, with products on tensor cores."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, bf16, f16
from riselang.nat import Nat
from riselang.rewrite.combinators import choice, try_
from riselang.rewrite.core import CONDITION, Failure, Path, Result, Setting, Strategy, Success
from riselang.rewrite.paths import subterm_at
from riselang.rewrite.registry import program_strategy, schedule
from riselang.rewrite.rules.algorithmic import reduce_map_fusion
from riselang.rewrite.rules.attention import (
    attend_causally_with_tensor_cores,
    attend_with_tensor_cores,
    softmax_in_one_pass,
)
from riselang.rewrite.rules.lowering import map_over_blocks_y, map_over_blocks_z
from riselang.rewrite.rules.tensor_cores import map_fragment
from riselang.rewrite.rules.weighted_sums import (
    guarded_sums_in_one_pass,
    weighted_sums_in_one_pass,
)
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import inside, normalize, run_at, top_down
from riselang.term.nodes import Lambda, Pattern, Term, has_pattern, subterms

FUNCTION_BODY = (0, 1, 0)
"""The path of the body of a map's function."""
OVER_BLOCKS = (map_over_blocks_y, map_over_blocks_z)
"""The rules for the maps around attention, such as those over heads and batches."""
ROW_TILE, COLUMN_TILE = 16, 8
LENGTH = 64
"""The number of elements of which the lengths of queries and values are multiples."""


@dataclass(frozen=True)
class AttentionTile:
    """The tile of queries of a block: its warps, their tiles of 16 queries, and its steps."""

    step: int
    stages: int
    warps: int
    row_tiles: int

    @property
    def rows(self) -> int:
        return self.warps * self.row_tiles * ROW_TILE

    def __str__(self) -> str:
        return f"attention in tiles of {self.rows} queries and {self.step} keys on tensor cores"

    def strategy(self) -> Strategy:
        return attention_tiles(self.step, self.stages, self.warps, self.row_tiles)


TILES = (AttentionTile(64, 2, 4, 2), AttentionTile(64, 2, 4, 1))
"""The tiles to choose from: 128 queries if there are enough of them, and 64."""
MIN_BLOCKS = 128
"""The minimum number of blocks for a size of tiles: about as many as a GPU has multiprocessors."""


@schedule
def attention_tiles(step: int, stages: int, warps: int, row_tiles: int) -> Strategy:
    """Computes attention in one pass over the keys, `step` of them at a time, on tensor cores; each
    of the `warps` of a block has `row_tiles` tiles of 16 queries."""
    return _AttentionTiles(AttentionTile(step, stages, warps, row_tiles))


@dataclass(frozen=True, repr=False)
class _AttentionTiles(Strategy):
    tile: AttentionTile

    def run(self, term: Term, setting: Setting) -> Result:
        columns = _result_length(term)
        if columns is None or columns % COLUMN_TILE:
            return Failure(self, "expected a map over queries", term, closeness=CONDITION)
        tile = self.tile
        sizes = (tile.warps, tile.row_tiles, columns // COLUMN_TILE)
        attend = choice(
            attend_with_tensor_cores(tile.step, tile.stages, *sizes),
            attend_causally_with_tensor_cores(tile.step, tile.stages, *sizes),
        )
        strategy = (
            one_pass
            >> attend
            >> top_down(map_fragment(tile.warps, 1, tile.row_tiles, columns // COLUMN_TILE))
        )
        return strategy.run(term, setting)

    def __str__(self) -> str:
        tile = self.tile
        return f"attention_tiles({tile.step}, {tile.stages}, {tile.warps}, {tile.row_tiles})"


one_pass: Strategy = try_(normalize(reduce_map_fusion)) >> inside(
    choice(softmax_in_one_pass, weighted_sums_in_one_pass, guarded_sums_in_one_pass)
)
"""Computes the softmax and the weighted sums of each query in one pass."""


def _result_length(term: Term) -> int | None:
    """Return the length of the rows that a map computes."""
    type = term.type
    if pattern_arguments(term, "map") is None or not isinstance(type, ArrayType):
        return None
    row = type.element
    if not isinstance(row, ArrayType) or not row.length.is_constant:
        return None
    return row.length.constant


def attention_strategy(part: Term, setting: Setting) -> Strategy | None:
    """Return the strategy for attention, or for several of the same size, as a nest of maps."""
    if not setting.tensor_unit or not has_pattern(part, "reduce"):
        return None
    path: Path = ()
    outer: list[Path] = []
    batch = 1
    while len(outer) <= len(OVER_BLOCKS):
        term = subterm_at(part, path)
        arguments = pattern_arguments(term, "map")
        if arguments is None or not isinstance(term.type, ArrayType):
            return None
        count = term.type.length
        if isinstance(one_pass.run(term, setting), Success):
            tile = _choose_tile(count, batch)
            if tile is None or not _is_supported(tile.strategy().run(term, setting)):
                return None
            return _OverBlocks(path, tuple(outer), tile.strategy())
        if not isinstance(arguments[0], Lambda) or not count.is_constant:
            return None
        outer.append(path)
        path, batch = (*path, *FUNCTION_BODY), batch * count.constant
    return None


def _is_supported(attention: Result) -> bool:
    """Whether tensor cores can compute attention of this type and these sizes."""
    if not isinstance(attention, Success):
        return False
    pattern = next(
        part
        for part in subterms(attention.term)
        if isinstance(part, Pattern) and part.spec.name == "tensorAttention"
    )
    keys, depth, columns = (pattern.argument(name) for name in ("n", "k", "tn"))
    multiples = ((keys, TILES[0].step), (depth, LENGTH), (columns, LENGTH // COLUMN_TILE))
    return pattern.argument("s") in (bf16, f16) and all(
        isinstance(size, Nat) and size.is_constant and size.constant % multiple == 0
        for size, multiple in multiples
    )


def _choose_tile(count: Nat, batch: int) -> AttentionTile | None:
    """Return the largest tile of which attention has enough, if any."""
    if not count.is_constant:
        return None
    fitting = [tile for tile in TILES if count.constant % tile.rows == 0]
    large = (tile for tile in fitting if count.constant // tile.rows * batch >= MIN_BLOCKS)
    return next(large, fitting[-1] if fitting else None)


@dataclass(frozen=True, repr=False)
class _OverBlocks(Strategy):
    """Computes attention in a nest of maps, which are mapped to further dimensions of blocks."""

    path: Path
    outer: tuple[Path, ...]
    attention: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        rules = zip(reversed(self.outer), OVER_BLOCKS, strict=False)
        result: Result = Success(term, ())
        for path, strategy in ((self.path, self.attention), *rules):
            assert isinstance(result, Success)
            part = subterm_at(result.term, path)
            following = run_at(strategy, result.term, path, part, setting)
            if isinstance(following, Failure):
                return following
            result = Success(following.term, (*result.steps, *following.steps))
        return result

    def __str__(self) -> str:
        return str(self.attention)


attention = program_strategy(
    "gpu.attention",
    top_down(TILES[0].strategy()),
    "Computes attention in one pass over the keys on tensor cores, in tiles of 128 queries.",
)
