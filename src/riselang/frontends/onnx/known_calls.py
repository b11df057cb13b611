"""Calls of an ONNX model that need no more checks than the dtypes and shapes of their arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from riselang.frontends.stablehlo.model.model import Model
from riselang.runtime.array_calls import PreparedCall


@dataclass(frozen=True)
class KnownCall:
    """A call of a program for arrays of known shapes and dtypes."""

    model: Model
    arguments: Sequence[Any]
    """Bound arrays, and the positions of the others among the arguments of the call."""
    results: tuple[int, ...]

    @cached_property
    def _is_direct(self) -> bool:
        """Whether the program takes the arguments as they are, and returns the results so."""
        has_bound = any(not isinstance(each, int) for each in self.arguments)
        return not has_bound and all(
            list(each) == [*range(len(each))] for each in (self.arguments, self.results)
        )

    def quick(self, arguments: tuple[Any, ...]) -> Any:
        """Call the prepared program, which checks the arguments; None if that is not possible."""
        prepared: PreparedCall | None = vars(self.model).get("_prepared_call")
        if prepared is None or not self._is_direct:
            return None
        found = prepared.native(arguments, None)
        count = len(found) if type(found) is tuple else 1
        return found if count == len(self.results) else None

    def __call__(self, arguments: Sequence[Any]) -> Any:
        found = self.model(
            *[arguments[each] if isinstance(each, int) else each for each in self.arguments]
        )
        found = found if isinstance(found, tuple) else (found,)
        results = tuple([found[each] for each in self.results])
        return results[0] if len(results) == 1 else results


class KnownCalls:
    """The calls for arrays of shapes and dtypes that were passed before."""

    def __init__(self) -> None:
        self._calls: dict[Any, KnownCall] = {}
        self._latest: KnownCall | None = None

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Return the results for arguments like those of an earlier call; None for others.

        The latest call is tried first: its program checks the arguments, which is quicker than to
        look them up.
        """
        latest = self._latest
        result = None if latest is None else latest.quick(arguments)
        if result is not None:
            return result
        call = self._calls.get(_array_key(arguments))
        if call is None:
            return None
        self._latest = call
        return call(arguments)

    def add(self, arguments: Sequence[Any], call: KnownCall) -> None:
        """Keep the call for arrays like these; other arguments are not looked up."""
        key = _array_key(arguments)
        if key is not None:
            self._calls[key] = call

    def clear(self) -> None:
        self._calls.clear()
        self._latest = None


def _array_key(arguments: Sequence[Any]) -> Any:
    """Return the shapes and dtypes of arrays; None if other arguments are among them."""
    key: list[Any] = []
    for each in arguments:
        if type(each) is not np.ndarray:
            return None
        key += (each.shape, each.dtype)
    return tuple(key)
