"""What cannot be modeled is refused at its location, with a reason and what would help."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c import calling
from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.tools import rise

HEAD = "struct s { int a; }; int g(int); extern double *where;\n"
CASES = {
    "while (n > 0) n--;": "a while loop",
    "do n--; while (n > 0);": "a do loop",
    "switch (n) { case 1: a[0] = 1; }": "a switch",
    "for (int i = 0; i < n; i++) { if (a[i] > 3) break; a[i] = 1; }": "break is not static",
    "for (int i = 0; i < n; i++) { if (i > 3) continue; a[i] = 1; }": "continue is not static",
    "for (int i = 1; i < n; i *= 2) a[i] = 1;": "the step of this loop",
    "for (int i = 0; ; i++) a[i] = 1;": "the loop lacks an initialization",
    "int j = 0; for (j = j; j < n; j++) a[j] = 1;": "j is initialized with its own value",
    "for (int i = 0; i >= 0; i++) a[i] = 1;": "this loop does not terminate",
    "for (int i = 0; i < n; i++) { a[i] = 1; i = 3; }": "i is changed in the body of its loop",
    "for (int i = 0; i < n; i++) a[i] = g(i);": "g is neither defined in this file",
    "for (int i = 0; i < n; i++) g(i);": "g is neither defined in this file",
    "for (int i = 0; i < n; i++) a[i] = q->a;": "this kind of expression",
    "for (int i = 0; i < n; i++) a[i] = p[i][0];": "p is an array of pointers",
    "for (int i = 0; i < n; i++) a[i] = where[i];": "where is a pointer that may point anywhere",
    "double *b = a; b[0] = 1;": "b is a pointer that may point anywhere",
    "for (int i = 0; i < n; i++) a[i] = 1 + (a[0] = 3.0);": "an assignment inside an expression",
    "int k = 0; a[k++] = 1;": "an assignment inside an expression",
    "for (float x = 0; x < 3; x += 1) a[0] = x;": "x is not an integer",
    "for (unsigned char i = 0; i < 300; i++) a[0] += i;": "may wrap around",
    "for (unsigned i = 5; i >= 0; i--) a[i] = 1;": "may wrap around",
    "static double kept; kept += 1; a[0] = kept;": "kept is static",
    "volatile double x = 1; a[0] = x;": "is volatile",
    "long double x = 1; a[0] = x;": "a value of type long double",
    "double b[3] = {1, 2, 3}; a[0] = b[1];": "b has an initializer list",
    "goto end; end: a[0] = 1;": "goto is not static",
    "if (n > 3) return; a[0] = 1;": "a return before the end",
    "for (int i = 0; i < n; i++) { int m = n; n = i; double b[m]; b[0] = 1; a[i] = b[0]; }":
        "a length of b",
    "for (int i = 0; i < n; i++) for (i = 0; i < 3; i++) a[i] = 1;": "i is also the variable",
}  # fmt: skip


@pytest.mark.parametrize("body", CASES)
def test_a_rejection_reports_location_and_reason(body: str) -> None:
    parameters = (
        "int n, double *a"
        + (", double **p" if "p[" in body else "")
        + (", struct s *q" if "q->" in body else "")
    )
    text = f"{HEAD}void f({parameters}) {{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"
    file = CFile.parse_text(text, "bad.c")
    with pytest.raises(UnsupportedConstruct) as caught:
        file.model_region(file.marked_regions()[0])
    assert CASES[body] in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.line in (2, 4, 1)
    assert "bad.c:" in str(caught.value)


def test_functions_that_call_themselves_are_rejected() -> None:
    text = "int f(int n) { return n < 2 ? 1 : n * f(n - 1); }"
    with pytest.raises(UnsupportedConstruct, match="f calls itself"):
        CFile.parse_text(text, "bad.c").model_function("f")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("void f(int n { }", "bad.c:1:14: error: clang refuses this"),
        ("#include <nothing.h>\n", "clang refuses this: 'nothing.h' file not found"),
        ("void f(void) {\n#pragma scop\n}", "bad.c:2:1: error: this region has no #pragma endscop"),
        ("void f(void) {\n#pragma endscop\n}", "expected a #pragma scop before this endscop"),
        ("#pragma scop\n#pragma endscop\n", "this #pragma scop is outside any function"),
        ("int \0;", "the file has a zero byte"),
    ],
)
def test_mistakes_are_located(text: str, problem: str) -> None:
    with pytest.raises(rl.UserError) as caught:
        CFile.parse_text(text, "bad.c").marked_regions()
    assert problem in str(caught.value)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        rise.main(["c", *arguments])
        code = 0
    except SystemExit as exit:
        code = int(exit.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


MIXED = """\
#include <stdio.h>
void f(int n, double a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = i;
#pragma endscop
  printf("%d", n);
#pragma scop
  while (n > 0)
    n--;
#pragma endscop
}
"""


def test_a_marked_region_that_is_rejected_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.c"
    path.write_text(MIXED)
    code, out, err = run(capsys, str(path))
    assert code == 1
    assert "func.func @f_scop0" in out
    assert f"{path}:9:3: warning: a while loop is not static control flow" in err
    assert "note: write it as a for loop" in err


def test_detection_counts_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mixed.c"
    path.write_text(MIXED)
    code, out, err = run(capsys, str(path), "--autodetect")
    assert code == 0
    assert "affine.for" in out
    assert "1 region found, 2 loops or statements left out" in err


def test_without_a_region_it_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.c"
    path.write_text("void f(void) { }\n")
    code, _, err = run(capsys, str(path))
    assert code == 1
    assert "has no #pragma scop" in err


def test_arguments_are_checked_at_the_call() -> None:
    text = "void f(int n, double a[n], double *b) { for (int i = 0; i < n; i++) a[i] = b[i + 1]; }"
    f = rl.from_c(text)
    a, b = np.zeros(4), np.arange(5.0)
    f(4, a, b)
    assert a.tolist() == [1, 2, 3, 4]
    for arguments, problem in (
        ((4, a), "takes 3 arguments"),
        ((4, a, b[:4].copy()), "element [4] is accessed, but the array has shape (4,)"),
        ((5, a, b), "dimension 0 is 4, but the declaration requires 5"),
        ((4, a.astype(np.float32), b), "expected dtype float64"),
        ((4.5, a, b), "expected a number of type int"),
        ((2**40, a, b), "does not fit into int"),
        ((4, b[:4], b), "share memory"),
        ((4, a[::-1], b), "expected a C-contiguous array"),
        ((4, a, None), "expected an array"),
    ):
        with pytest.raises(rl.UserError, match=re.escape(problem)):
            f(*arguments)
    a.setflags(write=False)
    with pytest.raises(rl.UserError, match="read-only"):
        f(4, a, b)


def test_what_a_parameter_takes_is_found_before_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """To find it out takes longer than many a call."""
    f = rl.from_c("void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = 2 * a[i]; }")
    monkeypatch.setattr(calling, "is_buffer", lambda *_: pytest.fail("asked in a call"))
    a = np.ones(3)
    f(3, a)
    np.testing.assert_array_equal(a, 2 * np.ones(3))
