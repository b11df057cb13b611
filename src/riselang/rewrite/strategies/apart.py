"""Kernels that a program has in one loop, each in a loop of its own, with memory in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.rewrite.combinators import Guard
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy, Success
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.rules.storing import (
    store_between,
    store_folds,
    store_folds_of_firsts,
    store_folds_of_seconds,
)
from riselang.rewrite.strategies.epilogues import TIDY
from riselang.rewrite.strategies.schedules import hoist
from riselang.rewrite.terms import applied
from riselang.rewrite.traversals import argument, inside, top_down
from riselang.term.nodes import Term

_BETWEEN = (store_between, store_folds, store_folds_of_firsts, store_folds_of_seconds)


@dataclass(frozen=True, repr=False)
class KernelApart(Strategy):
    """A map with a kernel in it as that kernel and a map, where that makes one kernel more."""

    is_kernel: Callable[[Term], bool]

    def run(self, term: Term, setting: Setting) -> Result:
        if applied(term, "map") is not None:
            before = self._kernels(term)
            for way in self._ways():
                result = (way >> TIDY).run(term, setting)
                if isinstance(result, Success) and self._kernels(result.term) > before:
                    return result
        reason = "expected a map of which a part is a kernel once it is stored"
        return Failure(self, reason, term, closeness=CONDITION)

    def _ways(self) -> Iterator[Strategy]:
        yield from _BETWEEN
        stored = top_down(Guard("it is a kernel", self.is_kernel) >> store_on_heap)
        yield argument(stored)
        yield inside(argument(stored)) >> hoist()

    def _kernels(self, term: Term) -> int:
        """How many there are; those in a kernel count where they are stored first."""
        count, stack = 0, [(term, False)]
        while stack:
            part, is_inside = stack.pop()
            is_kernel = not is_inside and self.is_kernel(part)
            count += is_kernel
            is_inside = (is_inside or is_kernel) and applied(part, "toMem") is None
            stack += [(child, is_inside) for child in part.children]
        return count

    def __str__(self) -> str:
        return "kernel_apart()"
