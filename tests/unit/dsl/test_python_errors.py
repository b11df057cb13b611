"""Common errors of new users in Python: the complete messages are in python_errors.txt."""

from __future__ import annotations

import linecache
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from support.goldens import read_goldens

EXAMPLES = read_goldens(Path(__file__).with_name("python_errors.txt"))
ARRAYS = {
    "x": np.ones(3, np.float32),
    "y": np.ones(3, np.float32),
    "A": np.ones((3, 4), np.float32),
    "n": np.ones(3, np.int32),
    "d": np.ones(3, np.float64),
}


def run(text: str) -> Any:
    """The result of the function that `text` defines, on arrays that its parameters name."""
    name = "program.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"rl": rl, "np": np, "math": math}
    names |= {
        "X": rl.Array["N", rl.f32],
        "Y": rl.Array["N", "M", rl.f32],
        "I": rl.Array["N", rl.i32],
        "D": rl.Array["N", rl.f64],
    }
    exec(compile(text, name, "exec"), names)
    kernel = rl.jit(names["program"])
    return kernel(*[ARRAYS[parameter] for parameter in kernel.names])


def error_of(text: str) -> str:
    with pytest.raises(rl.UserError) as raised:
        run(text)
    return str(raised.value)


@pytest.mark.parametrize("text", EXAMPLES)
def test_common_errors_are_explained(text: str) -> None:
    assert error_of(text) == EXAMPLES[text]


RIGHT = {
    "def program(x: X): return x[0]": 1,
    "def program(x: X): return x[-1]": 1,
    "def program(x: X): return x[1:]": [1, 1],
    "def program(x: X): return x[0:2]": [1, 1],
    "def program(x: X): return x[:-1]": [1, 1],
    "def program(A: Y): return A[0, 1]": 1,
    "def program(A: Y): return A[1][2:4]": [1, 1],
    "def program(x: X): return rl.generate(lambda i: x[i])": [1, 1, 1],
    "def program(x: X): return x | rl.map(lambda a: a / len(x) * 3)": [1, 1, 1],
    "def program(x: X): return x | rl.map(lambda a: np.float32(2) * a - np.float64(1))": [1, 1, 1],
    "def program(x: X): return x | rl.map(lambda a: rl.where(~(np.float32(2) < a), 1.0, a))": (
        [1, 1, 1]
    ),
    "def program(x: X): return x | rl.map(lambda a: 1.0 ** a)": [1, 1, 1],
    "def square(x: X): return x | rl.map(lambda a: a * a)\n"
    "square = rl.jit(square)\n"
    "def program(A: Y): return A | rl.map(square) | rl.map(lambda row: row[0])": [1, 1, 1],
}


@pytest.mark.parametrize("text", RIGHT)
def test_what_reads_well_is_right(text: str) -> None:
    assert run(text).tolist() == RIGHT[text]
