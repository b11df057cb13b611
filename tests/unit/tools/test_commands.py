"""The commands as a user runs them: output, errors, exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from riselang.tools import rise, rise_opt

PROGRAM = """func.func @inc(%out : memref<3xi32>, %a : memref<3xi32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<3, scalar<i32>>
    %f = rise.lambda (%e : !rise.scalar<i32>) -> !rise.scalar<i32> {
      %r = rise.embed(%e) {
        %one = arith.constant 1 : i32
        %s = arith.addi %e, %one : i32
        rise.return %s : i32
      } : !rise.scalar<i32>
      rise.return %r : !rise.scalar<i32>
    }
    %m = rise.map #rise.nat<3> #rise.scalar<i32> #rise.scalar<i32>
    %y = rise.apply %m, %f, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}
"""


class Result(NamedTuple):
    code: int
    output: str
    errors: str


class Tool:
    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path):
        self.capsys = capsys
        self.file = folder / "inc.mlir"
        self.file.write_text(PROGRAM)

    def __call__(self, main: object, *arguments: str) -> Result:
        code = 0
        try:
            main([*arguments])  # type: ignore[operator]
        except SystemExit as exit:
            code = int(exit.code or 0)
        captured = self.capsys.readouterr()
        return Result(code, captured.out, captured.err)


@pytest.fixture
def tool(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Tool:
    return Tool(capsys, tmp_path)


def test_show_every_stage(tool: Tool) -> None:
    marks = {
        "notation": "a |> map(fun(e, e + 1))",
        "rise": "rise.lowering_unit",
        "imperative": "rise.codegen.assign",
        "affine": "memref.store",
        "llvm": "define void @inc",
        "asm": "inc",
    }
    for stage, mark in marks.items():
        result = tool(rise.main, "show", "--as", stage, str(tool.file))
        assert result.code == 0
        assert mark in result.output


def test_run_prints_what_is_written(tool: Tool) -> None:
    result = tool(rise.main, "run", str(tool.file), "arange")
    assert result.code == 0
    assert result.output == "out =\n[1 2 3]\n"


IN_PLACE = """
func.func @halve(%n : i32, %a : memref<3xf32>, %b : memref<2x2xf64>, %c : memref<3xf32>) {
  %half = arith.constant 0.5 : f32
  affine.for %i = 0 to 3 {
    %x = affine.load %a[%i] : memref<3xf32>
    %y = arith.mulf %x, %half : f32
    affine.store %y, %c[%i] : memref<3xf32>
    affine.store %y, %a[%i] : memref<3xf32>
  }
  func.return
}
"""


def test_run_prints_floats_that_read_back(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "thirds.rise"
    path.write_text("def thirds = fun((x : N.f64), x |> map(fun(a, a / 3.0)))\n")
    result = tool(rise.main, "run", str(path), "[1, 3]")
    assert result.output == f"[{1 / 3} {'1.':18}]\n"


def test_export_writes_a_stablehlo_module(tool: Tool, tmp_path: Path) -> None:
    path, module = tmp_path / "thirds.rise", tmp_path / "thirds.mlir"
    path.write_text("def thirds = fun((x : N.f64), x |> map(fun(a, a / 3.0)))\n")
    result = tool(rise.main, "export", str(path), "--size", "N=4", "-o", str(module))
    assert result == (0, "", "")
    assert "(%0: tensor<4xf64>) -> (tensor<4xf64>)" in module.read_text()
    assert tool(rise.main, "import", str(module)).code == 0
    result = tool(rise.main, "export", str(path))
    assert result.code == 1
    assert "the size N has no value" in result.errors
    assert "stablehlo.add" in tool(rise.main, "export", str(tool.file)).output


def test_run_prints_what_a_function_changes_in_place(tool: Tool) -> None:
    tool.file.write_text(IN_PLACE)
    result = tool(rise.main, "run", str(tool.file), "7", "[2, 4, 6]", "ones", "zeros")
    assert result == (0, "a =\n[1. 2. 3.]\nc =\n[1. 2. 3.]\n", "")


def test_run_says_when_a_function_changes_nothing(tool: Tool) -> None:
    tool.file.write_text(IN_PLACE)
    result = tool(rise.main, "run", str(tool.file), "7", "zeros", "ones", "zeros")
    assert result == (0, "", "halve changed none of its arguments\n")


NOTATION = """// The sum of products.
def dot = fun((x : N.f32, y : N.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))
def twice = fun((x : N.i32), x |> map(fun(a, a * 2)))
"""
PYTHON = """
import riselang as rl

@rl.jit
def twice(x: rl.Array["N", rl.i32]):
    return x | rl.map(lambda a: a * 2)
"""


@pytest.fixture
def notation(tmp_path: Path) -> str:
    path = tmp_path / "programs.rise"
    path.write_text(NOTATION)
    return str(path)


@pytest.fixture
def python(tmp_path: Path) -> str:
    path = tmp_path / "programs.py"
    path.write_text(PYTHON)
    return str(path)


def test_run_notation_on_every_kind_of_input(tool: Tool, notation: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    for inputs, expected in [
        (["[1, 2, 3]", "ones"], "6.0"),
        ([str(tmp_path / "x.npy"), "arange"], "14.0"),
        (["zeros", "random:3", "--size", "N=5"], "0.0"),
    ]:
        for backend in ("compile", "interpret"):
            command = ["run", notation, *inputs, "--function", "dot", "--backend", backend]
            result = tool(rise.main, *command)
            assert (result.code, result.output.strip()) == (0, expected), result.errors


def test_python_and_notation_show_alike(tool: Tool, notation: str, python: str) -> None:
    options = ("--function", "twice", "--strategy", "none")
    shown = [tool(rise.main, "show", path, *options) for path in (notation, python)]
    assert shown[0].output == shown[1].output == (
        "fun((x : N.i32),\n  x |> map(fun(a, a * 2)))\n"
    )  # fmt: skip
    for stage in ("rise", "affine", "llvm"):
        command = ["show", "--as", stage, "--function", "twice", "--size", "N=4"]
        assert tool(rise.main, *command, python).code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--function", "none"], "contains no program 'none'; it contains: dot, twice"),
        ([], "contains several programs: dot, twice; select one with --function"),
        (["--function", "dot", "ones"], "dot takes 2 inputs (x, y), but got 1"),
        (["--function", "twice", "ones"], "the size N is not known; pass --size N=..."),
        (["--function", "twice", "what?"], "expected a .npy file, a literal or one of"),
        (["--function", "twice", "missing.npy"], "missing.npy cannot be read"),
        (["--function", "twice", "random:x", "--size", "N=3"], "expected random:SEED"),
        (["--function", "twice", "ones", "--size", "N"], "expected a name and a number"),
        (["--function", "dot", "[1]", "[1, 2]"], "dimension 0 of y is 2, but expected N"),
    ],
)
def test_wrong_inputs(tool: Tool, notation: str, arguments: list[str], message: str) -> None:
    result = tool(rise.main, "run", notation, *arguments)
    assert result.code == 1
    assert message in result.errors


def test_a_python_file_imports_its_neighbours(tool: Tool, tmp_path: Path) -> None:
    (tmp_path / "factors_beside.py").write_text("FACTOR = 3.0\n")
    path = tmp_path / "scaled.py"
    path.write_text(
        "import riselang as rl\n"
        "from factors_beside import FACTOR\n"
        "@rl.jit\n"
        'def scaled(x: rl.Array["N", rl.f32]):\n'
        "    return x | rl.map(lambda a: a * FACTOR)\n"
    )
    before = sys.path.copy()
    status, out, err = tool(rise.main, "show", str(path), "--as", "notation")
    assert (status, err) == (0, "")
    assert "3.0" in out
    assert sys.path == before


def test_a_python_file_that_fails(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    for text, message in [("1 +", ":1:4: invalid syntax"), ("1 / 0", "ZeroDivisionError")]:
        path.write_text(text)
        result = tool(rise.main, "check", str(path))
        assert result.code == 1
        assert message in result.errors


def test_compile_to_an_object_file(tool: Tool, tmp_path: Path) -> None:
    target = tmp_path / "inc.o"
    assert tool(rise.main, "compile", str(tool.file), "-o", str(target)).code == 0
    assert target.read_bytes()[:4] == b"\x7fELF"


def test_a_definition_without_types_is_checked_but_not_run(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "twice.rise"
    path.write_text("def twice_map = fun((f, x), x |> map(f) |> map(f))\n")
    assert tool(rise.main, "check", str(path)) == (0, "", "")
    for command in (["run"], ["show"], ["run", "--function", "twice_map"]):
        code, out, err = tool(rise.main, *command, str(path))
        assert (code, out) == (1, "")
        assert err == (
            f"{path}:1:22: error: the type of 'f' cannot be inferred beyond _ -> _; annotate it, "
            "as in f : f32 -> f32\n"
            "  def twice_map = fun((f, x), x |> map(f) |> map(f))\n"
            "                       ^\n"
            "note: twice_map works for every (t -> t) -> n.t -> n.t\n"
        )


def test_check_reports_the_place(tool: Tool) -> None:
    tool.file.write_text(PROGRAM.replace("#rise.nat<3>", "#rise.nat<4>"))
    result = tool(rise.main, "check", str(tool.file))
    assert result.code == 1
    assert f"{tool.file}:13:21: error: 'rise.apply'" in result.errors
    assert "expected argument 2 of type !rise.array<4, scalar<i32>>" in result.errors


def test_rise_opt_runs_passes_in_both_spellings(tool: Tool) -> None:
    passes = "convert-rise-to-imperative{loops=affine},resolve-rise-access"
    plain = tool(rise_opt.main, str(tool.file), "-p", passes)
    anchored = tool(rise_opt.main, str(tool.file), "-p", f"builtin.module({passes})")
    assert plain.code == anchored.code == 0
    assert plain.output == anchored.output
    assert "affine.store" in plain.output


def test_rise_opt_reads_standard_input(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(PROGRAM.encode()))
    monkeypatch.setattr(sys, "stdin", stream)
    result = tool(rise_opt.main)
    assert result.code == 0
    assert "rise.map" in result.output


def test_dumps_go_to_standard_error(tool: Tool) -> None:
    passes = "convert-rise-to-imperative,resolve-rise-access"
    result = tool(rise_opt.main, str(tool.file), "-p", passes, "--print-between-passes")
    assert "IR after convert-rise-to-imperative" in result.errors
    assert "IR after" not in result.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.mlir"], 1, "missing.mlir cannot be read"),
        (["-p", "no-such-pass"], 2, "Unrecognized passes: ['no-such-pass']"),
        (["-p", "convert-rise-to-imperative{"], 2, "-p"),
        (["--no-such-flag"], 2, "unrecognized arguments"),
    ],
)
def test_wrong_command_lines(tool: Tool, arguments: list[str], code: int, message: str) -> None:
    result = tool(rise_opt.main, *arguments)
    assert result.code == code
    assert message in result.errors


HOSTILE = [
    '"' + "a" * 60,
    "func.func @f() { %x = arith.constant",
    "\x00",
    "{" * 500,
    "!rise.array<" * 500,
    "func.func @f(%a : !rise.array<99999999999999999999999999, scalar<f32>>)",
    "%0 = rise.literal #rise.lit<1e999999>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_gets_a_located_error(tool: Tool, text: str) -> None:
    tool.file.write_text(text)
    for main, command in ((rise_opt.main, []), (rise.main, ["check"])):
        result = tool(main, *command, str(tool.file))
        assert result.code == 1
        assert f"{tool.file}:1:" in result.errors
        assert "Traceback" not in result.errors


def test_bytes_that_are_no_text(tool: Tool) -> None:
    tool.file.write_bytes(b"func.func\n  @f\xff")
    result = tool(rise_opt.main, str(tool.file))
    assert result.code == 1
    assert f"{tool.file}:2:5: error: byte 0xff is not UTF-8 text" in result.errors


BAD = PROGRAM.replace("#rise.nat<3>", "#rise.nat<4>")
EXPECTING = BAD.replace(
    "    %y = rise.apply",
    "    // expected-error@+1 {{expected argument 2 of type}}\n    %y = rise.apply",
)


def test_expected_errors_are_checked(tool: Tool) -> None:
    for text, code, message in [
        (EXPECTING, 0, ""),
        (EXPECTING.replace("argument 2", "argument 7"), 1, "expected argument 2"),
        (EXPECTING.replace("@+1", "@+2"), 1, "expected argument 2"),
        (EXPECTING.replace("#rise.nat<4>", "#rise.nat<3>"), 1, "was not produced"),
        (f"{EXPECTING}// -----\n{PROGRAM}// -----\n{EXPECTING}", 0, ""),
    ]:
        tool.file.write_text(text)
        result = tool(rise_opt.main, str(tool.file), "--verify-diagnostics", "--split-input-file")
        assert result.code == code, result.errors
        assert message in result.errors


def test_parts_of_a_file_keep_their_line_numbers(tool: Tool) -> None:
    tool.file.write_text(f"{PROGRAM}// -----\n{BAD}")
    result = tool(rise_opt.main, str(tool.file), "--split-input-file")
    assert f"{tool.file}:32:21: error:" in result.errors


def test_listings(tool: Tool) -> None:
    assert "resolve-rise-access" in tool(rise_opt.main, "--list-passes").output
    listed = tool(rise_opt.main, "--list-patterns").output
    assert "split : (m * n).t -> n.m.t  -- splits an array into chunks of length m" in listed


def test_an_internal_error_leaves_a_reproducer(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("broken on purpose")

    monkeypatch.setattr(rise_opt.RiseOptMain, "apply_passes", fail)
    result = tool(rise_opt.main, str(tool.file))
    assert result.code == 70
    reproducer = Path(result.errors.rsplit("a reproducer is in ", 1)[1].strip())
    assert PROGRAM in reproducer.read_text()
    reproducer.unlink()


def test_timing_goes_to_standard_error(tool: Tool) -> None:
    passes = "convert-rise-to-imperative,resolve-rise-access"
    result = tool(rise_opt.main, str(tool.file), "-p", passes, "--timing", "--print-ir-after-all")
    assert "├─ resolve-rise-access " in result.errors
    assert "// IR after convert-rise-to-imperative" in result.errors
