"""How long to test with random programs, and from which seed.

`RISE_FUZZ=10` runs ten times as many examples; `RISE_FUZZ_SEED=7` runs other ones. Without a seed a
run makes the same examples each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, seed, settings

F = TypeVar("F", bound=Callable[..., None])


def fuzz(examples: int) -> Callable[[F], F]:
    """Settings for a test that takes about `examples` examples in a normal run."""
    multiplier = float(os.environ.get("RISE_FUZZ", "") or 1)
    chosen = os.environ.get("RISE_FUZZ_SEED", "")
    configured = settings(
        max_examples=max(1, round(examples * multiplier)),
        deadline=None,
        derandomize=not chosen,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        # Programs come from seeds, which have no smaller ones; `support.shrinking` does that.
        phases=[Phase.explicit, Phase.generate],
    )

    def decorate(test: F) -> F:
        return configured(seed(int(chosen))(test) if chosen else test)

    return decorate
