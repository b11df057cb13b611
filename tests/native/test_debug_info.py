"""With debug info, compiled code says which lines of the program it comes from."""

import contextlib
import io
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import riselang as rl
from riselang.native.debug_info.line_table import code_lines, functions
from riselang.native.elf.object_file import is_elf64
from riselang.native.llvm import codegen as llvm
from riselang.support.errors import UserError
from riselang.tools.rise import main

PROGRAM = """def product = fun((a, b),
  a * b)

def dot = fun((x : N.f32, y : N.f32),
  zip(x, y)
  |> map(product)
  |> reduce(add, 0.0))
"""
MODULE = """func.func @affine_map(%out: memref<8xf32>, %x: memref<8xf32>) {
  affine.for %i = 0 to 8 {
    %a = affine.load %x[%i] : memref<8xf32>
    %b = arith.mulf
      %a, %a : f32
    affine.store %b, %out[%i] : memref<8xf32>
  }
  return
}
"""
PYTHON = """import riselang as rl

from scaling import scale


@rl.jit
def scaled(x: rl.Array["N", rl.f32]):
    return (
        x
        | rl.map(lambda a: a - 1.0)
        | rl.map(scale)
    )
"""
OTHER = """def scale(a):
    return a * 2.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (
        ("dot.rise", PROGRAM), ("map.mlir", MODULE), ("scaled.py", PYTHON), ("scaling.py", OTHER)
    ):  # fmt: skip
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def rise(*arguments: str) -> None:
    with contextlib.suppress(SystemExit):
        main(arguments)


def section_data(code: bytes) -> dict[str, bytes]:
    return {each.name: each.data() for each in ELFFile(io.BytesIO(code)).iter_sections()}


def lines(path: Path) -> set[tuple[str, int]]:
    data = path.read_bytes()
    assert is_elf64(data)
    return {(Path(found.file).name, found.line) for found in code_lines(data)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("dot.rise", {("dot.rise", 2), ("dot.rise", 4), ("dot.rise", 7)}),
        ("map.mlir", {("map.mlir", 3), ("map.mlir", 4), ("map.mlir", 6)}),
        ("scaled.py", {("scaled.py", 10), ("scaled.py", 11), ("scaling.py", 2)}),
    ],
)
def test_objects_have_the_lines_of_the_source(
    folder: Path, source: str, expected: set[tuple[str, int]]
) -> None:
    rise("compile", source, "--debug-info", "--float", "strict", "-o", "k.o")
    assert expected <= lines(folder / "k.o")


def test_the_table_is_the_one_that_binutils_read(folder: Path) -> None:
    if which("addr2line") is None:
        pytest.skip("there is no addr2line")
    rise("compile", "dot.rise", "--debug-info", "--float", "strict", "-o", "k.o")
    found = code_lines((folder / "k.o").read_bytes())
    asked = ["addr2line", "-e", "k.o", *[hex(line.start) for line in found]]
    answers = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\n")
    for line, answer in zip(found, answers, strict=False):
        if line.line:
            place = answer.partition(" ")[0]
            assert place == f"{folder / 'dot.rise'}:{line.line}"


def test_ir_and_assembly_have_the_whole_path(folder: Path) -> None:
    rise("compile", "dot.rise", "--debug-info", "--emit", "llvm", "-o", "k.ll")
    rise("compile", "dot.rise", "--debug-info", "--emit", "asm", "-o", "k.s")
    assert f'!DIFile(filename: "dot.rise", directory: "{folder}")' in Path("k.ll").read_text()
    assert re.search(r"\.loc\s+1 7", Path("k.s").read_text())


def test_without_it_nothing_is_said(folder: Path) -> None:
    rise("compile", "dot.rise", "-o", "k.o")
    rise("compile", "dot.rise", "--emit", "llvm", "-o", "k.ll")
    assert not any("debug" in name for name in section_data(Path("k.o").read_bytes()))
    assert "!dbg" not in Path("k.ll").read_text()


def test_the_environment_asks_for_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_DEBUG_INFO", "1")
    rise("compile", "dot.rise", "-o", "k.o")
    assert lines(folder / "k.o")
    rise("compile", "dot.rise", "--no-debug-info", "-o", "k.o")
    assert not lines(folder / "k.o")
    monkeypatch.setenv("RISE_DEBUG_INFO", "yes")
    with pytest.raises(UserError, match="RISE_DEBUG_INFO must be 0 or 1, but is 'yes'"):
        rl.loads(MODULE)


def scaled(x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: rl.math.exp(a) / 2.0) | rl.slide(3, 1) | rl.map(rl.reduce(rl.add, 0.0))  # fmt: skip  # noqa: E501


def divided(x: rl.Array["N", rl.i32]):
    return x | rl.map_par(lambda a: a // (a - 3))


def without_debug_info(text: str) -> str:
    """The code in LLVM IR, without names that only number what there is.

    OpenMP is told the name of the function in a constant.
    """
    others = ("!", "@", "%", "attributes", ";")
    kept = [line for line in text.split("\n") if not line.startswith(others)]
    return re.sub(r",? !dbg !\d+|!\d+|#\d+|\.\d+\b", "", "\n".join(kept))


@pytest.mark.parametrize("loops", ["affine", "scf", "polyhedral"])
@pytest.mark.parametrize("function", [scaled, divided])
def test_the_code_is_the_same(function: Callable[..., object], loops: str) -> None:
    plain, debug = (
        rl.jit(function, loops=loops, debug_info=asked).lower(N=100).compilation
        for asked in (False, True)
    )
    optimised = [llvm.optimize(each.llvm_ir) for each in (plain, debug)]
    assert "!dbg" in optimised[1]
    assert without_debug_info(optimised[0]) == without_debug_info(optimised[1])
    # Where code is unwound is told too, so instructions that save registers may change places.
    codes = [section_data(each.object_code)[".text"] for each in (plain, debug)]
    assert len(codes[0]) == len(codes[1])


@pytest.mark.parametrize("function", [scaled, divided])
def test_kernels_run_with_it(function: Callable[..., Any]) -> None:
    x = np.arange(100, dtype=np.float32 if function is scaled else np.int32)
    expected = rl.jit(function, debug_info=False)(x)
    assert np.array_equal(rl.jit(function, debug_info=True)(x), expected)


def test_a_path_says_nothing_of_the_program() -> None:
    """Nothing is taken from the text of a module that has names of files in it."""
    module = rl.loads(PROGRAM, name="float 1.5/parallel linalg.rise", debug_info=True)
    text = module.as_text("llvm")
    assert "parallel linalg.rise" in text
    x = np.ones(4, np.float32)
    assert module.dot(x, x) == 4.0


def test_code_that_an_entry_calls_has_the_lines_of_the_program(folder: Path) -> None:
    kept: list[str] = []
    compiled = llvm.jit_object
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            llvm, "jit_object", lambda ir, effort: (kept.append(ir), compiled(ir, effort))[1]
        )
        program: Any = rl.load("dot.rise", debug_info=True, float="strict")
        program.dot(*[np.ones(4, np.float32)] * 2)
    data = llvm.object_code(kept[0])
    (code,) = [each for each in functions(data) if each.name == "dot"]
    found = {
        line.line
        for line in code_lines(data)
        if code.offset <= line.start < code.offset + code.size
    }
    assert {2, 7} <= found
