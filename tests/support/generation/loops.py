"""Terms that reduce, scan, iterate and repeat."""

from __future__ import annotations

from dataclasses import replace

from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    array,
    element_of,
    fun,
    i1,
    idx,
    index,
    pair,
)
from riselang.term.nodes import Apply, Free, Lambda, Literal, Pattern, Scalar, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import length_of, volume

REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank")


class Loops(Maker):
    """Loops that are no maps."""

    def reduction(self, type: RiseType, place: Place) -> Term:
        room = place.room // max(volume(type), 1)
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) <= max(room, 1),
            lambda: array(self.types.length(room), self.types.data(min(room, 12), 2)),
        )
        length, element = length_of(source), element_of(source)
        reduce = self.reduce_pattern(length, element, type)
        step = self.term(fun(type, element, type), place.repeated(length))
        init = self.term(type, place.deeper)
        return apply_all(reduce, [step, init, self.term(source, place.deeper)])

    def reduce_pattern(self, length: int, element: RiseType, type: RiseType) -> Pattern:
        name = self.choices.of(REDUCTIONS)
        axis = [self.choices.below(2)] if "d" in PATTERNS[name].parameters else []
        return use(name, *axis, length, element, type, to=self.target())

    def array_reduction(self, type: RiseType, place: Place) -> Term:
        """A reduction whose steps change the elements of an array in place, or ignore it."""
        length = self.types.length(min(3, place.room // max(volume(type), 1)))
        element = self.types.data(4, 1)
        reduce = self.reduce_pattern(length, element, type)
        e, a = self.variable(element, "e"), self.variable(type, "a")
        body = self.changed(a, place.repeated(length).inside(e))
        step = Lambda(a.name, type, Lambda(e.name, element, body))
        sources = [self.term(wanted, place.deeper) for wanted in (type, array(length, element))]
        return apply_all(reduce, [step, *sources])

    def changed(self, accumulator: Free, place: Place) -> Term:
        """What a step makes of an array that it has: no element of the result needs two of it."""
        type = accumulator.type
        n, t = length_of(type), element_of(type)
        kind = self.choices.of(("ignored", "kept", "mapped", "zipped", "gathered", "scattered"))
        if kind == "ignored":
            return self.term(type, place)
        if kind == "kept":
            return accumulator
        if kind == "mapped":
            function = self.term(fun(t, t), place.repeated(n))
            return apply_all(use("map", n, t, t), [function, accumulator])
        if kind == "zipped":
            other = self.types.data(4, 1)
            arrays = [self.term(array(n, other), place.deeper), accumulator]
            pairs = apply_all(use("zip", n, other, t), arrays)
            function = self.term(fun(pair(other, t), t), place.repeated(n))
            return apply_all(use("map", n, pair(other, t), t), [function, pairs])
        return self.read_at_indices(kind, type, place)

    def read_at_indices(self, kind: str, type: RiseType, place: Place) -> Term:
        """Elements of another such reduction, at indices known only when the program runs."""
        n, t, m = length_of(type), element_of(type), 2
        inner = array(m, t)
        if place.depth <= 0 or volume(inner) > place.room:
            return self.term(type, place)
        # Other loops would keep the arrays out of registers.
        near = replace(place, depth=place.depth - 1 if self.choices.one_in(3) else 0)
        values = self.array_reduction(inner, near)
        if kind == "gathered":
            indices = self.term(array(n, idx(m)), near)
            return apply_all(use("gather", m, n, t), [indices, values])
        indices, start = self.term(array(m, idx(n)), near), self.term(type, near)
        return apply_all(use("scatter", n, m, t), [indices, start, values])

    def parallel_reduction(self, type: RiseType, place: Place) -> Term:
        room = place.room // max(volume(type), 1)
        source = array(self.types.length(room), type)
        length = length_of(source)
        step = self.term(fun(type, type, type), place.repeated(length))
        arguments = [self.term(wanted, place.deeper) for wanted in (type, source)]
        reduce = use("reducePar", length, type, to=self.target())
        return apply_all(reduce, [step, *arguments])

    def iteration(self, type: RiseType, place: Place) -> Term:
        times = self.choices.below(4)
        iterate = use(self.choices.of(("iterate", "iterateSeq")), times, type, to=self.target())
        step = self.term(fun(type, type), place.repeated(times))
        return apply_all(iterate, [step, self.term(type, place.deeper)])

    def while_loop(self, type: RiseType, place: Place) -> Term:
        """A while over a counter and a value, so that it ends."""
        state = pair(index, type)
        inner = place.repeated(3).safe
        x, y = self.variable(state, "x"), self.variable(state, "y")
        limit = Literal(literal(self.choices.below(4), index))
        counted = Scalar("arith.cmpi", [Apply(use("fst", index, type), x), limit], i1, "slt")
        condition = Scalar("arith.andi", [counted, self.term(i1, inner.inside(x))], i1)
        one = Literal(literal(1, index))
        count = Scalar("arith.addi", [Apply(use("fst", index, type), y), one], index)
        step = apply_all(use("tuple", index, type), [count, self.term(type, inner.inside(y))])
        start = [self.clamped_number(place), self.term(type, place.deeper)]
        result = apply_all(use("while", state, to=self.target()), [
            Lambda(x.name, state, condition),
            Lambda(y.name, state, step),
            apply_all(use("tuple", index, type), start),
        ])  # fmt: skip
        return Apply(use("snd", index, type), result)

    def clamped_number(self, place: Place) -> Term:
        return Apply(use("fromIdx", 4), self.term(idx(4), place.deeper))
