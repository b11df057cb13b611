"""What a strategy is: from a term to another one with the steps in between, or to a failure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from riselang.support.lazy import cached_property
from riselang.term.nodes import Term

if TYPE_CHECKING:
    from riselang.rewrite.rule import Rule
    from riselang.rewrite.selectors import Place

Path = tuple[int, ...]
"""A place in a term: which child, of that which child, and so on."""


@dataclass(frozen=True)
class Setting:
    """What a program permits those who rewrite it."""

    float: str = "contract"
    """What may be done to float arithmetic."""
    ahead: bool = False
    """Whether what is computed of some arguments alone is computed before the program is called."""
    normal: dict[Strategy, set[Term]] = field(
        default_factory=dict["Strategy", "set[Term]"], compare=False, repr=False
    )
    """Terms that were found to be normal forms, by strategy: most parts stay as they are while
    strategies go on, and need not be looked at again."""
    failed: dict[Strategy, dict[Term, Failure]] = field(
        default_factory=dict["Strategy", "dict[Term, Failure]"], compare=False, repr=False
    )
    """Where strategies were found not to apply when nobody asked why."""
    kernels: dict[tuple[Term, bool], int] = field(
        default_factory=dict["tuple[Term, bool]", int], compare=False, repr=False
    )
    """How many kernels there are in terms, in no other kernel or in one."""
    explains: bool = field(default=True, compare=False)
    """Whether anybody asks why a strategy fails: most failures only say to try something else."""

    @cached_property
    def quiet(self) -> Setting:
        """The same for a strategy whose failure is not reported: it may be without a reason."""
        return replace(self, explains=False) if self.explains else self


@dataclass(frozen=True)
class Step:
    """One rule at one place."""

    rule: Rule
    path: Path
    before: Term
    """The part that was changed."""
    after: Term

    def below(self, path: Path) -> Step:
        """The same step, seen from further up."""
        return Step(self.rule, path + self.path, self.before, self.after) if path else self


@dataclass(frozen=True)
class Success:
    """The term that a strategy gives, and the steps to it."""

    term: Term
    steps: tuple[Step, ...] = ()

    def below(self, path: Path, whole: Term) -> Success:
        """What became of the whole term whose part at `path` was rewritten."""
        return Success(whole, tuple(step.below(path) for step in self.steps))


@dataclass(frozen=True)
class Failure:
    """Why a strategy does not apply; of several reasons, the one that came closest counts."""

    strategy: Strategy
    reason: str
    term: Term
    """Where it was tried."""
    path: Path = ()
    closeness: int = 0
    """How much of what is expected was there: nothing, the head, everything but a condition."""
    steps: tuple[Step, ...] = ()
    """What had been done before."""

    def below(self, path: Path) -> Failure:
        """The same failure, seen from further up."""
        steps = tuple(step.below(path) for step in self.steps)
        return replace(self, path=path + self.path, steps=steps)

    def after(self, steps: Sequence[Step]) -> Failure:
        """The same failure, with what was done before it was tried."""
        return replace(self, steps=(*steps, *self.steps)) if steps else self


Result = Success | Failure
NOTHING, HEAD, CONDITION = 0, 1, 2


class Strategy(ABC):
    """A way to rewrite terms. A value: strategies are compared, printed and read back."""

    @abstractmethod
    def run(self, term: Term, setting: Setting) -> Result:
        """What becomes of the term."""

    def suits(self, head: str) -> bool:
        """Whether it may apply to a term that applies this pattern last; "" where that is none.

        Where it does not, the failures of others say more than its own."""
        return True

    def can_apply(self, head: str) -> bool:
        """The same where failures are not reported, as `Setting.explains` says."""
        return self.suits(head)

    @abstractmethod
    def __str__(self) -> str:
        """How the strategy is written; `parse_strategy` reads it back."""

    def __repr__(self) -> str:
        return str(self)

    def __rshift__(self, other: Strategy) -> Strategy:
        """First this one, then the other."""
        # Deferred: combinators are strategies, and the operators of strategies make them.
        from riselang.rewrite.combinators import seq

        return seq(self, other)

    def __or__(self, other: Strategy) -> Strategy:
        """This one, or the other where this one fails."""
        # Deferred: combinators are strategies, and the operators of strategies make them.
        from riselang.rewrite.combinators import choice

        return choice(self, other)

    def __matmul__(self, address: Place) -> Strategy:
        """This one at an address: `tile(32, 32) @ outermost("map")`."""
        # Deferred: `At` is a strategy, and the operator `@` makes one.
        from riselang.rewrite.selectors import At

        return At(self, address)
