"""The meaning of each pattern on symbolic values, including reads at computed indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from riselang.dialects.rise.types import IdxType, RiseType, uncurry
from riselang.nat import Nat, nat_max, nat_min
from riselang.rewrite.proving.size_conditions import at_least, equal, less
from riselang.rewrite.proving.symbolic_values import (
    Array,
    Function,
    Number,
    Opaque,
    Reduction,
    Typed,
    Value,
    apply,
    choose,
    distribute,
    element,
    reduction,
)
from riselang.rewrite.proving.symbols import Symbols
from riselang.rewrite.proving.view_meanings import VIEWS, size_argument
from riselang.support.errors import LimitationError
from riselang.term.nodes import Pattern


class Meanings:
    """The meanings of patterns, over the symbols of one proof."""

    def __init__(self, symbols: Symbols):
        self.symbols = symbols

    def function_for(self, pattern: Pattern) -> Value:
        """Return a pattern as a curried function."""
        inputs, _ = uncurry(pattern.spec.type)
        return self._curry(pattern, len(inputs), ())

    def _curry(self, pattern: Pattern, arity: int, arguments: tuple[Value, ...]) -> Value:
        if len(arguments) == arity:
            return self._meaning(pattern, arguments)
        return Function(lambda value: self._curry(pattern, arity, (*arguments, value)))

    def _meaning(self, pattern: Pattern, arguments: tuple[Value, ...]) -> Value:
        name = pattern.spec.name
        if name in VIEWS:
            return VIEWS[name](pattern, *arguments)
        if name in WITH_INDICES:
            return WITH_INDICES[name](self, pattern, *arguments)
        if pattern.spec.is_opaque:
            return _opaque_result(pattern, arguments)
        raise LimitationError(f"the prover does not support {name}", pattern.location)

    def with_index(self, index: Value, function: Callable[[Nat], Value]) -> Value:
        """Apply a function to an index that is given as a value."""

        def at(index: Value) -> Value:
            match index:
                case Number(value):
                    return function(value)
                case Opaque(type=IdxType()):
                    return function(self.symbols.number_for(index).value)
                case Reduction(type=IdxType()):
                    name = Opaque(index.type, index)
                    return function(self.symbols.number_for(name).value)
                case _:
                    raise TypeError(f"{index} is not an index")

        return distribute(index, at)

    def read(self, index: Value, array: Value) -> Value:
        return self.with_index(index, lambda position: element(array, position))

    def slice_at(self, start: Value, array: Value) -> Value:
        return Array(
            lambda i: self.with_index(start, lambda position: element(array, position + i))
        )

    def update_at(self, length: Nat, start: Value, update: Value, array: Value) -> Value:
        def at(i: Nat) -> Value:
            def from_start(position: Nat) -> Value:
                old_value, new_value = element(array, i), element(update, i - position)
                inner = choose(less(i, position + length), new_value, old_value)
                return choose(at_least(i, position), inner, old_value)

            return self.with_index(start, from_start)

        return Array(at)

    def gather(self, indices: Value, array: Value) -> Value:
        return Array(lambda i: self.read(element(indices, i), array))

    def reorder(self, function: Value, array: Value) -> Value:
        return Array(lambda i: self.read(apply(function, Number(i)), array))

    def scatter(
        self, pattern: Pattern, combine: Callable[[Value, Value], Value], *arguments: Value
    ) -> Value:
        indices, target, values = arguments

        def step(j: Nat, array: Value) -> Value:
            def at(i: Nat) -> Value:
                old_value = element(array, i)
                new_value = combine(old_value, element(values, j))
                return self.with_index(
                    element(indices, j),
                    lambda position: choose(equal(position, i), new_value, old_value),
                )

            return Array(at)

        return reduction(_result_type(pattern), size_argument(pattern, "m"), target, step)

    def from_idx(self, index: Value) -> Value:
        return self.with_index(index, Number)

    def clamp_idx(self, pattern: Pattern, number: Value) -> Value:
        last = size_argument(pattern, "n") - 1

        def clamp(number: Value) -> Value:
            if isinstance(number, Number):
                return Number(nat_max(0, nat_min(number.value, last)))
            return _opaque_result(pattern, (number,))

        return distribute(number, clamp)


def _result_type(pattern: Pattern) -> RiseType:
    inputs, result = uncurry(pattern.type)
    # A type variable is never a function type, so the arity is that of the type scheme.
    assert len(inputs) == pattern.spec.arity
    return result


def _opaque_result(pattern: Pattern, arguments: tuple[Value, ...]) -> Value:
    """Return an uninterpreted pattern: equal arguments give equal results."""
    inputs, result = uncurry(pattern.type)
    typed_arguments = tuple(
        Typed(type, value) for type, value in zip(inputs, arguments, strict=True)
    )
    sizes = tuple(argument for argument in pattern.arguments if not isinstance(argument, str))
    return Opaque(result, (pattern.spec.name, sizes), typed_arguments)


WITH_INDICES: Mapping[str, Callable[..., Value]] = {
    "at": lambda meanings, pattern, index, array: meanings.read(index, array),
    "sliceAt": lambda meanings, pattern, start, array: meanings.slice_at(start, array),
    "updateAt": lambda meanings, pattern, start, new, array: meanings.update_at(
        size_argument(pattern, "k"), start, new, array
    ),
    "gather": lambda meanings, pattern, indices, array: meanings.gather(indices, array),
    "reorder": lambda meanings, pattern, function, array: meanings.reorder(function, array),
    "scatter": lambda meanings, pattern, *arguments: meanings.scatter(
        pattern, lambda old, new: new, *arguments
    ),
    "scatterWith": lambda meanings, pattern, function, *arguments: meanings.scatter(
        pattern, lambda old, new: apply(apply(function, old), new), *arguments
    ),
    "fromIdx": lambda meanings, pattern, index: meanings.from_idx(index),
    "clampIdx": lambda meanings, pattern, number: meanings.clamp_idx(pattern, number),
}
