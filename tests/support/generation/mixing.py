"""Terms changed so that they depend on a variable, lest lambdas ignore theirs."""

from __future__ import annotations

from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    element_of,
    idx,
)
from riselang.term.nodes import Apply, Free, Lambda, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, is_data, occurs, use
from support.generation.vectors import repeated, scalars_of_vector, vector_of_scalars
from support.random_types import length_of, volume


class Mixing(Maker):
    """Brings a variable into a term."""

    def using(self, x: Free, body: Term, place: Place) -> Term:
        """The body, changed so that it depends on the variable, if it does not yet."""
        if not (is_data(x.type) and is_data(body.type)) or self.choices.one_in(6):
            return body
        if occurs(x.name, body) or volume(x.type) * volume(body.type) > place.room:
            return body
        return self.mixed(body, x)

    def mixed(self, body: Term, x: Term) -> Term:
        """The body with some of its scalars combined with `x`."""
        if isinstance(body.type, ScalarType):
            return self.scalars.binary(body.type, [body, self.digest(x, body.type)])
        if isinstance(body.type, IdxType):
            if body.type == idx(0):
                return body
            number = Apply(use("fromIdx", body.type.bound.constant), body)
            return self.clamp(self.mixed(number, x), body.type)
        if isinstance(body.type, VectorType):
            return self.mixed_vector(body, body.type, x)
        y = self.variable(body.type, "y")
        if isinstance(body.type, ArrayType):
            n, e = length_of(body.type), self.variable(element_of(body.type), "e")
            function = Lambda(e.name, e.type, self.mixed(e, x))
            return apply_all(self.map_pattern(n, e.type, e.type), [function, body])
        parts = components(body.type)
        values: list[Term] = [Apply(use(name, *parts), y) for name in ("fst", "snd")]
        side = self.choices.below(2)
        values[side] = self.mixed(values[side], x)
        result = apply_all(use("tuple", *parts), values)
        return apply_all(use("let", y.type, y.type), [body, Lambda(y.name, y.type, result)])

    def mixed_vector(self, body: Term, type: VectorType, x: Term) -> Term:
        """Lane by lane, or through the scalars of the vector."""
        if self.choices.one_in(3):
            return vector_of_scalars(self.mixed(scalars_of_vector(body), x))
        if isinstance(x.type, VectorType) and x.type.length == type.length:
            return self.scalars.binary(type, [body, self.scalars.converted(x, type)])
        assert isinstance(type.element, ScalarType)
        return self.scalars.binary(type, [body, repeated(self.digest(x, type.element), type)])

    def digest(self, x: Term, type: ScalarType) -> Term:
        """A scalar that depends on `x`."""
        if isinstance(x.type, ScalarType):
            return self.scalars.converted(x, type)
        if isinstance(x.type, TupleType):
            name = self.choices.of(("fst", "snd"))
            return self.digest(Apply(use(name, *components(x.type)), x), type)
        if isinstance(x.type, IdxType):
            return self.digest(Apply(use("fromIdx", x.type.bound.constant), x), type)
        if isinstance(x.type, VectorType):
            return self.digest(scalars_of_vector(x), type)
        e, a = self.variable(element_of(x.type), "e"), self.variable(type, "a")
        step = self.scalars.binary(type, [a, self.digest(e, type)])
        function = Lambda(a.name, type, Lambda(e.name, e.type, step))
        reduce = use("reduce", length_of(x.type), e.type, type, to=self.target())
        return apply_all(reduce, [function, self.scalars.literal(type), x])
