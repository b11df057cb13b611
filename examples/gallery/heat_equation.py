"""Heat equation: 100 explicit steps on a plate with fixed edges."""

from typing import Any

import numpy as np

import riselang as rl

RATE = 0.2


@rl.jit
def heat_equation(plate: rl.Array) -> rl.Array:
    def step(plate: rl.Array) -> rl.Array:
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        return plate.at[1:-1, 1:-1].set(inner + RATE * (around - 4.0 * inner))

    return rl.iterate(100, step, plate)


def expected(plate: Any) -> Any:
    for _ in range(100):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate = plate.copy()
        plate[1:-1, 1:-1] = inner + RATE * (around - 4 * inner)
    return plate


def example_inputs(size: int = 128) -> tuple[Any, ...]:
    plate = np.full((size, size), 0.3, np.float32)
    plate[0, size // 6 : -size // 6], plate[size // 4 : -size // 4, -1] = 1, 0
    plate[size // 3 : size // 2, size // 3 : size // 2] = 0.9
    return (plate,)


def picture(plate: Any) -> Any:
    plate = np.round(plate * 40) / 40
    return np.stack([plate, plate**2, 0.6 - 0.6 * plate], axis=-1)
