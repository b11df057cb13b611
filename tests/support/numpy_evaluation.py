"""What a term means, said a second time: all elements of a map at once, on structures of arrays.

It shares no code with `riselang.interpreter`. A value in a context of nested maps of lengths
(b0, b1, ...) is a numpy array whose first axes are these lengths; a pair is a pair of such arrays,
so an array of pairs is stored as a pair of arrays, and zip and unzip do nothing. A value from
further outside is broadcast along the maps it did not take part in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal as OneOf
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


def _both(left: Tree, right: Tree, change: Callable[[Array, Array], Array]) -> Tree:
    if isinstance(left, tuple):
        assert isinstance(right, tuple)
        return _both(left[0], right[0], change), _both(left[1], right[1], change)
    assert not isinstance(right, tuple)
    return change(left, right)


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


def _scan(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, accumulator, source = arguments
    assert isinstance(accumulator, Data)
    axis = len(batch)
    result = _each(accumulator.tree, lambda array: np.take(np.expand_dims(array, axis), [], axis))
    for position in range(sizes["n"]):
        element = _each(_data(source), lambda array, at=position: array.take([at], axis))
        accumulator = _reduce({"n": 1}, batch, [function, accumulator, Data(axis, element)])
        row = _each(_data(accumulator), lambda array: np.expand_dims(array, axis))
        result = _both(result, row, lambda left, right: np.concatenate([left, right], axis))
    return Data(axis, result)


def _iterate(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, value = arguments
    for _ in range(sizes["k"]):
        value = _call(function, value, batch)
    return value


def _while(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """A point whose condition no longer holds keeps its value while the others go on."""
    condition, function, value = arguments
    active = np.ones(batch, np.bool_)
    while True:
        active = active & _array(_call(condition, value, batch))
        if not active.any():
            return value
        following = _data(_call(function, value, batch))

        def choose(new: Array, old: Array, active: Array = active) -> Array:
            return np.where(active.reshape((*batch, *[1] * (new.ndim - len(batch)))), new, old)

        value = Data(len(batch), _both(following, _data(value), choose))


def _reduce_short(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    """reducePar of less than one chunk."""
    function, init, _ = arguments
    if sizes["n"] == 0:
        return init
    whole = _reduce(sizes, batch, arguments)
    row = _each(_data(whole), lambda array: np.expand_dims(array, len(batch)))
    return _reduce({"n": 1}, batch, [function, init, Data(len(batch), row)])


def _call(function: Value, argument: Value, batch: Batch) -> Value:
    assert isinstance(function, Function)
    return _lift(function.call(argument, batch), batch)


def _data(value: Value) -> Tree:
    assert isinstance(value, Data)
    return value.tree


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


def _pad(
    mode: OneOf["edge", "wrap", "reflect"],
) -> Callable[[Array, int, dict[str, int]], Array]:
    def change(array: Array, axis: int, sizes: dict[str, int]) -> Array:
        width = [(0, 0)] * array.ndim
        width[axis] = sizes["l"], sizes["r"]
        return np.pad(array, width, mode)

    return change


def _concat(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    axis = len(batch)
    first, second = map(_data, arguments)
    return Data(axis, _both(first, second, lambda xs, ys: np.concatenate([xs, ys], axis)))


def _pad_const(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    axis = len(batch)
    value, source = map(_data, arguments)

    def surround(value: Array, array: Array) -> Array:
        row = np.expand_dims(value, axis)
        left, right = (np.repeat(row, sizes[side], axis) for side in ("l", "r"))
        return np.concatenate([left, array, right], axis)

    return Data(axis, _both(value, source, surround))


# Indices


def _along(indices: Array, array: Array, axis: int) -> Array:
    """The indices, one list for each point, with as many axes as the array has."""
    limit = array.shape[axis]
    assert ((indices >= 0) & (indices < limit)).all(), "an index is out of range"
    return indices.reshape((*indices.shape, *[1] * (array.ndim - axis - 1)))


def _chosen(source: Tree, indices: Array, axis: int) -> Tree:
    """At each point, the elements at the indices of that point."""
    return _each(
        source, lambda array: np.take_along_axis(array, _along(indices, array, axis), axis)
    )


def _replaced(source: Tree, indices: Array, new: Tree, axis: int) -> Tree:
    """At each point, the array with the elements at different indices replaced."""

    def put(array: Array, values: Array) -> Array:
        result = np.array(array)
        np.put_along_axis(result, _along(indices, array, axis), values, axis)
        return result

    return _both(source, new, put)


def _range(sizes: dict[str, int], batch: Batch) -> Data:
    inner = (*batch, sizes["n"])
    return Data(len(inner), np.broadcast_to(np.arange(sizes["n"], dtype=np.int64), inner))


def _generate(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    inner = (*batch, sizes["n"])
    return Data(len(batch), _data(_call(arguments[0], _range(sizes, batch), inner)))


def _reorder(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    return _gather(sizes, batch, [_generate(sizes, batch, arguments[:1]), arguments[1]])


def _gather(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    indices, source = arguments
    return Data(len(batch), _chosen(_data(source), _array(indices), len(batch)))


def _slice(start: Value, length: int) -> Array:
    return np.expand_dims(_array(start), -1) + np.arange(length)


def _slice_at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    start, source = arguments
    return Data(len(batch), _chosen(_data(source), _slice(start, sizes["k"]), len(batch)))


def _at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    row = _data(_slice_at({"k": 1}, batch, arguments))
    return Data(len(batch), _each(row, lambda array: np.squeeze(array, len(batch))))


def _update_at(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    start, new, source = arguments
    indices = _slice(start, sizes["k"])
    return Data(len(batch), _replaced(_data(source), indices, _data(new), len(batch)))


def _scatter_with(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    function, indices, start, values = arguments
    axis, result = len(batch), _data(start)
    for position in range(sizes["m"]):
        index = _array(indices).take(position, axis)
        new = _each(_data(values), lambda array, at=position: array.take(at, axis))
        old = _at(sizes, batch, [Data(axis, index), Data(axis, result)])
        combined = _call(_call(function, Data(axis, new), batch), old, batch)
        row = _each(_data(combined), lambda array: np.expand_dims(array, axis))
        result = _replaced(result, np.expand_dims(index, axis), row, axis)
    return Data(axis, result)


def _scatter(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    newest = Function(lambda new, _: Function(lambda old, at: _lift(new, at)))
    return _scatter_with(sizes, batch, [newest, *arguments])


def _clamp_idx(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    number = _array(arguments[0]).astype(np.int64)
    return Data(len(batch), np.clip(number, 0, sizes["n"] - 1))


def _same(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    return arguments[0]


def _windows(sizes: dict[str, int], batch: Batch, arguments: list[Value]) -> Value:
    mapped = _map({"n": sizes["n"] + sizes["sz"] - 1}, batch, arguments)
    return _view(_slide)({**sizes, "sp": 1}, batch, [mapped])


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
    "pad": _view(_pad("edge")),
    "let": _let,
    "mapSeqUnroll": _map,
    "mapBlock": _map,
    "mapThread": _map,
    "mapWarp": _map,
    "mapLane": _map,
    "reduceSeqUnroll": _reduce,
    "reducePar": _reduce_short,
    "scan": _scan,
    "scanSeq": _scan,
    "iterate": _iterate,
    "iterateSeq": _iterate,
    "while": _while,
    "toMem": _same,
    "reverse": _view(lambda array, axis, sizes: np.flip(array, axis)),
    "padConst": _pad_const,
    "padWrap": _view(_pad("wrap")),
    "padReflect": _view(_pad("reflect")),
    "take": _view(lambda array, axis, sizes: np.take(array, range(sizes["k"]), axis)),
    "drop": _view(lambda array, axis, sizes: np.delete(array, slice(0, sizes["k"]), axis)),
    "concat": _concat,
    "generate": _generate,
    "fromIdx": _same,
    "sizeOf": lambda sizes, batch, arguments: Data(
        len(batch), np.full(len(batch), sizes["n"], np.int64)
    ),
    "clampIdx": _clamp_idx,
    "at": _at,
    "sliceAt": _slice_at,
    "updateAt": _update_at,
    "gather": _gather,
    "reorder": _reorder,
    "scatter": _scatter,
    "scatterWith": _scatter_with,
    "circularBuffer": _windows,
    "rotateValues": _windows,
}
