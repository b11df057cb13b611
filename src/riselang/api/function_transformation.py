"""Functions that are derived from other functions, such as a gradient or a map of one."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from riselang.api.jit import jit
from riselang.api.jit_kernel import Jitted
from riselang.dsl.tracing import is_tracing
from riselang.support.lazy import cached_property
from riselang.support.tracebacks import with_short_tracebacks


class FunctionTransformation(ABC):
    """A function that is derived from another one.

    While a program is traced, a call becomes part of it. Outside, the function is compiled for the
    arguments of each call.
    """

    def __init__(self, function: Callable[..., Any], name: str):
        functools.update_wrapper(self, function, updated=())
        self.__name__ = name
        self.function = function

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function, eval_str=True)

    @property
    def __code__(self) -> Any:
        """The code of the function, where errors are located."""
        return getattr(self.function, "__code__", None)

    @cached_property
    def kernel(self) -> Jitted:
        """The compiled function; the static parameters of a jitted one stay static."""
        inner: Any = self.function
        while isinstance(inner, FunctionTransformation):
            inner = inner.function
        return jit(self, static=inner.settings.static if isinstance(inner, Jitted) else ())

    @with_short_tracebacks
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not is_tracing():
            return self.kernel(*arguments, **named)
        return self.trace_call(arguments, named)

    @abstractmethod
    def trace_call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """Return the result of a call in a program that is being traced."""
