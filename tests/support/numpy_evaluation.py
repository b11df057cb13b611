"""What a term means, said a second time: all elements of a map at once, on structures of arrays.

It shares no code with `riselang.interpreter`. A value in a context of nested maps of lengths
(b0, b1, ...) is a numpy array whose first axes are these lengths; a pair is a pair of such arrays,
so an array of pairs is stored as a pair of arrays, and zip and unzip do nothing. A value from
further outside is broadcast along the maps it did not take part in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    RiseType,
    TupleType,
    components,
    element_of,
    leaves,
)
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
)
from support import numpy_scalars
from support.numpy_scalars import DTYPES, Array

Tree: TypeAlias = "Array | tuple[Tree, Tree]"
Batch: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Data:
    """A value for each point of a context of maps; `depth` counts the maps."""

    depth: int
    tree: Tree


@dataclass(frozen=True)
class Function:
    """A function, called with the context it is called in."""

    call: Callable[[Value, Batch], Value]


Value: TypeAlias = "Data | Function"


def run(term: Term, inputs: Sequence[Sequence[Array]], types: Sequence[RiseType]) -> Tree:
    """The closed `term` applied to inputs, each given as one array for each scalar leaf."""
    result = _evaluate(term, (), ())
    for arrays, type in zip(inputs, types, strict=True):
        assert isinstance(result, Function)
        result = result.call(Data(0, _tree(type, list(arrays))), ())
    assert isinstance(result, Data)
    return result.tree


def flatten(tree: Tree) -> list[Array]:
    if isinstance(tree, tuple):
        return flatten(tree[0]) + flatten(tree[1])
    return [tree]


def _tree(type: RiseType, arrays: list[Array]) -> Tree:
    """The arrays, one for each scalar leaf, paired as the tuples in `type` are."""
    while isinstance(type, ArrayType):
        type = element_of(type)
    if not isinstance(type, TupleType):
        return arrays[0]
    first, second = components(type)
    count = len(list(leaves(first)))
    return _tree(first, arrays[:count]), _tree(second, arrays[count:])


def _each(tree: Tree, change: Callable[[Array], Array]) -> Tree:
    if isinstance(tree, tuple):
        return _each(tree[0], change), _each(tree[1], change)
    return change(tree)


def _lift(value: Value, batch: Batch) -> Value:
    """The value in a deeper context: the same at each point of the new maps."""
    if isinstance(value, Function) or value.depth == len(batch):
        return value
    old, new = value.depth, len(batch)

    def broadcast(array: Array) -> Array:
        expanded = np.expand_dims(array, tuple(range(old, new)))
        return np.broadcast_to(expanded, (*batch, *array.shape[old:]))

    return Data(new, _each(value.tree, broadcast))


def _evaluate(term: Term, environment: tuple[Value, ...], batch: Batch) -> Value:
    match term:
        case Bound():
            return _lift(environment[-1 - term.index], batch)
        case Lambda():
            return Function(lambda value, at: _evaluate(term.body, (*environment, value), at))
        case Apply():
            function = _evaluate(term.function, environment, batch)
            assert isinstance(function, Function)
            return _lift(function.call(_evaluate(term.argument, environment, batch), batch), batch)
        case Literal():
            name = SCALAR_NAMES[scalar_type(term)]
            return Data(len(batch), np.full(batch, _number(term.number, name), DTYPES[name]))
        case Scalar():
            operands = [_array(_evaluate(x, environment, batch)) for x in term.operands]
            sources = [SCALAR_NAMES[scalar_type(x)] for x in term.operands]
            target = SCALAR_NAMES[scalar_type(term)]
            result = numpy_scalars.evaluate(term.op, operands, sources, target, term.predicate)
            return Data(len(batch), np.asarray(result))
        case Pattern():
            return _curried(PATTERNS[term.spec.name], term, ())
        case _:
            raise TypeError(f"{term!r} is not expected here")


def _number(number: float, type: str) -> float | bool:
    return number != 0 if type == "i1" else number


def _array(value: Value) -> Array:
    assert isinstance(value, Data)
    assert not isinstance(value.tree, tuple)
    return value.tree


Meaning: TypeAlias = "Callable[[dict[str, int], Batch, list[Value]], Value]"


def _curried(meaning: Meaning, pattern: Pattern, given: tuple[Value, ...]) -> Function:
    def call(argument: Value, batch: Batch) -> Value:
        arguments = (*given, argument)
        if len(arguments) < pattern.spec.arity:
            return _curried(meaning, pattern, arguments)
        lifted = [_lift(value, batch) for value in arguments]
        return meaning(_sizes(pattern), batch, lifted)

    return Function(call)


def _sizes(pattern: Pattern) -> dict[str, int]:
    named = zip(pattern.spec.parameters, pattern.arguments, strict=True)
    return {name: value.constant for name, value in named if isinstance(value, Nat)}


# Patterns


def _map(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, source = arguments
    assert isinstance(function, Function)
    assert isinstance(source, Data)
    inner = (*batch, sizes["n"])
    result = _lift(function.call(Data(len(inner), source.tree), inner), inner)
    assert isinstance(result, Data)
    return Data(len(batch), result.tree)


def _reduce(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, accumulator, source = arguments
    assert isinstance(function, Function)
    assert isinstance(source, Data)
    for position in range(sizes["n"]):
        element = _each(source.tree, lambda array, at=position: array.take(at, len(batch)))
        step = function.call(Data(len(batch), element), batch)
        assert isinstance(step, Function)
        accumulator = _lift(step.call(accumulator, batch), batch)
    return accumulator


def _pair(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    first, second = arguments
    assert isinstance(first, Data)
    assert isinstance(second, Data)
    return Data(len(batch), (first.tree, second.tree))


def _component(position: int) -> Meaning:
    def meaning(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
        (pair,) = arguments
        assert isinstance(pair, Data)
        assert isinstance(pair.tree, tuple)
        return Data(len(batch), pair.tree[position])

    return meaning


def _let(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    value, body = arguments
    assert isinstance(body, Function)
    return body.call(value, batch)


def _view(change: Callable[[Array, int, dict[str, int]], Array]) -> Meaning:
    """A pattern that moves elements; `change` gets the array, its first own axis and the sizes."""

    def meaning(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
        (source,) = arguments
        assert isinstance(source, Data)
        axis = len(batch)
        return Data(axis, _each(source.tree, lambda array: change(array, axis, sizes)))

    return meaning


def _split(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    shape = array.shape
    return array.reshape(*shape[:axis], sizes["n"], sizes["m"], *shape[axis + 1 :])


def _join(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    shape = array.shape
    return array.reshape(*shape[:axis], sizes["n"] * sizes["m"], *shape[axis + 2 :])


def _slide(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    starts = np.arange(sizes["n"])[:, None] * sizes["sp"]
    return np.take(array, starts + np.arange(sizes["sz"]), axis)


def _pad(array: Array, axis: int, sizes: dict[str, int]) -> Array:
    width = [(0, 0)] * array.ndim
    width[axis] = sizes["l"], sizes["r"]
    return np.pad(array, width, "edge")


PATTERNS: dict[str, Meaning] = {
    "map": _map,
    "mapSeq": _map,
    "mapPar": _map,
    "reduce": _reduce,
    "reduceSeq": _reduce,
    "zip": _pair,
    "tuple": _pair,
    "unzip": _view(lambda array, axis, sizes: array),
    "fst": _component(0),
    "snd": _component(1),
    "split": _view(_split),
    "join": _view(_join),
    "transpose": _view(lambda array, axis, sizes: np.swapaxes(array, axis, axis + 1)),
    "slide": _view(_slide),
    "pad": _view(_pad),
    "let": _let,
}
