"""Terms of any type: lets, lambdas with arguments, projections; scalars and pairs."""

from __future__ import annotations

from riselang.dialects.rise.lane_types import Lanes
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    array,
    components,
    element_of,
    fun,
    idx,
    pair,
    uncurry,
)
from riselang.term.nodes import Apply, Lambda, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, is_data, use
from support.random_types import length_of, volume

SPACES = ("heap", "stack", "register")
"""Where a compiled program may put a value; shared memory is that of a GPU."""


class Values(Maker):
    """Terms that need no particular type, and those of scalars and pairs."""

    def let(self, type: RiseType, place: Place) -> Term:
        value_type = self.choices.weighted(
            [(2, lambda: type), (2, lambda: self.types.data(min(place.room, 40)))]
        )()
        value = self.term(value_type, place.deeper)
        x = self.variable(value_type, "x")
        body = self.using(x, self.term(type, place.inside(x)), place)
        let = use("let", value_type, type)
        return apply_all(let, [value, Lambda(x.name, value_type, body)])

    def let_of_function(self, type: RiseType, place: Place) -> Term:
        """A let whose function is no lambda."""
        value_type = self.source(place, is_data, lambda: self.types.data(min(place.room, 40)))
        value = self.term(value_type, place.deeper)
        function = self.term(fun(value_type, type), place.deeper)
        return apply_all(use("let", value_type, type), [value, function])

    def applied_lambda(self, type: RiseType, place: Place) -> Term:
        """A lambda of one to three parameters, some of them functions, and all its arguments."""
        parameters = [self.parameter(type, place) for _ in range(1 + self.choices.below(3))]
        arguments = [self.term(variable.type, place.deeper) for variable in parameters]
        inner = place
        for variable in parameters:
            inner = inner.inside(variable)
        body = self.term(type, inner)
        for variable in parameters:
            body = self.using(variable, body, place)
        for variable in reversed(parameters):
            body = Lambda(variable.name, variable.type, body)
        return apply_all(body, arguments)

    def applied_variable(self, type: RiseType, place: Place) -> Term:
        """A function variable with all its arguments, or an identity lambda where there is none."""
        functions = [v for v in place.scope if uncurry(v.type)[1] == type and v.type != type]
        if not functions:
            x = self.variable(type, "x")
            return Apply(Lambda(x.name, type, x), self.term(type, place.deeper))
        function = self.choices.of(functions[::-1])
        arguments = [self.term(t, place.deeper) for t in uncurry(function.type)[0]]
        return apply_all(function, arguments)

    def projection(self, type: RiseType, place: Place) -> Term:
        other = self.types.data(min(place.room, 20), 2)
        name, parts = self.choices.of((("fst", (type, other)), ("snd", (other, type))))
        return Apply(use(name, *parts), self.term(pair(*parts), place.deeper))

    def at(self, type: RiseType, place: Place) -> Term:
        source = self.source(
            place,
            lambda t: isinstance(t, ArrayType) and length_of(t) > 0 and element_of(t) == type,
            lambda: array(max(1, self.types.length(place.room // max(volume(type), 1))), type),
        )
        n = length_of(source)
        arguments = [self.term(t, place.deeper) for t in (idx(n), source)]
        return apply_all(use("at", n, type), arguments)

    def to_memory(self, type: RiseType, place: Place) -> Term:
        space = self.choices.of(SPACES if self.compiled else (*SPACES, "shared"))
        return Apply(use("toMem", space, type), self.term(type, place.deeper))

    def operation(self, type: RiseType, place: Place) -> Term:
        assert isinstance(type, Lanes)
        return self.scalars.operation(type, lambda wanted: self.term(wanted, place.deeper))

    def tuple(self, type: RiseType, place: Place) -> Term:
        parts = components(type)
        return apply_all(use("tuple", *parts), [self.term(t, place.deeper) for t in parts])

    def unzip(self, type: RiseType, place: Place) -> Term:
        first, second = components(type)
        a, b, n = element_of(first), element_of(second), length_of(first)
        return Apply(use("unzip", n, a, b), self.term(array(n, pair(a, b)), place.deeper))
