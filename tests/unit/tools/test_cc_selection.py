"""The command line of `rise cc`, and which regions of a file it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from riselang.frontends.c.file import CFile
from riselang.frontends.c.parse.preprocessed import LineMarkers, parse_preprocessed
from riselang.frontends.c.source_extents import replace_extents
from riselang.native.llvm.codegen import host
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.tools.cc.command_line import (
    join_words,
    parse_command_line,
    reason_to_pass,
    split_words,
)
from riselang.tools.cc.selection import Selection

WORDS = ["-O3", "-I", "include", "-DN=3", "-c", "a.c", "-o", "a.o", "-MMD", "-MF", "a.d",
         "-std=c99", "-frise-report=r.txt", "-lm", "-Wl,-z,now", "-include", "b.h"]  # fmt: skip


def test_flags_of_each_step() -> None:
    command = parse_command_line(WORDS, ["-frise-take=all"])
    assert command.mode == "compile"
    assert (command.sources, command.output) == (["a.c"], "a.o")
    assert command.compile_flags == ["-O3", "-std=c99"]
    assert command.preprocess_flags == [
        "-O3", "-I", "include", "-DN=3", "-std=c99", "-include", "b.h"
    ]  # fmt: skip
    assert (command.option("report"), command.option("take")) == ("r.txt", "all")
    assert "-frise-report=r.txt" not in command.words


def test_modes_and_outputs() -> None:
    assert parse_command_line(["a.c", "b.o"]).mode == "link"
    assert parse_command_line(["-E", "a.c"]).mode == "other"
    assert parse_command_line(["-print-file-name=x"]).mode == "other"
    assert parse_command_line(["-c", "sub/a.c"]).output_of("sub/a.c") == "a.o"
    assert parse_command_line(["-oprogram", "a.c"]).output == "program"
    command = parse_command_line(["a.c", "-lm", "b.c"])
    assert command.with_objects({"a.c": "0.o"}) == ["0.o", "-lm", "b.c"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["-O3", "-O0", "a.c"], "-O0 asks for code to debug"),
        (["-O0", "-O2", "a.c"], ""),
        (["-fsanitize=address", "a.c"], "-fsanitize=address asks for code with sanitizers"),
        (["-x", "c", "-"], "- is not the name of a file"),
        (["-xc++", "a.c"], "-x c++ selects another language than C"),
        (["-x", "c", "a.txt"], ""),
        (["@missing", "a.c"], "@missing is not the name of a file"),
        (["a.c"], ""),
    ],
)
def test_what_is_left_to_the_compiler(words: list[str], reason: str) -> None:
    assert reason_to_pass(parse_command_line(words)) == reason


def test_files_with_words(tmp_path: Path) -> None:
    (tmp_path / "inner").write_text("-frise-take=all 'a b.c'\n")
    (tmp_path / "outer").write_text(f'-DN=\\"x\\ y\\" "-I c d" @{tmp_path}/inner -O2')
    command = parse_command_line([f"@{tmp_path}/outer", "-c"])
    assert command.words == ['-DN="x y"', "-I c d", "a b.c", "-O2", "-c"]
    assert (command.option("take"), command.sources) == ("all", ["a b.c"])


@pytest.mark.parametrize("words", [["a b", 'c"d', "e\\f", "g'h"], [""], ["x\ty", "-DN=1"]])
def test_words_in_a_file_are_read_as_written(words: list[str]) -> None:
    assert split_words(join_words(words)) == words


def test_languages_by_a_flag() -> None:
    command = parse_command_line(["-x", "c", "a.txt", "-xnone", "b.c", "c.o", "-MMD", "-MF", "d"])
    assert command.sources == ["a.txt", "b.c"]
    linked = command.with_objects({"a.txt": "0.o"})
    assert linked == ["-x", "c", "-x", "none", "0.o", "-x", "c", "-xnone", "b.c", "c.o"]
    assert "-x" not in command.preprocess_flags


@pytest.mark.parametrize("word", ["-frise-tiles=3", "-frise-float=fast"])
def test_unknown_flags_of_ours_are_refused(word: str) -> None:
    with pytest.raises(UserError, match="expected"):
        parse_command_line([word, "a.c"])


def selection_of(text: str, **settings: Any) -> Selection:
    markers = LineMarkers(text)
    parsed = parse_preprocessed(text, "test.c", [], markers)
    options = Options("affine", "strict")
    return Selection(CFile.of_parsed(parsed), markers, options, host(), **settings)


COLUMNS = "void f(int n, double s[n], double a[n][n]) {" \
          " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) s[i] += a[j][i]; }"  # fmt: skip


def test_a_body_becomes_a_call_with_as_many_lines() -> None:
    text = '# 7 "other.c"\n' + COLUMNS.replace("{", "{\n\n") + "\nint g;\n"
    selection = selection_of(text)
    (found,) = selection.replaced_regions()
    new = replace_extents(text, [(found.extent, found.call)])
    assert new.count("\n") == text.count("\n")
    assert new.endswith("int g;\n")
    assert "(n, (void *)(s), (void *)(a)); }" in new
    assert selection.messages == ["other.c:7:6: f is compiled by riselang (1 statement)"]


LEFT = {
    "the trip counts of all its loops depend on data":
        "int f(int n, int *a) { for (int i = 0; i < n; i++) if (a[i] > 3) return 1; return 0; }",
    "it executes at most 16 statements":
        "void f(double *a) { for (int i = 0; i < 16; i++) a[i] += a[i + 1]; }",
    "its loops only need to be vectorized":
        "void f(int n, double *a, double *b) { for (int i = 0; i < n; i++) a[i] = b[i]; }",
    "it has a #pragma GCC": COLUMNS.replace(" for", "\n#pragma GCC ivdep\n for", 1),
    "whether its arrays share memory cannot be checked at the call":
        "void f(int *p, int *m) { for (int i = 0; i < *m; i++) for (int j = 0; j < 9; j++)"
        " p[i] += p[j]; }",
}  # fmt: skip


@pytest.mark.parametrize("reason", LEFT)
def test_why_loops_are_left(reason: str) -> None:
    selection = selection_of(LEFT[reason])
    found = selection.replaced_regions()
    assert any(reason in message for message in selection.messages), selection.messages
    assert not any("_f" in each.call for each in found)


def test_a_global_that_the_function_hides_is_not_passed() -> None:
    text = (
        "double s[9]; static void g(int n, double a[n][n]) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) s[0] += a[j][i]; }"
        " void f(int s, double a[s][s]) { g(s, a); for (int i = 0; i < s; i++) a[i][0] = 1; }"
    )
    found = selection_of(text, takes_all=True).replaced_regions()
    assert any("_g(" in each.call for each in found)
    assert not any("_f(" in each.call for each in found)


def test_pragmas_of_openmp_matter_only_with_openmp() -> None:
    text = COLUMNS.replace(" for", "\n#pragma omp parallel for\n for", 1)
    assert len(selection_of(text).replaced_regions()) == 1
    assert selection_of(text, openmp=True).replaced_regions() == []


def test_errors_in_headers_of_the_system_do_not_matter() -> None:
    text = f'# 1 "system.h" 1 3\ntypo int x;\n# 1 "a.c" 2\n{COLUMNS}\n'
    assert len(selection_of(text).replaced_regions()) == 1
    with pytest.raises(UserError, match=r"a\.c:2:1: error: clang refuses this"):
        selection_of(text + "typo int y;\n")
