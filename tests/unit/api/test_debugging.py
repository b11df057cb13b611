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
    assert capsys.readouterr().out == "0\n1\n... (after 2 lines)\n"
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


@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_the_first_nan_is_located(backend: str) -> None:
    kernel = rl.jit(inverses.function, backend=backend)
    assert np.isinf(kernel(X)[1])
    with rl.debug.check_nan():
        for _ in range(2):
            with pytest.raises(rl.NotFiniteError, match="'divf' of 1 and 0 is inf") as raised:
                kernel(X)
            assert "1 / (a - 2)" in str(raised.value)
            assert "^^^^^^^^^^^" in str(raised.value)
        with pytest.raises(rl.NotFiniteError, match="argument x of inverses is nan at index 1"):
            kernel(np.array([1, np.nan], np.float32))
        assert shares(NEGATIVE)[1] == 11
    assert np.isinf(kernel(X)[1])


def test_checked_programs_write_results() -> None:
    out = np.empty(2, np.float32)
    with rl.debug.check_nan():
        assert inverses(X[2:], out=out) is out
    assert out.tolist() == [0.5, np.float32(1 / 6)]


NOT_FINITE: dict[str, tuple[Any, str]] = {
    "threads": (lambda x: x | rl.map_par(lambda a: rl.math.log(a - 2)), "'log' of -1 is nan"),
    "conversion": (lambda x: rl.cast(x * 7e4, rl.f16), "'truncf' of 70000 is inf"),
    "unused": (lambda x: rl.where(x > 2, rl.math.sqrt(x - 2), 0), "'sqrt' of -1 is nan"),
    "fma": (
        lambda x: x | rl.reduce(lambda s, a: s + a * 1e30 * (a * 1e30), 0),
        r"'fma' of 1e\+30 and 1e\+30 and 0 is inf",
    ),
    "vectors": (
        lambda x: x | rl.as_vector(4) | rl.map(lambda v: v / (v - v)) | rl.as_scalar,
        "'divf' of 1 and 0 is inf",
    ),
}


@pytest.mark.parametrize("name", NOT_FINITE)
def test_operations_that_return_no_number_are_reported(name: str) -> None:
    program, message = NOT_FINITE[name]
    with rl.debug.check_nan(), pytest.raises(rl.NotFiniteError, match=message):
        rl.jit(program)(X)


@pytest.mark.rotating(3)
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


def show(format: str, value: Any) -> Any:
    rl.debug.print(format, value)
    return value


def show_stored(x: Any) -> Any:
    y = x | rl.map(lambda a: show("element {}", a))
    rl.debug.print("stored")
    return y | rl.map(lambda a: a + (y | rl.reduce(rl.add, 0)))


def show_twice(x: Any) -> Any:
    return x | rl.map(lambda a: show("first {}", a)) | rl.map(lambda a: show("second {}", -a))


PRINTED: dict[str, tuple[Any, Any, str]] = {
    "stored values": (show_stored, np.arange(2), "element 0\nelement 1\nstored\n"),
    "two maps": (show_twice, np.arange(2), "first 0\nfirst 1\nsecond 0\nsecond -1\n"),
    "inner maps": (
        lambda x: x | rl.map(rl.map(lambda a: show("{}", a))),
        np.arange(4).reshape(2, 2),
        "0\n1\n2\n3\n",
    ),
    "threads": (lambda x: x | rl.map_par(lambda a: show("{}", a)), np.arange(2), "0\n1\n"),
    "scan": (lambda x: x | rl.scan(lambda s, a: show("{}", s + a), 0), np.arange(3), "0\n1\n3\n"),
    "while": (
        lambda x: rl.while_(lambda v: v < 3, lambda v: show("{}", v * 2), x),
        np.int32(1),
        "2\n4\n",
    ),
    "pairs": (
        lambda x: rl.zip(x, x > 0) | rl.map(lambda a, b: show("{0[0]} {0[1]}", (a, b))),
        np.arange(2, dtype=np.float16),
        "0.0 False\n1.0 True\n",
    ),
    "complex": (lambda x: show("{}", x * 2), np.array([1 + 2j]), "[2.+4.j]\n"),
    "unsigned": (lambda x: show("{}", x), np.array([2**64 - 1], np.uint64), f"[{2**64 - 1}]\n"),
    "index": (lambda x: x[show("{}", rl.clamp_idx(2, 1))], np.arange(2), "1\n"),
    "constants": (lambda x: rl.debug.print("{} {}", 2, 0.5) or x, np.int8(1), "2 0.5\n"),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["compile", "interpret"])
@pytest.mark.parametrize("name", PRINTED)
def test_values_are_printed_by_compiled_code(
    name: str, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, argument, expected = PRINTED[name]
    rl.jit(program, backend=backend)(argument)
    assert capsys.readouterr().out == expected


def test_values_of_all_sizes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    @rl.jit(sizes="symbolic")
    def program(x: rl.Array["N", "M", rl.i64]):
        rl.debug.print("{}", x)
        return x | rl.map(lambda row: row[0])

    out = np.zeros(2, np.int64)
    program(np.arange(2).reshape(2, 1), out=out)
    assert (capsys.readouterr().out, out.tolist()) == ("[[0]\n [1]]\n", [0, 1])


def test_an_exception_of_a_callback_is_raised() -> None:
    calls: list[Any] = []

    def fail(a: Any) -> None:
        calls.append(a)
        raise KeyError("mine")

    @rl.jit
    def program(x):
        return x | rl.map(lambda a: rl.debug.callback(fail, a) or a)

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            program(X)
    assert calls == [1, 1]


def test_where_values_cannot_be_shown(tmp_path: Any) -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.i32]):
        return show("{}", x)

    lowered = program.lower(N=2)
    with pytest.raises(rl.UserError, match=r"contains rl.debug.print .* remove them to save"):
        lowered.compile().save(tmp_path / "program.kernel")
    with pytest.raises(rl.LimitationError, match=r"debugging\.py:\d+:\d+: error: .* a GPU cannot"):
        rl.jit(program.function, loops="gpu").lower(N=2).compile()
    with pytest.raises(rl.UserError, match="reducePar applies its function in no order"):
        rl.jit(lambda x: x | rl.reduce_par(lambda a, b: show("{}", a + b), 0))(X)
    affine = lowered.as_text("affine")
    assert affine.count("rise_observe_integer(") == 3
    assert "rise_observe" not in rl.jit(lambda x: x).lower(X).as_text("affine")
