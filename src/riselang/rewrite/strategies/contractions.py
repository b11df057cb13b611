"""Sums of products over two matrices, at the speed of the libraries (after Goto and van de Geijn).

A tile of accumulators stays in registers while a fold goes over the common dimension. Both matrices
are copied so that what the fold takes lies one behind the other: the columns once, the rows in
blocks that stay in a cache while all columns go by. What no tile divides is filled up, and what is
too much is dropped where it would be stored. Sums are made in the order of the source.

Where both matrices come in panels, which is what they would be copied to, nothing is copied: then
the tile is that of the panels, and sizes need not be numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FixedBitwidthType

from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType
from riselang.machine import Machine, this_machine
from riselang.nat import Nat
from riselang.rewrite.addresses import loop
from riselang.rewrite.combinators import Identity, seq, try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule
from riselang.rewrite.rules.lowering import (
    map_in_parallel,
    pack_vectors_of_blocks,
    parallel_as_map,
)
from riselang.rewrite.rules.movement import pad_before_zip
from riselang.rewrite.strategies.epilogues import (
    at_columns,
    at_sums,
    epilogue_apart,
    epilogue_in_vectors,
    fold_in,
)
from riselang.rewrite.strategies.schedules import (
    fill,
    hoist,
    interchange,
    keep,
    pack,
    parallel,
    reorder,
    sequential,
    simplify,
    split,
    tile,
    vectorize,
)
from riselang.rewrite.terms import applied
from riselang.rewrite.traversals import argument
from riselang.term.nodes import Bound, Lambda, Term
from riselang.term.substitution import mentions

PARALLEL_FROM = 1 << 20
"""Products from which on threads are worth their start."""
PACKED_FROM = 2
"""Tiles that have to use the same columns before these are copied."""


@dataclass(frozen=True)
class Shape:
    """How many rows, columns and products for each of their pairs, and bytes of an element."""

    rows: int
    columns: int
    depth: int
    bytes: int

    @property
    def products(self) -> int:
        return self.rows * self.columns * self.depth

    @property
    def is_parallel(self) -> bool:
        return self.products >= PARALLEL_FROM


@dataclass(frozen=True)
class Tiles:
    """The numbers that a machine and a shape ask for."""

    rows: int
    """Of a tile of accumulators, as its columns."""
    columns: int
    lanes: int
    """Columns that a vector has."""
    block: int
    """Tiles above each other for which all columns go by."""
    is_kept: bool
    """Whether the rows of a tile are taken from vectors."""
    is_packed: bool
    is_parallel: bool

    def __str__(self) -> str:
        copies = "packed" if self.is_packed else "in place"
        threads = "on threads" if self.is_parallel else "on one thread"
        return (
            f"tiles of {self.rows} x {self.columns} in vectors of {self.lanes}, "
            f"blocks of {self.block * self.rows} rows, {copies}, {threads}"
        )

    def strategy(self) -> Strategy:
        return register_tiles(
            self.rows, self.columns, self.lanes,
            block=self.block, kept=self.is_kept, packed=self.is_packed, threads=self.is_parallel,
        )  # fmt: skip


def chosen_tiles(shape: Shape, machine: Machine) -> Tiles:
    """The tile that takes the fewest cycles, and the block that a cache holds."""
    lanes = machine.lanes(shape.bytes)
    fitting = [
        (rows, vectors)
        for rows in range(1, 9)
        for vectors in range(1, min(16, -(-shape.columns // lanes)) + 1)
        if _registers(rows, vectors, lanes, machine) <= machine.registers
    ]
    # Of two that are as good, the one with shorter rows: where these are whole lines of a cache,
    # each is written to memory when it is stored, and that is waited for.
    rows, vectors = min(fitting, key=lambda each: (_cycles(*each, lanes, shape, machine), each[1]))
    count = -(-shape.rows // rows)
    most = machine.cache(2) // 2 // (shape.depth * shape.bytes * rows)
    most = min(max(most, 2), 16, max(1, count // 4) if shape.is_parallel else count)
    block = min(
        range((most + 1) // 2, most + 1),
        key=lambda size: (_on_a_core(-(-count // size), shape, machine) * size, -size),
    )
    kept, packed = _keeps(rows, lanes, machine), count >= PACKED_FROM
    return Tiles(rows, vectors * lanes, lanes, block, kept, packed, shape.is_parallel)


def _on_a_core(count: int, shape: Shape, machine: Machine) -> int:
    """How many of a number of blocks the core with the most of them has."""
    return -(-count // machine.cores) if shape.is_parallel else count


def _keeps(rows: int, lanes: int, machine: Machine) -> bool:
    return machine.multiplies_by_lanes and rows % lanes == 0


def _registers(rows: int, vectors: int, lanes: int, machine: Machine) -> int:
    taken = rows // lanes if _keeps(rows, lanes, machine) else 1
    # In a tile of one row each vector of columns is used once, and need not be kept.
    return rows * vectors + (vectors if rows > 1 else 2) + taken


def _cycles(rows: int, vectors: int, lanes: int, shape: Shape, machine: Machine) -> float:
    """An estimate, for two products and two loads of vectors in a cycle."""
    loads = vectors + (rows // lanes if _keeps(rows, lanes, machine) else rows)
    round = max(rows * vectors / 2, loads / 2, 4) + loads / 6
    if shape.rows < PACKED_FROM * rows:
        # What is read where it lies is read in pieces, and the longer these are the better.
        round += 24 / vectors
    above = _on_a_core(-(-shape.rows // rows), shape, machine)
    tiles = above * -(-shape.columns // (vectors * lanes))
    return tiles * (shape.depth * round + 4 * rows * vectors)


@schedule
def register_tiles(
    rows: int,
    columns: int,
    lanes: int,
    *,
    block: int,
    kept: bool = False,
    packed: bool = True,
    threads: bool = True,
) -> Strategy:
    """Tiles of accumulators in registers, for a map of a map of a fold; block counts tiles."""
    steps: list[Strategy] = [
        try_(parallel_as_map),
        fill(columns) @ loop(2) >> try_(argument(pad_before_zip) @ loop(2)),
        fill(rows * block) @ loop(1),
        tile(rows, columns) @ loop(1),
        try_(epilogue_apart),
        at_sums(reorder(3, 1, 2)) @ loop(3),
        at_sums(vectorize(lanes)) @ loop(3),
    ]
    if kept:
        steps.append(at_sums(keep(lanes)) @ loop(3))
    steps.append(try_(epilogue_in_vectors(lanes)))
    if packed:
        copies = pack_vectors_of_blocks(lanes) >> (_ON_THREADS if threads else Identity())
        steps += [split(block) @ loop(1), interchange() @ loop(2)]
        steps += [at_columns(copies) @ loop(2), hoist()]
        steps += [pack() @ loop(3), hoist()]
    steps += [(parallel() if threads else sequential()) @ loop(1), sequential() @ loop(2)]
    return seq(*steps)


@schedule
def panel_tiles(
    rows: int, columns: int, lanes: int, *, kept: bool = False, threads: bool = True
) -> Strategy:
    """Tiles of accumulators for matrices in panels of so many rows and columns: no copies."""
    steps: list[Strategy] = [
        try_(parallel_as_map),
        tile(rows, columns) @ loop(1),
        reorder(1, 2, 5, 3, 4) @ loop(1),
        vectorize(lanes) @ loop(3),
    ]
    if kept:
        steps.append(keep(lanes) @ loop(3))
    # The panel of columns stays in the nearest cache while all rows go by.
    steps += [interchange() @ loop(1), (parallel() if threads else sequential()) @ loop(1)]
    steps += [sequential() @ loop(2), try_(simplify())]
    return seq(*steps)


_ON_THREADS = argument(argument(map_in_parallel))


@dataclass(frozen=True)
class Panels:
    """The tile of a product whose matrices come in panels: `x |> map(transpose) |> join`."""

    rows: int
    columns: int
    bytes: int
    shape: Shape | None
    """Where all sizes are numbers."""

    def fits(self, machine: Machine) -> bool:
        lanes = machine.lanes(self.bytes)
        vectors, rest = divmod(self.columns, lanes)
        return not rest and _registers(self.rows, vectors, lanes, machine) <= machine.registers

    def strategy(self, machine: Machine) -> Strategy:
        lanes = machine.lanes(self.bytes)
        is_parallel = self.shape is None or self.shape.is_parallel
        kept = _keeps(self.rows, lanes, machine)
        return panel_tiles(self.rows, self.columns, lanes, kept=kept, threads=is_parallel)

    def __str__(self) -> str:
        return f"panels of {self.rows} rows and of {self.columns} columns, as they are"


@dataclass(frozen=True, repr=False)
class Contraction(Strategy):
    """Register tiles for the shape that stands there, and for this machine."""

    def run(self, term: Term, setting: Setting) -> Result:
        panels = panels_of(term)
        if panels is not None and panels.fits(this_machine()):
            return panels.strategy(this_machine()).run(term, setting)
        shape = contraction_shape(term)
        if shape is None:
            reason = "expected a map of a map of a fold, of numbers as sizes"
            return Failure(self, reason, term, closeness=CONDITION)
        return chosen_tiles(shape, this_machine()).strategy().run(term, setting)

    def __str__(self) -> str:
        return "contraction()"


@schedule
def contraction() -> Strategy:
    """A map of a map of a fold in tiles of accumulators, which this machine is asked for."""
    return Contraction()


@dataclass(frozen=True)
class _Product:
    """What `a |> map(row => b |> map(column => f(zip(row, column) |> reduce(g, c))))` has.

    What f does with the sum is an epilogue, of the sum and of scalars beside the column.
    """

    rows: Term
    columns: Term
    pairs: Term
    type: ScalarType
    is_bare: bool
    """Whether there is no epilogue."""


def _product_in(term: Term) -> _Product | None:
    outer = applied(term, "map", "mapPar")
    inner = None if outer is None else _applied_in(outer[0], "map")
    fold = None if inner is None else fold_in(inner[0])
    if outer is None or inner is None or fold is None or mentions(inner[1], 0):
        return None
    pair, type = applied(fold[2], "zip"), fold[1].type
    if pair is None or not isinstance(type, ScalarType) or not _is_of_both(pair):
        return None
    is_bare = _applied_in(inner[0], "reduce") is not None
    return _Product(outer[1], inner[1], fold[2], type, is_bare)


def contraction_shape(term: Term) -> Shape | None:
    """The shape of sums of products over two matrices, whatever is done with each."""
    found = _product_in(term)
    if found is None:
        return None
    sizes = [length_of(each.type) for each in (found.rows, found.columns, found.pairs)]
    if not all(size.is_constant and size.constant > 0 for size in sizes):
        return None
    rows, columns, depth = (size.constant for size in sizes)
    return Shape(rows, columns, depth, bytes_of(found.type))


def panels_of(term: Term) -> Panels | None:
    """The panels that both matrices of a product come in; None where they do not."""
    found = _product_in(term)
    if found is None or not found.is_bare:
        return None
    rows, columns = _panel(found.rows), _panel(found.columns)
    if rows is None or columns is None:
        return None
    return Panels(rows, columns, bytes_of(found.type), contraction_shape(term))


def _panel(matrix: Term) -> int | None:
    """How many rows a panel has in `x |> map(transpose) |> join`, for an `x` that is stored."""
    joined = applied(matrix, "join")
    mapped = None if joined is None else applied(joined[0], "map")
    turned = None if mapped is None else _applied_in(mapped[0], "transpose")
    if mapped is None or turned is None or not isinstance(mapped[1], Bound):
        return None
    panel = mapped[1].type
    if not isinstance(turned[0], Bound) or turned[0].index or not isinstance(panel, ArrayType):
        return None
    row = panel.element
    if not isinstance(row, ArrayType) or not isinstance(row.element, ArrayType):
        return None
    length = row.element.length
    return length.constant if length.is_constant and length.constant > 0 else None


def _applied_in(function: Term, name: str) -> list[Term] | None:
    return applied(function.body, name) if isinstance(function, Lambda) else None


def _is_of_both(pair: list[Term]) -> bool:
    """Whether one of the two is of the row alone, and the other of the column."""
    of_row, of_column = ([mentions(part, index) for part in pair] for index in (1, 0))
    return sorted(zip(of_row, of_column, strict=True)) == [(False, True), (True, False)]


def length_of(type: RiseType) -> Nat:
    assert isinstance(type, ArrayType)
    return type.length


def bytes_of(type: ScalarType) -> int:
    element = type.element
    bits = element.bitwidth if isinstance(element, FixedBitwidthType) else 64
    return max(1, bits // 8)
