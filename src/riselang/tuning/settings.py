"""How to search: the space, the budget, the algorithm, the database and who measures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riselang.rewrite.core import Strategy
from riselang.support import config
from riselang.support.errors import UserError
from riselang.tuning.spaces import Space

DEFAULT_BUDGET = 100
LIMIT = 60.0
"""The default number of seconds to compile and measure one strategy."""
REPEATED_TRIALS = 10
"""So many trials that are pruned, or whose compiled programs were measured before, count as one:
they cost little."""
_DURATION = re.compile(r"(?P<count>\d+(\.\d+)?)\s*(?P<unit>s|m|h)")
_UNITS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True)
class SearchSettings:
    """The parameters of a search; `riselang.tuning.tune.tune` describes each."""

    space: Strategy | str | Space | None = None
    where: Callable[[dict[str, Any]], bool] | None = None
    budget: int | str = DEFAULT_BUDGET
    search: str = "evolution"
    seed: int = 0
    db: str | Path | None = None
    executor: Any | None = None
    limit: float = LIMIT

    @property
    def database_path(self) -> Path:
        return Path(self.db) if self.db is not None else config.tuning_database()


@dataclass(frozen=True)
class Budget:
    """How long to search: a number of trials, or seconds."""

    trials: int | None
    seconds: float | None

    def is_spent(self, trials: int, start: float) -> bool:
        if self.trials is not None:
            return trials >= self.trials
        assert self.seconds is not None
        return time.monotonic() - start >= self.seconds


def parse_budget(budget: int | str) -> Budget:
    """Read a number of trials, or a duration such as "30s" or "5m"."""
    if isinstance(budget, str) and budget.isdecimal():
        budget = int(budget)
    if isinstance(budget, int):
        if budget < 1:
            raise UserError(f"budget must be at least 1, but is {budget}")
        return Budget(budget, None)
    match = _DURATION.fullmatch(budget)
    if match is None:
        raise UserError(
            f"budget must be a number of trials, or a duration such as '5m', but is {budget!r}"
        )
    return Budget(None, float(match["count"]) * _UNITS[match["unit"]])
