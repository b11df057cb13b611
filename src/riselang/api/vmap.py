"""`rl.vmap`: a function on elements as a function on arrays, by a map over its arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.argument_types import is_leaf
from riselang.api.function_transformation import FunctionTransformation
from riselang.dialects.rise.types import ArrayType
from riselang.dsl.patterns import map as map_pattern
from riselang.dsl.patterns import transpose, unzip
from riselang.dsl.patterns import zip as zip_pattern
from riselang.dsl.symbolic_values import Value, as_node
from riselang.dsl.tracing import value_text
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.structures import Structure, flatten
from riselang.support.tracebacks import with_short_tracebacks

Axes = Any
"""An axis, None, or a structure of these that matches the arguments or the results."""


@with_short_tracebacks
def vmap(function: Callable[..., Any], in_axes: Axes = 0, out_axes: Axes = 0) -> Vmapped:
    """Map a function over an axis of each argument; the results are stacked along `out_axes`.

    `in_axes` is the axis of all arguments, or a tuple with an axis for each argument; None passes
    an argument to all calls as it is. Arguments by name are mapped over axis 0. An axis may be a
    structure that matches the argument or the result.

    The function may be a plain one, a jitted one, or the result of `vmap`. Outside a jitted
    function, the mapped function is compiled for the arguments of each call.
    """
    if not callable(function):
        found = value_text(function)
        raise UserError(f"vmap: expected a function, but found {found}", user_location())
    return Vmapped(function, in_axes, out_axes)


class Vmapped(FunctionTransformation):
    """A function that is mapped over an axis of its arguments."""

    def __init__(self, function: Callable[..., Any], in_axes: Axes, out_axes: Axes):
        super().__init__(function, getattr(function, "__name__", "vmapped"))
        self.in_axes = in_axes
        self.out_axes = out_axes

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters without annotations, which are types of elements."""
        signature = inspect.signature(self.function)
        parameters = [
            parameter.replace(annotation=inspect.Parameter.empty)
            for parameter in signature.parameters.values()
        ]
        return inspect.Signature(parameters)

    def trace_call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        return _Mapping(self, arguments, named).results()


class _Mapping:
    """One application of a mapped function while a program is traced."""

    def __init__(self, mapped: Vmapped, arguments: Sequence[Any], named: Mapping[str, Any]):
        self._mapped = mapped
        self._leaves, self._structure = flatten((tuple(arguments), dict(named)), is_leaf)
        axes = self._argument_axes(len(arguments))
        positional, keywords = self._structure.parts
        self._axes = [
            *expand_axes(axes, positional, "in_axes"),
            *expand_axes(0, keywords, "in_axes"),
        ]
        self._result_structure: Structure | None = None

    def _argument_axes(self, count: int) -> Axes:
        axes = self._mapped.in_axes
        if isinstance(axes, tuple | list) and len(_as_sequence(axes)) != count:
            entries = format_count(len(_as_sequence(axes)), "entry", "entries")
            raise UserError(
                f"vmap: in_axes has {entries}, but "
                f"{self._mapped.__name__} is called with "
                f"{format_count(count, 'positional argument')}",
                user_location(),
            )
        return tuple(_as_sequence(axes)) if isinstance(axes, list) else axes

    def results(self) -> Any:
        batches = [
            move_to_front(leaf, axis)
            for leaf, axis in zip(self._leaves, self._axes, strict=True)
            if axis is not None
        ]
        if not batches:
            raise UserError(
                f"vmap: no argument of {self._mapped.__name__} is mapped; in_axes must have an "
                "axis for at least one of them",
                user_location(),
            )
        zipped = batches[-1]
        for batch in reversed(batches[:-1]):
            zipped = zip_pattern(batch, zipped)
        mapped = map_pattern(self._apply, zipped)
        assert self._result_structure is not None
        return self._unpack(mapped, self._result_structure)

    def _apply(self, elements: Value) -> Any:
        """Apply the function to the elements, which are in a pair if there are several."""
        count = sum(axis is not None for axis in self._axes)
        parts = iter(_components(elements, count))
        leaves = [
            leaf if axis is None else next(parts)
            for leaf, axis in zip(self._leaves, self._axes, strict=True)
        ]
        arguments, named = self._structure.unflatten(leaves)
        results, self._result_structure = flatten(
            self._mapped.function(*arguments, **named), is_leaf
        )
        if not results:
            raise UserError(
                f"{self._mapped.__name__} returns nothing; return the value it computes",
                function_location(self._mapped.function),
            )
        return results[0] if len(results) == 1 else tuple(results)

    def _unpack(self, mapped: Value, structure: Structure) -> Any:
        axes = expand_axes(self._mapped.out_axes, structure, "out_axes")
        values: list[Value] = []
        for _ in axes[1:]:
            pair = unzip(mapped)
            values.append(pair.fst)
            mapped = pair.snd
        values.append(mapped)
        return structure.unflatten(
            [move_from_front(value, axis) for value, axis in zip(values, axes, strict=True)]
        )


def _components(value: Value, count: int) -> list[Value]:
    parts: list[Value] = []
    for _ in range(count - 1):
        parts.append(value.fst)
        value = value.snd
    return [*parts, value]


def _as_sequence(axes: Any) -> Sequence[Any]:
    return axes


def expand_axes(axes: Axes, structure: Structure, what: str) -> list[int | None]:
    """Return the axis of each leaf of a structure."""
    if axes is None or isinstance(axes, int):
        return [axes] * structure.leaf_count
    leaves, given = flatten(axes, lambda value: value is None or isinstance(value, int))
    if given.is_leaf or given.names != structure.names or given.kind != structure.kind:
        raise UserError(
            f"vmap: {what} must be an axis, None, or a structure of these that matches the values, "
            f"but is {axes!r}",
            user_location(),
        )
    results: list[int | None] = []
    for axis_part, part in zip(given.parts, structure.parts, strict=True):
        count = axis_part.leaf_count
        results += expand_axes(axis_part.unflatten(leaves[:count]), part, what)
        del leaves[:count]
    return results


def move_to_front(value: Any, axis: int) -> Value:
    """Transpose an array so that an axis becomes the first one."""
    array = value if isinstance(value, Value) else Value(as_node(value))
    for depth in reversed(range(_position(axis, _rank(array), array))):
        array = _transpose_at(array, depth)
    return array


def move_from_front(array: Value, axis: int | None) -> Value:
    """Transpose an array so that the first axis becomes another one."""
    if axis is None:
        raise UserError(
            "vmap: out_axes must be axes of the results, but is None; index a result that does "
            "not depend on the mapped arguments",
            user_location(),
        )
    for depth in range(_position(axis, _rank(array), array)):
        array = _transpose_at(array, depth)
    return array


def _position(axis: int, rank: int, array: Value) -> int:
    if not -rank <= axis < rank:
        raise UserError(
            f"vmap: the axis {axis} is out of bounds for {array!r}; use None in in_axes for an "
            "argument that is not mapped",
            user_location(),
        )
    return axis % rank


def _rank(array: Value) -> int:
    rank, type = 0, array.type
    while isinstance(type, ArrayType):
        rank, type = rank + 1, type.element
    return rank


def _transpose_at(array: Any, depth: int) -> Any:
    """Exchange the axes `depth` and `depth + 1`."""
    if depth == 0:
        return transpose(array)
    return map_pattern(lambda row: _transpose_at(row, depth - 1), array)
