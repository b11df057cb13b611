"""The results of checking a derivation, as values and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from riselang.support.counts import format_count

MAX_CHARACTERS = 400
"""How many characters of a value are printed."""
MAX_SIZES = 3


@dataclass(frozen=True)
class LawStatus:
    """The status of the law of a rule, and its justification."""

    status: str
    detail: str

    def __str__(self) -> str:
        return f"{self.status}: {self.detail}"


@dataclass(frozen=True)
class Difference:
    """Inputs for which two terms that should be equal differ, and both results."""

    inputs: tuple[tuple[str, str], ...]
    """Names and values."""
    before: str
    after: str
    index: tuple[int, ...]
    """The index of the first element that differs, after the number of its array, from 0."""


@dataclass(frozen=True)
class Comparison:
    """The result of comparing one pair of terms."""

    subject: str
    runs: int
    difference: Difference | None = None
    obstacle: str = ""
    """Why the terms could not be run."""


@dataclass(frozen=True)
class CheckReport:
    """The results for every step and the complete program, and the status of the laws."""

    steps: tuple[Comparison, ...]
    program: Comparison
    laws: tuple[tuple[str, LawStatus], ...]
    """The rules that were used, by name."""
    sizes: tuple[str, ...]
    """The distinct sizes at which the steps were run, for symbolic sizes."""

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return (*self.steps, self.program)

    @property
    def is_right(self) -> bool:
        """Whether no value was changed."""
        return not any(each.difference for each in self.comparisons)

    def show(self) -> str:
        return "\n".join([*self._differences(), self._summary(), *self._law_lines()]) + "\n"

    def _differences(self) -> Iterator[str]:
        for each in self.comparisons:
            if each.difference is not None:
                yield f"{each.subject} changes a value"
                yield from _difference_lines(each.difference)

    def _summary(self) -> str:
        difference_count = sum(each.difference is not None for each in self.steps)
        checked_steps = [each for each in self.steps if each.runs]
        equal_count = len(checked_steps) - difference_count
        verb = "gives" if len(self.steps) == 1 else "give"
        total = format_count(len(self.steps), "step")
        summary = f"{equal_count} of {total} {verb} the same values"
        sizes = f" (at {_format_some(self.sizes)})" if any(self.sizes) else ""
        program_summary = (
            "" if self.program.difference else "the whole program gives the same values"
        )
        if not self.program.runs:
            program_summary = f"the whole program was not run, since {self.program.obstacle}"
        skipped_steps = [f"{each.subject} was not run, since {each.obstacle}" for each in self.steps
                   if not each.runs]  # fmt: skip
        return "\n".join(
            [*skipped_steps, f"{summary}{sizes}", *([program_summary] if program_summary else [])]
        )

    def _law_lines(self) -> Iterator[str]:
        width = max((len(name) for name, _ in self.laws), default=0)
        for name, status in self.laws:
            yield f"  {name.ljust(width)}  {status}"


def _format_some(sizes: tuple[str, ...]) -> str:
    remainder = [f"{len(sizes) - MAX_SIZES} more"] if len(sizes) > MAX_SIZES else []
    return "; ".join([*sizes[:MAX_SIZES], *remainder])


def _difference_lines(difference: Difference) -> Iterator[str]:
    for name, value in difference.inputs:
        yield f"  {name} = {_truncate(value)}"
    yield f"  before: {_truncate(difference.before)}"
    yield f"  after:  {_truncate(difference.after)}"
    if len(difference.index) > 1:
        yield f"  first at {list(difference.index[1:])}"


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."
