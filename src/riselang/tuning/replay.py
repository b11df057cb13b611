"""Compare search algorithms on a space whose choices were all measured before.

No program is compiled or run, so that many seeds can be compared on the same times.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from riselang.rewrite.parameters import Choice, parameters_of
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from riselang.support.lazy import cached_property
from riselang.tuning.search import make_search
from riselang.tuning.settings import REPEATED_TRIALS
from riselang.tuning.spaces import Choices, Space

Key = tuple[Choice, ...]
"""The values of all parameters of a space."""
Entry = tuple[float, float] | str
"""The seconds of a choice and those of the hand strategy, measured alternately, or why there are
none."""


@dataclass(frozen=True)
class RecordedSpace:
    """A space, and the seconds of each choice, or why it has none."""

    strategy: str
    entries: Mapping[Key, Entry]
    hand_seconds: float = math.inf
    """The seconds of the fastest strategy that people wrote."""
    start: Choices | None = None
    """The choices that the default strategy makes."""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The program, the machine, the versions, and how much of the space was measured."""
    times: Mapping[Key, float | None] = field(init=False, repr=False, compare=False)
    """The seconds of each choice as they would be if the hand strategy always took its seconds:
    whatever disturbs a measurement disturbs both strategies."""

    def __post_init__(self) -> None:
        times = {key: self._seconds(entry) for key, entry in self.entries.items()}
        object.__setattr__(self, "times", times)

    def _seconds(self, entry: Entry) -> float | None:
        if isinstance(entry, str):
            return None
        seconds, hand_seconds = entry
        return seconds * (self.hand_seconds / hand_seconds if hand_seconds else 1.0)

    def save(self, path: Path) -> None:
        """Write a compressed file with a line for the space, and one for each choice."""
        head = {
            "strategy": self.strategy, "hand_seconds": self.hand_seconds, "start": self.start,
            "facts": dict(self.facts),
        }  # fmt: skip
        lines = [head, *([list(key), _rounded(entry)] for key, entry in self.entries.items())]
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode(), mtime=0))

    @staticmethod
    def load(path: Path) -> RecordedSpace:
        """Read a file that `save` wrote."""
        try:
            head, *lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
            entries = {
                tuple(key): entry if isinstance(entry, str) else (entry[0], entry[1])
                for key, entry in lines
            }
            return RecordedSpace(
                head["strategy"], entries, head["hand_seconds"], head["start"], head["facts"]
            )
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not a recorded space: {error}") from None

    @property
    def optimum(self) -> float:
        """The shortest time in the space; infinite if none was measured."""
        finite = (seconds for seconds in self.times.values() if seconds is not None)
        return min(finite, default=math.inf)

    @cached_property
    def space(self) -> Space:
        """The space of the recorded choices."""
        names = tuple(parameters_of(strategy := parse_strategy(self.strategy)))
        return Space(strategy, lambda choices: tuple(choices[each] for each in names) in self.times)

    def curve(
        self, search: str, seed: int, budget: int, start: Choices | None = None
    ) -> list[float]:
        """Return the shortest time after each trial of a search; infinite before the first."""
        space = self.space
        searcher = make_search(search, space, seed, start)
        best, curve = math.inf, list[float]()
        seen: set[Entry] = set()
        repeated = 0
        while len(curve) < budget:
            choices = searcher.ask()
            if choices is None:
                return [*curve, *([best] * (budget - len(curve)))]
            entry, seconds = self.entries[space.key(choices)], self.times[space.key(choices)]
            searcher.tell(choices, seconds)
            best = min(best, math.inf if seconds is None else seconds)
            # Strategies with the same effect were measured once, so they have the same entry.
            is_repeated = seconds is not None and entry in seen
            seen.add(entry)
            repeated += is_repeated
            if not is_repeated or repeated % REPEATED_TRIALS == 0:
                curve.append(best)
        return curve


def _rounded(entry: Entry) -> Entry:
    if isinstance(entry, str):
        return entry
    seconds, hand_seconds = (float(f"{each:.5g}") for each in entry)
    return seconds, hand_seconds


def median_curve(curves: Sequence[Sequence[float]]) -> list[float]:
    """Return the median over seeds of the shortest time after each trial."""
    return [median(values) for values in zip(*curves, strict=True)]


def random_curve(space: RecordedSpace, budget: int) -> list[float]:
    """Return the median over many seeds of random search."""
    curves = (space.curve("random", seed, budget) for seed in range(RANDOM_SEEDS))
    return median_curve(list(curves))


RANDOM_SEEDS = 200
CUTOFF = 0.01
"""Trials count for the score until random search has come this close to the optimum, relative to
the median of the space: later, the differences are those of the measurements."""


def score(curve: Sequence[float], random: Sequence[float], times: Sequence[float | None]) -> float:
    """Return (random - found) / (random - optimum), averaged over the trials.

    It is 1 for a search that finds the optimum at once, and 0 for one as good as random search."""
    finite = [each for each in times if each is not None]
    optimum = min(finite)
    least = optimum + CUTOFF * (median(finite) - optimum)
    gains = [
        (other - found) / (other - optimum)
        for found, other in zip(curve, random, strict=True)
        if math.isfinite(found) and math.isfinite(other) and other > least
    ]
    return mean(gains) if gains else 0.0
