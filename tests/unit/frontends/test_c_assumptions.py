"""`#pragma rise assume` and `__builtin_assume`: conditions that the user promises."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.pragma_texts import with_assumptions
from riselang.support.config import default_options
from riselang.support.errors import RiseError, UserError

SPLIT = """void f(int n, int m, double a[n], double b[n]) {{
  {assumption}
  for (int i = 0; i < n; i++) if (i < m) a[i] = 2 * b[i]; else a[i] = b[i];
}}
"""
SHIFTED = """void f(int n, double a[2 * n]) {{
{assumption}
  for (int i = 0; i < n; i++) a[i + 64] = a[i] + 1;
}}
"""
PRODUCT = """void f(int n, double C[n][n], double A[n][n], double B[n][n]) {{
{assumption}
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)
    C[i][j] += A[i][k] * B[k][j];
}}
"""


def text(source: str, assumption: str, stage: str = "affine", schedule: str = "source") -> str:
    file = CFile.parse_text(source.format(assumption=assumption), "f.c", [], {})
    scop = file.model_function()
    return make_program([scop], default_options("affine"), schedule).text(stage)


@pytest.mark.parametrize(
    "assumption",
    [
        "#pragma rise assume(m >= n)",
        "__builtin_assume(m >= n && n > 0);",
        "# pragma  rise  assume ( n < m )",
    ],
)  # fmt: skip
def test_loops_become_simpler(assumption: str):
    loops = text(SPLIT, assumption)
    assert text(SPLIT, "").count("affine.for") == 2
    assert loops.count("affine.for") == 1
    assert "min affine_map" not in loops


def test_dependences_that_cannot_occur_are_left_out():
    assert "#pragma omp simd" not in text(SHIFTED, "", "c")
    assert "#pragma omp simd" in text(SHIFTED, "#pragma rise assume(n <= 64)", "c")


@pytest.mark.rotating(4)
def test_promises_do_not_keep_loops_from_being_tiled():
    kept = "the source order is kept"
    assert kept not in text(PRODUCT, "#pragma rise assume(n >= 64)", "report", "isl")


def test_pragmas_keep_the_length_of_a_text():
    source = "void f(int n) {\n  #  pragma rise assume( n > 3 )  \n}\n"
    read = with_assumptions(source, "f.c")
    assert len(read) == len(source)
    assert read.split() == [
        "void",
        "f(int",
        "n)",
        "{",
        "__builtin_assume(",
        "n",
        ">",
        "3",
        ");",
        "}",
    ]


def test_calls_that_break_a_promise_are_refused():
    function = rl.from_c(SPLIT.format(assumption="#pragma rise assume(n >= 4 && m >= n)"))
    a, b = np.zeros(4), np.arange(4.0)
    function(4, 4, a, b)
    np.testing.assert_array_equal(a, 2 * b)
    with pytest.raises(UserError, match=r"compiled for arguments with .*, but n is 4, m is 3"):
        function(4, 3, a, b)
    with pytest.raises(UserError, match="but n is 3, m is 4"):
        function(3, 4, np.zeros(3), np.zeros(3))


def test_other_conditions_for_clang_are_ignored():
    function = rl.from_c(SPLIT.format(assumption="__builtin_assume(((long)a & 63) == 0);"))
    a, b = np.zeros(3), np.arange(3.0)
    function(3, 1, a, b)
    np.testing.assert_array_equal(a, [0, 1, 2])


@pytest.mark.parametrize(
    ("assumption", "message"),
    [
        ("#pragma rise assume n > 3", r"expected #pragma rise assume\(condition\)"),
        ("#pragma rise unroll(4)", r"expected #pragma rise assume\(condition\)"),
        ("#pragma rise assume(k > 3)", "use of undeclared identifier 'k'"),
        ("#pragma rise assume(a[0] > 3)", "it mentions more than parameters that never change"),
        ("#pragma rise assume(n * m > 3)", "this condition cannot be assumed"),
        ("if (n > 3)\n#pragma rise assume(n > 3)\n", "is not at the start of a function"),
        ("n = 3;\n#pragma rise assume(n > 3)\n", "is not at the start of a function"),
        ("#pragma rise assume(n > 3)\nn = 5;", "it mentions more than parameters"),
    ],
)
def test_conditions_that_are_refused(assumption: str, message: str):
    with pytest.raises(RiseError, match=message) as caught:
        rl.from_c(SPLIT.format(assumption=assumption))
    assert caught.value.location is not None


def test_a_pragma_outside_of_functions_is_refused():
    with pytest.raises(UserError, match="which must be in a function"):
        rl.from_c("#pragma rise assume(n > 3)\n" + SPLIT.format(assumption=""))
