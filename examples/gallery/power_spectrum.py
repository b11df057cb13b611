"""Power spectrum of a signal: the products with waves of each frequency."""

from functools import cache
from typing import Any

import numpy as np

import riselang as rl


@cache
def waves(length: int) -> tuple[Any, Any]:
    angles = np.outer(np.arange(length // 2), np.arange(length)) * (2 * np.pi / length)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def power(signal: Any) -> Any:
    cosines, sines = waves(len(signal))
    return (cosines @ signal) ** 2 + (sines @ signal) ** 2


power_spectrum = rl.jit(power, float="relaxed")
expected = power


def example_inputs(size: int = 512) -> tuple[Any, ...]:
    random = np.random.default_rng(16)
    t = np.arange(size) / size
    tones = np.sin(2 * np.pi * 12 * t) + 0.5 * np.sin(2 * np.pi * 45 * t)
    return ((tones + random.normal(0, 0.1, size)).astype(np.float32),)


def summary(power: Any) -> str:
    strongest = np.sort(np.argsort(-power)[:2])
    return f"the strongest frequencies are {strongest.tolist()}"
