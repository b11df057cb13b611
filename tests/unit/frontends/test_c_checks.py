"""What a call from Python cannot do: leave an array, divide by zero, or end the process."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.support.config import Options
from riselang.support.errors import OutOfRangeError, UserError

pytestmark = pytest.mark.rotating(4)

SCHEDULES = ("source", "isl", "patterns")
GATHER = """void gather(int n, double y[n], double x[n], int idx[n]) {
  for (int i = 0; i < n; i++)
    y[i] = x[idx[i]];
}
"""
GUARDED = """void guarded(int n, double a[n], int c[n]) {
  for (int i = 0; i < n; i++)
    if (c[i] > 0)
      a[i + 100000000] = 0;
}
"""
ALONE = """
import numpy as np, riselang as rl
from {module} import {text}
idx = np.array([0, 10**9, 1], np.int32)
try:
    function = rl.from_c({text})
    function(3, np.zeros(3), *({extra}), idx)
except rl.UserError as error:
    print(str(error).splitlines()[0])
"""


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


@lru_cache(maxsize=16)
def functions(text: str) -> list[Any]:
    return [rl.from_c(text, schedule=schedule, float="strict") for schedule in SCHEDULES]


def refused(match: str, text: str, *arguments: Any) -> None:
    """Every schedule refuses a call, with the same words."""
    for function in functions(text):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        with pytest.raises(UserError, match=match):
            function(*given)


def results(text: str, *arguments: Any) -> list[Any]:
    """The arrays after a call, which are the same in every schedule."""
    found: list[list[Any]] = []
    for function in functions(text):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        function(*given)
        found.append([a.tolist() for a in given if isinstance(a, np.ndarray)])
    assert found[0] == found[1] == found[2]
    return found[0]


@pytest.mark.parametrize(
    ("text", "extra", "expected"),
    [
        ("GATHER", "np.ones(3),", "<c>:3:12: error: array x: the index 1000000000"),
        ("GUARDED", "", "<c>:4:7: error: array a: the index 100000001"),
    ],
)  # fmt: skip
def test_an_index_far_outside_does_not_end_the_process(
    text: str, extra: str, expected: str
) -> None:
    program = ALONE.format(module="test_c_checks", text=text, extra=extra)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=__file__.rpartition("/")[0],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, f"{expected} is not in [0, 3)"), (
        done.stderr
    )


def test_an_index_from_data_is_checked_in_every_schedule() -> None:
    for wrong in (3, -1, 2**31 - 1, -(2**31)):
        message = rf"<c>:3:12: error: array x: the index {wrong} is not in \[0, 3\)"
        refused(message, GATHER, 3, np.zeros(3), np.ones(3), ints(0, wrong, 2))
    assert results(GATHER, 3, np.zeros(3), np.arange(3.0), ints(2, 0, 1))[0] == [2, 0, 1]


def test_a_failed_check_is_an_index_error() -> None:
    with pytest.raises(OutOfRangeError):
        rl.from_c(GATHER)(1, np.zeros(1), np.zeros(1), ints(7))
    assert issubclass(OutOfRangeError, IndexError)


def test_what_data_guard_is_rejected_only_if_it_happens() -> None:
    assert results(GUARDED, 3, np.ones(3), ints(0, 0, -1))[0] == [1, 1, 1]
    refused(r"<c>:4:7: .* array a: the index 100000002", GUARDED, 3, np.ones(3), ints(0, 0, 1))


def test_nothing_is_stored_where_a_check_fails() -> None:
    function = rl.from_c("void f(int n, double a[n], int k[2]) { a[k[0]] = 1; a[k[1]] = 2; }")
    array = np.zeros(2)
    with pytest.raises(UserError, match="index 2"):
        function(2, array, ints(2, 1))
    assert array.tolist() == [0, 2]
    with pytest.raises(UserError, match=r"is not in \[0, 0\)"):
        function(0, np.zeros(0), ints(0, 0))


def test_each_dimension_has_its_own_length() -> None:
    text = "void f(int n, int m, double a[n][m], int k[1]) { a[0][k[0]] = 1; }"
    refused(r"array a, dimension 1: the index 3 is not in \[0, 3\)", text, 2, 3, np.zeros((2, 3)),
            ints(3))  # fmt: skip
    text = "void f(int n, int m, double a[][m], int k[1]) { a[k[0]][0] = 1; }"
    refused(r"array a, dimension 0: the index 2 is not in \[0, 2\)", text, 2, 3, np.zeros((2, 3)),
            ints(2))  # fmt: skip


def test_pointers_have_the_length_of_what_is_passed() -> None:
    text = "void f(int n, double *a, int *k) { for (int i = 0; i < n; i++) a[k[i]] += 1; }"
    assert results(text, 2, np.zeros((2, 2)), ints(3, 3))[0] == [[0, 0], [0, 2]]
    refused(r"array a: the index 4 is not in \[0, 4\)", text, 2, np.zeros((2, 2)), ints(3, 4))


def test_a_product_that_overflows_is_checked() -> None:
    text = "void f(int n, double a[4]) { for (int i = 0; i < n; i++) a[i * (i + n) * 65536] = 1; }"
    refused("array a: the index", text, 5, np.zeros(4))


def test_rows_of_loops_whose_ends_data_decide_are_checked() -> None:
    text = (
        "void f(int n, int z, double y[n], int p[n + 1], int c[z], double v[z], double x[n]) {\n"
        "for (int i = 0; i < n; i++) for (int j = p[i]; j < p[i + 1]; j++) y[i] += v[j] * x[c[j]];"
        "}"
    )
    sums, values = np.zeros(2), np.arange(3.0)
    assert results(text, 2, 3, sums, ints(0, 1, 3), ints(0, 1, 0), values, np.ones(2))[0] == [0, 3]
    refused("array [vc]: the index 3", text, 2, 3, sums, ints(0, 1, 4), ints(0, 1, 0), values,
            np.ones(2))  # fmt: skip
    refused("array x: the index 2", text, 2, 3, sums, ints(0, 1, 3), ints(0, 2, 0), values,
            np.ones(2))  # fmt: skip


def test_conditions_of_an_access_are_part_of_its_proof() -> None:
    """No check is left where affine conditions keep an access inside."""
    text = "void f(int n, double a[n], double b[n]) { for (int i = 0; i < n; i++) b[i] = %s; }"
    for value in ("i > 0 ? a[i - 1] : 0", "i == 0 || a[i - 1] > 0", "i > 0 && a[i - 1] > 0"):
        function = rl.from_c(text % value)
        function(4, np.ones(4), np.zeros(4))
        assert not function._unproven


def test_else_is_reached_where_the_condition_fails() -> None:
    text = """
    void f(int n, double x[n], double *a, double s[1]) {
      for (int i = 0; i < n; i++)
        if (x[i] > 0) { if (i < 3) s[0] += 1; else s[0] += a[i]; }
    }
    """
    function = rl.from_c(text)
    function(4, np.ones(4), np.ones(4), np.zeros(1))
    with pytest.raises(rl.UserError, match="index 3"):
        function(4, np.ones(4), np.ones(3), np.zeros(1))


def test_what_is_proven_at_the_call_is_not_checked_as_it_runs() -> None:
    text = (
        "void f(int n, double *a, int *c) { for (int i = 1; i < n; i++) if (c[i]) a[i - 1] = 0; }"
    )
    function = rl.from_c(text)
    function(3, np.ones(3), ints(1, 1, 1))
    assert not function._unproven
    function(3, np.ones(1), ints(0, 1, 0))
    assert function._unproven
    with pytest.raises(UserError, match="array a: the index 1"):
        function(3, np.ones(1), ints(0, 1, 1))


def test_code_for_c_has_no_checks() -> None:
    scop = CFile.parse_text(GATHER, "gather.c").model_function()
    program = make_program([scop], Options("affine"), "isl")
    assert "report" not in program.affine_text()
    assert "report" not in program.llvm_ir


def test_checks_can_be_left_out() -> None:
    y = np.zeros(3)
    function = rl.from_c(GATHER, checks=False)
    function(3, y, np.arange(3.0), ints(2, 1, 0))
    assert y.tolist() == [2, 1, 0]
    x = np.arange(6.0)
    function(3, y, x[:3], ints(5, 4, 3))  # inside of memory that is ours
    assert y.tolist() == [5, 4, 3]


def test_a_cached_function_says_the_line_of_its_own_text() -> None:
    for line in (3, 5):
        text = "\n" * (line - 3) + GATHER
        with pytest.raises(UserError, match=rf"<c>:{line}:12: "):
            rl.from_c(text)(1, np.zeros(1), np.zeros(1), ints(1))


def test_arrays_that_live_inside_have_lengths_too() -> None:
    text = (
        "void f(int n, double a[n]) { double t[4]; for (int i = 0; i < n; i++) t[i] = a[i];"
        " for (int i = 0; i < n; i++) a[i] = t[n - 1 - i]; }"
    )
    assert results(text, 3, np.arange(3.0))[0] == [2, 1, 0]
    refused(r"array t: element \[4\] is accessed", text, 5, np.zeros(5))
    text = "void f(int n, double a[1], int k[1]) { double t[n]; t[k[0]] = 1; a[0] = t[k[0]]; }"
    assert results(text, 3, np.zeros(1), ints(2))[0] == [1]
    refused(r"array t: the index 3 is not in \[0, 3\)", text, 3, np.zeros(1), ints(3))


@pytest.mark.parametrize(
    ("length", "reason"),
    [("n", "one is -1"), ("n + 2147483647L * 2147483647", "not enough memory")],
)
def test_memory_that_there_is_not_is_rejected(length: str, reason: str) -> None:
    text = f"void f(int n, double a[1]) {{ double t[{length}]; t[0] = 1; a[0] = t[0]; }}"
    refused(rf"<c>:1:\d+: error: array t: .*{reason}", text, -1, np.zeros(1))


@pytest.mark.parametrize("operator", ["/", "%"])
def test_a_division_by_zero_is_rejected(operator: str) -> None:
    text = "void f(int n, int a[n], int b[n]) { for (int i = 0; i < n; i++) a[i] = a[i] / b[i]; }"
    text = text.replace("/", operator)
    refused("the divisor of this division is zero", text, 2, ints(4, 5), ints(2, 0))
    least = -(2**31)
    assert results(text, 1, ints(least), ints(-1))[0] == [least if operator == "/" else 0]
    text = f"int f(int n, int m) {{ return n {operator} m; }}"
    refused("the divisor of this division is zero", text, 2, 0)


def test_a_length_that_divides_by_zero_is_rejected() -> None:
    refused("argument a: the length of dimension 0", "void f(int n, int m, double a[n / m]) "
            "{ a[0] = 1; }", 4, 0, np.zeros(4))  # fmt: skip


def test_a_float_that_is_no_index_is_rejected() -> None:
    text = (
        "void f(int n, double a[n], double x[n]) { for (int i = 0; i < n; i++) a[(int)x[i]] = 1; }"
    )
    assert results(text, 2, np.zeros(2), np.array([1.5, 1.0]))[0] == [0, 1]
    for wrong in (1e300, -1e300, np.inf, np.nan, 2.0, -1.0):
        refused("array a: the index", text, 2, np.zeros(2), np.array([0.0, wrong]))
    text = "void f(int n, double a[n], double x) { for (int i = 0; i < (int)x; i++) a[i] = 1; }"
    assert results(text, 3, np.zeros(3), 2.5)[0] == [1, 1, 0]
    refused(r"array a: the index 3 is not in \[0, 3\)", text, 3, np.zeros(3), 4.0)


def test_a_shift_by_any_number_is_checked() -> None:
    text = "void f(int n, double a[n], int s[n]) { for (int i = 0; i < n; i++) a[1 << s[i]] = 1; }"
    refused("array a: the index", text, 2, np.zeros(2), ints(0, 1))
    function = rl.from_c(text)
    for wrong in (31, 32, 33, -1, 63):
        with contextlib.suppress(OutOfRangeError):
            function(1, np.zeros(1), ints(wrong))


CALLS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "too few elements": ("element [3] is accessed", (4, np.zeros(3), np.zeros(4))),
    "none": ("element [0] is accessed", (1, np.zeros(0), np.zeros(1))),
    "read-only": ("argument a", (2, np.frombuffer(bytes(16)), np.zeros(2))),
    "other type": ("expected dtype float64", (2, np.zeros(2, np.float32), np.zeros(2))),
    "other byte order": ("expected dtype float64", (2, np.zeros(2, ">f8"), np.zeros(2))),
    "every second": ("argument a", (2, np.zeros(4)[::2], np.zeros(2))),
    "no array": ("argument a", (2, None, np.zeros(2))),
    "larger size": ("dimension 0 is 2", (3, np.zeros(3), np.zeros(2))),
    "negative size": ("dimension 0 is 2", (-3, np.zeros(3), np.zeros(2))),
    "size that does not fit": ("does not fit", (2**31, np.zeros(3), np.zeros(2))),
    "size that is too small": ("does not fit", (-(2**31) - 1, np.zeros(3), np.zeros(2))),
    "a float for a size": ("expected a number of type int", (2.0, np.zeros(2), np.zeros(2))),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls_that_are_wrong_are_rejected(case: str) -> None:
    text = "void f(int n, double *a, double b[n]) { for (int i = 0; i < n; i++) a[i] = b[i]; }"
    reason, arguments = CALLS[case]
    with pytest.raises(UserError, match=re.escape(reason)):
        rl.from_c(text)(*arguments)


def test_arguments_that_share_memory_are_rejected() -> None:
    whole = np.zeros(5)
    function = rl.from_c(GATHER)
    for y, x in ((whole[:4], whole[1:]), (whole[1:], whole[:4]), (whole[:4], whole[:4])):
        with pytest.raises(UserError, match="share memory"):
            function(4, y, x, ints(0, 1, 2, 3))


def test_a_number_that_no_float_holds_is_rejected() -> None:
    with pytest.raises(UserError, match="does not fit into double"):
        rl.from_c("void f(double x, double a[1]) { a[0] = x; }")(10**400, np.zeros(1))


@pytest.mark.parametrize("end", ["n * 4611686018427387904L", "2 * n + 2 * n"])
def test_a_bound_beyond_64_bits_is_rejected(end: str) -> None:
    """It would wrap around to a number that is not negative."""
    text = f"void f(long n, double *a) {{ for (long i = 0; i < {end}; i++) a[i] = 1; }}"
    refused("do not fit into 64 bits", text, -(2**62) - 3 if "+" in end else -3, np.zeros(3))


def test_a_division_by_zero_is_rejected_where_it_is_declared() -> None:
    text = "void f(int n, int s, int a[n]) { int q = 7 / s;" \
        " for (int i = 0; i < n; i++) if (a[i] > 99) a[i] = q; }"  # fmt: skip
    function = rl.from_c(text)
    with pytest.raises(rl.UserError, match="the divisor of this division is zero"):
        function(2, 0, np.zeros(2, np.int32))
