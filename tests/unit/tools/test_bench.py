"""`rise bench`: the table, the file it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from riselang.support import benchmarking
from riselang.support.benchmarking import calls_per_sample, round_count, time_interleaved
from riselang.tools import rise
from riselang.tools.figures import read_report

PROGRAMS = """def dot = fun((x : N.f32, y : N.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))
def sums = fun((x : N.f32, y : N.f32), zip(x, y) |> map(add) |> reduce(add, 0.0))
"""
MODULE = """func.func @inc(%out : memref<8xf32>, %a : memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %x = affine.load %a[%i] : memref<8xf32>
    affine.store %x, %out[%i] : memref<8xf32>
  }
  return
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs.rise").write_text(PROGRAMS)
    (tmp_path / "copy.mlir").write_text(MODULE)
    return tmp_path


def bench(*arguments: str) -> int:
    try:
        rise.main(["bench", *arguments, "--rounds", "5"])
    except SystemExit as exit:
        return int(exit.code or 0)
    return 0


def test_a_program_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("programs.rise", "--function", "dot", "--size", "N=100") == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["dot(100,", "100),", "5", "rounds", "median", "quartiles", "ratio",
                               "GFLOP/s", "GB/s"]  # fmt: skip
    assert row.startswith("programs.rise:dot ")
    assert " us .. " in row or " ns .. " in row
    assert " 1.000 " in row


def test_against_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    same = "def product = fun((a : N.f32, b : N.f32), zip(a, b) |> map(mult) |> reduce(add, 0.0))"
    (folder / "other.rise").write_text(same)
    against = ["--against", "other.rise", "--against", "programs.rise:sums"]
    command = ["programs.rise", "[1, 2, 3]", "ones", "--function", "dot", "--json", "out.json"]
    assert bench(*command, *against) == 0
    captured = capsys.readouterr()
    labels = [line.split()[0] for line in captured.out.splitlines()[1:]]
    assert labels == ["programs.rise:dot", "other.rise:product", "programs.rise:sums"]
    # 6 and 6 are the same, 6 and 9 are not.
    assert captured.err == (
        "note: the results of programs.rise:sums differ from those of programs.rise:dot\n"
    )
    figures = read_report(folder / "out.json").figures
    assert [(each.name, each.rival and each.rival.name) for each in figures] == [
        ("dot(3, 3)", "other.rise:product"),
        ("dot(3, 3)", "programs.rise:sums"),
    ]


def test_the_file_says_where_it_comes_from(folder: Path) -> None:
    assert bench("copy.mlir", "--json", "out.json") == 0
    document = json.loads((folder / "out.json").read_text())
    assert set(document["machine"]) == {"processor", "cores", "system"}
    assert {"riselang", "Python", "numpy", "xdsl", "MLIR", "llvmlite"} <= set(document["versions"])
    (figure,) = document["figures"]
    assert figure["name"] == "inc(8, 8)"
    assert figure["rival"] is figure["ratio"] is figure["bound"] is None
    low, high = figure["ours"]["quartiles"]
    assert low <= figure["ours"]["median"] <= high
    assert len(figure["ours"]["samples"]) == 5


def test_sizes_that_no_shape_tells(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "def count = fun((x : f32), generate(fun((i : idx[N]), x)) |> reduce(add, 0.0))"
    (folder / "count.rise").write_text(program)
    assert bench("count.rise", "ones", "--size", "N=4") == 0, capsys.readouterr().err
    assert capsys.readouterr().out.startswith("count(scalar), 5 rounds")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["programs.rise"], 1, "several programs: "),
        (["programs.rise", "--function", "dot"], 1, "pass --size N=..."),
        (["programs.rise:dot"], 1, "programs.rise:dot cannot be read"),
        (["copy.mlir", "--against", "missing.rise"], 1, "missing.rise cannot be read"),
        (["copy.mlir", "--json", "no/folder/out.json"], 1, "no/folder is not a folder"),
        (["copy.mlir", "--json", "."], 1, ". cannot be written"),
        (["copy.mlir", "--rounds", "0"], 2, "expected a number above 0, but found '0'"),
    ],
)
def test_what_is_refused(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        rise.main(["bench", *arguments])
    assert exit.value.code == code
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors


def test_rivals_take_turns() -> None:
    order: list[str] = []
    rivals = [(lambda: order.append("a"), 1), (lambda: order.append("b"), 2)]
    samples = time_interleaved(rivals, 3, lambda: order.append("|"))
    # Every second round is in reverse order.
    assert "".join(order) == "abb|bba|abb|"
    assert [len(each) for each in samples] == [3, 3]


def test_after_a_rest_the_first_call_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarking, "WARMUP_SECONDS", 0.0)
    order: list[str] = []
    rivals = [(lambda: order.append("a"), 1), (lambda: order.append("b"), 2)]
    samples = time_interleaved(rivals, 2, lambda: order.append("|"), rest=1e-6)
    assert "".join(order) == "aabbb|bbbaa|"
    assert [len(each) for each in samples] == [2, 2]


def test_short_programs_are_called_often_and_long_ones_seldom() -> None:
    assert (calls_per_sample(0.25e-3), calls_per_sample(1.0), calls_per_sample(0.0)) == (
        4,
        1,
        10_000,
    )
    assert (round_count(1e-3, 25), round_count(2.0, 25), round_count(60.0, 25)) == (25, 10, 5)
    assert round_count(60.0, 3) == 3
