"""Objects and headers in a C program, shared libraries in Python."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import UserError
from riselang.compiler.aot import C_TYPES
from riselang.dialects.rise.types import SCALARS
from riselang.native.llvm import linking
from riselang.tools.rise import main

COMPILER = linking.find_c_compiler()
pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")

KERNELS = """
// A kernel may be called like a function of C.
def main = fun((A : 3.4.f32, x : 4.f32),
  A |> map(fun(row, zip(row, x) |> map(mult) |> reduce(add, 0.0))))
"""
PROGRAM = r"""
#include <stdio.h>
#include "kernels.h"

int main(void) {
  float A[12], x[4], y[3];
  for (int i = 0; i < 12; i++) A[i] = i;
  for (int i = 0; i < 4; i++) x[i] = 1;
  rise_call_main(y, A, x);
  printf("%g %g %g\n", y[0], y[1], y[2]);
  return 0;
}
"""


def rise(*arguments: str) -> None:
    main(arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("kernels.rise").write_text(KERNELS)
    Path("program.c").write_text(PROGRAM)
    return tmp_path


def build(*files: str) -> None:
    assert COMPILER is not None
    subprocess.run([*COMPILER, "-Wall", "-Werror", "-o", "program", *files, "-lm"], check=True)


def output() -> str:
    return subprocess.run(["./program"], check=True, capture_output=True, text=True).stdout


def test_an_object_and_a_header_in_a_c_program(folder: Path) -> None:
    rise("compile", "kernels.rise", "-o", "kernels.o")
    rise("compile", "kernels.rise", "--emit", "header", "-o", "kernels.h")
    build("program.c", "kernels.o")
    assert output() == "6 22 38\n"


def test_a_shared_library_in_a_c_program(folder: Path) -> None:
    rise("compile", "kernels.rise", "--emit", "shared", "-o", "libkernels.so")
    rise("compile", "kernels.rise", "--emit", "header", "-o", "kernels.h")
    build("program.c", "libkernels.so", "-Wl,-rpath,.")
    assert output() == "6 22 38\n"


def test_a_shared_library_by_ctypes_alone(folder: Path) -> None:
    rise("compile", "kernels.rise", "--emit", "shared", "-o", "kernels.so")
    library = ctypes.CDLL("./kernels.so")
    A, x, y = np.arange(12, dtype=np.float32), np.ones(4, np.float32), np.zeros(3, np.float32)
    library.rise_call_main(*(ctypes.c_void_p(each.ctypes.data) for each in (y, A, x)))
    assert y.tolist() == [6, 22, 38]


def test_a_shared_library_is_loaded_and_checks_its_arguments(folder: Path) -> None:
    rise("compile", "kernels.rise", "--emit", "shared", "-o", "kernels.so")
    library: Any = rl.load("kernels.so")
    A, x, y = np.ones((3, 4), np.float32), np.ones(4, np.float32), np.zeros(3, np.float32)
    library.main(y, A, x)
    assert y.tolist() == [4, 4, 4]
    assert repr(library) == "<library kernels.so>"
    assert "main" in dir(library)
    with pytest.raises(UserError, match=r"argument A: expected shape \(3, 4\)"):
        library.main(y, A.T.copy(), x)
    with pytest.raises(AttributeError, match="has no function other; it has: main"):
        assert library.other


@pytest.mark.parametrize("name", ["rise_function_0", "rise_small_function_1", "rise_part_0"])
def test_a_kernel_may_have_the_name_of_a_helper(folder: Path, name: str) -> None:
    Path("kernels.rise").write_text(KERNELS.replace("main", name))
    Path("program.c").write_text(PROGRAM.replace("rise_call_main", f"rise_call_{name}"))
    rise("compile", "kernels.rise", "-o", "kernels.o")
    rise("compile", "kernels.rise", "--emit", "header", "-o", "kernels.h")
    build("program.c", "kernels.o")
    assert output() == "6 22 38\n"


def test_a_library_for_all_sizes(folder: Path) -> None:
    Path("pairs.rise").write_text(
        "def sums = fun((x : (2 * N).f32), x |> split(2) |> map(reduce(add, 0.0)))"
    )
    rise("compile", "pairs.rise", "--emit", "shared", "-o", "pairs.so")
    library: Any = rl.load("pairs.so")
    for length in (1, 5):
        out = np.zeros(length, np.float32)
        library.sums(out, np.ones(2 * length, np.float32))
        assert (out == 2).all()
    with pytest.raises(UserError, match="dimension 0 of x is 3"):
        library.sums(np.zeros(1, np.float32), np.ones(3, np.float32))


CHECKED = "def pick = fun((x : 4.f32, i : 3.i64), i |> map(fun(k, at(checkIdx(4)(k), x))))"
CHECKING = r"""
#include <stdio.h>
#include "pick.h"

int main(void) {
  float x[4] = {0, 10, 20, 30}, out[3];
  int64_t indices[3] = {3, 9, 1}, failure[4] = {0};
  rise_call_pick(out, x, indices, failure);
  printf("%d %d %d\n", failure[0] != 0, (int)failure[2], (int)failure[3]);
  return 0;
}
"""


def test_checks_are_told_in_c(folder: Path) -> None:
    Path("pick.rise").write_text(CHECKED)
    Path("program.c").write_text(CHECKING)
    rise("compile", "pick.rise", "-o", "pick.o")
    rise("compile", "pick.rise", "--emit", "header", "-o", "pick.h")
    build("program.c", "pick.o")
    assert output() == "1 9 4\n"
    rise("compile", "pick.rise", "--emit", "shared", "-o", "pick.so")
    library: Any = rl.load("pick.so")
    with pytest.raises(IndexError, match="the index 9 is not in"):
        library.pick(np.zeros(3, np.float32), np.ones(4, np.float32), np.array([3, 9, 1]))


def test_the_header(folder: Path) -> None:
    Path("mixed.mlir").write_text("""
func.func @mixed(%int : memref<?x4xf16>, %n : i32, %flag : memref<i1>) {
  func.return
}""")
    rise("compile", "mixed.mlir", "--emit", "header", "-o", "mixed.h")
    text = Path("mixed.h").read_text()
    assert (
        "const uint16_t *int_,\n    int64_t int__0,\n    int32_t n,\n    const bool *flag" in text
    )
    assert "int_ is int__0 x 4" in text
    Path("program.c").write_text('#include "mixed.h"\nint main(void) { return 0; }\n')
    build("program.c")
    assert C_TYPES.keys() == SCALARS.keys()


def test_threads_and_libraries_are_named_in_the_header(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("product.rise").write_text(
        "def product = fun((A : 8.8.f32, B : 8.8.f32), A |> map(fun(r, B |> transpose |> "
        "map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0.0))))))"
    )
    rise("compile", "product.rise", "--library", "blas", "--emit", "header", "-o", "product.h")
    assert "-lm); a BLAS with the CBLAS interface" in Path("product.h").read_text()
    monkeypatch.setenv("RISE_NUM_THREADS", "2")
    Path("rows.rise").write_text("def rows = fun((A : 8.8.f32), A |> mapPar(mapSeq(fun(a, -a))))")
    rise("compile", "rows.rise", "--emit", "header", "-o", "rows.h")
    assert "-lm); POSIX threads (-pthread). */" in Path("rows.h").read_text()


def test_a_shared_library_with_library_calls(folder: Path) -> None:
    Path("product.rise").write_text(
        "def product = fun((A : 8.8.f32, B : 8.8.f32), A |> mapPar(fun(r, B |> transpose |> "
        "map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0.0))))))"
    )
    for name in ("blas", "none"):
        rise("compile", "product.rise", "--library", name, "--emit", "shared", "-o", f"{name}.so")
        library: Any = rl.load(f"{name}.so")
        out, A = np.zeros((8, 8), np.float32), np.ones((8, 8), np.float32)
        library.product(out, A, A)
        assert (out == 8).all()


CLASHES = """
def several = fun((x : 4.f64, y : 4.f64), tuple(zip(x, y), x |> reduce(add, 0.0)))
def out_twice = fun((out : 4.f64, x : 4.f64), zip(out, x) |> map(add))
def length = fun((x : N.f64, x_0 : N.f64, failure : N.f64), zip(zip(x, x_0), failure) |>
  map(fun(p, fst(fst(p)) + snd(fst(p)) + snd(p))))
"""


def test_names_in_a_header_are_distinct(folder: Path) -> None:
    Path("clashes.rise").write_text(CLASHES)
    for name in ("several", "out_twice", "length"):
        rise("compile", "clashes.rise", "--function", name, "--emit", "header", "-o", f"{name}.h")
        Path("program.c").write_text(f'#include "{name}.h"\nint main(void) {{ return 0; }}\n')
        build("program.c")


def test_what_is_no_library(folder: Path) -> None:
    Path("broken.so").write_text("nothing")
    with pytest.raises(UserError, match=r"broken.so cannot be loaded"):
        rl.load("broken.so")
    Path("empty.c").write_text("int nothing;\n")
    assert COMPILER is not None
    subprocess.run([*COMPILER, "-shared", "-o", "empty.so", "empty.c"], check=True)
    with pytest.raises(UserError, match="it has no symbol rise_description"):
        rl.load("empty.so")


def test_a_linker_is_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for command, message in (
        (None, "needs a C compiler"),
        (["/nowhere/cc"], "cannot be run"),
        (["false"], "cannot link"),
    ):
        monkeypatch.setattr(linking, "find_c_compiler", lambda command=command: command)
        with pytest.raises(UserError, match=message):
            linking.link_shared_library(b"")


def test_a_file_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["compile", "kernels.rise", "-o", "missing/kernels.o"])
    assert done.value.code == 1
    assert "missing/kernels.o cannot be written: No such file" in capsys.readouterr().err
