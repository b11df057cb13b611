"""Combinators: sequence, choice, repetition and other compositions of strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Step, Strategy, Success
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.term.nodes import Term

MAX_ITERATIONS = 10_000
"""The maximum number of iterations of `repeat`; a strategy that needs more does not terminate."""
MAX_GROWTH = 500
"""How many levels deeper a program may become while a strategy is repeated. A strategy that makes
the program deeper each time does not terminate, and its iterations become slower and slower."""
ENDLESS_REASON = "it still applies, and each iteration makes the program deeper"


@dataclass(frozen=True, repr=False)
class Identity(Strategy):
    """Leaves the term unchanged."""

    def run(self, term: Term, setting: Setting) -> Result:
        return Success(term)

    def __str__(self) -> str:
        return "id"


@dataclass(frozen=True, repr=False)
class Fail(Strategy):
    """Applies to no term."""

    def run(self, term: Term, setting: Setting) -> Result:
        return Failure(self, "it never applies", term)

    def __str__(self) -> str:
        return "fail"


@dataclass(frozen=True, repr=False)
class Sequence(Strategy):
    """Applies the parts in sequence; fails if one of them fails."""

    parts: tuple[Strategy, ...]

    def run(self, term: Term, setting: Setting) -> Result:
        steps: list[Step] = []
        for part in self.parts:
            result = part.run(term, setting)
            if isinstance(result, Failure):
                return result.prepend_steps(steps)
            term = result.term
            steps.extend(result.steps)
        return Success(term, tuple(steps))

    def can_apply(self, head: str) -> bool:
        return self.parts[0].can_apply(head)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    def __str__(self) -> str:
        return " >> ".join(format_part(part) for part in self.parts)


@dataclass(frozen=True, repr=False)
class Choice(Strategy):
    """Applies the first of its parts that succeeds."""

    parts: tuple[Strategy, ...]

    def run(self, term: Term, setting: Setting) -> Result:
        closest_failure: Failure | None = None
        for part in self.applicable_parts(head_name(term), setting.explains):
            result = part.run(term, setting)
            if isinstance(result, Success):
                return result
            closest_failure = closer_failure(closest_failure, result)
        if closest_failure is not None:
            return closest_failure
        return self.parts[0].run(term, setting) if setting.explains else Failure(self, "", term)

    def can_match(self, head: str) -> bool:
        return bool(self.applicable_parts(head, explains=True))

    def can_apply(self, head: str) -> bool:
        return bool(self.applicable_parts(head, explains=False))

    def applicable_parts(self, head: str, explains: bool) -> tuple[Strategy, ...]:
        """The parts that may apply to a term with this head: only a few of many rules."""
        parts = self._applicable_parts.get((head, explains))
        if parts is None:
            parts = tuple(
                part for part in self.parts
                if (part.can_match(head) if explains else part.can_apply(head))
            )  # fmt: skip
            self._applicable_parts[head, explains] = parts
        return parts

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.parts)

    @cached_property
    def _applicable_parts(self) -> dict[tuple[str, bool], tuple[Strategy, ...]]:
        return {}

    def __str__(self) -> str:
        return " | ".join(format_part(part) for part in self.parts)


def head_name(term: Term) -> str:
    """The name of the pattern that a term applies last; "" if it applies none."""
    return "" if term.head is None else term.head.name


def format_part(strategy: Strategy) -> str:
    """Format a strategy as a part of another one, in parentheses where needed."""
    return f"({strategy})" if isinstance(strategy, Sequence | Choice) else str(strategy)


def closer_failure(one: Failure | None, other: Failure) -> Failure:
    """Return the failure that is more informative."""
    return one if one is not None and one.closeness >= other.closeness else other


@dataclass(frozen=True, repr=False)
class Try(Strategy):
    """Applies the strategy, or leaves the term unchanged if it fails."""

    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        result = self.strategy.run(term, setting.quiet)
        return Success(term) if isinstance(result, Failure) else result

    def __str__(self) -> str:
        return f"try({self.strategy})"


@dataclass(frozen=True, repr=False)
class Repeat(Strategy):
    """Applies the strategy until it fails or changes nothing, or exactly `times` times."""

    strategy: Strategy
    times: int | None = None

    def run(self, term: Term, setting: Setting) -> Result:
        steps: list[Step] = []
        max_depth = term.depth + MAX_GROWTH
        setting = setting.quiet if self.times is None else setting
        for _ in range(MAX_ITERATIONS if self.times is None else self.times):
            result = self.strategy.run(term, setting)
            if isinstance(result, Failure):
                if self.times is None:
                    return Success(term, tuple(steps))
                return result.prepend_steps(steps)
            if self.times is None and result.term == term:
                return Success(term, tuple(steps))
            term = result.term
            steps.extend(result.steps)
            if term.depth > max_depth:
                return Failure(self, ENDLESS_REASON, term, closeness=CONDITION, steps=tuple(steps))
        if self.times is None:
            reason = f"it still applies after {MAX_ITERATIONS} iterations"
            return Failure(self, reason, term, closeness=CONDITION, steps=tuple(steps))
        return Success(term, tuple(steps))

    def __str__(self) -> str:
        times = "" if self.times is None else f", {self.times}"
        return f"repeat({self.strategy}{times})"


@dataclass(frozen=True, repr=False)
class Not(Strategy):
    """Leaves the term unchanged if the strategy fails, and fails if it succeeds."""

    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        if isinstance(self.strategy.run(term, setting.quiet), Failure):
            return Success(term)
        return Failure(self, f"{self.strategy} applies here", term, closeness=CONDITION)

    def __str__(self) -> str:
        return f"not({self.strategy})"


@dataclass(frozen=True, repr=False)
class Guard(Strategy):
    """Leaves the term unchanged if a condition holds, and fails otherwise."""

    condition: str
    holds: Callable[[Term], bool]

    def run(self, term: Term, setting: Setting) -> Result:
        if self.holds(term):
            return Success(term)
        return Failure(self, f"the condition does not hold: {self.condition}", term)

    def __str__(self) -> str:
        return f"guard({self.condition!r})"


@dataclass(frozen=True, repr=False)
class Named(Strategy):
    """A strategy that is printed as its name."""

    name: str
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        return self.strategy.run(term, setting)

    def can_apply(self, head: str) -> bool:
        return self.strategy.can_apply(head)

    def __str__(self) -> str:
        return self.name


def seq(*strategies: Strategy) -> Strategy:
    """Applies the strategies in sequence: `a >> b`."""
    parts: list[Strategy] = []
    for strategy in strategies:
        parts.extend(strategy.parts if isinstance(strategy, Sequence) else [strategy])
    if not parts:
        return id_
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def choice(*strategies: Strategy) -> Strategy:
    """Applies the first strategy that succeeds: `a | b`."""
    parts: list[Strategy] = []
    for strategy in strategies:
        parts.extend(strategy.parts if isinstance(strategy, Choice) else [strategy])
    if not parts:
        return fail
    return parts[0] if len(parts) == 1 else Choice(tuple(parts))


def try_(strategy: Strategy) -> Strategy:
    """Applies the strategy, or leaves the term unchanged if it fails."""
    return Try(strategy)


def repeat(strategy: Strategy, times: int | None = None) -> Strategy:
    """Applies the strategy until it fails, or exactly `times` times."""
    if times is not None and times < 0:
        raise UserError(f"repeat: expected a count of 0 or more, but found {times}")
    return Repeat(strategy, times)


def not_(strategy: Strategy) -> Strategy:
    """Succeeds, and changes nothing, if the strategy fails."""
    return Not(strategy)


id_ = Identity()
fail = Fail()
