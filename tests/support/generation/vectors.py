"""Vectors: how they are made, and how their scalars are read; operations on them are in values."""

from __future__ import annotations

from functools import partial

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.types import (
    RiseType,
    VectorType,
    array,
    element_of,
    idx,
    index,
    vector,
)
from riselang.term.nodes import Apply, Lambda, Literal, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import length_of


class Vectors(Maker):
    """Vectors of a wanted type, and arrays of them."""

    def vector_from_scalar(self, type: RiseType, place: Place) -> Term:
        assert isinstance(type, VectorType)
        return repeated(self.term(type.element, place.deeper), type)

    def as_vector(self, type: RiseType, place: Place) -> Term:
        n, part = length_of(type), element_of(type)
        assert isinstance(part, VectorType)
        k, t = part.length.constant, part.element
        return Apply(use("asVector", k, n, t), self.term(array(n * k, t), place.deeper))

    def as_scalar(self, type: RiseType, place: Place) -> Term:
        length, t = length_of(type), element_of(type)
        widths = [k for k in range(1, max(length, 3)) if length % k == 0]
        k = self.choices.of(widths)
        n = length // k
        source = array(n, vector(k, t))
        return Apply(use("asScalar", k, n, t), self.term(source, place.deeper))

    def lane_by_lane(self, type: RiseType, place: Place) -> Term:
        """An array of scalars by operations on vectors, as a map over scalars is vectorised."""
        length, t = length_of(type), element_of(type)
        k = self.choices.of([k for k in (4, 2, 3, 1) if length % k == 0])
        n, inner = length // k, place.repeated(length // k)
        x, wanted = self.variable(vector(k, self.types.scalar()), "v"), vector(k, t)
        make = partial(self.term, place=inner.inside(x))
        body = self.using(x, self.scalars.operation(wanted, make), inner)
        vectors = self.as_vector(array(n, x.type), place)
        mapped = apply_all(
            self.map_pattern(n, x.type, wanted), [Lambda(x.name, x.type, body), vectors]
        )
        return Apply(use("asScalar", k, n, t), mapped)


def repeated(term: Term, type: VectorType) -> Term:
    """A scalar in each lane of a vector."""
    return Apply(use("vectorFromScalar", type.length.constant, type.element), term)


def scalars_of_vector(term: Term) -> Term:
    """The scalars of a vector, as an array."""
    assert isinstance(term.type, VectorType)
    k, t = term.type.length.constant, term.type.element
    single = Apply(use("generate", 1, term.type), Lambda("i", idx(1), term))
    return Apply(use("asScalar", k, 1, t), single)


def vector_of_scalars(term: Term) -> Term:
    """An array as one vector."""
    k, t = length_of(term.type), element_of(term.type)
    vectors = Apply(use("asVector", k, 1, t), term)
    first = Apply(use("clampIdx", 1, index), Literal(literal(0, index)))
    return apply_all(use("at", 1, vector(k, t)), [first, vectors])
