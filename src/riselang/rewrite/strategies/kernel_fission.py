"""Kernel fission: splits a loop that contains a kernel into two loops with a buffer between them.

Here, a kernel is a computation that the default strategy recognizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import MAP, TO_MEM
from riselang.rewrite.combinators import Guard
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy, Success
from riselang.rewrite.rules.lowering import store_on_heap
from riselang.rewrite.rules.storing import (
    store_between,
    store_inner_reductions,
    store_inner_reductions_beside,
    store_inner_reductions_of_firsts,
    store_inner_reductions_of_seconds,
)
from riselang.rewrite.strategies.epilogues import TIDY
from riselang.rewrite.strategies.schedules import hoist
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, inside, top_down
from riselang.term.nodes import Term

_STORE_RULES = (
    store_between,
    store_inner_reductions,
    store_inner_reductions_of_firsts,
    store_inner_reductions_of_seconds,
    store_inner_reductions_beside,
)


@dataclass(frozen=True, repr=False)
class KernelFission(Strategy):
    """Splits a map that contains a kernel into the kernel and a map, if that adds a kernel."""

    is_kernel: Callable[[Term], bool]

    def can_match(self, head: str) -> bool:
        return head == MAP.name

    def run(self, term: Term, setting: Setting) -> Result:
        failures = setting.failures.setdefault(self, {})
        result = None if term in failures else self._split(term, setting.quiet)
        if result is not None:
            return result
        reason = "expected a map with a computation that can be stored before the map"
        failure = failures[term] = Failure(self, reason, term, closeness=CONDITION)
        return failure

    def _split(self, term: Term, setting: Setting) -> Success | None:
        if pattern_arguments(term, MAP.name) is None:
            return None
        previous_count = self._count_kernels(term, setting)
        for store in self._candidates():
            result = (store >> TIDY).run(term, setting)
            if not isinstance(result, Success):
                continue
            if self._count_kernels(result.term, setting) > previous_count:
                return result
        return None

    def _candidates(self) -> Iterator[Strategy]:
        yield from _STORE_RULES
        store_kernel = top_down(Guard("it is a kernel", self.is_kernel) >> store_on_heap)
        yield argument(store_kernel)
        yield inside(argument(store_kernel)) >> hoist()

    def _count_kernels(self, term: Term, setting: Setting, is_inside: bool = False) -> int:
        """Count the kernels; those inside another kernel count only if they are stored."""
        counts = setting.kernel_counts.setdefault(self, {})
        count = counts.get((term, is_inside))
        if count is None:
            is_kernel = not is_inside and self.is_kernel(term)
            count = int(is_kernel)
            is_stored = pattern_arguments(term, TO_MEM.name) is not None
            is_child_inside = (is_inside or is_kernel) and not is_stored
            for child in term.children:
                count += self._count_kernels(child, setting, is_child_inside)
            counts[term, is_inside] = count
        return count

    def __str__(self) -> str:
        return "kernel_fission()"
