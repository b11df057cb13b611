"""Lattice Boltzmann method: a flow past a cylinder, with nine velocities (D2Q9); 50 steps."""

from typing import Any

import numpy as np

import riselang as rl

VELOCITIES = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
OPPOSITES = [0, 3, 4, 1, 2, 7, 8, 5, 6]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
RATE = 1.6


def simulate(xp: Any, iterate: Any) -> Any:
    """The program, for riselang's functions or NumPy's."""

    def program(densities: Any, wall: Any) -> Any:
        def equilibrium(i: Any, density: Any, ux: Any, uy: Any) -> Any:
            x, y = VELOCITIES[i]
            along = 3.0 * (x * ux + y * uy)
            speed = 1.5 * (ux * ux + uy * uy)
            return WEIGHTS[i] * density * (1.0 + along + 0.5 * along * along - speed)

        def step(densities: Any) -> Any:
            moved = [
                xp.roll(xp.roll(densities[i], x, 1), y, 0) for i, (x, y) in enumerate(VELOCITIES)
            ]
            density = sum(moved[1:], moved[0])
            ux = sum(x * part for (x, _), part in zip(VELOCITIES, moved, strict=True) if x)
            uy = sum(y * part for (_, y), part in zip(VELOCITIES, moved, strict=True) if y)
            ux, uy = ux / density, uy / density
            collided = [
                part + RATE * (equilibrium(i, density, ux, uy) - part)
                for i, part in enumerate(moved)
            ]
            return xp.stack(
                [xp.where(wall, moved[OPPOSITES[i]], part) for i, part in enumerate(collided)]
            )

        return iterate(50, step, densities)

    return program


def iterate_in_python(count: Any, function: Any, value: Any) -> Any:
    for _ in range(count):
        value = function(value)
    return value


lattice_boltzmann = rl.jit(simulate(rl, rl.iterate))
expected = simulate(np, iterate_in_python)


def example_inputs(size: int = 64) -> tuple[Any, ...]:
    y, x = np.mgrid[0:size, 0 : 2 * size]
    wall = (x - size / 2) ** 2 + (y - size / 2) ** 2 < (size / 9) ** 2
    speed = 0.1 * (1 + 1e-2 * np.sin(2 * np.pi * y / size))
    densities = [
        weight * (1 + 3 * a * speed + 4.5 * (a * speed) ** 2 - 1.5 * speed**2)
        for weight, (a, _) in zip(WEIGHTS, VELOCITIES, strict=True)
    ]
    return np.stack(densities).astype(np.float32), wall


def picture(densities: Any) -> Any:
    ux = (densities[[1, 5, 8]].sum(axis=0) - densities[[3, 6, 7]].sum(axis=0)) / densities.sum(0)
    return np.round(np.clip(4 * ux, 0, 1) * 32) / 32
