"""`rl.load`: MLIR functions write their results in place, definitions in notation return them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.load import LoadedModule, LoadedProgram

SCALE = """
func.func @scale(%out : memref<4xf32>, %a : memref<4xf32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%e : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %r = rise.embed(%e) {
        %two = arith.constant 2.0 : f32
        %p = arith.mulf %e, %two : f32
        rise.return %p : f32
      } : !rise.scalar<f32>
      rise.return %r : !rise.scalar<f32>
    }
    %m = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %y = rise.apply %m, %f, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}
func.func @fill(%out : memref<4xf32>, %value : f32) {
  affine.for %i = 0 to 4 {
    affine.store %value, %out[%i] : memref<4xf32>
  }
  func.return
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> LoadedModule:
    path: Path = tmp_path_factory.mktemp("load") / "scale.mlir"
    path.write_text(SCALE)
    loaded = rl.load(path, float="strict")
    assert isinstance(loaded, LoadedModule)
    return loaded


def test_results_are_written_in_place(module: LoadedModule) -> None:
    out = np.zeros(4, np.float32)
    module.scale(out, np.array([1, 2, 3, 4], np.float32))
    assert out.tolist() == [2, 4, 6, 8]


def test_functions_without_rise_and_scalars_by_value(module: LoadedModule) -> None:
    out = np.zeros(4, np.float32)
    module.fill(out, 1.5)
    assert out.tolist() == [1.5] * 4


def test_bad_calls(module: LoadedModule) -> None:
    x = np.zeros(4, np.float32)
    read_only = np.zeros(4, np.float32)
    read_only.flags.writeable = False
    for arguments, message in [
        ((x,), "scale takes 2 arguments, but got 1"),
        ((np.zeros(5, np.float32), x), "argument out: expected shape (4,), but found (5,)"),
        ((np.zeros(4), x), "argument out: expected dtype float32"),
        ((read_only, x), "argument out: results are written to it, but it is read-only"),
        ((x, x), "arguments out and a share memory, and out is written"),
        ((np.zeros(8, np.float32)[::2], x), "argument out: expected a C-contiguous array"),
    ]:
        with pytest.raises(rl.UserError) as caught:
            module.scale(*arguments)
        assert message in str(caught.value)
    with pytest.raises(rl.UserError, match="argument value: expected a scalar"):
        module.fill(np.zeros(4, np.float32), "one")


def test_an_unknown_function_lists_the_known_ones(module: LoadedModule) -> None:
    with pytest.raises(AttributeError, match="has no function nothing; it has: scale, fill"):
        module.nothing  # noqa: B018


def test_a_buffer_that_is_read_and_written_is_read_first() -> None:
    text = """
    func.func @flip(%m : memref<3x3xf32>) {
      rise.lowering_unit {
        %x = rise.in %m : !rise.array<3, array<3, scalar<f32>>>
        %t = rise.transpose #rise.nat<3> #rise.nat<3> #rise.scalar<f32>
        %y = rise.apply %t, %x
        rise.out %m <- %y
        rise.return
      }
      func.return
    }
    """
    m = np.arange(9, dtype=np.float32).reshape(3, 3)
    rl.loads(text).flip(m)
    assert np.array_equal(m, np.arange(9, dtype=np.float32).reshape(3, 3).T)


def test_missing_and_broken_files(tmp_path: Path) -> None:
    with pytest.raises(rl.UserError, match="cannot be read"):
        rl.load(tmp_path / "none.mlir")
    with pytest.raises(rl.UserError) as caught:
        rl.loads("func.func @f() {\n  rise.nonsense\n}", name="broken.mlir")
    assert str(caught.value).startswith("broken.mlir:2:3: error: ")


PROGRAM = """
def square = fun(x, x * x)
def norm = fun(x : N.f32, x |> map(square) |> reduce(add, 0.0))
def both = fun((x : N.f32, y : N.f32), (zip(x, y) |> map(add), norm(x)))
"""


def notation(text: str, **options: Any) -> LoadedProgram:
    loaded = rl.loads(text, name="file.rise", **options)
    assert isinstance(loaded, LoadedProgram)
    return loaded


def test_definitions_are_called_and_return_their_results(tmp_path: Path) -> None:
    path = tmp_path / "norms.rise"
    path.write_text(PROGRAM)
    program = rl.load(path, float="strict")
    assert isinstance(program, LoadedProgram)
    x = np.array([1, 2, 3], np.float32)
    assert program.norm(x) == 14
    total, norm = program.both(x, x)
    assert total.tolist() == [2, 4, 6]
    assert norm == 14
    assert program.norm.lower(N=4).as_text("notation").startswith("fun((x : 4.f32)")
    assert {"norm", "both"} <= set(dir(program))
    assert repr(program) == f"<program {path}: norm, both>"


def test_the_main_or_only_definition_is_the_program() -> None:
    x = np.array([1, 2], np.float32)
    assert notation("fun(x : N.f32, x |> reduce(add, 0.0))")(x) == 3
    assert notation("def only = fun(x : f32, x + 1.0)")(1) == 2
    assert notation("def a = 1.0 def main = a + 2.0", backend="interpret")() == 3
    with pytest.raises(rl.UserError, match="several definitions; call one of them by name: a, b"):
        notation("def a = 1 def b = 2")()


def test_a_definition_without_types_is_explained_where_it_is_called() -> None:
    program = notation(PROGRAM)
    with pytest.raises(rl.UserError, match=r"the type of 'x' cannot be inferred") as raised:
        program.square(np.float32(1))
    assert raised.value.location is not None
    assert raised.value.location.line == 2
    with pytest.raises(AttributeError, match=r"file\.rise has no definition cube; it has: norm"):
        program.cube  # noqa: B018


def test_options_of_a_program() -> None:
    text = "def f = fun((a : f32, b : f32, c : f32), a * b + c)"
    assert notation(text).as_text() == ("def f = fun((a : f32, b : f32, c : f32),\n  a * b + c)\n")
    assert "fma" in notation(text).as_text("rise")
    assert "fma" not in notation(text, float="strict").as_text("rise")
    mapped = "def f = fun(x : 4.f32, x |> map(neg))"
    for loops in ("affine", "scf"):
        assert f"{loops}.for" in notation(mapped, loops=loops).as_text("affine")
    with pytest.raises(rl.UserError, match="backend must be one of"):
        notation(text, backend="gpu")
    with pytest.raises(rl.UserError, match="an MLIR file, which can only be compiled"):
        rl.loads(SCALE, backend="interpret")


def test_a_mistake_in_notation_is_located(tmp_path: Path) -> None:
    path = tmp_path / "wrong.rise"
    path.write_text("def f = fun(x : f32,\n  x + y)\n")
    with pytest.raises(rl.UserError, match=r"wrong\.rise:2:7: error: unknown name 'y'"):
        rl.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(rl.UserError, match=r"wrong\.rise"):
        rl.load(path)


def test_a_function_that_is_no_lambda_is_called() -> None:
    program = notation("(map(neg) : 2.f32 -> 2.f32)")
    assert program(np.array([1, 2], np.float32)).tolist() == [-1, -2]


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("fun((x : 4.f32), x)", "if the name of the text ends in .rise"),
        ("func.func @main() { stablehlo.constant }", "`riselang.from_stablehlo` read StableHLO"),
    ],
)
def test_other_languages_are_recognized(text: str, advice: str) -> None:
    with pytest.raises(rl.UserError, match=advice):
        rl.loads(text)


@pytest.mark.parametrize("backend", ["interpret", "compile"])
@pytest.mark.parametrize("pattern", ["take(3)", "drop(3)", "slide(4, 1)"])
def test_a_length_that_a_pattern_does_not_permit_is_rejected(backend: str, pattern: str) -> None:
    text = f"def f = fun(x : N.f32, x |> {pattern})"
    module: Any = rl.loads(text, name="lengths.rise", backend=backend)
    x = np.arange(3, dtype=np.float32)
    assert len(module.f(x)) == {"take(3)": 3, "drop(3)": 0, "slide(4, 1)": 0}[pattern]
    with pytest.raises(
        rl.UserError, match=r"a length, which cannot be negative, but is -1 \(for N"
    ):
        module.f(x[:2])
    with pytest.raises(rl.UserError, match=r"cannot be negative, but is -1 \(for N = 2\)"):
        module.f.lower(N=2)


def test_sizes_that_a_symbolic_function_does_not_permit_are_rejected() -> None:
    def first(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.take(3)

    with pytest.raises(rl.UserError, match=r"cannot be negative, but is -1 \(for N = 2\)"):
        rl.jit(first, sizes="symbolic").lower(N=2)
