"""Strategies that take a strategy to places inside a term."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.rewrite.combinators import ENDLESS, MOST_GROWTH, closer, head_of
from riselang.rewrite.core import (
    CONDITION,
    Failure,
    Path,
    Result,
    Setting,
    Step,
    Strategy,
    Success,
)
from riselang.rewrite.paths import (
    Trail,
    at_path,
    path_of,
    places,
    places_inside_out,
    replaced,
    with_child,
)
from riselang.support.recursion import deep
from riselang.term.nodes import Apply, Lambda, Term

MOST_STEPS = 20_000
"""How many steps a normal form may take; a strategy that needs more does not end."""
_Places = Callable[[Term], Iterator[tuple[Trail, Term]]]


def run_at(strategy: Strategy, term: Term, path: Path, part: Term, setting: Setting) -> Result:
    """The strategy at one place; the result speaks of the whole term."""
    result = strategy.run(part, setting)
    if isinstance(result, Failure):
        return result.below(path)
    return result.below(path, replaced(term, path, result.term))


@dataclass(frozen=True, repr=False)
class First(Strategy):
    """The strategy at the first place, in some order, where it applies."""

    name: str
    strategy: Strategy
    order: _Places

    def run(self, term: Term, setting: Setting) -> Result:
        closest: Failure | None = None
        for trail, part in self.order(term):
            if not setting.explains and not self.strategy.can_apply(head_of(part)):
                continue
            result = self.strategy.run(part, setting)
            if isinstance(result, Success):
                path = path_of(trail)
                return result.below(path, replaced(term, path, result.term))
            if closer(closest, result) is result:
                closest = result.below(path_of(trail))
        return closest or Failure(self.strategy, "there is no place for it", term)

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


@dataclass(frozen=True, repr=False)
class Every(Strategy):
    """The strategy at each place where it applies, from the outside in; what it makes, too."""

    strategy: Strategy

    @deep
    def run(self, term: Term, setting: Setting) -> Result:
        return self._everywhere(term, setting.quiet, term.depth + MOST_GROWTH)

    def _everywhere(self, term: Term, setting: Setting, levels: int) -> Result:
        """`levels` says how deep the term may become: it may apply to what it makes for ever."""
        steps: list[Step] = []
        is_possible = self.strategy.can_apply(head_of(term))
        result = self.strategy.run(term, setting) if is_possible else None
        if isinstance(result, Success):
            term = result.term
            steps.extend(result.steps)
        if term.depth > levels:
            return Failure(self, ENDLESS, term, closeness=CONDITION, steps=tuple(steps))
        for position in range(len(term.children)):
            inner = self._everywhere(term.children[position], setting, levels - 1)
            if isinstance(inner, Failure):
                return inner.below((position,)).after(steps)
            term = with_child(term, position, inner.term)
            steps.extend(step.below((position,)) for step in inner.steps)
        return Success(term, tuple(steps))

    def __str__(self) -> str:
        return f"everywhere({self.strategy})"


@dataclass(frozen=True, repr=False)
class Normalize(Strategy):
    """The strategy anywhere, until it applies nowhere."""

    strategy: Strategy

    @deep
    def run(self, term: Term, setting: Setting) -> Result:
        normalizer = _Normalizer(self.strategy, setting)
        deepest = term.depth + MOST_GROWTH
        normal = normalizer.normal(term, None, deepest)
        if normalizer.failure is not None:
            return Failure(self, normalizer.failure, normal, closeness=CONDITION,
                           steps=tuple(normalizer.steps))  # fmt: skip
        return Success(normal, tuple(normalizer.steps))

    def __str__(self) -> str:
        return f"normalize({self.strategy})"


class _Normalizer:
    def __init__(self, strategy: Strategy, setting: Setting):
        self.strategy = strategy
        self.setting = setting.quiet
        self.steps: list[Step] = []
        self.known = setting.normal.setdefault(strategy, set())
        """Terms to which the strategy applies nowhere: a part that was not changed stays so."""

        self.failure: str | None = None
        """Why there is no normal form."""

    def normal(self, term: Term, trail: Trail, levels: int) -> Term:
        """The normal form of the part at a place, which may become so many levels deep."""
        while term not in self.known and self.failure is None:
            is_possible = self.strategy.can_apply(head_of(term))
            result = self.strategy.run(term, self.setting) if is_possible else None
            if isinstance(result, Success) and result.term != term:
                term = result.term
                path = path_of(trail)
                self.steps.extend(step.below(path) for step in result.steps)
                self._check(term, levels)
                continue
            before = term
            for position in range(len(term.children)):
                child = self.normal(term.children[position], (trail, position), levels - 1)
                term = with_child(term, position, child)
            if term == before:
                self.known.add(term)
        return term

    def _check(self, term: Term, levels: int) -> None:
        if term.depth > levels:
            self.failure = ENDLESS
        elif len(self.steps) > MOST_STEPS:
            self.failure = f"it still applies after {MOST_STEPS} steps"


@dataclass(frozen=True, repr=False)
class Children(Strategy):
    """The strategy at the children of a term: all of them, some, or one."""

    name: str
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        steps: list[Step] = []
        closest: Failure | None = None
        applied = 0
        for position, child in enumerate(term.children):
            result = self.strategy.run(child, setting)
            if isinstance(result, Failure):
                closest = closer(closest, result.below((position,)))
                if self.name == "all":
                    return closest
                continue
            applied += 1
            term = with_child(term, position, result.term)
            steps.extend(step.below((position,)) for step in result.steps)
            if self.name == "one":
                break
        if not applied and self.name != "all":
            return closest or Failure(self, "there is nothing inside", term)
        return Success(term, tuple(steps))

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


@dataclass(frozen=True, repr=False)
class Inside(Strategy):
    """The strategy at one part of a term, which has to have it."""

    name: str
    strategy: Strategy
    path: Path
    fits: Callable[[Term], bool]
    """Whether a term has the part. A function with a name, lest equal strategies differ by it."""

    def run(self, term: Term, setting: Setting) -> Result:
        if not self.fits(term):
            return Failure(self, f"it has no {self.name}", term)
        return run_at(self.strategy, term, self.path, at_path(term, self.path), setting)

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


def top_down(strategy: Strategy) -> Strategy:
    """At the first place where it applies, from the outside in."""
    return First("top_down", strategy, places)


def bottom_up(strategy: Strategy) -> Strategy:
    """At the first place where it applies, from the inside out."""
    return First("bottom_up", strategy, places_inside_out)


def everywhere(strategy: Strategy) -> Strategy:
    """At each place where it applies, once, from the outside in."""
    return Every(strategy)


def normalize(strategy: Strategy) -> Strategy:
    """Anywhere, until it applies nowhere."""
    return Normalize(strategy)


def all_(strategy: Strategy) -> Strategy:
    """At all children."""
    return Children("all", strategy)


def some(strategy: Strategy) -> Strategy:
    """At the children where it applies, of which there has to be one."""
    return Children("some", strategy)


def one(strategy: Strategy) -> Strategy:
    """At the first child where it applies."""
    return Children("one", strategy)


def body(strategy: Strategy) -> Strategy:
    """At the body of a function."""
    return Inside("body", strategy, (0,), _is_function)


def function(strategy: Strategy) -> Strategy:
    """At the function of an application."""
    return Inside("function", strategy, (0,), _is_application)


def argument(strategy: Strategy) -> Strategy:
    """At the last argument of an application: the array of a map."""
    return Inside("argument", strategy, (1,), _is_application)


def inside(strategy: Strategy) -> Strategy:
    """At the body of the function that a map applies."""
    return Inside("inside", strategy, (0, 1, 0), _maps)


def _is_function(term: Term) -> bool:
    return isinstance(term, Lambda)


def _is_application(term: Term) -> bool:
    return isinstance(term, Apply)


def _maps(term: Term) -> bool:
    return (
        isinstance(term, Apply)
        and isinstance(term.function, Apply)
        and isinstance(term.function.argument, Lambda)
    )
