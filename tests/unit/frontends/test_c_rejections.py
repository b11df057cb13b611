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
    "for (int i = 0; i >= 0; i++) a[i] = 1;": "this loop does not terminate",
    "for (int i = 0; i < n; i++) a[i] = g(i);": "g is neither defined in this file",
    "for (int i = 0; i < n; i++) g(i);": "g is neither defined in this file",
    "for (int i = 0; i < n; i++) a[i] = ({ i; });": "this kind of expression",
    "for (int i = 0; i < n; i++) a[i] = p[i][0][0];": "p is an array of pointers",
    "for (int i = 0; i < n; i++) a[i] = where[i];": "where is a pointer that may point anywhere",
    "double *b; b = a; b[0] = 1;": "b is a pointer that may point anywhere",
    "double *b = a; b++; b[0] = 1;": "the address of b is used as a value",
    "double c[3][4][5]; double (*b)[5] = c[0]; b[0][1] = 1; a[0] = b[0][1];":
        "b does not point to a row",
    "int c[3]; double *b = (void *)c; b[0] = 1; a[0] = b[0];": "this lvalue",
    "for (unsigned char i = 0; i < 300; i++) a[0] += i;": "may wrap around",
    "for (unsigned i = 5; i >= 0; i--) a[i] = 1;": "may wrap around",
    'static char kept[4] = "abc"; a[0] = kept[1];': "kept is initialized with a string",
    "volatile double x = 1; a[0] = x;": "is volatile",
    "long double x = 1; a[0] = x;": "a value of type long double",
    'char b[4] = "abc"; a[0] = b[1];': "b is initialized with a string",
    "double b[4] = {[1 ... 2] = 5}; a[0] = b[1];": "this designator is not a single index",
    "double b[2][2] = {1, 2}; a[0] = b[1][0];": "the braces of this initializer list",
    "__builtin_memset(a, 1, n); a[0] = 1;": "neither defined in this file",
    "again: a[0] = 1; goto again;": "goto is not structured",
    "switch (n) { a[1] = 2; case 1: a[0] = 1; }": "statements before its cases",
    "switch (n) { case 1 ... 3: a[0] = 1; }": "this label is not a single integer",
    "switch (n) { case 1: if (n) { case 2: a[0] = 1; } }": "inside of another statement",
    "double b[n++]; b[0] = 1; a[0] = b[0];": "a length of b has side effects",
    "for (int i = 0; i < n; i++) { int m = n; n = i; double b[m]; b[0] = 1; a[i] = b[0]; }":
        "a length of b",
}  # fmt: skip


@pytest.mark.parametrize("body", CASES)
def test_a_rejection_reports_location_and_reason(body: str) -> None:
    parameters = (
        "int n, double *a"
        + (", double ***p" if "p[" in body else "")
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


@pytest.mark.parametrize(
    ("inside", "problem"),
    [("if (a[i] > 1) break;", "break leaves a loop or switch"),
     ("if (a[i] > 1) continue; a[i] = 2;", "continue leaves a loop"),
     ("if (a[i] > 1) return; a[i] = 2;", "a return before the end")],
)  # fmt: skip
def test_jumps_out_of_a_region_are_rejected(inside: str, problem: str) -> None:
    region = f"#pragma scop\na[i] = 1; {inside}\n#pragma endscop\na[i] = 3;"
    text = f"void f(int n, double a[n]) {{ for (int i = 0; i < n; i++) {{\n{region} }} }}"
    file = CFile.parse_text(text, "bad.c")
    with pytest.raises(UnsupportedConstruct, match=problem):
        file.model_region(file.marked_regions()[0])


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
  again: if (n > 0)
    goto again;
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
    assert f"{path}:10:5: warning: goto is not structured control flow" in err
    assert "note: use loops and if" in err


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
