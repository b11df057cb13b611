"""What a search found: the fastest strategy, and all trials."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from riselang.api.lowered import Lowered
from riselang.notation.context import show_type
from riselang.rewrite.core import Strategy
from riselang.rewrite.strategy_files import check_extension
from riselang.rewrite.strategy_layout import format_strategy
from riselang.runtime.tuning_database import BestStrategy, Trial
from riselang.support.counts import format_count
from riselang.support.html import code, table
from riselang.support.io import write_file
from riselang.support.machine import cpu_identity
from riselang.version import __version__

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
        return fastest_so_far(self.trials, self.best.default_seconds)

    def failures(self) -> Counter[str]:
        """Count the trials without a time, by the reason."""
        reasons = (f"{each.status}: {each.reason}" for each in self.trials if each.seconds is None)
        return Counter(reasons)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the fastest strategy to a `.strategy` file, as text to read and edit.

        The name of the file is then a strategy, as in `rl.jit(strategy="fast.strategy")`.
        """
        check_extension(path)
        types = ", ".join(map(show_type, self.program.argument_types))
        comments = (
            f"The fastest strategy found for {self.program.name}, with arguments {types}:",
            f"{1e3 * self.best.seconds:.4g} ms, {self.speedup:.2f} times the speed of the default "
            f"strategy, after {format_count(len(self.trials), 'trial')}.",
            f"Measured with riselang {__version__}; the machine is {cpu_identity()}.",
        )
        text = format_strategy(self.strategy)
        write_file(path, "".join(f"# {each}\n" for each in comments) + f"{text}\n")

    def __repr__(self) -> str:
        measured = sum(trial.seconds is not None for trial in self.trials)
        pruned = sum(trial.status == "pruned" for trial in self.trials)
        counts = f"{measured} measured" + (f" and {pruned} pruned" if pruned else "")
        return (
            f"{format_count(len(self.trials), 'trial')}, of which {counts}: "
            f"{1e3 * self.best.seconds:.4g} ms, {self.speedup:.2f} times the speed of the default "
            f"strategy, with\n{self.best.strategy}"
        )

    def _repr_html_(self) -> str:
        measured = [trial for trial in self.trials if trial.seconds is not None]
        fastest = sorted(measured, key=lambda trial: trial.seconds or 0.0)
        rows = [(f"{1e3 * (each.seconds or 0):.4g} ms", each.strategy) for each in fastest[:10]]
        return code(repr(self)) + table(("time", "strategy"), rows)


def fastest_so_far(trials: Sequence[Trial], start: float) -> list[float]:
    """Return the shortest time after each trial, where `start` is the one before the first."""
    fastest, curve = start, list[float]()
    for trial in trials:
        fastest = min(fastest, trial.seconds or fastest)
        curve.append(fastest)
    return curve
