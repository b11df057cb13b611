"""Values of the second evaluation: structures of arrays with an axis for each map around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from support.numpy_scalars import Array

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


class OutOfRange(Exception):
    """A number at some point is no index."""


Value: TypeAlias = "Data | Function"


def flatten(tree: Tree) -> list[Array]:
    if isinstance(tree, tuple):
        return flatten(tree[0]) + flatten(tree[1])
    return [tree]


def each(tree: Tree, change: Callable[[Array], Array]) -> Tree:
    if isinstance(tree, tuple):
        return each(tree[0], change), each(tree[1], change)
    return change(tree)


def both(left: Tree, right: Tree, change: Callable[[Array, Array], Array]) -> Tree:
    if isinstance(left, tuple):
        assert isinstance(right, tuple)
        return both(left[0], right[0], change), both(left[1], right[1], change)
    assert not isinstance(right, tuple)
    return change(left, right)


def lift(value: Value, batch: Batch) -> Value:
    """The value in a deeper context: the same at each point of the new maps."""
    if isinstance(value, Function) or value.depth == len(batch):
        return value
    old, new = value.depth, len(batch)

    def broadcast(array: Array) -> Array:
        expanded = np.expand_dims(array, tuple(range(old, new)))
        return np.broadcast_to(expanded, (*batch, *array.shape[old:]))

    return Data(new, each(value.tree, broadcast))


def plain(value: Value) -> Array:
    assert isinstance(value, Data)
    assert not isinstance(value.tree, tuple)
    return value.tree


def call(function: Value, argument: Value, batch: Batch) -> Value:
    assert isinstance(function, Function)
    return lift(function.call(argument, batch), batch)


def data(value: Value) -> Tree:
    assert isinstance(value, Data)
    return value.tree
