"""A program that other frameworks call: its results, their types, and its derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from riselang.api.derivatives import vjp
from riselang.api.jit import jit
from riselang.api.jit_kernel import Jitted
from riselang.dialects.rise.types import innermost, is_float
from riselang.dsl.symbolic_values import Value
from riselang.support.structures import Structure, flatten


class EmbeddedProgram:
    """A jitted function whose arguments and results are structures of arrays."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]):
        self.function: Any = function if isinstance(function, Jitted) else jit(**options)(function)
        self._options = options

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*arguments)

    def results_like(self, arguments: Sequence[Any]) -> Any:
        """Return results for arrays like these, whose elements are unspecified."""
        return self.function.lower(*arguments).empty_results()

    def pull_back(
        self, leaves: Sequence[Any], structure: Structure, cotangents: Sequence[Any]
    ) -> list[Any]:
        """Return the cotangents of the leaves of the arguments that are floats.

        `leaves` and `structure` are those of the arguments; `cotangents` are those of the results
        that are floats.
        """
        floats = [leaf for leaf in leaves if is_float_array(leaf)]
        others = [leaf for leaf in leaves if not is_float_array(leaf)]
        order = tuple(is_float_array(leaf) for leaf in leaves)
        if (order, structure) not in self._derivatives:
            self._derivatives[order, structure] = self._derivative(order, structure)
        return list(self._derivatives[order, structure](floats, others, list(cotangents)))

    @cached_property
    def _derivatives(self) -> dict[tuple[tuple[bool, ...], Structure], Any]:
        return {}

    def _derivative(self, order: Sequence[bool], structure: Structure) -> Any:
        def derivative(floats: Any, others: Any, cotangents: Any) -> Any:
            def value(*floats: Any) -> Any:
                sources = {True: iter(floats), False: iter(others)}
                leaves = [next(sources[is_float]) for is_float in order]
                result = self.function(*structure.unflatten(leaves))
                results, _ = flatten(result, _is_traced)
                return tuple(each for each in results if _is_float_value(each))

            return vjp(value, *floats)[1](tuple(cotangents))

        return jit(**self._options)(derivative)


def is_float_array(value: Any) -> bool:
    return np.dtype(value.dtype).kind in "fV"


def _is_traced(value: Any) -> bool:
    return isinstance(value, Value)


def _is_float_value(value: Any) -> bool:
    return is_float(innermost(value.type))
