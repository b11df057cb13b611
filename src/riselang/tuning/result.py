"""What a search found: the fastest strategy, and all trials."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.api.lowered import Lowered
from riselang.rewrite.core import Strategy
from riselang.runtime.tuning_database import BestStrategy, Trial
from riselang.support.counts import format_count
from riselang.support.html import code, table

if TYPE_CHECKING:
    from riselang.rewrite.derivation import Derivation


@dataclass(frozen=True)
class TuningResult:
    """The fastest strategy of a program, and the trials that led to it."""

    program: Lowered
    """The program with the fastest strategy."""
    best: BestStrategy
    trials: tuple[Trial, ...]

    @property
    def strategy(self) -> Strategy:
        """The fastest strategy; `str` of it is its text."""
        assert self.program.strategy is not None
        return self.program.strategy

    @property
    def derivation(self) -> Derivation | None:
        """The steps by which the fastest strategy rewrites the program."""
        return self.program.derivation

    @property
    def speedup(self) -> float:
        """The time of the default strategy divided by that of the fastest one."""
        return self.best.default_seconds / self.best.seconds

    def __call__(self, *arguments: Any) -> Any:
        """Run the program with the fastest strategy."""
        return self.program.compile()(*arguments)

    def curve(self) -> list[float]:
        """Return the time of the fastest strategy after each trial, in seconds."""
        fastest, curve = self.best.default_seconds, list[float]()
        for trial in self.trials:
            fastest = min(fastest, trial.seconds or fastest)
            curve.append(fastest)
        return curve

    def failures(self) -> Counter[str]:
        """Count the trials without a time, by the reason."""
        reasons = (f"{each.status}: {each.reason}" for each in self.trials if each.seconds is None)
        return Counter(reasons)

    def __repr__(self) -> str:
        measured = sum(trial.seconds is not None for trial in self.trials)
        return (
            f"{format_count(len(self.trials), 'trial')}, of which {measured} measured: "
            f"{1e3 * self.best.seconds:.4g} ms, {self.speedup:.2f} times the speed of the default "
            f"strategy, with\n{self.best.strategy}"
        )

    def _repr_html_(self) -> str:
        measured = [trial for trial in self.trials if trial.seconds is not None]
        fastest = sorted(measured, key=lambda trial: trial.seconds or 0.0)
        rows = [(f"{1e3 * (each.seconds or 0):.4g} ms", each.strategy) for each in fastest[:10]]
        return code(repr(self)) + table(("time", "strategy"), rows)
