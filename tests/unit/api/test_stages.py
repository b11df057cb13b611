"""trace, lower, compile; save and load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import UserError
from riselang.native.llvm import codegen as llvm
from riselang.support.config import Options

X = np.arange(6, dtype=np.float32)


@rl.jit
def scaled(x: rl.Array["N", rl.f32], factor: rl.f32) -> Any:
    return x | rl.map(lambda a: a * factor + 1.0)


@rl.jit(sizes="symbolic")
def halves(x: rl.Array["2 * N", rl.f32]) -> Any:
    return x | rl.split(2) | rl.map(lambda pair: pair | rl.reduce(rl.add, 0.0))


@rl.jit
def both(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.i32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda a, b: rl.tuple(b + 1, a * 2.0)), x | rl.reverse | rl.map(
        abs
    )


def test_the_stages() -> None:
    traced = scaled.trace(N=6)
    assert traced.as_text() == repr(traced) == repr(traced.term)
    assert "6.f32" in traced.as_text()
    lowered = traced.lower(loops="scf", float="strict")
    assert lowered.options == Options("scf", "strict")
    assert "scf.for" in lowered.as_text("affine")
    compiled = lowered.compile()
    assert compiled is lowered.compile()
    assert "call_scaled" in compiled.as_text("asm") or "scaled" in compiled.as_text("asm")
    assert np.array_equal(compiled(X, 2.0), X * 2 + 1)
    assert repr(compiled) == "<compiled program scaled(x, factor)>"


def test_results_in_arrays_of_the_caller() -> None:
    compiled = scaled.lower(X, 2.0).compile()
    out = np.zeros(6, np.float32)
    assert compiled(X, 2.0, out=out) is out
    assert np.array_equal(out, X * 2 + 1)
    with pytest.raises(UserError, match="scaled takes 2 arguments \\(x, factor\\), but got 1"):
        compiled(X)
    with pytest.raises(UserError, match="argument x: expected shape \\(6,\\), but found \\(5,\\)"):
        compiled(X[:5], 2.0)
    with pytest.raises(UserError, match="out: expected 1 array"):
        compiled(X, 2.0, out=(out, out))


def test_a_compiled_program_for_all_sizes() -> None:
    compiled = halves.lower().compile()
    assert np.array_equal(compiled(X), [1, 5, 9])
    assert np.array_equal(compiled(X[:2]), [1])
    with pytest.raises(UserError, match="dimension 0 of x is 5, but expected"):
        compiled(X[:5])


LOADING = """
import sys, numpy as np, riselang as rl
program = rl.load(sys.argv[1])
x = np.arange(6, dtype=np.float32)
print(program(x, *eval(sys.argv[2])))
print("torch_mlir" in sys.modules)
"""


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    ("kernel", "arguments", "rest", "shown"),
    [
        (scaled, (X, 2.0), "[2.0]", "[ 1.  3.  5.  7.  9. 11.]"),
        (halves, (), "[]", "[1. 5. 9.]"),
    ],
)
def test_another_process_loads_a_saved_program(
    tmp_path: Path, kernel: Any, arguments: Any, rest: str, shown: str
) -> None:
    path = tmp_path / "program.kernel"
    kernel.lower(*arguments).compile().save(path)
    done = subprocess.run(
        [sys.executable, "-c", LOADING, str(path), rest], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [shown, "False"]


def test_several_results_are_saved(tmp_path: Path) -> None:
    y = np.arange(6, dtype=np.int32)
    path = tmp_path / "both.kernel"
    both.lower(X, y).compile().save(path)
    loaded: Any = rl.load(path)
    (first, second), third = loaded(X, y)
    assert np.array_equal(first, y + 1)
    assert np.array_equal(second, X * 2)
    assert np.array_equal(third, X[::-1])
    for mistake in (loaded.as_text, loaded.cost_analysis, lambda: loaded.save(path)):
        with pytest.raises(UserError, match="loaded"):
            mistake()


def test_a_program_of_another_machine_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scaled.kernel"
    here = llvm.host()
    monkeypatch.setattr(llvm, "host", lambda: llvm.Target(here.triple, here.cpu, ""))
    scaled.trace(X, 2.0).lower().compile().save(path)
    monkeypatch.undo()
    loaded: Any = rl.load(path)
    assert np.array_equal(loaded(X, 2.0), X * 2 + 1)


@pytest.mark.parametrize("cut", [0, 10, 30, 200, -1])
def test_damaged_files(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "scaled.kernel"
    scaled.lower(X, 2.0).compile().save(path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UserError, match=r"is damaged|is not a compiled program"):
        rl.load(path)


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    compiled = scaled.lower(X, 2.0).compile()
    with pytest.raises(UserError, match=r"ends in \.kernel"):
        compiled.save(tmp_path / "scaled.npy")
    with pytest.raises(UserError, match="cannot be written: No such file"):
        compiled.save(tmp_path / "missing" / "scaled.kernel")


def test_a_parameter_whose_name_ends_in_a_number() -> None:
    @rl.jit
    def added(x: rl.Array["N", rl.f32], x_0: rl.Array["N", rl.f32]) -> Any:
        return rl.zip(x, x_0) | rl.map(rl.add)

    compiled = added.lower(X, X).compile()
    assert repr(compiled) == "<compiled program added(x, x_0)>"
    with pytest.raises(UserError, match="argument x_0: expected dtype float32"):
        compiled(X, X.astype(np.float64))
