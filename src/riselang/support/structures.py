"""Structures of arrays: tuples, lists, dictionaries, named tuples and dataclasses, nested.

Flattening a value yields its leaves and its structure, from which the value can be rebuilt with
other leaves. Structures are immutable and hashable, so a kernel can be chosen by one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.support.observations import Observation

IsLeaf = Callable[[Any], bool]
STATIC = "static"
"""The key in the metadata of a dataclass field whose value is part of the structure."""


@dataclass(frozen=True)
class Structure:
    """The structure of a value; a leaf has no parts."""

    kind: Hashable
    """How the value is rebuilt: the type of a container, or the kind of a leaf."""
    names: tuple[Hashable, ...] = ()
    """The names or positions of the parts."""
    parts: tuple[Structure, ...] = ()
    constants: tuple[tuple[str, type, Hashable], ...] = ()
    """The static fields of a dataclass: their names, types and values."""

    @property
    def is_leaf(self) -> bool:
        return self is LEAF

    @property
    def leaf_count(self) -> int:
        return 1 if self.is_leaf else sum(part.leaf_count for part in self.parts)

    def unflatten(self, leaves: Sequence[Any], *, is_result: bool = False) -> Any:
        """Return the value of this structure with these leaves.

        If it is the result of a program, `from_results` of a named tuple or dataclass makes it.
        """
        return self._rebuild(iter(leaves), is_result)

    def _rebuild(self, leaves: Iterator[Any], is_result: bool) -> Any:
        if self.is_leaf:
            return next(leaves)
        values = [part._rebuild(leaves, is_result) for part in self.parts]
        kind: Any = self.kind
        if kind is None:
            return None
        if kind is tuple or kind is list:
            return kind(values)
        if kind is dict:
            return dict(zip(self.names, values, strict=True))
        fields = {str(name): value for name, value in zip(self.names, values, strict=True)}
        make = getattr(kind, "from_results", kind) if is_result else kind
        return make(**fields, **{name: value for name, _, value in self.constants})

    def leaf_names(self, name: str) -> list[str]:
        """Return a name for each leaf of a value that is called `name`: `w`, `w_bias`, `w_0`."""
        if self.is_leaf:
            return [name]
        pairs = zip(self.names, self.parts, strict=True)
        return [leaf for label, part in pairs for leaf in part.leaf_names(f"{name}_{label}")]


LEAF = Structure("leaf")
NOTHING = Structure(None)


ComplexLeaves = tuple[bool, ...]
"""Whether each of several arrays, in order, has complex numbers; empty if none has."""


@dataclass(frozen=True)
class Interface:
    """How a program is called, besides its parameters."""

    structure: Structure | None = None
    """The structure of the results; None if it is one result, or a tuple of results."""
    captured: tuple[Any, ...] = ()
    """The arrays that are passed to the last parameters of the program."""
    complex_inputs: ComplexLeaves = ()
    """The arguments that the program takes as arrays of floats, without the captured ones."""
    complex_results: ComplexLeaves = ()
    """The buffers of results that the program writes as arrays of floats."""
    messages: tuple[tuple[str, str], ...] = ()
    """The messages of checks, by their locations."""
    observations: tuple[Observation, ...] = ()
    """The lines where Python code sees values of a run, by their numbers."""

    def unflatten(self, results: Sequence[Any]) -> Any:
        """Return the results as the function returns them."""
        if self.structure is not None:
            return self.structure.unflatten(results, is_result=True)
        return results[0] if len(results) == 1 else tuple(results)


PLAIN_INTERFACE = Interface()


def flatten(value: Any, is_leaf: IsLeaf) -> tuple[list[Any], Structure]:
    """Return the leaves of a value, and its structure; `is_leaf` decides first."""
    leaves: list[Any] = []
    return leaves, _flatten(value, is_leaf, leaves)


def _flatten(value: Any, is_leaf: IsLeaf, leaves: list[Any]) -> Structure:
    if is_leaf(value):
        leaves.append(value)
        return LEAF
    if value is None:
        return NOTHING
    constants: tuple[tuple[str, type, Hashable], ...] = ()
    kind: Any = type(value)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        items = [(name, getattr(value, name)) for name in kind._fields]
    elif isinstance(value, tuple | list):
        kind, items = (tuple if isinstance(value, tuple) else list), list(enumerate(value))
    elif isinstance(value, dict):
        kind, items = dict, [(name, value[name]) for name in sorted(value, key=_sort_key)]
    elif is_dataclass_value(value):
        fields = [field for field in dataclasses.fields(value) if field.init]
        fixed = [field.name for field in fields if field.metadata.get(STATIC)]
        items = [(f.name, getattr(value, f.name)) for f in fields if f.name not in fixed]
        values = [(name, getattr(value, name)) for name in fixed]
        constants = tuple((name, type(constant), constant) for name, constant in values)
    else:
        leaves.append(value)
        return LEAF
    parts = [_flatten(item, is_leaf, leaves) for _, item in items]
    return Structure(kind, tuple(name for name, _ in items), tuple(parts), constants)


def is_dataclass_value(value: Any) -> bool:
    """Return whether a value is an instance of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _sort_key(name: Any) -> tuple[str, Any]:
    """Order the keys of a dictionary, so that equal dictionaries have equal structures."""
    return (type(name).__name__, name)
