"""Kernel fission: kernels in one loop become separate loops, with a buffer in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import MAP, TO_MEM
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
    """Splits a map with a kernel in it into that kernel and a map, if that adds a kernel."""

    is_kernel: Callable[[Term], bool]

    def suits(self, head: str) -> bool:
        return head == MAP.name

    def run(self, term: Term, setting: Setting) -> Result:
        failed = setting.failed.setdefault(self, {})
        result = None if term in failed else self._apart(term, setting.quiet)
        if result is not None:
            return result
        reason = "expected a map with a part that is a kernel if it is stored"
        failure = failed[term] = Failure(self, reason, term, closeness=CONDITION)
        return failure

    def _apart(self, term: Term, setting: Setting) -> Success | None:
        if applied(term, MAP.name) is None:
            return None
        before = self._kernels(term, setting)
        for way in self._ways():
            result = (way >> TIDY).run(term, setting)
            if isinstance(result, Success) and self._kernels(result.term, setting) > before:
                return result
        return None

    def _ways(self) -> Iterator[Strategy]:
        yield from _BETWEEN
        stored = top_down(Guard("it is a kernel", self.is_kernel) >> store_on_heap)
        yield argument(stored)
        yield inside(argument(stored)) >> hoist()

    def _kernels(self, term: Term, setting: Setting, is_inside: bool = False) -> int:
        """Count the kernels; those inside a kernel count if they are stored first."""
        known = setting.kernels.get((term, is_inside))
        if known is None:
            is_kernel = not is_inside and self.is_kernel(term)
            known = int(is_kernel)
            below = (is_inside or is_kernel) and applied(term, TO_MEM.name) is None
            for child in term.children:
                known += self._kernels(child, setting, below)
            setting.kernels[term, is_inside] = known
        return known

    def __str__(self) -> str:
        return "kernel_apart()"
