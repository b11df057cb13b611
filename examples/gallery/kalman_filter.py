"""Kalman filter: positions and speeds of many objects from noisy measurements."""

from typing import Any

import numpy as np

import riselang as rl

STEP, NOISE, DRIFT = 0.1, 0.5, 0.01


@rl.jit
def kalman_filter(measurements: rl.Array) -> tuple[rl.Array, rl.Array]:
    def update(
        state: rl.Array, measured: rl.Array
    ) -> tuple[rl.Array, rl.Array, rl.Array, rl.Array, rl.Array]:
        position, speed, pp, ps, ss = state
        position, pp = position + STEP * speed, pp + STEP * (2 * ps + STEP * ss) + DRIFT
        ps, ss = ps + STEP * ss, ss + DRIFT
        gain_p, gain_s = pp / (pp + NOISE), ps / (pp + NOISE)
        error = measured - position
        return (
            position + gain_p * error,
            speed + gain_s * error,
            (1 - gain_p) * pp,
            (1 - gain_p) * ps,
            ss - gain_s * ps,
        )

    zeros, ones = rl.zeros(measurements.shape[1]), rl.ones(measurements.shape[1])
    start = (zeros, zeros, ones, zeros, ones)
    position, speed, *_ = measurements | rl.reduce(update, start)
    return position, speed


def expected(measurements: Any) -> Any:
    position = speed = ps = np.zeros_like(measurements[0])
    pp = ss = np.ones_like(measurements[0])
    for measured in measurements:
        position, pp = position + STEP * speed, pp + STEP * (2 * ps + STEP * ss) + DRIFT
        ps, ss = ps + STEP * ss, ss + DRIFT
        gain_p, gain_s = pp / (pp + NOISE), ps / (pp + NOISE)
        error = measured - position
        position, speed = position + gain_p * error, speed + gain_s * error
        pp, ps, ss = (1 - gain_p) * pp, (1 - gain_p) * ps, ss - gain_s * ps
    return position, speed


def example_inputs(size: int = 1000) -> tuple[Any, ...]:
    random = np.random.default_rng(29)
    times = np.arange(100)[:, None] * STEP
    paths = random.normal(0, 1, size) + times * random.normal(0, 1, size)
    return ((paths + random.normal(0, NOISE, paths.shape)).astype(np.float32),)
