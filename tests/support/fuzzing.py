"""How long to test with random programs, and from which seed.

Every test says how many examples it takes in `make test` and how many in `make fuzz`. `RISE_FUZZ=1`
runs the second number, `RISE_FUZZ=0.1` a tenth of it; `RISE_FUZZ_SEED=7` begins with the seventh
seed. A seed makes the same program each time, so a run that was stopped goes on with the first seed
that it did not reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings

F = TypeVar("F", bound=Callable[..., None])
Ran = Callable[[str, int], None]
"""Says that a test ran so many of something; the sums are shown at the end."""
SHARE = float(os.environ.get("RISE_FUZZ", "") or 0)
"""How much of `make fuzz` to run; zero is a normal run."""
CHOSEN_SEED = os.environ.get("RISE_FUZZ_SEED", "")


def seeds(count: int, fuzzed: int, batch: int) -> Callable[[F], F]:
    """The seeds of `count` examples, `fuzzed` in make fuzz, in batches that are tests each."""
    first = int(CHOSEN_SEED or 0)
    last = first + max(1, round(fuzzed * SHARE) if SHARE else count)
    batches = [range(start, min(start + batch, last)) for start in range(first, last, batch)]
    names = [f"{seeds.start}-{seeds.stop - 1}" for seeds in batches]
    mark: Any = pytest.mark.parametrize("seeds", batches, ids=names)
    return mark


def fuzz(examples: int) -> Callable[[F], F]:
    """Settings for a test that takes `examples` examples of hypothesis, 25 times more in a fuzz."""
    configured = settings(
        max_examples=max(1, round(examples * 25 * SHARE)) if SHARE else examples,
        deadline=None,
        derandomize=not CHOSEN_SEED,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        phases=[Phase.explicit, Phase.generate],
    )

    def decorate(test: F) -> F:
        return configured(seed(int(CHOSEN_SEED))(test) if CHOSEN_SEED else test)

    return decorate
