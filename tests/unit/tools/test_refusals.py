"""Programs that once ended a tool with an internal error, or without a place."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from riselang.tools import rise, rise_opt
from support.tool_runs import called

STORED_VECTORS = """func.func @f(%out : memref<2x4xf32>, %x : memref<2x4xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<2, vector<4, scalar<f32>>>
    rise.out %out <- %0
    rise.return
  }
  return
}
"""


CARRIED_VECTOR = """func.func @f(%out : memref<4xf32>, %x : memref<4xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.vector<4, scalar<f32>>
    %same = rise.lambda (%y : !rise.vector<4, scalar<f32>>) -> !rise.vector<4, scalar<f32>> {
      rise.return %y : !rise.vector<4, scalar<f32>>
    }
    %iterate = rise.iterate #rise.nat<3> #rise.vector<4, scalar<f32>>
    %1 = rise.apply %iterate, %same, %0
    rise.out %out <- %1
    rise.return
  }
  return
}
"""


@pytest.fixture
def notation(tmp_path: Path) -> Path:
    return tmp_path / "program.rise"


def test_a_size_without_a_value_is_refused_where_it_stands(notation: Path) -> None:
    notation.write_text("fun(x : f32,\n  x |> iterate(K, fun(a, a + 1.0)))\n")
    outcome = called(rise.main, ["run", str(notation), "--backend", "interpret"])
    assert outcome.code == 1
    expected = f"{notation}:2:8: error: iterate: the size K has no value"
    assert outcome.errors.startswith(expected)


def test_a_size_that_only_the_result_has_is_refused(notation: Path) -> None:
    notation.write_text("fun(x : 8.f32, x |> padConst(1, K, -0.5))\n")
    outcome = called(rise.main, ["run", str(notation)])
    assert outcome.code == 1
    assert outcome.errors.startswith("error: the size K is not determined")
    assert called(rise.main, ["run", str(notation), "--size", "K=2"]).code == 0


@pytest.mark.parametrize("length", [9_999_999_999_999, 999_999_999_999_999_999])
def test_an_input_that_no_memory_holds_is_refused(notation: Path, length: int) -> None:
    notation.write_text(f"fun(x : {length}.f32, x)\n")
    outcome = called(rise.main, ["run", str(notation)])
    assert outcome.code == 1
    assert outcome.errors == f"error: input x: not enough memory for {length} scalars\n"


def test_a_result_that_no_memory_holds_is_refused(notation: Path) -> None:
    notation.write_text("fun(x : f32, generate(fun(i : idx[9999999999999], x)))\n")
    outcome = called(rise.main, ["run", str(notation)])
    assert outcome.code == 1
    assert outcome.errors.startswith("error: there is not enough memory")


@pytest.mark.parametrize("text", [STORED_VECTORS, CARRIED_VECTOR], ids=["stored", "carried"])
def test_a_vector_is_lowered_or_refused_with_a_place(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vectors.mlir"
    path.write_text(text)
    called(rise_opt.main, [str(path), "-p", "convert-rise-to-imperative"]).check(path)


@pytest.mark.parametrize(
    ("type", "input", "error"),
    [
        ("i32", "3.5", "the type of its elements is i32, but found 3.5"),
        ("2.i32", "[1, 2.5]", "the type of its elements is i32, but found [1, 2.5]"),
        ("2.u8", "[1, 256]", "the type of its elements is u8, but found [1, 256]"),
        ("2.i1", "[1, 2]", "the type of its elements is i1, but found [1, 2]"),
        ("2.2.f32", "[[1, 2], [3]]", "the lists of [[1, 2], [3]] have different lengths"),
    ],
)
def test_a_literal_that_its_type_would_change_is_refused(
    notation: Path, type: str, input: str, error: str
) -> None:
    notation.write_text(f"fun(x : {type}, x)\n")
    outcome = called(rise.main, ["run", str(notation), input])
    assert (outcome.code, outcome.errors) == (1, f"error: input x: {error}\n")


@pytest.mark.parametrize(("type", "input"), [("2.i32", "[1, 2.0]"), ("2.i1", "[0, 1]")])
def test_a_literal_with_the_values_of_its_type_is_accepted(
    notation: Path, type: str, input: str
) -> None:
    notation.write_text(f"fun(x : {type}, x)\n")
    assert called(rise.main, ["run", str(notation), input]).code == 0


@pytest.mark.rotating(3)
def test_a_program_without_types_is_refused_where_it_is_defined(tmp_path: Path) -> None:
    path = tmp_path / "untyped.py"
    path.write_text("import riselang as rl\n@rl.jit\ndef f(x):\n    return x + 1\n")
    outcome = subprocess.run(
        [sys.executable, "-c", "from rise_commands import rise; rise()", "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 1
    assert outcome.stderr.startswith(f"{path}:3:5: error: the type of x is not known")


def test_an_exception_in_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text("\n1 / 0\n")
    outcome = called(rise.main, ["run", str(path)])
    expected = f"error: {path}:2 cannot be run: ZeroDivisionError: division by zero\n"
    assert (outcome.code, outcome.errors) == (1, expected)
