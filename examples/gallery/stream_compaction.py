"""Stream compaction: the local maxima of a signal, and their positions, next to each other."""

from typing import Any

import numpy as np

import riselang as rl


@rl.jit
def stream_compaction(signal: rl.Array) -> rl.Array:
    middle = signal[1:-1]
    is_peak = (middle > signal[:-2]) & (middle > signal[2:]) & (middle > 1.0)
    positions = rl.arange(1, len(signal) - 1)
    return rl.compress(is_peak, rl.zip(positions, middle))


def expected(signal: Any) -> Any:
    middle = signal[1:-1]
    is_peak = (middle > signal[:-2]) & (middle > signal[2:]) & (middle > 1)
    positions = np.arange(1, len(signal) - 1)
    return positions[is_peak], middle[is_peak]


def example_inputs(size: int = 50_000) -> tuple[Any, ...]:
    return (np.random.default_rng(22).standard_normal(size, np.float32),)


def summary(result: Any) -> str:
    return f"{len(result[0])} peaks; the first are at {result[0][:5].tolist()}"
