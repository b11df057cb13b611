"""Attributes that are computed when they are first asked for.

`functools.cached_property` has, in Python 3.11, one lock for an attribute of all objects: threads
that compile different programs wait for each other, and a process that is forked from one that
compiles has locks that nobody releases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801, the name of the one in functools
    """A method whose first result is kept as an attribute of the object."""

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
        # Where several threads computed it, all get the same.
        return vars(instance).setdefault(self.name, self.function(instance))
