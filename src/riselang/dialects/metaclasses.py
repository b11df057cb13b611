"""Metaclasses that make `isinstance` and equality of ops and types fast."""

from __future__ import annotations

from abc import ABCMeta
from typing import Any, ClassVar
from weakref import WeakValueDictionary


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

    _interned: ClassVar[WeakValueDictionary[tuple[Any, ...], Any]] = WeakValueDictionary()

    def __call__(cls, *parameters: Any) -> Any:
        key = (cls, *parameters)
        instance = InternedClass._interned.get(key)
        if instance is None:
            instance = InternedClass._interned[key] = super().__call__(*parameters)
        return instance
