"""Compare search algorithms on a space whose choices were all measured before.

No program is compiled or run, so that many seeds can be compared on the same times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from riselang.rewrite.parameters import Choice
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from riselang.tuning.search import make_search
from riselang.tuning.spaces import Space


@dataclass(frozen=True)
class RecordedSpace:
    """A space, and the seconds of each choice; None if a strategy does not apply."""

    strategy: str
    times: Mapping[tuple[Choice, ...], float | None]

    def to_json(self) -> str:
        rows = [[*key, seconds] for key, seconds in self.times.items()]
        return json.dumps({"strategy": self.strategy, "times": rows})

    @staticmethod
    def load(path: Path) -> RecordedSpace:
        """Read a file that `to_json` wrote."""
        try:
            document = json.loads(path.read_text())
            times = {tuple(row[:-1]): row[-1] for row in document["times"]}
            return RecordedSpace(document["strategy"], times)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path} is not a recorded space: {error}") from None

    @property
    def optimum(self) -> float:
        """The shortest time in the space."""
        return min(seconds for seconds in self.times.values() if seconds is not None)

    def curve(self, search: str, seed: int, budget: int) -> list[float]:
        """Return the shortest time after each trial of a search; infinite before the first."""
        space = Space(
            parse_strategy(self.strategy), lambda choices: space.key(choices) in self.times
        )
        searcher = make_search(search, space, seed)
        best, curve = math.inf, list[float]()
        for _ in range(budget):
            choices = searcher.ask()
            if choices is not None:
                seconds = self.times[space.key(choices)]
                searcher.tell(choices, seconds)
                best = min(best, math.inf if seconds is None else seconds)
            curve.append(best)
        return curve

    def median_curve(self, search: str, seeds: Sequence[int], budget: int) -> list[float]:
        """Return the median over seeds of the shortest time after each trial."""
        curves = [self.curve(search, seed, budget) for seed in seeds]
        return [median(values) for values in zip(*curves, strict=True)]


def score(curve: Sequence[float], random: Sequence[float], optimum: float) -> float:
    """Return (random - found) / (random - optimum), averaged over the trials.

    It is 1 for a search that finds the optimum at once, and 0 for one as good as random search.
    Trials after which random search has found the optimum, or nothing, do not count."""
    gains = [
        (other - found) / (other - optimum)
        for found, other in zip(curve, random, strict=True)
        if math.isfinite(found) and math.isfinite(other) and other > optimum
    ]
    return mean(gains) if gains else 0.0
