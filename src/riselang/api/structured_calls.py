"""Calls with structures of arrays, whose leaves are passed directly to a prepared call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.runtime.array_calls import PreparedCall
from riselang.support.structures import LEAF, Structure

_LEAF_CLASSES: frozenset[type] = frozenset((np.ndarray, float, int))
"""The classes of the leaves that prepared calls take."""
_CONSTANT_CLASSES: frozenset[type] = frozenset((int, float, bool, str, bytes, type(None)))
"""Classes of immutable values."""


@dataclass(frozen=True)
class CallForm:
    """The structures, the static values and the classes of the leaves of a call.

    They determine, with the dtypes and ranks of arrays, the kernel for the call.
    """

    structures: tuple[Structure | None, ...]
    """The structure of each argument; None for a static one."""
    constants: tuple[Any, ...]
    """The values of static arguments, by position; None for others."""
    classes: tuple[type, ...]
    calls: dict[Any, PreparedCall] = field(default_factory=dict[Any, PreparedCall], compare=False)
    """Prepared calls by the shapes and dtypes of the leaves."""

    @property
    def is_supported(self) -> bool:
        """Whether a call of this form can be recognized by the classes of its values."""
        return _LEAF_CLASSES.issuperset(self.classes) and all(map(_is_identified, self.constants))

    def leaves(self, values: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the leaves of arguments of this form; None for arguments of other forms."""
        if len(values) != len(self.structures):
            return None
        leaves: list[Any] = []
        for structure, constant, value in zip(self.structures, self.constants, values, strict=True):
            if structure is None:
                if value is not constant:
                    return None
            elif not _collect(structure, value, leaves):
                return None
        return tuple(leaves) if tuple(map(type, leaves)) == self.classes else None


@dataclass(frozen=True)
class StructuredCall:
    """A prepared call that takes arguments of a form; a native call for `Kernel`."""

    form: CallForm
    prepared: PreparedCall

    def __call__(self, arguments: tuple[Any, ...], out: Any) -> Any:
        leaves = self.form.leaves(arguments)
        return None if leaves is None else self.prepared.native(leaves, out)


def _is_identified(value: Any) -> bool:
    """Return whether a value is equal to itself for as long as it exists."""
    kind: Any = type(value)
    return kind in _CONSTANT_CLASSES or kind.__eq__ is object.__eq__


def _collect(structure: Structure, value: Any, leaves: list[Any]) -> bool:
    """Append the leaves of a value; return whether it has this structure, up to its leaves."""
    if structure is LEAF:
        leaves.append(value)
        return True
    kind: Any = structure.kind
    if kind is None:
        return value is None
    if type(value) is not kind:
        return False
    if kind is dict:
        if len(value) != len(structure.names):
            return False
        items = [value.get(name, leaves) for name in structure.names]
        if any(item is leaves for item in items):
            return False
    elif kind is tuple or kind is list:
        items = value
        if len(items) != len(structure.parts):
            return False
    else:
        items = [getattr(value, str(name)) for name in structure.names]
    for part, item in zip(structure.parts, items, strict=True):
        if part is LEAF:
            leaves.append(item)
        elif not _collect(part, item, leaves):
            return False
    return all(
        type(getattr(value, name)) is kind and getattr(value, name) == constant
        for name, kind, constant in structure.constants
    )
