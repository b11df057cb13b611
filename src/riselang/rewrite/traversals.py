"""Traversals: strategies that apply another strategy to subterms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from riselang.rewrite.combinators import ENDLESS_REASON, MAX_GROWTH, closer_failure, head_name
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
    path_of_trail,
    replace_at,
    subterm_at,
    subterms_inside_out,
    subterms_outside_in,
    with_child,
)
from riselang.support.recursion import with_deep_stack
from riselang.term.nodes import Apply, Lambda, Term

MAX_STEPS = 20_000
"""The maximum number of steps to a normal form; a strategy that needs more does not terminate."""
_SubtermOrder = Callable[[Term], Iterator[tuple[Trail, Term]]]


def run_at(strategy: Strategy, term: Term, path: Path, part: Term, setting: Setting) -> Result:
    """Apply a strategy to the subterm at a path; the result is for the whole term."""
    result = strategy.run(part, setting)
    if isinstance(result, Failure):
        return result.prefix_paths(path)
    return result.prefix_paths(path, replace_at(term, path, result.term))


@dataclass(frozen=True, repr=False)
class AtPath(Strategy):
    """Applies the strategy to the subterm at a path."""

    path: Path
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        return run_at(self.strategy, term, self.path, subterm_at(term, self.path), setting)

    def __str__(self) -> str:
        return str(self.strategy)


@dataclass(frozen=True, repr=False)
class FirstSuccess(Strategy):
    """Applies the strategy to the first subterm, in some order, where it succeeds."""

    name: str
    strategy: Strategy
    order: _SubtermOrder

    def run(self, term: Term, setting: Setting) -> Result:
        closest_failure: Failure | None = None
        for trail, part in self.order(term):
            if not setting.explains and not self.strategy.can_apply(head_name(part)):
                continue
            result = self.strategy.run(part, setting)
            if isinstance(result, Success):
                path = path_of_trail(trail)
                return result.prefix_paths(path, replace_at(term, path, result.term))
            if closer_failure(closest_failure, result) is result:
                closest_failure = result.prefix_paths(path_of_trail(trail))
        return closest_failure or Failure(self.strategy, "it applies to no subterm", term)

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


@dataclass(frozen=True, repr=False)
class Every(Strategy):
    """Applies the strategy wherever it succeeds, from the outside in, and inside its results."""

    strategy: Strategy

    @with_deep_stack
    def run(self, term: Term, setting: Setting) -> Result:
        return self._everywhere(term, setting.quiet, term.depth + MAX_GROWTH)

    def _everywhere(self, term: Term, setting: Setting, levels: int) -> Result:
        """`levels` limits the depth of the term: the strategy may apply to its own results."""
        steps: list[Step] = []
        is_possible = self.strategy.can_apply(head_name(term))
        result = self.strategy.run(term, setting) if is_possible else None
        if isinstance(result, Success):
            term = result.term
            steps.extend(result.steps)
        if term.depth > levels:
            return Failure(self, ENDLESS_REASON, term, closeness=CONDITION, steps=tuple(steps))
        for position, child in enumerate(term.children):
            inner = self._everywhere(child, setting, levels - 1)
            if isinstance(inner, Failure):
                return inner.prefix_paths((position,)).prepend_steps(steps)
            if inner.term is not child:
                term = with_child(term, position, inner.term)
                steps.extend(step.prefix_path((position,)) for step in inner.steps)
        return Success(term, tuple(steps))

    def __str__(self) -> str:
        return f"everywhere({self.strategy})"


@dataclass(frozen=True, repr=False)
class Normalize(Strategy):
    """Applies the strategy to any subterm, until it applies to none."""

    strategy: Strategy

    @with_deep_stack
    def run(self, term: Term, setting: Setting) -> Result:
        normalizer = _Normalizer(self.strategy, setting)
        max_depth = term.depth + MAX_GROWTH
        normal = normalizer.normalize_term(term, None, max_depth)
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
        self.normal_forms = setting.normal_forms.setdefault(strategy, set())
        """Terms to whose subterms the strategy does not apply."""

        self.failure: str | None = None
        """Why there is no normal form."""

    def normalize_term(self, term: Term, trail: Trail, levels: int) -> Term:
        """Return the normal form of the subterm at a trail, at most `levels` deep."""
        while term not in self.normal_forms and self.failure is None:
            is_possible = self.strategy.can_apply(head_name(term))
            result = self.strategy.run(term, self.setting) if is_possible else None
            if isinstance(result, Success) and result.term != term:
                term = result.term
                path = path_of_trail(trail)
                self.steps.extend(step.prefix_path(path) for step in result.steps)
                self._check_limits(term, levels)
                continue
            previous_term = term
            for position, child in enumerate(term.children):
                if child not in self.normal_forms:
                    normal = self.normalize_term(child, (trail, position), levels - 1)
                    term = with_child(term, position, normal)
            if term == previous_term:
                self.normal_forms.add(term)
        return term

    def _check_limits(self, term: Term, levels: int) -> None:
        if term.depth > levels:
            self.failure = ENDLESS_REASON
        elif len(self.steps) > MAX_STEPS:
            self.failure = f"it still applies after {MAX_STEPS} steps"


@dataclass(frozen=True, repr=False)
class Children(Strategy):
    """Applies the strategy to the children of a term: to all of them, to some, or to one."""

    name: str
    strategy: Strategy

    def run(self, term: Term, setting: Setting) -> Result:
        steps: list[Step] = []
        closest_failure: Failure | None = None
        success_count = 0
        for position, child in enumerate(term.children):
            result = self.strategy.run(child, setting)
            if isinstance(result, Failure):
                closest_failure = closer_failure(closest_failure, result.prefix_paths((position,)))
                if self.name == "all":
                    return closest_failure
                continue
            success_count += 1
            term = with_child(term, position, result.term)
            steps.extend(step.prefix_path((position,)) for step in result.steps)
            if self.name == "one":
                break
        if not success_count and self.name != "all":
            return closest_failure or Failure(self, "there is nothing inside", term)
        return Success(term, tuple(steps))

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


@dataclass(frozen=True, repr=False)
class Inside(Strategy):
    """Applies the strategy to one child of a term, which must exist."""

    name: str
    strategy: Strategy
    path: Path
    has_child: Callable[[Term], bool]
    """Whether a term has the child. A named function, so that equal strategies compare equal."""

    def run(self, term: Term, setting: Setting) -> Result:
        if not self.has_child(term):
            return Failure(self, f"it has no {self.name}", term)
        return run_at(self.strategy, term, self.path, subterm_at(term, self.path), setting)

    def __str__(self) -> str:
        return f"{self.name}({self.strategy})"


def top_down(strategy: Strategy) -> Strategy:
    """Applies the strategy to the first subterm where it succeeds, from the outside in."""
    return FirstSuccess("top_down", strategy, subterms_outside_in)


def bottom_up(strategy: Strategy) -> Strategy:
    """Applies the strategy to the first subterm where it succeeds, from the inside out."""
    return FirstSuccess("bottom_up", strategy, subterms_inside_out)


def everywhere(strategy: Strategy) -> Strategy:
    """Applies the strategy once to every subterm where it succeeds, from the outside in."""
    return Every(strategy)


def normalize(strategy: Strategy) -> Strategy:
    """Applies the strategy to any subterm, until it applies to none."""
    return Normalize(strategy)


def all_(strategy: Strategy) -> Strategy:
    """Applies the strategy to all children."""
    return Children("all", strategy)


def some(strategy: Strategy) -> Strategy:
    """Applies the strategy to the children where it succeeds; there must be at least one."""
    return Children("some", strategy)


def one(strategy: Strategy) -> Strategy:
    """Applies the strategy to the first child where it succeeds."""
    return Children("one", strategy)


def body(strategy: Strategy) -> Strategy:
    """Applies the strategy to the body of a function."""
    return Inside("body", strategy, (0,), _is_function)


def function(strategy: Strategy) -> Strategy:
    """Applies the strategy to the function of an application."""
    return Inside("function", strategy, (0,), _is_application)


def argument(strategy: Strategy) -> Strategy:
    """Applies the strategy to the last argument of an application: the array of a map."""
    return Inside("argument", strategy, (1,), _is_application)


def inside(strategy: Strategy) -> Strategy:
    """Applies the strategy to the body of the function that a map applies."""
    return Inside("inside", strategy, (0, 1, 0), _is_map_of_lambda)


def _is_function(term: Term) -> bool:
    return isinstance(term, Lambda)


def _is_application(term: Term) -> bool:
    return isinstance(term, Apply)


def _is_map_of_lambda(term: Term) -> bool:
    return (
        isinstance(term, Apply)
        and isinstance(term.function, Apply)
        and isinstance(term.function.argument, Lambda)
    )
