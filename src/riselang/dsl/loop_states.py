"""The states of loops: `reduce`, `scan`, `iterate` and `while_` pass a function the state in the
structure of the initial one.

In the program, a state is a scalar, an array, or pairs of these: a tuple of three nests to the
right, as `(a, (b, c))`. A state that consists of pairs only is passed as one value, which works
like a Python tuple. Any other structure is split into its components where it enters the loop, and
rebuilt from them for each call of the function and for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from typing import Any

from riselang.dialects.rise.pattern_registry import (
    ITERATE,
    ITERATE_SEQ,
    MAP,
    REDUCE,
    REDUCE_PAR,
    REDUCE_SEQ,
    REDUCE_SEQ_UNROLL,
    SCAN,
    SCAN_SEQ,
    WHILE,
)
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dsl.captures import is_array_like
from riselang.dsl.pattern_application import apply_pattern, parameter_names, spread_pairs
from riselang.dsl.symbolic_values import Value, project
from riselang.dsl.tracing import current_trace, value_text
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.errors import UserError
from riselang.support.structures import LEAF, Structure, flatten


@dataclass(frozen=True)
class Loop:
    """The arguments of a pattern that concern its state; the initial state follows functions."""

    steps: Sequence[int] = (0,)
    """The positions of the functions that return the next state."""
    conditions: Sequence[int] = ()
    """The positions of the functions that return a Boolean."""
    element_count: int = 0
    """The number of parameters of the functions after the state."""
    returns_states: bool = False
    """Whether the result is the array of all states."""

    @property
    def initial(self) -> int:
        """The position of the initial state."""
        return len(self.steps) + len(self.conditions)


_REDUCTION, _SCAN = Loop(element_count=1), Loop(element_count=1, returns_states=True)
LOOPS: dict[PatternSpec, Loop] = {
    **dict.fromkeys((REDUCE, REDUCE_SEQ, REDUCE_SEQ_UNROLL, REDUCE_PAR), _REDUCTION),
    **dict.fromkeys((SCAN, SCAN_SEQ), _SCAN),
    **dict.fromkeys((ITERATE, ITERATE_SEQ), Loop()),
    WHILE: Loop(steps=(1,), conditions=(0,)),
}


@dataclass(frozen=True)
class LoopState:
    """The state of a loop that has a structure of its own."""

    spec: PatternSpec
    loop: Loop
    structure: Structure

    def arguments(self, given: Sequence[Any]) -> list[Any]:
        """Return the arguments of the pattern, whose state consists of pairs."""
        arguments = list(given)
        arguments[self.loop.initial] = _pack(self.structure, given[self.loop.initial])
        for position in (*self.loop.steps, *self.loop.conditions):
            if callable(given[position]):
                arguments[position] = self._wrap(given[position], position in self.loop.steps)
        return arguments

    def result(self, value: Value) -> Any:
        """Return the result of the pattern; that of `scan` is an array of tuples, or a structure of
        arrays."""
        if not self.loop.returns_states:
            return _unpack(self.structure, value)
        if self.structure.kind is tuple:
            return value
        components = _without_pairs(self.structure)
        arrays = [
            Value(apply_pattern(MAP, {}, [partial(self._component, k), value], None))
            for k in range(components.leaf_count)
        ]
        return components.unflatten(arrays)

    def _component(self, position: int, state: Value) -> Any:
        components, _ = flatten(_unpack(self.structure, state), is_array_like)
        return components[position]

    def _wrap(self, function: Callable[..., Any], is_step: bool) -> Callable[..., Any]:
        """Return the function of pairs that calls a function of states."""
        names = parameter_names(function)

        @wraps(function)
        def call(state: Value, *elements: Value) -> Any:
            first = self._first_arguments(_unpack(self.structure, state), names)
            others = None if names is None else names[len(first) :]
            spread = spread_pairs(current_trace(), self.spec, others, elements)
            result = function(*first, *spread)
            return self._packed_result(function, result) if is_step else result

        count = 1 + self.loop.element_count
        if names is None or len(names) != count:
            vars(call)["arity"] = count
        return call

    def _first_arguments(self, state: Any, names: Sequence[str] | None) -> list[Any]:
        """Return the state as one argument, or as one for each component of a tuple."""
        structure, others = self.structure, self.loop.element_count
        is_spread = names is not None and structure.kind is tuple
        if is_spread and len(names or ()) >= len(structure.parts) + others:
            return list(state)
        return [state]

    def _packed_result(self, function: Any, result: Any) -> Any:
        if result is None:
            return None
        try:
            return _pack(self.structure, result)
        except StructureMismatch as error:
            raise UserError(
                f"{self.spec.name}: {value_text(function)} must return a state like the initial "
                f"one, but {error}",
                function_location(function) or user_location(),
            ) from None


class StructureMismatch(Exception):
    """A value has another structure than the state of a loop."""


def loop_state(spec: PatternSpec, given: Sequence[Any]) -> LoopState | None:
    """Return the state of a loop with these arguments; None if it is one value, or pairs."""
    loop = LOOPS.get(spec)
    if loop is None or len(given) <= loop.initial:
        return None
    initial = given[loop.initial]
    if isinstance(initial, Value) or is_array_like(initial) or callable(initial):
        return None
    _, structure = flatten(initial, is_array_like)
    if _is_value(structure) or structure.leaf_count == 0:
        return None
    return LoopState(spec, loop, structure)


def _is_value(structure: Structure) -> bool:
    """Whether a structure consists of pairs only, so that one value represents it."""
    if structure.is_leaf:
        return True
    is_pair = structure.kind is tuple and len(structure.parts) == 2
    return is_pair and all(map(_is_value, structure.parts))


def _without_pairs(structure: Structure) -> Structure:
    """Return a structure whose pairs are leaves."""
    if _is_value(structure):
        return LEAF
    return replace(structure, parts=tuple(map(_without_pairs, structure.parts)))


def _pack(structure: Structure, value: Any) -> Any:
    """Return the components of a state as pairs."""
    if _is_value(structure) or isinstance(value, Value):
        return value
    parts, own = flatten(value, lambda part: part is not value)
    if own != _shallow(structure):
        raise StructureMismatch(f"found {value_text(value)} instead of {_describe(structure)}")
    packed = [
        _pack(part, each)
        for part, each in zip(structure.parts, parts, strict=True)
        if part.leaf_count
    ]
    return packed[0] if len(packed) == 1 else tuple(packed)


def _unpack(structure: Structure, value: Value) -> Any:
    """Return a state with this structure from its components."""
    if _is_value(structure):
        return value
    own: list[Any] = []
    count = sum(part.leaf_count > 0 for part in structure.parts)
    for part in structure.parts:
        if not part.leaf_count:
            own.append(part.unflatten([]))
            continue
        count -= 1
        own.append(_unpack(part, project(value, 0) if count else value))
        value = project(value, 1) if count else value
    return _shallow(structure).unflatten(own)


def _shallow(structure: Structure) -> Structure:
    """Return a structure whose parts are leaves."""
    return replace(structure, parts=(LEAF,) * len(structure.parts))


def _describe(structure: Structure) -> str:
    kind: Any = structure.kind
    names = ", ".join(map(repr, structure.names))
    if kind is tuple or kind is list:
        return f"a {kind.__name__} of {len(structure.parts)}"
    return f"a dictionary with the keys {names}" if kind is dict else f"a {kind.__name__}"
