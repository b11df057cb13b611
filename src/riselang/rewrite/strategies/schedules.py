"""Loop transformations: split, tile, interchange, vectorize and others.

Each is composed of rules, so each has a derivation that can be read and checked. They apply at an
address, as in `tile(32, 32) @ outermost("map", nest=2)`, or without an address to the complete
term. They expect terms in data-flow normal form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.dialects.rise.types import ArrayType, ScalarType, element_of
from riselang.nat import Nat, parse_nat
from riselang.rewrite.combinators import Guard, Identity, choice, repeat, seq
from riselang.rewrite.core import Failure, Result, Setting, Strategy, Success
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import (
    blocked_reduce,
    collapse_maps,
    lift_reduce,
    lift_reduce_with,
    map_fusion,
    map_interchange,
    map_interchange_of_rows,
    map_interchange_with,
    pad_map,
    reduce_map_fusion,
    scan_map_fusion,
    sink_reduce,
    split_join,
    zip_of_map_first,
    zip_of_map_second,
)
from riselang.rewrite.rules.functions import (
    beta,
    hoist_from_map,
    hoist_from_reduce,
    inline_free_let,
    map_fission,
    map_of_firsts,
    map_of_seconds,
)
from riselang.rewrite.rules.lowering import (
    fetch_ahead,
    keep_in_vectors,
    map_as_loop,
    map_in_parallel,
    map_unrolled,
    pack_blocks,
    pack_vectors_of_blocks,
    reduce_as_loop,
    reduce_unrolled,
    store_in_registers,
    store_nontemporal,
    store_on_heap,
    store_on_stack,
)
from riselang.rewrite.rules.movement import (
    pad_before_zip,
    pad_const_before_zip,
    zip_first_before_transpose,
    zip_second_before_transpose,
)
from riselang.rewrite.rules.simplification import (
    concat_of_parts,
    drop_none,
    drop_of_concat,
    first_of_pair,
    first_of_unzip,
    join_of_split,
    map_first_of_zip,
    map_identity,
    map_of_views_fusion,
    map_second_of_zip,
    pair_of_parts,
    reverse_of_reverse,
    scalars_of_vectors,
    second_of_pair,
    second_of_unzip,
    split_of_join,
    take_all,
    take_of_concat,
    transpose_of_transpose,
    unzip_of_zip,
    vectors_of_scalars,
)
from riselang.rewrite.rules.tails import pad_map_with_zeros, version_by_size
from riselang.rewrite.rules.vectorization import (
    reduce_in_rows_of_vectors,
    reduce_in_vectors,
    rows_of_vectors_into_reduce,
    vectorize_map,
    vectorize_map_of_arrays,
    vectors_into_reduce,
    vectors_of_generated_scalar,
    vectors_of_one_scalar,
)
from riselang.rewrite.selectors import loop
from riselang.rewrite.term_parts import is_free_to_read, pattern_arguments, view_source
from riselang.rewrite.traversals import argument, body, function, inside, normalize, top_down
from riselang.support.errors import UserError
from riselang.term.nodes import Lambda, Pattern, Term, spine

SIMPLIFICATIONS = choice(
    beta, first_of_pair, second_of_pair, pair_of_parts, transpose_of_transpose, reverse_of_reverse,
    join_of_split, split_of_join, scalars_of_vectors, vectors_of_scalars, map_identity,
    map_first_of_zip, map_second_of_zip, unzip_of_zip, first_of_unzip, second_of_unzip, take_all,
    drop_none, take_of_concat, drop_of_concat, concat_of_parts, inline_free_let,
)  # fmt: skip


@schedule
def simplify() -> Strategy:
    """Removes operations that cancel: joins of splits, transposes of transposes, parts of pairs."""
    return normalize(SIMPLIFICATIONS)


@schedule
def fuse() -> Strategy:
    """Computes the elements of a map in the next map or reduction that reads them."""
    return normalize(choice(map_fusion, reduce_map_fusion, scan_map_fusion))


@schedule
def split(size: int) -> Strategy:
    """Splits a map or a reduction into an outer one over blocks and an inner one in each block."""
    return choice(split_join(size), blocked_reduce(size))


@schedule
def tile(*sizes: int) -> Strategy:
    """Tiles nested maps: maps over tiles, and maps inside each tile."""
    if not sizes or min(sizes) < 1:
        raise UserError("tile needs the size of a tile in each dimension, which must be at least 1")
    return _Tile(tuple(sizes))


@schedule
def interchange() -> Strategy:
    """Swaps a map with the map or the reduction that computes its elements."""
    return _Interchange()


@schedule
def collapse() -> Strategy:
    """Turns two nested maps into one map over all pairs of their elements."""
    return _Collapse()


@schedule
def reorder(*order: int) -> Strategy:
    """Reorders nested loops, which are numbered from 1, from the outside in."""
    if not order or sorted(order) != list(range(1, len(order) + 1)):
        raise UserError(f"reorder needs each number from 1 to {len(order)} once, but found {order}")
    return seq(*(_Interchange() @ loop(level) for level in _adjacent_swaps(order)))


@schedule
def parallel() -> Strategy:
    """Runs the iterations of a map in parallel."""
    return map_in_parallel


@schedule
def unroll() -> Strategy:
    """Unrolls a map or a reduction."""
    return choice(map_unrolled, reduce_unrolled)


@schedule
def sequential() -> Strategy:
    """Turns a map or a reduction into a sequential loop."""
    return choice(map_as_loop, reduce_as_loop)


@schedule
def vectorize(length: int) -> Strategy:
    """Vectorizes a map, or the accumulators of a reduction, with vectors of the given length."""
    vectorize_accumulators = choice(reduce_in_vectors(length), reduce_in_rows_of_vectors(length))
    vectorize_elements = choice(vectorize_map(length), vectorize_map_of_arrays(length))
    return choice(vectorize_elements, vectorize_accumulators) >> _vectorize_lanes(length)


@schedule
def prefetch(distance: int) -> Strategy:
    """Prefetches the elements of a map or a reduction this many iterations before they are read."""
    return argument(fetch_ahead(distance))


@schedule
def nontemporal() -> Strategy:
    """Stores the vectors of an array without keeping them in a cache."""
    return store_nontemporal


@schedule
def pack() -> Strategy:
    """Packs the blocks that a map iterates over into a contiguous buffer, each transposed."""
    return argument(pack_blocks)


@schedule
def pack_vectors(length: int) -> Strategy:
    """Packs blocks as pack does, with the rows of a block in vectors of the given length."""
    return argument(pack_vectors_of_blocks(length))


@schedule
def pad_to_multiple(size: int) -> Strategy:
    """Pads the array of a map to a multiple of the size, and drops the excess results."""
    require_positive("pad_to_multiple", size=size)
    return _PadToMultiple(size)


@schedule
def keep(length: int) -> Strategy:
    """Loads the scalars for each iteration of a vectorized reduction as vectors of the length."""
    is_pairing = Guard("it zips scalars with vectors", _pairs_scalars)
    return top_down(is_pairing >> function(argument(keep_in_vectors(length))))


@schedule
def by_size(size: str, least: int, large: Strategy, small: Strategy) -> Strategy:
    """Applies `large` to a version of the computation for calls whose size is at least `least`,
    and `small` to a version for the other calls."""
    require_positive("by_size", least=least)
    make_versions = version_by_size(size, least)
    apply_large = _InVersion(parse_nat(size), least, body(large))
    return make_versions >> function(argument(apply_large)) >> argument(body(small))


@dataclass(frozen=True, repr=False)
class _InVersion(Strategy):
    """Applies a strategy to the version of a computation for large sizes."""

    size: Nat
    least: int
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        return self.strategy.run(term, setting.in_version(self.size, self.least))

    def __str__(self) -> str:
        return str(self.strategy)


@schedule
def store_in_memory(space: str = "heap") -> Strategy:
    """Stores a value in its own buffer: on the heap, on the stack or in registers."""
    spaces = {"heap": store_on_heap, "stack": store_on_stack, "register": store_in_registers}
    if space not in spaces:
        raise UserError(f"store_in_memory: expected {', '.join(spaces)}, but found {space}")
    return spaces[space]


@schedule
def hoist() -> Strategy:
    """Computes loop-invariant values before the loops, as far outside as possible."""
    hoist_value = choice(hoist_from_map, hoist_from_reduce)
    return repeat(top_down(hoist_value)) >> normalize(inline_free_let)


pads_before_zip: Strategy = choice(pad_before_zip, pad_const_before_zip)
"""Pads both arrays of a zip instead of the pairs."""


def padding_to_multiple(length: Nat, size: int) -> Nat:
    """The number of elements to add to an array so that its length is a multiple of a size."""
    return (length + (size - 1)) // size * size - length


@dataclass(frozen=True, repr=False)
class _PadToMultiple(Strategy):
    """Pads a map; the amount is computed when the length of the array is known."""

    size: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        if arguments is None:
            return Failure(self, "expected map", term)
        assert isinstance(arguments[1].type, ArrayType)
        length = arguments[1].type.length
        padding = padding_to_multiple(length, self.size)
        if padding == 0:
            return Success(term, ())
        # A symbolic length may be 0.
        pad = pad_map if length.is_constant and length != 0 else pad_map_with_zeros
        return pad(padding).run(term, setting)

    def __str__(self) -> str:
        return f"pad_to_multiple({self.size})"


def _maps_maps(term: Term) -> bool:
    """Whether the function of a map is another map."""
    arguments = pattern_arguments(term, "map")
    if arguments is None or not isinstance(arguments[0], Lambda):
        return False
    return pattern_arguments(arguments[0].body, "map") is not None


def _pairs_scalars(term: Term) -> bool:
    """Whether a term is a zip of an array of scalars with one of arrays of vectors."""
    arguments = pattern_arguments(term, "zip")
    if arguments is None:
        return False
    first, second = (element_of(part.type) for part in arguments)
    return isinstance(first, ScalarType) and isinstance(second, ArrayType)


@dataclass(frozen=True, repr=False)
class _Tile(Strategy):
    """Tiles nested maps, after moving the views between them out of the loops."""

    sizes: tuple[int, ...]

    def run(self, term: Term, setting: Setting) -> Result:
        if len(self.sizes) > 1 and _result_is_view(term) and not _maps_maps(term):
            return seq(map_fission, argument(self)).run(term, setting)
        return _tile_nest(self.sizes).run(term, setting)

    def __str__(self) -> str:
        return f"tile({', '.join(map(str, self.sizes))})"


def _tile_nest(sizes: tuple[int, ...]) -> Strategy:
    """Tile nested maps: split the outer map, tile the others, and move the map over a block inside.

    `x |> map(a => nest)` becomes `x |> split |> map(block => block |> map(a => tiled nest))`, and
    the map over the block is interchanged with the maps over the other tiles, one at a time.
    """
    outer_size, *inner_sizes = sizes
    if not inner_sizes:
        return split_join(outer_size)
    tile_inner = inside(inside(_tile_nest(tuple(inner_sizes))))
    sink_outer = inside(_sink_map(len(inner_sizes)))
    return split_join(outer_size) >> argument(tile_inner) >> argument(sink_outer)


def _sink_map(depth: int) -> Strategy:
    """Move a map inside this many loops."""
    if depth == 0:
        return Identity()
    return _Interchange() >> _sink_map(depth - 1) @ loop(2)


def _reads_pairing(term: Term) -> bool:
    """Whether a loop reads a map that only builds pairs or takes components."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec.name not in ("map", "reduce", "zip"):
        return False
    return any(_only_pairs(argument) for argument in arguments)


def _only_pairs(term: Term) -> bool:
    arguments = pattern_arguments(term, "map")
    return (
        arguments is not None
        and isinstance(arguments[0], Lambda)
        and is_free_to_read(arguments[0].body)
    )


_PAIRING = Guard("the elements are only paired", _reads_pairing) >> choice(
    map_fusion, reduce_map_fusion, zip_of_map_first, zip_of_map_second
)
_TIDY = normalize(
    choice(
        SIMPLIFICATIONS, map_of_firsts, map_of_seconds,
        zip_first_before_transpose, zip_second_before_transpose, _PAIRING,
    )
)  # fmt: skip
"""Simplifies the operands of a reduction, so that all its iterations read the same parts."""


def _vectorize_lanes(length: int) -> Strategy:
    """Move vectors to the maps that compute their lanes, and vectorize these maps."""
    is_computed = Guard("a map computes the lanes", _is_vector_of_map)
    return normalize(
        choice(
            SIMPLIFICATIONS, _PAIRING, map_of_views_fusion, vectors_of_one_scalar,
            vectors_of_generated_scalar, vectors_into_reduce, rows_of_vectors_into_reduce,
            is_computed >> argument(vectorize_map(length)),
        )
    )  # fmt: skip


def _is_vector_of_map(term: Term) -> bool:
    arguments = pattern_arguments(term, "asVector")
    return (
        arguments is not None
        and pattern_arguments(arguments[0], "map") is not None
        and not _only_pairs(arguments[0])
    )


_SWAP = map_interchange | choice(map_interchange_of_rows, map_interchange_with) >> _TIDY
_LIFT = choice(lift_reduce, lift_reduce_with) >> _TIDY
_SINK = sink_reduce >> _TIDY


@dataclass(frozen=True, repr=False)
class _Interchange(Strategy):
    """Interchanges two loops, after moving the views between them out of the loops."""

    def run(self, term: Term, setting: Setting) -> Result:
        if _result_is_view(term):
            return seq(map_fission, argument(self)).run(term, setting)
        return choice(_SWAP, _LIFT, _SINK).run(term, setting)

    def __str__(self) -> str:
        return "interchange()"


@dataclass(frozen=True, repr=False)
class _Collapse(Strategy):
    """Collapses two nested maps, after moving the views between them out of the loops."""

    def run(self, term: Term, setting: Setting) -> Result:
        if _result_is_view(term):
            return seq(map_fission, argument(self)).run(term, setting)
        return collapse_maps.run(term, setting)

    def __str__(self) -> str:
        return "collapse()"


def _result_is_view(term: Term) -> bool:
    """Whether a map ends in a view of computed values."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments or not isinstance(arguments[0], Lambda):
        return False
    return view_source(arguments[0].body) is not None


def _adjacent_swaps(order: Sequence[int]) -> list[int]:
    """Return the adjacent swaps, by the number of the outer loop, that produce an order."""
    current = sorted(order)
    swaps: list[int] = []
    for position, loop_number in enumerate(order):
        index = current.index(loop_number)
        while index > position:
            current[index - 1], current[index] = current[index], current[index - 1]
            swaps.append(index)
            index -= 1
    return swaps
