"""Runs of a law at some sizes, and what they prove."""

from __future__ import annotations

from collections.abc import Sequence

from riselang.rewrite.proving.equations import (
    CANNOT_RUN,
    MAX_SIZE,
    Difference,
    Equation,
    Sizes,
    format_sizes,
)
from riselang.rewrite.proving.verdict import Status, Verdict

SMALL_SIZE = 3
SMALL_VALUATIONS = 40
"""The runs before a proof is attempted: they find most errors, at small sizes."""
CANDIDATES = 40_000
VALUATIONS = 1_200
"""The maximum number of choices of sizes that are considered, and the number of those that run."""
REDUCTION_VALUATIONS = 300
"""The same for reductions, whose symbolic values are as deep as the array is long."""
MAX_ELEMENTS = 100_000
"""The number of elements up to which a counterexample from z3 is run."""
SEEDS = 4
"""How many random choices of indices are tried at each choice of sizes."""


class Trial:
    """Runs of one law; returns a verdict if they decide it."""

    def __init__(self, law: Equation):
        self._law = law
        self._is_complete = True
        """Whether each run covered all inputs."""

    def run_small(self) -> Verdict | None:
        """Return the verdict if the law fails at small sizes."""
        largest = _largest_size(len(self._law.sizes), SMALL_SIZE, CANDIDATES)
        return self._run_all(list(self._law.valuations(largest))[:SMALL_VALUATIONS])

    def run_at_sizes(self, sizes: Sizes) -> Verdict | None:
        """Return the verdict if the law fails at these sizes."""
        if not sizes:
            return None
        if self._law.cost(sizes) > MAX_ELEMENTS:
            detail = f"the sides seem to differ at {format_sizes(sizes)}, which is too large to run"
            return _out_of_reach(detail)
        return self._run_all([sizes])

    def run_large(self, reason: str) -> Verdict:
        """Return the verdict on a law that was not proved for this reason."""
        largest = _largest_size(len(self._law.sizes), MAX_SIZE, CANDIDATES)
        valuations = list(self._law.valuations(largest))
        limit = REDUCTION_VALUATIONS if self._law.has_reductions else VALUATIONS
        while len(valuations) > limit:
            largest -= 1
            valuations = [sizes for sizes in valuations if max(sizes.values()) <= largest]
        if not self._is_complete:
            # More runs with random inputs would add no information.
            return self._run_all(valuations[:SMALL_VALUATIONS]) or _out_of_reach(reason)
        verdict = self._run_all(valuations)
        if verdict is not None or not self._is_complete or not valuations:
            return verdict or _out_of_reach(reason)
        return Verdict(Status.CHECKED, f"{reason}; {self._describe_runs(largest, len(valuations))}")

    def _describe_runs(self, largest: int, count: int) -> str:
        """Describe the runs that found no difference."""
        if not self._law.sizes:
            return "the same for all inputs"
        sizes = f"{count} choices of {', '.join(self._law.sizes)} up to {largest}"
        return f"the same for all inputs up to {MAX_SIZE} long, at all {sizes}"

    def _run_all(self, valuations: Sequence[Sizes]) -> Verdict | None:
        for sizes in valuations:
            difference = self._difference(sizes)
            if difference is not None:
                return self._difference_verdict(difference)
        return None

    def _difference(self, sizes: Sizes) -> Difference | None:
        for seed in range(SEEDS):
            try:
                difference, is_complete = self._law.difference(sizes, seed)
            except CANNOT_RUN:
                self._is_complete = False
                return None
            self._is_complete &= is_complete
            if difference is not None or is_complete:
                return difference
        return None

    def _difference_verdict(self, difference: Difference) -> Verdict:
        if self._law.is_real(difference):
            return Verdict(Status.REFUTED, str(difference))
        return _out_of_reach(f"only facts about functions could make this equal: {difference}")


def _out_of_reach(detail: str) -> Verdict:
    return Verdict(Status.OUT_OF_REACH, detail)


def _largest_size(count: int, limit: int, candidates: int) -> int:
    """The largest size, up to a limit, for which `count` sizes have few enough choices."""
    largest = limit
    while largest > 1 and (largest + 1) ** count > candidates:
        largest -= 1
    return largest
