"""`--size`: sizes by the names that the program's author gave them."""

from pathlib import Path

import pytest

from riselang.tools import rise

PROGRAMS = """def counted = fun(x : f32, x |> iterate(K, fun(a, a + 1.0)))
def cut = fun(x : N.f32, x |> split(4) |> map(reduce(add, 0.0)))
"""


def run(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    path = folder / "f.rise"
    path.write_text(PROGRAMS)
    rise.main(["run", str(path), *arguments])
    return capsys.readouterr().out.strip()


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        run(folder, capsys, *arguments)
    assert ended.value.code == 1
    return capsys.readouterr().err.strip()


def test_a_size_that_only_patterns_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--function", "counted", "--size", "K=3", "2"]
    assert run(tmp_path, capsys, *arguments) == "5.0"
    assert run(tmp_path, capsys, *arguments, "--backend", "interpret") == "5.0"


def test_a_size_that_had_to_be_a_multiple(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    function = ["--function", "cut", "ones", "--size"]
    assert run(tmp_path, capsys, *function, "N=8") == "[4. 4.]"
    assert run(tmp_path, capsys, *function, "N_by_4=2") == "[4. 4.]"
    assert refusal(tmp_path, capsys, *function, "N=6") == (
        "error: size N: expected N_by_4 * 4, but found 6"
    )


def test_a_size_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(tmp_path, capsys, "--function", "cut", "ones", "--size", "M=8") == (
        "error: cut has no size M; it has: N, N_by_4"
    )


SHIFTED = """func.func @shifted(%out : memref<?xi32>, %x : memref<?xi32>, %y : memref<?xi32>) {
  %a = rise.in %x : !rise.array<n, scalar<i32>>
  %b = rise.in %y : !rise.array<m, scalar<i32>>
  %concat = rise.concat #rise.nat<n> #rise.nat<m> #rise.scalar<i32>
  %c = rise.apply %concat, %a, %b
  rise.out %out <- %c
  func.return
}
"""
FILLED = """func.func @filled(%out : memref<?xf32>) {
  %generate = rise.generate #rise.nat<n> #rise.scalar<f32>
  %fun = rise.lambda (%i : !rise.idx<n>) -> !rise.scalar<f32> {
    %7 = rise.literal #rise.lit<7.0>
    rise.return %7 : !rise.scalar<f32>
  }
  %c = rise.apply %generate, %fun
  rise.out %out <- %c
  func.return
}
"""
LOOP = """func.func @copied(%out : memref<?xi32>, %x : memref<?xi32>) {
  %zero = arith.constant 0 : index
  %n = memref.dim %out, %zero : memref<?xi32>
  affine.for %i = 0 to %n {
    %e = affine.load %x[%i] : memref<?xi32>
    affine.store %e, %out[%i] : memref<?xi32>
  }
  func.return
}
"""


def run_mlir(folder: Path, text: str, *arguments: str) -> None:
    path = folder / "f.mlir"
    path.write_text(text)
    rise.main(["run", str(path), *arguments])


@pytest.mark.parametrize(
    ("text", "arguments", "result"),
    [
        (SHIFTED, ["[1, 2]", "[3]"], "out =\n[1 2 3]\n"),
        (SHIFTED, ["[1, 2]", "ones", "--size", "m=1"], "out =\n[1 2 1]\n"),
        (SHIFTED, ["ones", "zeros", "--size", "m=1", "--size", "n=2"], "out =\n[1 1 0]\n"),
        (SHIFTED, ["[0, 0, 0]", "[1, 2]", "ones"], "out =\n[1 2 1]\n"),
        (FILLED, ["--size", "n=3"], "out =\n[7. 7. 7.]\n"),
        (FILLED, ["[0, 0]"], "out =\n[7. 7.]\n"),
        (LOOP, ["[0, 0]", "[1, 2]"], "out =\n[1 2]\n"),
    ],
)
def test_buffers_of_mlir_functions_have_the_sizes_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, arguments: list[str], result: str
) -> None:
    run_mlir(tmp_path, text, *arguments)
    assert capsys.readouterr().out.endswith(result)


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (SHIFTED, ["[1, 2]"], "parameter out: the size m + 2 is not known; pass --size m=..., or "
         "a literal or a .npy file for out and x and y"),
        (SHIFTED, ["[1, 2]", "[3]", "--size", "n=3"],
         "dimension 0 of x is 2, but expected n (n = 3 from the given sizes)"),
        (SHIFTED, ["[1, 2]", "[3]", "--size", "k=3"], "shifted has no size k; it has: m, n"),
        (SHIFTED, ["[0]"] * 4, "shifted takes 2 inputs (x, y), or 3 inputs (out, x, y), but got "
         "4"),
        (LOOP, ["[1, 2]"], "parameter x has a dynamic dimension that no other array determines; "
         "pass a literal or a .npy file for out and x"),
    ],
)  # fmt: skip
def test_a_buffer_of_unknown_size_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    arguments: list[str],
    message: str,
) -> None:
    with pytest.raises(SystemExit):
        run_mlir(tmp_path, text, *arguments)
    assert capsys.readouterr().err.strip() == f"error: {message}"
