"""Indices, and what is read and written at them."""

from __future__ import annotations

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    array,
    element_of,
    fun,
    i1,
    i8,
    i16,
    i32,
    i64,
    idx,
    index,
    u8,
    u16,
    u32,
    u64,
)
from riselang.term.conversion import bit_width
from riselang.term.nodes import Apply, Pattern, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, use
from support.random_types import length_of, volume


class Indices(Maker):
    """Indices and arrays that are made by index."""

    def clamped(self, type: RiseType, place: Place) -> Term:
        assert isinstance(type, IdxType)
        if self.allows("checkIdx") and self.choices.one_in(1 if place.may_fail else 3):
            return self.checked(type, place)
        return self.clamp(self.term(self.integer(), place.deeper), type)

    def checked(self, type: IdxType, place: Place) -> Term:
        """checkIdx of a number in range, or of any number where a term may fail."""
        bound = type.bound.constant
        if place.may_fail and self.choices.one_in(2):
            number = self.term(self.integer(), place.deeper)
        else:
            smaller = 1 + self.choices.below(bound)
            inside = Apply(use("fromIdx", smaller), self.term(idx(smaller), place.deeper))
            number = self.scalars.converted(inside, self.wide_integer(smaller))
        return Apply(use("checkIdx", bound, number.type), number)

    def wide_integer(self, bound: int) -> ScalarType:
        """An integer type that has the numbers below `bound`."""
        most = bound - 1
        types = [t for t in (i8, i16, i32, i64, index, u8, u16, u32, u64)
                 if most < 1 << (bit_width(t) - (not t.is_unsigned))]  # fmt: skip
        return self.choices.of([i1, *types] if bound <= 2 else types)

    def size_of(self, type: RiseType, place: Place) -> Term:
        """The length of an array as a number."""
        source = self.source(
            place,
            lambda found: isinstance(found, ArrayType),
            lambda: array(self.types.length(place.room), self.types.scalar()),
        )
        size = use("sizeOf", length_of(source), element_of(source))
        return Apply(size, self.term(source, place.deeper))

    def if_at_least(self, type: RiseType, place: Place) -> Term:
        """One of two values, by a size."""
        size, least = self.choices.below(5), self.choices.below(5)
        functions = [self.term(fun(index, type), place.deeper) for _ in range(2)]
        return apply_all(use("ifAtLeast", size, least, type), functions)

    def generate(self, type: RiseType, place: Place) -> Term:
        n, t = length_of(type), element_of(type)
        function = self.term(fun(idx(n), t), place.repeated(n))
        return Apply(use("generate", n, t, to=self.target()), function)

    def indexed(self, type: RiseType, place: Place) -> Term:
        """Elements that are read or written at indices known only when the program runs."""
        length, t = length_of(type), element_of(type)
        if length == 0:
            return self.leaf(type, place)
        room = max(1, place.room // max(volume(t), 1))
        other = self.types.length(room)
        rest, part = self.choices.below(4), self.choices.below(length + 1)
        indices, values = array(other, idx(length)), array(other, t)
        n = max(1, other)
        options: list[tuple[Pattern, list[RiseType]]] = [
            (use("gather", n, length, t), [array(length, idx(n)), array(n, t)]),
            (use("reorder", length, t), [fun(idx(length), idx(length)), type]),
            (use("sliceAt", length, rest, t), [idx(rest + 1), array(rest + length, t)]),
            (use("updateAt", part, length - part, t),
             [idx(length - part + 1), array(part, t), type]),
            (use("scatter", length, other, t), [indices, type, values]),
            (use("scatterWith", length, other, t), [fun(t, t, t), indices, type, values]),
        ]  # fmt: skip
        pattern, sources = self.choices.of(options)
        arguments: list[Term] = []
        for source in sources:
            inner = place.repeated(n) if isinstance(source, FunType) else place.deeper
            arguments.append(self.term(source, inner))
        return apply_all(pattern, arguments)
