"""Which kind of term to make next."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    element_of,
    idx,
    index,
    pair,
)
from riselang.term.nodes import Term, apply_all
from support.generation.arrays import Arrays
from support.generation.functions import Functions
from support.generation.indices import Indices
from support.generation.loops import Loops
from support.generation.mixing import Mixing
from support.generation.place import Place, Producer, is_integer, use
from support.generation.values import Values
from support.generation.vectors import Vectors
from support.generation.views import Views
from support.random_types import is_matrix, length_of, volume

ROOM = 160
"""How many scalars a value may have, counting every iteration of the loops around it."""
SMALL = 8
"""How many scalars an array has that reductions may keep in registers."""
Options = list[tuple[int, Producer]]


class Generator(Arrays, Views, Vectors, Indices, Loops, Functions, Mixing, Values):
    """Makes the terms of one program."""

    def body(self, types: Sequence[RiseType], *, may_fail: bool) -> Term:
        """The results as a tuple, under a let now and then; or any term of the tuple's type."""
        place = Place((), 7, ROOM, may_fail)
        wanted = types[-1]
        for type in reversed(types[:-1]):
            wanted = pair(type, wanted)
        if len(types) == 1 or self.choices.one_in(4):
            return self.term(wanted, place)
        if self.choices.one_in(3):
            return self.let(wanted, place)
        return self.results(types, place)

    def results(self, types: Sequence[RiseType], place: Place) -> Term:
        parts = [self.term(type, place) for type in types]
        body = parts[-1]
        for part in reversed(parts[:-1]):
            body = apply_all(use("tuple", part.type, body.type), [part, body])
        return body

    def term(self, type: RiseType, place: Place) -> Term:
        if isinstance(type, FunType):
            return self.function(type, place)
        if place.depth <= 0 or self.budget <= 0 or type == idx(0):
            return self.leaf(type, place)
        options = [(3, self.leaf), *self.special(type), *self.general(type, place)]
        chosen = self.choices.weighted(options)
        if chosen != self.leaf:
            self.budget -= 1
        return chosen(type, place)

    def general(self, type: RiseType, place: Place) -> Options:
        """The producers that every type has."""
        options: Options = [
            (2, self.let),
            (1, self.applied_lambda),
            (1, self.projection),
            (1, self.applied_variable),
            (1, self.let_of_function),
            (1, self.at),
            (1, self.to_memory),
            (1, self.if_at_least),
        ]
        if volume(type) <= place.room:
            options += [(2, self.reduction), (1, self.iteration)]
            if self.allows("while"):
                options.append((1, self.while_loop))
            if self.allows("reducePar"):
                options.append((1, self.parallel_reduction))
        return options

    def special(self, type: RiseType) -> Options:
        """The producers that only some types have."""
        if type == index:
            return [(8, self.operation), (2, self.size_of)]
        if isinstance(type, ScalarType):
            return [(8, self.operation)]
        if isinstance(type, IdxType):
            return [(8, self.clamped)]
        if isinstance(type, VectorType):
            return [(4, self.vector_from_scalar), (8, self.operation)]
        if isinstance(type, TupleType):
            return self.special_pair(type)
        return self.special_array(type)

    def special_pair(self, type: TupleType) -> Options:
        first, second = components(type)
        both = isinstance(first, ArrayType) and isinstance(second, ArrayType)
        if both and length_of(first) == length_of(second):
            return [(4, self.tuple), (4, self.unzip)]
        return [(4, self.tuple)]

    def special_array(self, type: RiseType) -> Options:
        element = element_of(type)
        options: Options = [(8, self.map), (3, self.pad), (2, self.join), (1, self.unzipped)]
        options += [(9, self.rearranged), (6, self.indexed), (4, self.generate), (4, self.scan)]
        if self.allows("sort"):
            options.append((2, self.sort))
        if isinstance(element, TupleType):
            options.append((4, self.zip))
        if isinstance(element, VectorType):
            options.append((8, self.as_vector))
        if isinstance(element, ScalarType) and self.allows("asScalar"):
            options += [(2, self.as_scalar), (8, self.lane_by_lane)]
        if 0 < volume(type) <= SMALL:
            options.append((3, self.array_reduction))
        if is_matrix(type):
            options += [(3, self.transpose), (3, self.slide), (2, self.split)]
            if is_integer(element_of(element)) and self.allows("mma"):
                options.append((2, self.mma))
            if self.allows("mapLaneExchange"):
                options.append((1, self.lane_exchange))
            if self.allows("rotateValues") or self.allows("circularBuffer"):
                options.append((2, self.windows))
        return options
