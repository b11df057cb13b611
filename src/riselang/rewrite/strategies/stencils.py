"""Stencils: what is computed of the neighbours of each element.

Neighbours lie behind each other in memory, so the windows of a line are read in vectors, shifted by
one element for each place in a window. Where a window is folded, several vectors of windows are
folded at once, in registers. Tiles read themselves and their border into fast memory once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.combinators import choice, seq
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import schedule, whole
from riselang.rewrite.rules.algorithmic import (
    overlapped_tiling,
    overlapped_tiling_2d,
    peel_map,
    reduce_map_fusion,
    reduce_of_join,
)
from riselang.rewrite.rules.lowering import reduce_unrolled, store_elements
from riselang.rewrite.rules.movement import zip_before_join
from riselang.rewrite.selectors import loop
from riselang.rewrite.strategies.products import bytes_of
from riselang.rewrite.strategies.schedules import (
    fuse,
    hoist,
    interchange,
    parallel,
    reorder,
    sequential,
    split,
    unroll,
    vectorize,
)
from riselang.rewrite.terms import applied
from riselang.rewrite.traversals import argument, everywhere, function, inside, normalize, top_down
from riselang.support.machine import Machine, this_machine
from riselang.term.nodes import Lambda, Term

MOST_WRITTEN_OUT = 32
"""Rounds of folds inside each other that are written out."""
MOST_APART = 4
"""Vectors of a block that are computed one after the other, not in the rounds of a fold."""
SLICES = 2
"""Slices of a volume that are computed together, and vectors of each; more of them are slower."""
PARALLEL_FROM = 1 << 16
"""Elements from which on threads are worth their start."""


@schedule
def overlapped_tiles(size: int) -> Strategy:
    """The windows of an array in tiles, each copied with its border before it is used."""
    store = argument(store_elements)
    return fuse() >> top_down(seq(overlapped_tiling(size), store))


@schedule
def overlapped_tiles_2d(rows: int, columns: int) -> Strategy:
    """The windows of a grid in tiles, each copied with its border before it is used."""
    # join of a map over bands of rows; each band a view of a map over its tiles.
    band = argument(argument(store_elements))
    return fuse() >> top_down(seq(overlapped_tiling_2d(rows, columns), argument(inside(band))))


@schedule
def fold_by_rows() -> Strategy:
    """Folds over all elements of windows as folds over their rows, in the same order."""
    return normalize(zip_before_join) >> normalize(choice(reduce_of_join, reduce_map_fusion))


@schedule
def in_vectors(lanes: int, most: int = 8) -> Strategy:
    """A map that gives scalars in blocks of vectors, at most so many, and folds in registers."""
    return _InVectors(lanes, most)


@dataclass(frozen=True, repr=False)
class _InVectors(Strategy):
    """What no block divides is peeled off: a loop of its own."""

    lanes: int
    most: int
    on_threads: bool = False

    def run(self, term: Term, setting: Setting) -> Result:
        length = scalars_of(term)
        if length is None:
            reason = "expected a map of scalars, with a number of elements"
            return Failure(self, reason, term, closeness=CONDITION)
        is_fold = _fold_in(term) is not None
        vectors = self.vectors(length, self.most if is_fold else min(self.most, MOST_APART))
        if vectors == 0:
            return sequential().run(term, setting)
        whole = length - length % (vectors * self.lanes)
        blocks = seq(
            vectorize(self.lanes),
            split(vectors) @ loop(1),
            (parallel() if self.on_threads else sequential()) @ loop(1),
            _Registers() @ loop(2),
        )
        if whole == length:
            return blocks.run(term, setting)
        rest = argument(sequential())
        return seq(peel_map(whole), function(argument(blocks)), rest).run(term, setting)

    def vectors(self, length: int, most: int) -> int:
        """How many stand in a block: many, with few elements left."""
        most = min(most, length // self.lanes)
        sizes = range(max(1, (most + 1) // 2), most + 1)
        return min(sizes, key=lambda size: (length % (size * self.lanes), -size), default=0)

    def __str__(self) -> str:
        return f"in_vectors({self.lanes}, {self.most}{', on_threads' * self.on_threads})"


@dataclass(frozen=True, repr=False)
class LineInVectors(Strategy):
    """A line of so many scalars or more, with so many vectors at once or as registers permit."""

    at_once: int | None = None
    fewest: int = 0

    def run(self, term: Term, setting: Setting) -> Result:
        length, type = scalars_of(term), term.type
        if length is None or length < self.fewest:
            reason = f"expected a map of {self.fewest or 'any number of'} scalars or more"
            return Failure(self, reason, term)
        assert isinstance(type, ArrayType)
        assert isinstance(type.element, ScalarType)
        lanes, most = block_for(type.element, this_machine())
        return in_vectors(lanes, self.at_once or most).run(term, setting)

    def __str__(self) -> str:
        return "line_in_vectors"


@dataclass(frozen=True, repr=False)
class _Registers(Strategy):
    """A block of vectors: a fold of each becomes a fold of all, anything else is written out."""

    def run(self, term: Term, setting: Setting) -> Result:
        if _fold_in(term) is None:
            return seq(everywhere(reduce_unrolled), unroll()).run(term, setting)
        rounds = _rounds(term)
        steps: list[Strategy] = [interchange() @ loop(level + 1) for level in range(len(rounds))]
        written = 1
        for level in reversed(range(len(rounds))):
            written *= rounds[level]
            if written <= MOST_WRITTEN_OUT:
                steps.append(unroll() @ loop(level + 1))
        return seq(*steps).run(term, setting)

    def __str__(self) -> str:
        return "registers"


@dataclass(frozen=True, repr=False)
class _Stencil(Strategy):
    """The innermost of nested maps in vectors, the outermost on threads."""

    def run(self, term: Term, setting: Setting) -> Result:
        nest = nest_of(term)
        if nest is None:
            reason = "expected nested maps with scalars as elements, of numbers as sizes"
            return Failure(self, reason, term, closeness=CONDITION)
        lanes, most = block_for(nest.element, this_machine())
        is_large = nest.elements >= PARALLEL_FROM
        if nest.depth == 1:
            return _InVectors(lanes, most, is_large).run(term, setting)
        if is_large and _shares_slices(nest, lanes) and _fold_in(place_of(term, 3)) is None:
            return _two_slices(lanes).run(term, setting)
        rows = parallel() if is_large else sequential()
        return seq(in_vectors(lanes, most) @ loop(nest.depth), rows @ loop(1)).run(term, setting)

    def __str__(self) -> str:
        return "stencil()"


def _shares_slices(nest: Nest, lanes: int) -> bool:
    """Whether slices of a volume go in pairs, and are read from a slower cache each time."""
    if nest.depth != 3 or nest.lengths[0] % SLICES or nest.lengths[2] % (lanes * SLICES):
        return False
    bytes = nest.lengths[1] * nest.lengths[2] * bytes_of(nest.element)
    return bytes > this_machine().cache(1)


def _two_slices(lanes: int) -> Strategy:
    """Two neighbours of a volume at once, so that each reads half of what they both need."""
    return seq(
        vectorize(lanes) @ loop(3), split(SLICES) @ loop(3), split(SLICES) @ loop(1),
        reorder(1, 3, 4, 2, 5), parallel() @ loop(1), sequential() @ loop(2),
        sequential() @ loop(3), unroll() @ loop(4), unroll() @ loop(5),
    )  # fmt: skip


@schedule
def stencil() -> Strategy:
    """Nested maps of windows: the innermost in vectors of this machine, the outermost on threads.

    A fold of each window stays in registers."""
    return _Stencil()


def block_for(type: ScalarType, machine: Machine) -> tuple[int, int]:
    """Lanes of a vector, and how many vectors a block has at most."""
    return machine.lanes(bytes_of(type)), min(8, machine.registers // 2)


def scalars_of(term: Term) -> int | None:
    """How many scalars a map gives, if it is known."""
    found, type = applied(term, "map"), term.type
    if found is None or not isinstance(type, ArrayType) or not type.length.is_constant:
        return None
    return type.length.constant if isinstance(type.element, ScalarType) else None


@dataclass(frozen=True)
class Nest:
    """Maps inside each other that give scalars."""

    lengths: tuple[int, ...]
    element: ScalarType

    @property
    def depth(self) -> int:
        return len(self.lengths)

    @property
    def elements(self) -> int:
        return prod(self.lengths)


def nest_of(term: Term) -> Nest | None:
    """The maps inside each other of which a term is the outermost."""
    if place_of(term, 1) is not term:
        return None
    lengths: list[int] = []
    while True:
        at = place_of(term, len(lengths) + 1)
        if at is None or applied(at, "map") is None or not isinstance(at.type, ArrayType):
            return None
        if not at.type.length.is_constant:
            return None
        lengths.append(at.type.length.constant)
        if isinstance(at.type.element, ScalarType):
            return Nest(tuple(lengths), at.type.element)


def place_of(term: Term, number: int) -> Term | None:
    """One of nested loops, counted from 1 from the outside in."""
    found = loop(number).find(term)
    return None if found is None else found[1]


def _fold_in(term: Term | None) -> list[Term] | None:
    """What the fold takes that each element of a map is."""
    found = None if term is None else applied(term, "map")
    if found is None or not isinstance(found[0], Lambda):
        return None
    return applied(found[0].body, "reduce")


def _rounds(term: Term) -> list[int]:
    """How many rounds the folds inside each other have that each element of a map is."""
    fold, rounds = _fold_in(term), list[int]()
    while fold is not None:
        type = fold[2].type
        assert isinstance(type, ArrayType)
        rounds.append(type.length.constant if type.length.is_constant else MOST_WRITTEN_OUT + 1)
        inner = fold[0]
        while isinstance(inner, Lambda):
            inner = inner.body
        fold = applied(inner, "reduce")
    return rounds


vectors = whole(
    "stencils.vectors",
    fuse() >> fold_by_rows() >> hoist() >> stencil() @ loop(1),
    "Lines of windows in vectors, folds in registers, the outermost loop on threads.",
)
