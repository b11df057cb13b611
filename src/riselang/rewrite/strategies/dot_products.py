"""Matrix multiplications with the CPU's instructions for dot products of narrow numbers.

Tiles are computed by `mma`. The columns are packed once, in groups of as many elements as an
instruction adds; the rows are packed in blocks that stay in a cache.
"""

from __future__ import annotations

from collections.abc import Mapping

from riselang.dialects.rise.dot_units import DotUnit, dot_units_of
from riselang.dialects.rise.types import RiseType, element_of, i8, i16, is_float
from riselang.rewrite.combinators import choice, seq, try_
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.algorithmic import map_fusion, zip_of_map_first, zip_of_map_second
from riselang.rewrite.rules.dot_products import (
    map_paired_rows_first,
    map_rows_first,
    multiply_tile,
    pack_chunks,
    pack_groups,
    widen_bytes,
)
from riselang.rewrite.rules.lowering import (
    map_as_loop,
    map_in_parallel,
    parallel_as_map,
)
from riselang.rewrite.selectors import loop
from riselang.rewrite.side_conditions import may_reorder
from riselang.rewrite.strategies.accumulate_tiles import columns_of_block
from riselang.rewrite.strategies.accumulators import pad_and_tile
from riselang.rewrite.strategies.epilogues import (
    at_columns,
    at_sums,
    reduction_in,
    sums_before_epilogue,
)
from riselang.rewrite.strategies.matmul_shapes import arguments_in_body, bytes_of, match_product
from riselang.rewrite.strategies.schedules import (
    SIMPLIFICATIONS,
    hoist,
    parallel,
    sequential,
    split,
)
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, inside, normalize, top_down
from riselang.support.machine import Machine
from riselang.term.multiply_add import is_multiply_add
from riselang.term.nodes import Term
from riselang.term.substitution import mentions

MAX_BLOCK = 16
"""The maximum number of tiles in a block of rows."""
MIN_ROWS = 4
"""The minimum number of rows for which packing the columns pays."""


WIDENED: Mapping[RiseType, RiseType] = {i8: i16}
"""The type to which elements are converted if no instruction multiplies their own."""
_rows_first: Strategy = choice(map_rows_first, map_paired_rows_first)
widened_operands: Strategy = seq(
    try_(parallel_as_map), top_down(widen_bytes), inside(_rows_first), _rows_first
)
"""Converts the bytes of both operands before they are multiplied."""

_fuse_columns = choice(
    map_fusion, argument(choice(zip_of_map_first, zip_of_map_second)) >> map_fusion
)
"""Computes the views of packed columns in the loop over them, also if they are zipped."""


@schedule
def dot_tiles(
    rows: int, columns: int, group: int, *, chunk: int, block: int, in_parallel: bool = True
) -> Strategy:
    """Multiplies matrices in tiles that `mma` computes; a cache block has `block` tiles of rows,
    which are packed in chunks of `chunk` groups."""
    pack_columns = pack_groups(group) >> argument(
        argument(map_in_parallel if in_parallel else map_as_loop)
    )
    return seq(
        try_(parallel_as_map),
        pad_and_tile(rows, columns, block),
        (try_(sums_before_epilogue) >> at_sums(multiply_tile(group, chunk))) @ loop(3),
        split(block) @ loop(1),
        columns_of_block,
        at_columns(pack_columns) @ loop(2),
        hoist(),
        at_columns(pack_chunks(chunk * group)) @ loop(3),
        hoist(),
        _fuse_columns @ loop(2),
        try_(map_fusion @ loop(3)),
        normalize(choice(map_fusion, SIMPLIFICATIONS)) @ loop(3),
        (parallel() if in_parallel else sequential()) @ loop(1),
        sequential() @ loop(2),
    )


def choose_dot_tiles(
    term: Term, shape: MatmulShape, setting: Setting, machine: Machine
) -> tuple[str, Strategy] | None:
    """Return a schedule of a matrix multiplication with an instruction of the machine."""
    types = multiplied_types(term, setting)
    if types is None:
        return None
    units = [each for each in dot_units_of(machine) if each.accumulator == types[1]]
    for source in (types[0], WIDENED.get(types[0])):
        for unit in units:
            if unit.source == source and _pays(unit, shape):
                return _schedule(unit, shape, machine, is_widened=source != types[0])
    return None


def multiplied_types(term: Term, setting: Setting) -> tuple[RiseType, RiseType] | None:
    """Return the types of the elements and of the results of a matrix multiplication; None if it
    computes anything but dot products, or if the order of additions matters."""
    product, rows = match_product(term), pattern_arguments(term, "map", "mapPar")
    columns = None if rows is None else arguments_in_body(rows[0], "map")
    reduction = None if columns is None else reduction_in(columns[0])
    if product is None or product.has_matrix or reduction is None:
        return None
    function, pair = reduction[0], pattern_arguments(reduction[2], "zip")
    if pair is None or not mentions(pair[0], 1) or not is_multiply_add(function):
        return None
    if is_float(product.type) and not may_reorder(function, setting):
        return None
    one, other = (element_of(each.type) for each in pair)
    return (one, product.type) if one == other else None


def _pays(unit: DotUnit, shape: MatmulShape) -> bool:
    """Whether a unit computes few sums that nobody reads."""
    min_rows = unit.rows // 2 if unit.has_tiles else MIN_ROWS
    is_large = shape.rows >= min_rows and shape.columns >= unit.lanes
    return is_large and unit.chunk_for(shape.depth) is not None


def _schedule(
    unit: DotUnit, shape: MatmulShape, machine: Machine, *, is_widened: bool
) -> tuple[str, Strategy]:
    rows, chunk = unit.rows, unit.chunk_for(shape.depth)
    assert chunk is not None
    if not unit.has_tiles:
        rows = min(range(unit.rows, 0, -1), key=lambda each: -(-shape.rows // each) * (each + 1))
    bytes_per_tile = rows * shape.depth * bytes_of(unit.source)
    max_tiles = max(1, min(MAX_BLOCK, machine.cache_bytes(2) // 4 // bytes_per_tile))
    tiles = -(-shape.rows // rows)
    blocks = -(-tiles // max_tiles)
    if shape.is_parallel:
        blocks = -(-blocks // machine.cores) * machine.cores
    block = -(-tiles // blocks)
    threads = "in parallel" if shape.is_parallel else "on one thread"
    description = (
        f"tiles of {rows} x {unit.columns} with {unit.name}, blocks of {block * rows} rows, "
        f"packed, {threads}"
    )
    strategy = dot_tiles(
        rows,
        unit.columns,
        unit.group,
        chunk=chunk // unit.group,
        block=block,
        in_parallel=shape.is_parallel,
    )
    return description, widened_operands >> strategy if is_widened else strategy
