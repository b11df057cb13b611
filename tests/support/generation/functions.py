"""Functions: lambdas, variables, patterns that lack their last argument."""

from __future__ import annotations

from collections.abc import Callable

from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    TupleType,
    components,
    element_of,
    fun,
    idx,
    index,
)
from riselang.term.nodes import Apply, Lambda, Term, apply_all
from support.generation.maker import Maker
from support.generation.place import Place, is_integer, use
from support.random_types import is_matrix, length_of


class Functions(Maker):
    """Functions of a wanted type."""

    def function(self, type: FunType, place: Place) -> Term:
        options: list[tuple[int, Callable[[FunType, Place], Term]]] = [(6, self.abstraction)]
        if any(variable.type == type for variable in place.scope):
            options.append((4, self.function_variable))
        if place.depth > 0 and self.budget > 0:
            options += [(1, self.partial), (1, self.let_function)]
            if self.matching(type):
                options.append((4, self.pattern_function))
        return self.choices.weighted(options)(type, place)

    def abstraction(self, type: FunType, place: Place) -> Term:
        x = self.variable(type.input, "f" if isinstance(type.input, FunType) else "x")
        body = self.term(type.output, place.inside(x))
        return Lambda(x.name, type.input, self.using(x, body, place))

    def function_variable(self, type: FunType, place: Place) -> Term:
        return self.choices.of([variable for variable in place.scope if variable.type == type])

    def partial(self, type: FunType, place: Place) -> Term:
        """A lambda of more parameters with its first argument."""
        self.budget -= 1
        x = self.parameter(type.input, place)
        function = Lambda(x.name, x.type, self.function(type, place.inside(x)))
        return Apply(function, self.term(x.type, place.deeper))

    def let_function(self, type: FunType, place: Place) -> Term:
        """A function that shares a value between its calls."""
        self.budget -= 1
        value_type = self.types.data(min(place.room, 20))
        x = self.variable(value_type, "x")
        function = Lambda(x.name, value_type, self.function(type, place.inside(x)))
        value = self.term(value_type, place.deeper)
        return apply_all(use("let", value_type, type), [value, function])

    def pattern_function(self, type: FunType, place: Place) -> Term:
        """A pattern that lacks its last argument."""
        self.budget -= 1
        make = self.choices.of(self.matching(type))
        return make(place)

    def matching(self, type: FunType) -> list[Callable[[Place], Term]]:
        source, target = type.input, type.output
        found: list[Callable[[Place], Term]] = []
        if isinstance(source, TupleType):
            parts = components(source)
            if target in parts:
                name = "fst" if parts[0] == target else "snd"
                found.append(lambda place: use(name, *parts))
        if isinstance(source, FunType) or isinstance(target, FunType):
            return found
        if isinstance(source, IdxType) and target == index:
            found.append(lambda place: use("fromIdx", source.bound.constant))
        if is_integer(source) and isinstance(target, IdxType) and target != idx(0):
            found.append(lambda place: use("clampIdx", target.bound.constant, source))
        if isinstance(source, ArrayType) and isinstance(target, ArrayType):
            if source.length == target.length:
                a, b, n = element_of(source), element_of(target), length_of(source)
                found.append(lambda place: Apply(
                    self.map_pattern(n, a, b), self.term(fun(a, b), place.repeated(n))
                ))  # fmt: skip
            found += self.matching_views(source, target)
        if isinstance(source, ArrayType):
            a, n = element_of(source), length_of(source)
            found.append(lambda place: apply_all(
                use("reduce", n, a, target),
                [self.term(fun(target, a, target), place.repeated(n)), self.term(target, place)],
            ))  # fmt: skip
        return found

    def matching_views(self, source: ArrayType, target: ArrayType) -> list[Callable[[Place], Term]]:
        found: list[Callable[[Place], Term]] = []
        total, length, element = length_of(source), length_of(target), element_of(source)
        found.append(lambda place: use("reverse", total, element))
        if total > length:
            found.append(lambda place: use("take", length, total - length, element))
            found.append(lambda place: use("drop", total - length, length, element))
        if is_matrix(source):
            inner = element_of(source)
            n, m, t = length_of(source), length_of(inner), element_of(inner)
            found += [lambda place: use("transpose", n, m, t), lambda place: use("join", n, m, t)]
        if is_matrix(target):
            inner = element_of(target)
            count, chunk, part = length_of(target), length_of(inner), element_of(inner)
            if chunk >= 1:
                found.append(lambda place: use("split", chunk, count, part))
        wanted = fun(source, target)
        place = Place((), 0, 0)
        return [make for make in found if make(place).type == wanted]
