"""Random wrong calls: each is right, or raises an error of riselang with one paragraph."""

from __future__ import annotations

import random
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl

CAPTURED = np.arange(3, dtype=np.float32)
ARGUMENTS: list[Any] = [
    np.ones(3, np.float32), np.ones((3, 3)), np.arange(3), 2, [1, 2, 3], np.ones((2, 3, 4)),
    np.float32(2), 2.5, True, None, "text", [[1], [2, 3]], [], (), {}, (1, np.ones(3)),
    np.ones(0, np.float32),
    {"a": np.ones(3)}, {1: 2, "b": 3}, object(), lambda a: a, rl.f32, rl.Array[3, rl.f32], 1j,
    np.ones(3, complex), np.array(["a"]), np.array([None]), np.ones(6)[::2], np.ones(3, ">f4"),
    np.ma.masked_array([1.0], [True]), 10**30, float("nan"), rl.map, range(3), b"bytes", {1, 2},
    np.ones((3, 3)).T, np.datetime64("2020"), -1, slice(1), np.ones(3, np.float16), type, Ellipsis,
]  # fmt: skip
USUAL = 6
"""The number of arguments at the start of the list that many programs accept."""
STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x | rl.map(lambda a: a * 2),
    lambda x, y: rl.zip(x, y) | rl.map(rl.mult),
    lambda x, y: x | rl.reduce(rl.add, 0),
    lambda x, y: x | rl.reduce(rl.add, y),
    lambda x, y: x | rl.transpose,
    lambda x, y: x[0],
    lambda x, y: x[y],
    lambda x, y: x | rl.split(2),
    lambda x, y: x | rl.take(y),
    lambda x, y: x + y,
    lambda x, y: x | rl.map(lambda a: a + y),
    lambda x, y: x | rl.map(lambda a, b: a + b),
    lambda x, y: rl.zip(x, CAPTURED) | rl.map(rl.add),
    lambda x, y: [x, y],
    lambda x, y: {"a": x, "b": (y,)},
    lambda x, y: x["a"],
    lambda x, y: x | rl.map(y),
    lambda x, y: x | rl.slide(3, 1),
    lambda x, y: rl.cast(x, y),
    lambda x, y: rl.where(x, y, x),
    lambda x, y: rl.vmap(lambda a: a * 2)(x),
    lambda x, y: rl.vmap(lambda a, b: (a, b), (0, None))(x, y),
    lambda x, y: rl.check(x, y),
    lambda x, y: rl.check(x > 0, "message", y),
    lambda x, y: rl.debug.print("{}", x) or y,
    lambda x, y: x | rl.map(rl.math.exp) | rl.map(rl.abs),
    lambda x, y: x | y,
    lambda x, y: -x,
    lambda x, y: rl.generate(lambda i: rl.from_idx(i), n=3) if y is None else x | rl.reverse,
    lambda x, y: len(x),
    lambda x, y: x | rl.pad(y, 1),
    lambda x, y: x | rl.concat(y),
    lambda x, y: None,
]
ANNOTATIONS = [rl.Array["N", rl.f32], rl.f32, rl.Array["N", rl.T], rl.T, rl.Array["N", "M", rl.f64]]


def random_call(choices: random.Random) -> Any:
    """Call a random function with random arguments, in a random way."""
    first, second = choices.choice(STEPS), choices.choice(STEPS)
    is_deep = choices.random() < 0.3

    def program(x: Any, y: Any = 1) -> Any:
        return second(first(x, y), y) if is_deep else first(x, y)

    if choices.random() < 0.3:
        program.__annotations__ = {"x": choices.choice(ANNOTATIONS)}
    static = "y" if choices.random() < 0.2 else ()
    sizes = choices.choice(["specialize"] * 4 + ["symbolic", "auto"])
    kernel = rl.jit(program, backend="interpret", static=static, sizes=sizes)
    count = choices.choice([1, 2, 2, 2, 2, 3])
    pools = [ARGUMENTS if choices.random() < 0.4 else ARGUMENTS[:USUAL] for _ in range(count)]
    arguments = [choices.choice(pool) for pool in pools]
    if choices.random() < 0.1:
        return kernel(arguments[0], **{choices.choice(["y", "z", "out"]): arguments[-1]})
    if choices.random() < 0.1:
        return kernel.lower(*arguments)
    return kernel(*arguments)


def misuse(choices: random.Random) -> BaseException | None:
    """Return the error of a random call."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            random_call(choices)
        except Exception as error:
            return error
    return None


def is_python_error(error: BaseException) -> bool:
    """Return whether Python itself raised an error in the line of a program."""
    return traceback.extract_tb(error.__traceback__)[-1].filename == __file__


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(80))
def test_random_misuse(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    choices = random.Random(seed)
    for _ in range(25):
        error = misuse(choices)
        if isinstance(error, rl.RiseError) and not isinstance(error, rl.InternalError):
            assert error.message
            assert "\n" not in error.message
        elif error is not None and not is_python_error(error):
            raise error
