"""Programs with annotations that both mypy and pyright accept in strict mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, assert_type

import numpy as np
from numpy.typing import NDArray

import riselang as rl

Vector: TypeAlias = Annotated[rl.Array, "N", rl.f32]
Matrix: TypeAlias = Annotated[rl.Array, "M", "N", rl.f32]


def square(x: rl.Array) -> rl.Array:
    return x * x


@rl.jit
def dot(x: Vector, y: Vector) -> rl.Array:
    return rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)


@rl.jit(float="strict", strategy="none")
def product(a: Matrix, x: Vector) -> rl.Array:
    return a | rl.map(lambda row: dot(row, x))


@rl.jit
def extrema(x: Vector) -> tuple[rl.Array, rl.Array]:
    return x.min(), x.max()


@dataclass
class State:
    position: Any
    velocity: Any


@rl.jit
def step(state: State, time: Annotated[rl.Array, rl.f32]) -> State:
    return State(state.position + time * state.velocity, state.velocity)


@rl.jit(static="power")
def norm(x: Vector, power: int = 2) -> rl.Array:
    return rl.math.sqrt((x | rl.map(square)).sum()) if power == 2 else abs(x).max()


def run() -> list[float]:
    x = np.arange(4, dtype=np.float32)
    a = np.ones((3, 4), np.float32)
    total, rows, pair = dot(x, x), product(a, x), extrema(x)
    assert_type(total, np.ndarray[Any, np.dtype[Any]])
    assert_type(rows, np.ndarray[Any, np.dtype[Any]])
    low, high = pair
    batch: NDArray[np.float32] = rl.vmap(square)(a)
    moved = step(State(x, x), np.float32(0.5))
    assert_type(moved, State)
    compiled = dot.lower(N=4).compile()
    results = [total, rows.sum(), low, high, batch.sum(), norm(x), compiled(x, x)]
    return [float(each) for each in results]
