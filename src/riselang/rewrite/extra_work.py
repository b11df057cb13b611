"""The work that rules add on purpose, such as the elements of a halo, which tiles compute again.

A law states how often each side applies its functions, so the additional work of a rule is derived
from its law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from riselang.dialects.rise.types import FunType
from riselang.nat import Facts, Nat, as_nat, is_less_equal
from riselang.rewrite.derivation import Derivation
from riselang.rewrite.laws import UNKNOWN, Law
from riselang.rewrite.rule import Rule
from riselang.term.nodes import Free, subterms
from riselang.term.operation_count import count_evaluations
from riselang.term.work import NO_WORK, Work, source_work


@dataclass(frozen=True)
class ExtraWork:
    """A function that the right-hand side of a law may apply more often than the left-hand side."""

    function: str
    before: Nat
    """The number of applications on the left-hand side, in the sizes of the law."""
    after: Nat

    def __str__(self) -> str:
        return f"`{self.function}` is applied `{self.after}` times instead of `{self.before}`"


def extra_work(rule: Rule) -> tuple[ExtraWork, ...]:
    """Return which functions a rule may apply more often, and how often; nothing for most rules."""
    return _law_extra_work(rule.law)


def format_extra_work(rule: Rule) -> str:
    """The additional work of a rule, in words."""
    return "; ".join(map(str, extra_work(rule)))


def added_work(derivation: Derivation | None) -> Work:
    """Return the work that the rules with extra work add to a program."""
    work = NO_WORK
    if derivation is None or not any(extra_work(step.rule) for step in derivation.steps):
        return work
    for step, (before, after) in zip(derivation.steps, pairwise(derivation.terms()), strict=True):
        if extra_work(step.rule):
            work += _increase(source_work(before), source_work(after))
    return work


def _increase(before: Work, after: Work) -> Work:
    """The work that is added, if the sizes are known and it is not less."""
    is_exact = before.is_exact and after.is_exact
    work = Work(after.operations - before.operations, after.bytes - before.bytes, is_exact)
    return work if isinstance(work.total, int) and work.total > 0 else NO_WORK


@cache
def _law_extra_work(law: Law) -> tuple[ExtraWork, ...]:
    left, right = law.sides
    before, after = count_evaluations(left), count_evaluations(right)
    # A function that is only on the right-hand side replaces one on the left-hand side.
    functions = [
        part.name
        for part in subterms(left)
        if isinstance(part, Free) and isinstance(part.type, FunType) and part.name in after
    ]
    counts = {name: (as_nat(before[name]), as_nat(after[name])) for name in functions}
    return tuple(
        ExtraWork(name.removeprefix(UNKNOWN), *map(_without_marks, sides))
        for name, sides in counts.items()
        if not _is_at_most(sides[1], sides[0])
    )


def _is_at_most(count: Nat, limit: Nat) -> bool:
    """Whether a count never exceeds a limit if no size is zero; then, nothing is computed."""
    sizes = {name: Nat.var(name) + 1 for name in count.variables | limit.variables}
    return is_less_equal(count.substitute(sizes), limit.substitute(sizes), Facts())


def _without_marks(count: Nat) -> Nat:
    return count.substitute({name: Nat.var(name.removeprefix(UNKNOWN)) for name in count.variables})
