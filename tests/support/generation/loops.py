"""Terms that reduce, scan, iterate and repeat."""

from __future__ import annotations

from riselang.dialects.rise.attributes import literal
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
from riselang.term.nodes import Apply, Lambda, Literal, Scalar, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import length_of, volume


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
        name = self.choices.of(("reduce", "reduceSeq", "reduceSeqUnroll"))
        reduce = use(name, length, element, type, to=self.target())
        step = self.term(fun(element, type, type), place.repeated(length))
        init = self.term(type, place.deeper)
        return apply_all(reduce, [step, init, self.term(source, place.deeper)])

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
