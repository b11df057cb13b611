"""Checking derivations: the reference interpreter runs every step on random inputs.

For each step, it runs the subterm before and after the rewrite as a function of its free variables.
If one of these is a function, it runs the complete program instead. Finally, it compares the
original program with the derived one. Small values are chosen for symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import pairwise

import numpy as np
from xdsl.utils.exceptions import VerifyException

from riselang.nat import Nat, NatError
from riselang.rewrite.core import Step
from riselang.rewrite.derivation import Derivation
from riselang.rewrite.laws import Law
from riselang.rewrite.paths import format_path
from riselang.rewrite.reports import CheckReport, Comparison, LawStatus
from riselang.rewrite.rule import Permission, Rule
from riselang.rewrite.samples import Precision
from riselang.rewrite.term_pairs import RejectedInputs, TermPair, pair_of_step
from riselang.support.errors import UserError
from riselang.support.recursion import with_deep_stack
from riselang.term.size_substitution import check_sizes, term_names

RUNS = 3
"""The number of runs of each step, with different inputs and values of symbolic sizes."""
MAX_RUNS = 12
"""The number of runs if they are quick: a sum in a different order often has the same bits."""
QUICK_WORK = 500_000
MAX_WORK = 20_000_000
"""The maximum number of interpreter steps, which take about ten seconds."""
SMALL_SIZES = (2, 3, 1, 4, 5)
"""The values of symbolic sizes."""
MAX_TRIES = 50
_Sizes = Mapping[str, Nat]


@with_deep_stack
def check(derivation: Derivation, seed: int = 0) -> CheckReport:
    """Run every step and the whole program; the report says which steps change a value."""
    return _Checker(derivation, np.random.default_rng(seed)).report()


def law_status(rule: Rule) -> LawStatus:
    """Return what is known about the law of a rule."""
    verdict = _verdict(rule.law)
    is_conditional = any(condition.unknowns for condition in rule.conditions)
    if verdict is not None and verdict.status not in _inconclusive_statuses(is_conditional):
        return verdict
    if not rule.is_built_in:
        return LawStatus("not proved", "check derivations that use it, on many inputs")
    restriction = " for which its condition holds" if is_conditional else ""
    return LawStatus("tested", f"on random sizes, functions and values{restriction}")


def _inconclusive_statuses(is_conditional: bool) -> set[str]:
    """Verdicts that carry no information: the prover considers all functions and values, but a law
    with a condition needs to hold only for some."""
    return {"out of reach", *(["refuted"] if is_conditional else [])}


@cache
def _verdict(law: Law) -> LawStatus | None:
    """Ask the prover about a law; None if it is not installed."""
    try:
        verdict = import_module("riselang.rewrite.proving").prove(*law.closed_sides)
    except ImportError:
        return None
    return LawStatus(verdict.status.value, verdict.detail)


class _Checker:
    def __init__(self, derivation: Derivation, source: np.random.Generator):
        self.derivation = derivation
        self.source = source
        self.subjects = [*_step_pairs(derivation), TermPair(derivation.start, derivation.end)]
        relaxed = any(step.rule.permission is Permission.RELAXED for step in derivation.steps)
        self.precisions = [*map(_precision, derivation.steps), _precision_of(relaxed)]
        self.symbolic_sizes = sorted(_symbolic_sizes(derivation))
        self.work_done = 0

    def report(self) -> CheckReport:
        runs = list(self._runs())
        results = [
            self._compare(position, [each[position] for _, each in runs])
            for position in range(len(self.subjects))
        ]
        rules = {step.rule.name: step.rule for step in self.derivation.steps}
        laws = tuple((name, law_status(rule)) for name, rule in sorted(rules.items()))
        sizes = tuple(dict.fromkeys(_format_sizes(sizes) for sizes, _ in runs))
        return CheckReport(tuple(results[:-1]), results[-1], laws, sizes)

    def _compare(self, position: int, subjects: Sequence[TermPair]) -> Comparison:
        """Compare a step, or the complete program after the last step, in all runs."""
        subject_name = self._name(position)
        obstacle = self.subjects[position].obstacle
        if obstacle is not None:
            return Comparison(subject_name, 0, None, obstacle)
        runs = 0
        for number, subject in enumerate(subjects):
            try:
                difference = subject.difference(
                    self.precisions[position], self.source, special=number % 2 == 1
                )
            except RejectedInputs as error:
                obstacle = str(error)
                continue
            runs += 1
            if difference is not None:
                return Comparison(subject_name, runs, difference)
        return Comparison(subject_name, runs, None, obstacle or "")

    def _name(self, position: int) -> str:
        if position == len(self.derivation):
            return "the whole program"
        step = self.derivation.steps[position]
        return f"step {position + 1}: {step.rule} at {format_path(step.path)}"

    # Sizes

    def _runs(self) -> Iterator[tuple[_Sizes, list[TermPair]]]:
        """Yield the sizes and pairs of each run; the first one must not exceed the limit."""
        for number in range(MAX_RUNS):
            sizes, subjects, work = self._choose_sizes()
            work_limit = MAX_WORK if number < RUNS else QUICK_WORK
            if self.work_done + work > work_limit:
                if number == 0:
                    raise self._too_large_error(work)
                return
            self.work_done += work
            yield sizes, subjects

    def _choose_sizes(self) -> tuple[_Sizes, list[TermPair], int]:
        """Find sizes that the program permits, small ones if possible, and estimate the work."""
        best: tuple[_Sizes, list[TermPair], int] | None = None
        for sizes in self._candidate_sizes():
            try:
                self._check_sizes(sizes)
                subjects = [subject.at_sizes(sizes) for subject in self.subjects]
            except (UserError, VerifyException, NatError):
                continue
            work = sum(pair.work for pair in subjects)
            if best is None or work < best[2]:
                best = sizes, subjects, work
            if best[2] <= MAX_WORK // RUNS:
                return best
        if best is None:
            names = ", ".join(self.symbolic_sizes)
            raise UserError(
                f"found no small values of {names} that all patterns of the program permit; "
                f"derive it for given sizes: trace({self.symbolic_sizes[0]}=8), "
                f"or --size {self.symbolic_sizes[0]}=8 of rise derive"
            )
        return best

    def _candidate_sizes(self) -> Iterator[_Sizes]:
        if not self.symbolic_sizes:
            yield {}
            return
        for _ in range(MAX_TRIES):
            yield {
                name: Nat.const(int(self.source.choice(SMALL_SIZES)))
                for name in self.symbolic_sizes
            }
        yield {name: Nat.const(1) for name in self.symbolic_sizes}

    def _check_sizes(self, sizes: _Sizes) -> None:
        for term in (self.derivation.start, *(step.after for step in self.derivation.steps)):
            check_sizes(term, sizes)

    def _too_large_error(self, work: int) -> UserError:
        return UserError(
            f"the program is too large to interpret: checking it would take about {work:,} "
            f"interpreter steps, and the limit is {MAX_WORK:,}; use smaller sizes, as in "
            "trace(N=8) or --size N=8, or none: symbolic sizes get small values",
            self.derivation.start.location,
        )


def _step_pairs(derivation: Derivation) -> Iterator[TermPair]:
    programs = pairwise(derivation.terms())
    for step, (before, after) in zip(derivation.steps, programs, strict=True):
        pair = pair_of_step(step, before)
        yield TermPair(before, after) if pair is None or pair.obstacle else pair


def _precision(step: Step) -> Precision:
    return _precision_of(step.rule.permission is Permission.RELAXED)


def _precision_of(relaxed: bool) -> Precision:
    return Precision.TOLERANCE if relaxed else Precision.BITS


def _symbolic_sizes(derivation: Derivation) -> set[str]:
    """The names of the sizes; dependent functions bind names that are not identifiers."""
    terms = (derivation.start, *(step.after for step in derivation.steps))
    return {name for term in terms for name in term_names(term) if name.isidentifier()}


def _format_sizes(sizes: _Sizes) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())
