"""Stream compaction: the local maxima of a signal, and their positions, next to each other."""

import numpy as np

import riselang as rl


@rl.jit
def stream_compaction(signal):
    middle = signal[1:-1]
    is_peak = (middle > signal[:-2]) & (middle > signal[2:]) & (middle > 1.0)
    positions = rl.arange(1, len(signal) - 1)
    return rl.compress(is_peak, rl.zip(positions, middle))


def expected(signal):
    middle = signal[1:-1]
    is_peak = (middle > signal[:-2]) & (middle > signal[2:]) & (middle > 1)
    positions = np.arange(1, len(signal) - 1)
    return positions[is_peak], middle[is_peak]


def example_inputs(size=50_000):
    return (np.random.default_rng(22).standard_normal(size, np.float32),)


def summary(result):
    return f"{len(result[0])} peaks; the first are at {result[0][:5].tolist()}"
