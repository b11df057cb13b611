"""Pragmas around regions: whole statements of one block stand between them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import riselang as rl
from riselang.frontends.c.file import CFile
from riselang.support.errors import UserError
from riselang.tools import rise

HEAD = "void f(int n, double a[n]) {"
LOOP = "for (int i = 0; i < n; i++) {"
BEGIN, END = "#pragma scop", "#pragma endscop"
OTHER_BLOCK = "expected this #pragma endscop in the block of its #pragma scop"
INSIDE = "is in the middle of a statement"
WRONG = {
    "ends in the loop": (4, OTHER_BLOCK, [HEAD, BEGIN, LOOP, END, "a[i] = 1; }", "}"]),
    "ends at the end of the loop": (5, OTHER_BLOCK, [HEAD, BEGIN, LOOP, "a[i] = 1;", END, "} }"]),
    "begins in the loop": (5, OTHER_BLOCK, [HEAD, LOOP, BEGIN, "a[i] = 1; }", END, "}"]),
    "ends in another function": (
        6, OTHER_BLOCK, [HEAD, BEGIN, "a[0] = 1; }", "void g(int n, double a[n]) {", "a[0] = 1;",
                         END, "}"]),
    "ends first": (2, "expected a #pragma scop before", [HEAD, END, "a[0] = 1;", BEGIN, "}"]),
    "does not begin": (3, "expected a #pragma scop before", [HEAD, "a[0] = 1;", END, "}"]),
    "does not end": (2, "has no #pragma endscop", [HEAD, BEGIN, "a[0] = 1;", "}"]),
    "nests": (4, "expected a #pragma endscop before",
              [HEAD, BEGIN, LOOP, BEGIN, "a[i] = 1;", END, "}", END, "}"]),
    "begins outside": (1, "is outside any function", [BEGIN, HEAD, "a[0] = 1; }", END]),
    "ends outside": (3, "is outside any function", [HEAD, BEGIN + "\na[0] = 1; }", END]),
    "ends before the body": (
        4, INSIDE, [HEAD, BEGIN, "for (int i = 0; i < n; i++)", END, "a[i] = 1;", "}"]),
    "begins in the head": (
        3, INSIDE, [HEAD, "for (int i = 0;", BEGIN, "i < n; i++) a[i] = 1;", END, "}"]),
    "ends before else": (
        4, INSIDE, [HEAD, BEGIN, "if (n > 3) a[0] = 1;", END, "else a[0] = 2;", "}"]),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_pragmas_that_stand_wrong_are_rejected_where_they_stand(case: str) -> None:
    line, reason, lines = WRONG[case]
    line += case == "ends outside"
    for load in (lambda text: rl.from_c(text, function="f"), rl.from_c):
        with pytest.raises(UserError, match=rf"^<c>:{line}:1: error: .*{re.escape(reason)}"):
            load("\n".join(lines))


RIGHT = {
    "whole": ([HEAD, BEGIN, LOOP, "a[i] = 1; }", END, "}"], [("f", 1)]),
    "two": ([HEAD, BEGIN, "a[0] = 1;", END, "a[1] = 2;", BEGIN, "a[2] = 3; a[3] = 4;", END, "}"],
            [("f_scop0", 1), ("f_scop1", 2)]),
    "in a loop": ([HEAD, "while (n > 2) {", BEGIN, "a[0] = 1;", END, "n--; }", "}"],
                  [("f_scop0", 1)]),
    "in one line": ([HEAD, "a[0] = 1; a[1] = 2;", BEGIN, "a[0] = 3; a[1] = 4;", END, "}"],
                    [("f_scop0", 2)]),
}  # fmt: skip


@pytest.mark.parametrize("case", RIGHT)
def test_the_statements_between_pragmas_are_the_region(case: str) -> None:
    lines, expected = RIGHT[case]
    regions = CFile.parse_text("\n".join(lines), "right.c").marked_regions()
    assert [(each.name, len(each.statements)) for each in regions] == expected


def test_the_tool_rejects_a_region_that_ends_inside_of_a_loop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.c"
    path.write_text("\n".join(WRONG["ends in the loop"][2]))
    with pytest.raises(SystemExit) as ended:
        rise.main(["c", str(path), "--autodetect"])
    assert ended.value.code == 1
    assert f"{path}:4:1: error: {OTHER_BLOCK}" in capsys.readouterr().err
