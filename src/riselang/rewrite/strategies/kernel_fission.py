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
    store_inner_reductions,
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
)


@dataclass(frozen=True, repr=False)
class KernelFission(Strategy):
    """Splits a map with a kernel in it into that kernel and a map, if that adds a kernel."""

    is_kernel: Callable[[Term], bool]

    def can_match(self, head: str) -> bool:
        return head == MAP.name

    def run(self, term: Term, setting: Setting) -> Result:
        failed = setting.failures.setdefault(self, {})
        result = None if term in failed else self._split(term, setting.quiet)
        if result is not None:
            return result
        reason = "expected a map with a part that is a kernel if it is stored"
        failure = failed[term] = Failure(self, reason, term, closeness=CONDITION)
        return failure

    def _split(self, term: Term, setting: Setting) -> Success | None:
        if pattern_arguments(term, MAP.name) is None:
            return None
        before = self._count_kernels(term, setting)
        for way in self._candidates():
            result = (way >> TIDY).run(term, setting)
            if isinstance(result, Success) and self._count_kernels(result.term, setting) > before:
                return result
        return None

    def _candidates(self) -> Iterator[Strategy]:
        yield from _STORE_RULES
        stored = top_down(Guard("it is a kernel", self.is_kernel) >> store_on_heap)
        yield argument(stored)
        yield inside(argument(stored)) >> hoist()

    def _count_kernels(self, term: Term, setting: Setting, is_inside: bool = False) -> int:
        """Count the kernels; those inside a kernel count if they are stored first."""
        known = setting.kernel_counts.get((term, is_inside))
        if known is None:
            is_kernel = not is_inside and self.is_kernel(term)
            known = int(is_kernel)
            below = (is_inside or is_kernel) and pattern_arguments(term, TO_MEM.name) is None
            for child in term.children:
                known += self._count_kernels(child, setting, below)
            setting.kernel_counts[term, is_inside] = known
        return known

    def __str__(self) -> str:
        return "kernel_apart()"
