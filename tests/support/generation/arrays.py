"""Arrays that are computed: maps, windows, zips, sorts."""

from __future__ import annotations

from math import gcd

from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    array,
    components,
    contains_array,
    element_of,
    fun,
    i1,
    pair,
)
from riselang.term.nodes import Apply, Lambda, Scalar, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import length_of


class Arrays(Maker):
    """Arrays of a wanted type."""

    def map(self, type: RiseType, place: Place) -> Term:
        n, target = length_of(type), element_of(type)
        inner = place.repeated(n)
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) == n,
            lambda: array(n, self.element(target, inner)),
        )
        element = element_of(source)
        function = self.term(fun(element, target), inner)
        return apply_all(
            self.map_pattern(n, element, target), [function, self.term(source, place.deeper)]
        )

    def element(self, target: RiseType, place: Place) -> RiseType:
        return self.choices.weighted(
            [(2, lambda: target), (3, lambda: self.types.data(min(place.room, 16), 2))]
        )()

    def zip(self, type: RiseType, place: Place) -> Term:
        n, (first, second) = length_of(type), components(element_of(type))
        arguments = [self.term(array(n, t), place.deeper) for t in (first, second)]
        return apply_all(use("zip", n, first, second), arguments)

    def unzipped(self, type: RiseType, place: Place) -> Term:
        """One side of an unzip."""
        n, wanted = length_of(type), element_of(type)
        other = self.types.data(min(place.room // max(n, 1), 6), 1)
        name, parts = self.choices.of((("fst", (wanted, other)), ("snd", (other, wanted))))
        pairs = self.term(array(n, pair(*parts)), place.deeper)
        arrays = [array(n, part) for part in parts]
        return Apply(use(name, *arrays), Apply(use("unzip", n, *parts), pairs))

    def windows(self, type: RiseType, place: Place) -> Term:
        """Windows of a mapped array."""
        n, inner = length_of(type), element_of(type)
        size, t = length_of(inner), element_of(inner)
        if size == 0:
            return self.leaf(type, place)
        length = n + size - 1
        pattern, s = use("rotateValues", size, n, t, to=self.target()), t
        circular = self.allows("circularBuffer")
        if circular and (not self.allows("rotateValues") or self.choices.one_in(2)):
            s = self.element(t, place.repeated(length))
            buffer = size + self.choices.below(3)
            pattern = use("circularBuffer", buffer, size, n, s, t, to=self.target())
        function = self.term(fun(s, t), place.repeated(length))
        return apply_all(pattern, [function, self.term(array(length, s), place.deeper)])

    def lane_exchange(self, type: RiseType, place: Place) -> Term:
        """Rows of rows that groups of lanes exchange."""
        n, inner = length_of(type), element_of(type)
        length, t = length_of(inner), element_of(inner)
        q = gcd(n, length)
        if q == 0:
            return self.leaf(type, place)
        rows, s = array(length // q, array(q, t)), self.element(t, place.repeated(n))
        arguments = [
            self.term(fun(s, rows), place.repeated(n)), self.term(array(n, s), place.deeper),
        ]  # fmt: skip
        exchanged = apply_all(use("mapLaneExchange", q, n // q, length // q, s, t), arguments)
        row = self.variable(rows, "row")
        joined = Lambda(row.name, rows, Apply(use("join", length // q, q, t), row))
        return apply_all(use("map", n, rows, inner), [joined, exchanged])

    def mma(self, type: RiseType, place: Place) -> Term:
        """A tile of integers, so that the order of sums does not matter."""
        m, n, s = length_of(type), length_of(element_of(type)), self.integer()
        t = element_of(element_of(type))
        assert isinstance(t, ScalarType)
        g, h, k = 1 + self.choices.below(4), 1 + self.choices.below(2), self.choices.below(3)
        repeated = place.repeated(max(1, m * n * k * h * g))
        step = self.term(fun(t, pair(s, s), t), repeated)
        if self.choices.one_in(2):
            a, p = self.variable(t, "a"), self.variable(pair(s, s), "p")
            parts = [Apply(use(name, s, s), p) for name in ("fst", "snd")]
            factors = [self.scalars.converted(part, t) for part in parts]
            total = Scalar("arith.addi", [a, Scalar("arith.muli", factors, t)], t)
            step = Lambda(a.name, t, Lambda(p.name, p.type, total))
        sources = [array(k, array(m, array(h * g, s))), array(k * h, array(n * g, s))]
        arguments = [self.term(each, place.deeper) for each in (t, *sources)]
        return apply_all(use("mma", g, h, m, n, k, s, t), [step, *arguments])

    def sort(self, type: RiseType, place: Place) -> Term:
        """Sorted by a key, since a function that is no order sorts in no particular way."""
        n, t = length_of(type), element_of(type)
        key = self.term(fun(t, self.integer()), place.repeated(n * n).safe)
        a, b = self.variable(t, "a"), self.variable(t, "b")
        predicate = self.choices.of(("slt", "sgt", "ult", "ugt"))
        before = Scalar("arith.cmpi", [Apply(key, a), Apply(key, b)], i1, predicate)
        order = Lambda(a.name, t, Lambda(b.name, t, before))
        return apply_all(use("sort", n, t), [order, self.term(type, place.deeper)])

    def scan(self, type: RiseType, place: Place) -> Term:
        n, t = length_of(type), element_of(type)
        if self.compiled and contains_array(t):
            return self.map(type, place)
        source = self.source(
            place,
            lambda s: isinstance(s, ArrayType) and length_of(s) == n,
            lambda: array(n, self.element(t, place.repeated(n))),
        )
        element = element_of(source)
        scan = use(self.choices.of(("scan", "scanSeq")), n, element, t, to=self.target())
        step = self.term(fun(t, element, t), place.repeated(n))
        arguments = [self.term(wanted, place.deeper) for wanted in (t, source)]
        return apply_all(scan, [step, *arguments])
