"""Attributes that are computed on first use.

In Python 3.11, `functools.cached_property` has one lock per attribute for all objects: threads that
compile different programs would wait for each other, and in a forked child, nothing would release
a lock that was held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801, the name of the one in functools
    """A method whose first result is stored as an attribute of the object."""

    def __init__(self, function: Callable[[Any], Value]):
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> cached_property[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        # If several threads compute it, all get the same value.
        return vars(instance).setdefault(self.name, self.function(instance))
