"""`rise derive` as a user runs it: what it prints, keeps, replays, compares, checks and refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from riselang.notation.program import parse_term
from riselang.rewrite.reports import CheckReport, Comparison, Difference
from riselang.tools import rise

NOTATION = "def dot = fun((x : N.f32, y : N.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))\n"
PYTHON = """
import riselang as rl

@rl.jit
def twice(x: rl.Array["N", rl.i32]):
    return x | rl.map(lambda a: a * 2) | rl.map(lambda a: a + 1)
"""
STRATEGIES = """
from riselang.rewrite.strategies.schedules import fuse, simplify

fused = fuse() >> simplify()
number = 3
"""
MLIR = """func.func @negate(%out : memref<?xi32>, %a : memref<?xi32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<N, scalar<i32>>
    %r = rise.reverse #rise.nat<N> #rise.scalar<i32>
    %y = rise.apply %r, %x
    %z = rise.apply %r, %y
    rise.out %out <- %z
    rise.return
  }
  func.return
}
"""


class Result(NamedTuple):
    code: int
    output: str
    errors: str


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path):
        self.capsys = capsys
        self.folder = folder
        for name, text in (("dot.rise", NOTATION), ("twice.py", PYTHON), ("fast.py", STRATEGIES),
                           ("negate.mlir", MLIR)):  # fmt: skip
            (folder / name).write_text(text)

    def __call__(self, *arguments: str) -> Result:
        code = 0
        try:
            rise.main(["derive", *arguments])
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(code, captured.out, captured.err)


@pytest.fixture
def derive(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(capsys, tmp_path)


FUSED = """fun((x : N.f32, y : N.f32),
  zip(x, y) |> reduce(fun((x0, x1), fma(fst(x1), snd(x1), x0)), 0.0))
"""


def test_every_step_is_printed_with_what_it_changed(derive: Command) -> None:
    result = derive("dot.rise", "--strategy", "fuse()", "--float", "strict")
    assert result.code == 0
    assert "-- 1. reduce_map_fusion: x |> map(g) |> reduce(f, a) ~> " in result.output
    assert "⟦zip(x, y) |> reduce(" in result.output
    assert "\x1b" not in result.output


def test_a_terminal_gets_colours(derive: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    arguments = ("dot.rise", "--strategy", "fuse()", "--float", "strict")
    assert "\x1b[1;36m⟦" in derive(*arguments).output
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in derive(*arguments).output


def test_sums_of_products_are_contracted_first(derive: Command) -> None:
    assert derive("dot.rise", "--strategy", "id", "--end").output == FUSED
    strict = derive("dot.rise", "--strategy", "id", "--end", "--float", "strict")
    assert "fma" not in strict.output


def test_the_end_parses_back(derive: Command) -> None:
    result = derive(
        "dot.rise", "--strategy", "everywhere(reduce_as_loop)", "--end", "--size", "N=8"
    )
    assert "x : 8.f32" in result.output
    assert f"{parse_term(result.output)}\n" == result.output


def test_a_summary_has_a_line_for_each_step(derive: Command) -> None:
    result = derive("dot.rise", "--strategy", "fuse()", "--float", "strict", "--summary")
    assert result.output == "1. reduce_map_fusion at 0.0 (dot.rise:1:65)\n"


def test_the_strategy_beside_the_file_is_taken(derive: Command) -> None:
    (derive.folder / "dot.strategy").write_text("loops = everywhere(reduce_as_loop)\nloops\n")
    assert "reduceSeq" in derive("dot.rise", "--end").output
    (derive.folder / "other.strategy").write_text("everywhere(reduce_unrolled)")
    result = derive("dot.rise", "--strategy", "other.strategy", "--end", "--size", "N=4")
    assert "reduceSeqUnroll" in result.output


def test_a_strategy_of_a_python_file(derive: Command) -> None:
    result = derive("twice.py", "--strategy", "fast.py:fused", "--end")
    assert result.output == "fun((x : N.i32),\n  x |> map(fun(a, a * 2 + 1)))\n"


def test_mlir_is_derived_too(derive: Command) -> None:
    strategy = ("--strategy", "simplify()", "--end")
    assert derive("negate.mlir", *strategy).output == "fun((a : N.i32),\n  a)\n"
    assert derive("negate.mlir", *strategy, "--size", "N=5").output == "fun((a : 5.i32),\n  a)\n"
    refused = derive("negate.mlir", *strategy, "--size", "M=5")
    assert refused.errors == "error: negate has no size M; it has: N\n"
    refused = derive("negate.mlir", *strategy, "--function", "other")
    assert (
        refused.errors == "error: negate.mlir contains no function 'other'; it contains: negate\n"
    )


@pytest.mark.parametrize("size", [(), ("--size", "N=6")])
def test_a_derivation_is_kept_replayed_and_compared(derive: Command, size: tuple[str, ...]) -> None:
    given = ("dot.rise", "--float", "strict", *size)
    saved = derive(*given, "--strategy", "fuse()", "--save", "fused.json", "--end")
    again = derive("--replay", "fused.json", "--end")
    assert again.output == saved.output
    assert derive(*given, "--replay", "fused.json", "--end").output == saved.output
    compared = derive(*given, "--strategy", "fuse() >> top_down(reduce_as_loop)", "--diff",
                      "fused.json")  # fmt: skip
    assert compared.output == (
        "  reduce_map_fusion at 0.0\n+ reduce_as_loop at 0.0\ndifferent programs\n"
    )


def test_a_derivation_of_another_program_is_refused(derive: Command) -> None:
    derive("dot.rise", "--strategy", "fuse()", "--save", "fused.json")
    other = derive("twice.py", "--replay", "fused.json")
    assert other.code == 1
    assert "fused.json is a derivation of a different program, not of twice.py" in other.errors
    other = derive("dot.rise", "--replay", "fused.json", "--float", "strict")
    assert other.errors == "error: fused.json was derived with --float contract, not strict\n"


def test_a_check_lists_what_was_run_and_the_laws(derive: Command) -> None:
    result = derive("dot.rise", "--strategy", "fuse()", "--float", "strict", "--check", "--summary")
    assert result.code == 0
    assert "1 of 1 step gives the same values (at N = " in result.output
    assert "the whole program gives the same values\n  reduce_map_fusion  " in result.output


def test_a_check_that_fails_ends_with_an_error(
    derive: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    difference = Difference((("x", "[1]"),), "1", "2", (0,))
    wrong = CheckReport((), Comparison("the whole program", 1, difference), (), ())
    monkeypatch.setattr("riselang.tools.derive.check", lambda derivation: wrong)
    result = derive("dot.rise", "--strategy", "fuse()", "--check", "--end")
    assert result.code == 1
    assert "the whole program changes a value\n  x = [1]\n  before: 1\n" in result.output
    assert "error: the derivation changes what the program computes" in result.errors


def test_a_check_of_a_large_program_asks_for_smaller_sizes(derive: Command) -> None:
    result = derive("dot.rise", "--strategy", "id", "--check", "--end", "--size", "N=1000000")
    assert result.code == 1
    assert "too large to interpret" in result.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "expected a file with a program, or --replay with a derivation"),
        (("dot.rise",), "there is no strategy for dot.rise; pass --strategy 'tile(32, 32)', a "
         ".strategy file or file.py:name, or write one into dot.strategy"),
        (("-",), "there is no strategy for -; pass --strategy 'tile(32, 32)', a .strategy file "
         "or file.py:name"),
        (("dot.rise", "--strategy", "gone.strategy"),
         "the strategy gone.strategy cannot be read: No such file or directory"),
        (("dot.rise", "--strategy", "gone.py:a"), "gone.py cannot be read: No such file or "
         "directory"),
        (("dot.rise", "--strategy", "fast.py:slow"), "fast.py has no strategy slow; it has: fused"),
        (("dot.rise", "--strategy", "fast.py:number"), "fast.py: expected number to be a "
         "strategy, such as fuse() >> simplify(), but found a int"),
        (("dot.rise", "--replay", "dot.rise"), "dot.rise is not a derivation: Expecting value: "
         "line 1 column 1 (char 0)"),
        (("dot.rise", "--strategy", "id", "--size", "M=3"), "dot has no size M; it has: N"),
        (("dot.rise", "--strategy", "id", "--save", "no/such/folder.json"),
         "no/such/folder.json cannot be written: No such file or directory"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(
    derive: Command, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(MLIR.encode())))
    result = derive(*arguments)
    assert result.code == 1
    assert result.errors == f"error: {message}\n"


def test_mistakes_in_strategies_have_a_place(derive: Command) -> None:
    (derive.folder / "dot.strategy").write_text("id >>\n  fsue()\n")
    assert derive("dot.rise").errors.startswith(
        "dot.strategy:1:6: error: this is not a strategy: invalid syntax"
    )
    (derive.folder / "dot.strategy").write_text("fsue()\n")
    assert derive("dot.rise").errors == (
        "dot.strategy:1:1: error: there is no rule or strategy fsue; did you mean fuse?\n"
        "  fsue()\n  ^\n"
    )
    given = derive("dot.rise", "--strategy", "try(fuse()) >> not(id) >> fsue()")
    assert given.errors == (
        "<strategy>:1:27: error: there is no rule or strategy fsue; did you mean fuse?\n"
        "  try(fuse()) >> not(id) >> fsue()\n                            ^\n"
    )


def test_a_strategy_that_does_not_apply_says_where(derive: Command) -> None:
    result = derive("dot.rise", "--strategy", "top_down(split_join(4))", "--float", "strict")
    assert result.code == 1
    assert "split_join(m=4) failed, since N is not a multiple of 4" in result.errors
    assert "⟦zip(x, y) |> map(" in result.errors


def test_a_derivation_that_was_changed_is_refused(derive: Command) -> None:
    derive("dot.rise", "--strategy", "fuse()", "--float", "strict", "--save", "fused.json")
    kept = json.loads((derive.folder / "fused.json").read_text())
    for key, value in (("path", [9]), ("rule", "map_fusion"), ("rule", "fuse()"), ("rule", "(")):
        changed = {**kept, "steps": [{**kept["steps"][0], key: value}]}
        (derive.folder / "changed.json").write_text(json.dumps(changed))
        result = derive("--replay", "changed.json")
        assert result.code == 1
        assert "changed.json: step 1" in result.errors


def test_the_steps_of_a_gradient(derive: Command) -> None:
    result = derive("dot.rise", "--grad", "--float", "strict")
    lines = result.output.splitlines()
    steps = lines[: lines.index("")]
    assert [each.split(":")[0] for each in steps] == [
        "1. reduce", "2. map", "3.   arith.mulf", "4.   snd", "5.   fst", "6. zip",
    ]  # fmt: skip
    assert "(dot.rise:" in steps[0]
    end = derive("dot.rise", "--grad", "--end", "--float", "strict").output
    assert end in result.output
    summary = derive("dot.rise", "--grad", "--strategy", "fuse()", "--summary", "--check")
    assert "the whole program gives the same values" in summary.output


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("fun((x : 4.f32), x |> map(fun(a, a * a)))",
         "the program returns 4.f32, but a gradient needs a result that is one float"),
        ("fun(x : 4.i32, x |> map(fun(a, cast[f32](a))) |> reduce(add, 0.0))",
         "the program takes 4.i32; convert an argument before, with cast[f32](x)"),
        ("fun(f : f32 -> f32, f(1.0))", "a parameter of the program has the type f32 -> f32"),
        ("fun(x : 4.f32, x |> asVector(4) |> asScalar |> reduce(add, 0.0))",
         "vectors have no derivatives; differentiate the program before it is vectorized"),
    ],
)  # fmt: skip
def test_programs_without_a_gradient(derive: Command, program: str, message: str) -> None:
    (derive.folder / "other.rise").write_text(f"def f = {program}")
    refused = derive("other.rise", "--grad")
    assert refused.code == 1
    assert "other.rise:1:" in refused.errors
    assert message in refused.errors
