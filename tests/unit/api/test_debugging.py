"""Debugging inside programs: checks, printed values, callbacks, and the first NaN."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import riselang as rl

X = np.array([1, 2, 4, 8], np.float32)
NEGATIVE = np.array([1, -2, 4, 8], np.float32)


@rl.jit
def logarithms(x):
    def element(a: Any) -> Any:
        rl.check(a > 0, "the logarithm needs a positive number")
        return rl.math.log(a)

    return x | rl.map(element)


@rl.jit
def shares(x):
    total = x | rl.reduce(rl.add, 0)
    rl.check(total < 12, "the sum is too large")
    return x | rl.map(lambda a: a / total), total


@rl.jit
def roots(x):
    return x | rl.map_par(lambda a: rl.check(a > 0, "not positive", rl.math.sqrt(a)))


@rl.jit
def bounded_sum(x):
    def step(total: Any, a: Any) -> Any:
        rl.check(total + a < 100, "the sum is too large")
        return total + a

    return x | rl.reduce(step, 0)


CHECKS = {
    "element": (logarithms, X, NEGATIVE, "the logarithm needs a positive number"),
    "several results": (shares, NEGATIVE, X, "the sum is too large"),
    "parallel": (roots, X, NEGATIVE, "not positive"),
    "reduction": (bounded_sum, X, X * 100, "the sum is too large"),
}


@pytest.mark.parametrize("backend", ["compile", "interpret"])
@pytest.mark.parametrize("case", CHECKS)
def test_a_failed_check_is_located(case: str, backend: str) -> None:
    function, right, wrong, message = CHECKS[case]
    kernel = rl.jit(function, backend=backend)
    assert pickle.dumps(kernel(right)) == pickle.dumps(rl.jit(function, backend="interpret")(right))
    for _ in range(2):
        with pytest.raises(rl.CheckError, match=message) as raised:
            kernel(wrong)
        location = raised.value.location
        assert location is not None
        assert location.file == __file__
        assert "rl.check(" in str(location.source_line)


def test_checks_of_other_types() -> None:
    def guarded(x: Any) -> Any:
        index = rl.check(len(x) == 4, "four elements", rl.clamp_idx(4, 2))
        return rl.check(True, "never", (x, x[index]))

    assert rl.jit(guarded)(X)[1] == 4
    with pytest.raises(rl.UserError, match="check: expected a message as the second argument"):
        rl.jit(lambda x: rl.check(True, x))(X)


def test_values_are_printed_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    @rl.jit
    def doubled(x):
        def element(a: Any) -> Any:
            rl.debug.print("{} -> {:.2f}", a, a * 2)
            return a * 2

        y = x | rl.map(element)
        rl.debug.print("y = {}", y)
        return y

    for _ in range(2):
        assert doubled(X[:2]).tolist() == [2, 4]
        assert capsys.readouterr().out == "1.0 -> 2.00\n2.0 -> 4.00\ny = [2. 4.]\n"
    limited = rl.jit(lambda x: x | rl.map(lambda a: rl.debug.print("{}", a, limit=2) or a))
    limited(np.arange(9))
    assert capsys.readouterr().out == "0\n1\n...\n"
    with pytest.raises(rl.UserError, match="does not fit 1 value: "):
        rl.jit(lambda x: rl.debug.print("{} {}", x) or x)(X)


def test_callbacks_see_the_values_of_each_element() -> None:
    seen: list[Any] = []

    @rl.jit
    def rows(x):
        def row(values: Any) -> Any:
            rl.debug.callback(lambda *parts: seen.append(parts), values, values[0])
            return values | rl.reduce(rl.add, 0)

        return x | rl.map(row)

    assert rows(X.reshape(2, 2)).tolist() == [3, 12]
    assert [(row.tolist(), first) for row, first in seen] == [([1, 2], 1), ([4, 8], 4)]


@rl.jit
def inverses(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: 1 / (a - 2))


def test_the_first_nan_is_located() -> None:
    assert np.isinf(inverses(X)[1])
    with rl.debug.check_nan():
        with pytest.raises(rl.NotFiniteError, match="'divf' of 1 and 0 is inf") as raised:
            inverses(X)
        assert "1 / (a - 2)" in str(raised.value)
        with pytest.raises(rl.NotFiniteError, match="argument x of inverses is nan at index 1"):
            inverses(np.array([1, np.nan], np.float32))
        out = np.empty(2, np.float32)
        assert inverses(X[2:], out=out) is out
        assert out.tolist() == [0.5, np.float32(1 / 6)]
        assert shares(NEGATIVE)[1] == 11
    assert np.isinf(inverses(X)[1])


def test_the_setting_checks_all_programs() -> None:
    program = (
        "import numpy as np, riselang as rl\n"
        "rl.jit(lambda x: x | rl.map(lambda a: rl.math.log(a)))(np.zeros(1))"
    )
    environment = {**os.environ, "RISE_CHECK": "nan"}
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "error: 'log' of 0 is -inf" in found.stderr


def test_values_are_printed_in_the_order_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    @rl.jit
    def program(x: Any) -> Any:
        rl.debug.print("first {}", x)
        y = x + 1.0
        rl.debug.print("second {}", y)
        return y

    program(np.zeros(1, np.float32))
    assert capsys.readouterr().out == "first [0.]\nsecond [1.]\n"
