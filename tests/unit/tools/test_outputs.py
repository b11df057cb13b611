"""What a command writes follows from `--emit`, or from the suffix of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

import riselang as rl
from riselang.tools import rise
from riselang.tools.outputs import choose_output

KNOWN = ("affine", "obj", "header", "asm")


@pytest.mark.parametrize(
    ("emit", "file", "expected"),
    [
        (None, None, "affine"),
        (None, "a.o", "obj"),
        (None, "a.h", "header"),
        (None, "a.mlir", "affine"),
        (None, "a", "affine"),
        ("affine", "a.o", "affine"),
    ],
)
def test_the_suffix_decides_if_the_option_is_missing(
    emit: str | None, file: str | None, expected: str
) -> None:
    assert choose_output(emit, file, KNOWN, "affine") == expected


@pytest.mark.parametrize("file", ["a.xyz", "a.ptx", "out.exe", "a.O"])
def test_an_unknown_suffix_is_refused(file: str) -> None:
    with pytest.raises(rl.UserError, match=r"expected \.o, \.obj, \.h, \.s, \.mlir, or --emit"):
        choose_output(None, file, KNOWN, "affine")


def test_a_gpu_program_has_no_object_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "twice.rise"
    file.write_text("def twice = fun((x : 4.f32), x |> map(fun(e, e + e)))")
    with pytest.raises(SystemExit):
        rise.main(["compile", str(file), "--loops", "gpu", "-o", str(tmp_path / "twice.o")])
    assert "--emit ptx writes its kernels" in capsys.readouterr().err


SCALE = """void scale(int n, float x[n], float y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) y[i] = 2 * x[i];
#pragma endscop
}
"""


def test_c_loops_and_programs_become_what_the_file_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scale.c").write_text(SCALE)
    Path("twice.rise").write_text("def twice = fun((x : 4.f32), x |> map(fun(e, e + e)))")
    rise.main(["c", "scale.c", "-o", "scale.h"])
    rise.main(["compile", "twice.rise", "-o", "twice.h"])
    rise.main(["compile", "twice.rise", "-o", "twice.s"])
    assert "void scale(" in Path("scale.h").read_text()
    assert "rise_call_twice" in Path("twice.h").read_text()
    assert "twice" in Path("twice.s").read_text()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "wrote 'scale.h': a C header",
        "wrote 'twice.h': a C header",
        "wrote 'twice.s': the stage 'asm'",
    ]


def test_a_header_states_which_lengths_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("outer.rise").write_text(
        "def outer = fun((x : N.f32, y : (M + 1).f32), x |> map(fun(a, y |> map(fun(b, a * b)))))"
    )
    rise.main(["compile", "outer.rise", "-o", "outer.h"])
    text = " ".join(Path("outer.h").read_text().split())
    assert "the lengths satisfy N = x_0 = out_0, M + 1 = y_0 = out_1." in text
