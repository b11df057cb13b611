"""Metaclasses that make `isinstance` and equality of ops and types fast."""

from __future__ import annotations

import weakref
from abc import ABCMeta
from typing import Any, TypeVar


class PlainClass(ABCMeta):
    """The metaclass of our ops and types: `isinstance` only considers the bases of a class.

    xDSL's classes are abstract base classes, which also support registered subclasses. Nothing uses
    that, and the check takes five times as long; lowering checks each op against thirty classes.
    """

    __instancecheck__ = type.__instancecheck__


class InternedClass(PlainClass):
    """The metaclass of our types: equal types are the same object, as long as it is referenced.

    The parts of a type are shared, and its text may be exponentially larger than the type in
    memory, so comparing two types must not walk both.
    """

    def __call__(cls, *parameters: Any) -> Any:
        key = (cls, *parameters)
        reference = _INTERNED.get(key)
        instance = None if reference is None else reference()
        return _intern(key, super().__call__(*parameters)) if instance is None else instance


class _Reference(weakref.ref[Any]):
    """A weak reference to an attribute, with its key in the table."""

    __slots__ = ("key",)

    key: tuple[Any, ...]


_INTERNED: dict[tuple[Any, ...], _Reference] = {}
"""A dictionary with weak values. `WeakValueDictionary` has more overhead."""


def _intern(key: tuple[Any, ...], instance: Any) -> Any:
    """Add an attribute to the table, unless another thread has added an equal one."""
    reference = _Reference(instance, _remove)
    reference.key = key
    while (kept := _INTERNED.setdefault(key, reference)) is not reference:
        if (equal := kept()) is not None:
            return equal
        _remove(kept)
    return instance


def _remove(reference: weakref.ref[Any]) -> None:
    assert isinstance(reference, _Reference)
    if _INTERNED.get(reference.key) is reference:
        del _INTERNED[reference.key]


T = TypeVar("T")


def compare_by_identity(interned: type[T]) -> type[T]:
    """Compare and hash the instances of an interned class without looking at their parameters."""
    interned.__hash__ = object.__hash__
    interned.__eq__ = object.__eq__
    return interned
