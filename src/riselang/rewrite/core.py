"""Strategies: functions from a term to a new term and the steps to it, or to a failure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from riselang.nat import Facts, Nat, lower_bound
from riselang.support.lazy import cached_property
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.rule import Rule
    from riselang.rewrite.selectors import Selector

Path = tuple[int, ...]
"""The position of a subterm, as child indices from the root."""


@dataclass(frozen=True)
class Setting:
    """The permissions of a program, and caches that are shared while it is rewritten."""

    float: str = "contract"
    """The float permission: what may be done to float arithmetic."""
    precompute: bool = False
    """Whether values that depend only on some arguments are computed before the program is
    called."""
    tensor_unit: str = ""
    """The fastest instruction of the GPU's tensor cores: `mma`, `wgmma`, or none."""
    in_loop: bool = False
    """Whether a computation to recognize is inside a loop."""
    least_sizes: tuple[tuple[Nat, int], ...] = ()
    """Sizes that are at least a number in the version of a program that is rewritten."""
    normal_forms: dict[Strategy, set[Term]] = field(
        default_factory=dict["Strategy", "set[Term]"], compare=False, repr=False
    )
    """Terms that are known to be normal forms, by strategy: most subterms do not change while a
    strategy runs, and need not be visited again."""
    failures: dict[Strategy, dict[Term, Failure]] = field(
        default_factory=dict["Strategy", "dict[Term, Failure]"], compare=False, repr=False
    )
    """Failures by strategy and term, from runs that did not need the reason."""
    kernel_counts: dict[Strategy, dict[tuple[Term, bool], int]] = field(
        default_factory=dict["Strategy", "dict[tuple[Term, bool], int]"], compare=False, repr=False
    )
    """The number of computations that kernel fission recognizes in a term, by strategy, by the term
    and by whether it is inside such a computation."""
    explains: bool = field(default=True, compare=False)
    """Whether the reasons of failures are needed; most failures only lead to another attempt."""

    @cached_property
    def quiet(self) -> Setting:
        """The same setting for strategies whose failures are not reported, and need no reason."""
        return replace(self, explains=False) if self.explains else self

    def in_version(self, size: Nat, least: int) -> Setting:
        """The same setting for a version of the program in which a size is at least a number. The
        caches start anew, because a strategy that failed elsewhere may apply there."""
        known = (*self.least_sizes, (size, least))
        return replace(self, least_sizes=known, normal_forms={}, failures={}, kernel_counts={})

    def is_at_least(self, size: Nat, least: int) -> bool:
        """Whether a size is known to be at least a number."""
        differences = [(size, 0), *((size - known, number) for known, number in self.least_sizes)]
        bounds = ((lower_bound(rest, Facts()), number) for rest, number in differences)
        return any(bound is not None and bound + number >= least for bound, number in bounds)


class Step(NamedTuple):
    """One application of a rule."""

    rule: Rule
    path: Path
    before: Term
    """The subterm that the rule rewrote."""
    after: Term

    def prefix_path(self, path: Path) -> Step:
        """Return the same step with a path that starts at an outer term."""
        return Step(self.rule, path + self.path, self.before, self.after) if path else self


class Success(NamedTuple):
    """The term that a strategy returns, and the steps that lead to it."""

    term: Term
    steps: tuple[Step, ...] = ()

    def prefix_paths(self, path: Path, term: Term) -> Success:
        """Return the result for the complete `term`, whose subterm at `path` was rewritten."""
        return Success(term, tuple(step.prefix_path(path) for step in self.steps))


class Failure(NamedTuple):
    """Why a strategy does not apply; if there are several failures, the closest is reported."""

    strategy: Strategy
    reason: str
    term: Term
    """The subterm at which the strategy failed."""
    path: Path = ()
    closeness: int = 0
    """How much of the left-hand side matched: nothing, the head, or all but a condition."""
    steps: tuple[Step, ...] = ()
    """The steps that were applied before the failure."""

    def prefix_paths(self, path: Path) -> Failure:
        """Return the same failure with paths that start at an outer term."""
        steps = tuple(step.prefix_path(path) for step in self.steps)
        return self._replace(path=path + self.path, steps=steps)

    def prepend_steps(self, steps: Sequence[Step]) -> Failure:
        """Return the same failure, with these steps before its own."""
        return self._replace(steps=(*steps, *self.steps)) if steps else self


Result = Success | Failure
NOTHING, HEAD, CONDITION = 0, 1, 2


class Strategy(ABC):
    """A term rewriter. Strategies are values: they can be compared, printed and parsed."""

    @abstractmethod
    def run(self, term: Term, setting: Setting) -> Result:
        """Rewrite a term."""

    def can_match(self, head: str) -> bool:
        """Whether the strategy may apply to a term with this head pattern, or "" for no pattern.

        If it may not, the failures of other strategies are more informative than its own."""
        return True

    def can_apply(self, head: str) -> bool:
        """The same, but faster and less precise, for when failures are not reported."""
        return self.can_match(head)

    @abstractmethod
    def __str__(self) -> str:
        """The text of the strategy, which `parse_strategy` parses."""

    def __repr__(self) -> str:
        return str(self)

    def __rshift__(self, other: Strategy) -> Strategy:
        """Applies this strategy, then the other."""
        # Deferred: combinators are strategies themselves.
        from riselang.rewrite.combinators import seq

        return seq(self, other)

    def __or__(self, other: Strategy) -> Strategy:
        """Applies this strategy, or the other if this one fails."""
        # Deferred: combinators are strategies themselves.
        from riselang.rewrite.combinators import choice

        return choice(self, other)

    def __matmul__(self, address: Selector) -> Strategy:
        """Applies this strategy at an address: `tile(32, 32) @ outermost("map")`."""
        # Deferred: `AtAddress` is a strategy itself.
        from riselang.rewrite.selectors import AtAddress

        return AtAddress(self, address)
