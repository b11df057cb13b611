"""The types of jitted functions, for type checkers.

A function that returns symbolic values while it is traced returns NumPy arrays when it is called
with arrays. If its result has another structure, type checkers see the types of this structure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar, overload

import numpy as np

from riselang.api.jit_kernel import Jitted
from riselang.dsl.symbolic_values import Value

NumPyArray = np.ndarray[Any, np.dtype[Any]]
Structure = TypeVar("Structure")
_Traced = TypeVar("_Traced")
_Result = TypeVar("_Result")


class JittedFunction(Jitted, Generic[_Traced, _Result]):
    """A jitted function with the types of its results, while another one is traced and in calls."""

    @overload
    def __call__(self, first: Value, /, *arguments: Any, **named: Any) -> _Traced: ...

    @overload
    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> _Result: ...

    def __call__(self, *arguments: Any, out: Any = None, **named: Any) -> Any:
        return super().__call__(*arguments, out=out, **named)


class JitDecorator(Protocol):
    """What `rl.jit(...)` with options returns."""

    @overload
    def __call__(self, function: Callable[..., Value]) -> JittedFunction[Value, NumPyArray]: ...

    @overload
    def __call__(
        self, function: Callable[..., tuple[Value, Value]]
    ) -> JittedFunction[tuple[Value, Value], tuple[NumPyArray, NumPyArray]]: ...

    @overload
    def __call__(
        self, function: Callable[..., tuple[Value, ...]]
    ) -> JittedFunction[tuple[Value, ...], tuple[NumPyArray, ...]]: ...

    @overload
    def __call__(
        self, function: Callable[..., Structure]
    ) -> JittedFunction[Structure, Structure]: ...

    def __call__(self, function: Any) -> Any: ...
