"""What the default strategy does with a program, in words, and what limits it."""

from __future__ import annotations

from collections import Counter

from riselang.rewrite.core import Setting
from riselang.rewrite.default import DEFAULT, MIN_COST, is_large
from riselang.rewrite.derivation import Derivation
from riselang.rewrite.paths import format_path
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.rewrite.strategies.order_remarks import order_remarks
from riselang.support.counts import format_count
from riselang.term.cost import cost
from riselang.term.nodes import Term


def explain_default(term: Term, derivation: Derivation | None, setting: Setting) -> list[str]:
    """Describe the computations that the default strategy recognizes in a program, with their
    schedules, and the reductions that would be faster in a different order."""
    end = term if derivation is None else derivation.end
    remarks = [str(remark) for remark in order_remarks(end, setting)]
    if derivation is None:
        reason = (
            "no computation is recognized" if DEFAULT.is_relevant_to(term) else _irrelevance(term)
        )
        return [f"the program is unchanged: {reason}", *remarks]
    parallel_maps = [
        f"a map at {format_path(step.path)}: in parallel"
        for step in derivation.steps
        if step.rule.name == "map_in_parallel"
    ]
    return [*map(str, recognized_computations(term, setting)), *parallel_maps, *remarks]


def _irrelevance(term: Term) -> str:
    """Return why the default strategy is not applied to a program."""
    if is_large(term):
        return "it has no loops without a schedule"
    costs = cost(term, 1)
    return (
        f"it is small ({costs.flops} operations and {costs.bytes} bytes; the default strategy "
        f"needs {MIN_COST} of one of them)"
    )


def explain_derivation(term: Term, derivation: Derivation | None, setting: Setting) -> list[str]:
    """List the rules that a strategy applies, each with the number of its applications, and the
    reductions that would be faster in a different order; `term` is the resulting program."""
    counts = Counter(step.rule.name for step in derivation.steps) if derivation else Counter()
    rules = [f"{name}: {format_count(count, 'step')}" for name, count in counts.items()]
    remarks = [str(remark) for remark in order_remarks(term, setting)]
    return [*(rules or ["the program is unchanged"]), *remarks]
