"""The other architecture, emulated: an object for it computes what the interpreter does.

This needs an emulator (Debian's qemu-user) and a C compiler for the other architecture (Debian's
gcc-x86-64-linux-gnu or gcc-aarch64-linux-gnu).
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

import riselang as rl
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import parse_module
from riselang.native.elf.image import CONSTANTS, DATA, Image
from riselang.native.elf.object_file import read_object
from riselang.support.config import Options
from support.elf_objects import MODELS
from support.elf_objects import expected as expected_result
from support.elf_objects import program as elf_program
from support.machines import compiled_for
from unit.interpreter.test_scalar_ops import (
    Case,
    assert_same,
    case_name,
    compiled_cases,
    interpreted,
    operands,
    program,
)

Array = np.ndarray[Any, Any]
OTHER = "aarch64" if platform.machine() in ("x86_64", "AMD64") else "x86_64"
EMULATOR, COMPILER = f"qemu-{OTHER}", f"{OTHER}-linux-gnu-gcc"
TARGETS = ["aarch64"] if OTHER == "aarch64" else ["x86-64", "AVX2"]
OPS = (
    "arith.truncf", "arith.extf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui",
    "arith.maxnumf", "arith.minnumf", "arith.maximumf", "arith.addf", "arith.divsi", "arith.remui",
    "arith.shrsi", "arith.select", "arith.cmpf", "math.fma", "math.roundeven", "math.sqrt",
)  # fmt: skip
pytestmark = pytest.mark.skipif(
    not (shutil.which(EMULATOR) and shutil.which(COMPILER)),
    reason=f"needs {EMULATOR} and {COMPILER}",
)
MAIN = """
#include <stdio.h>
#include <stdlib.h>
{declarations}
static void *given(size_t bytes) {{
  void *buffer = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (fread(buffer, 1, bytes, stdin) != bytes) exit(3);
  return buffer;
}}
static void *empty(size_t bytes) {{ return aligned_alloc(64, (bytes + 127) / 64 * 64); }}
int main(void) {{
{calls}
  return 0;
}}
"""


def run(folder: Path, ir: str, target: str, main: str, given: bytes) -> bytes:
    """What a program of the other architecture prints."""
    code, source, linked = folder / "kernels.o", folder / "main.c", folder / "main"
    code.write_bytes(compiled_for(ir, target))
    source.write_text(main)
    command = [COMPILER, "-o", str(linked), str(source), str(code), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    machine = ["-cpu", "max"] if OTHER == "x86_64" else []
    emulated = [EMULATOR, "-L", f"/usr/{OTHER}-linux-gnu", *machine, str(linked)]
    return subprocess.run(emulated, input=given, check=True, capture_output=True).stdout


def driver(functions: Sequence[tuple[str, Sequence[Array], Array]]) -> str:
    """A program that reads the inputs of each function and prints its result."""
    declarations: list[str] = []
    calls: list[str] = []
    for name, inputs, result in functions:
        declarations.append(f"void rise_call_{name}({', '.join(['void *'] * (len(inputs) + 1))});")
        arguments = [f"given({each.nbytes})" for each in inputs]
        names = [f"a{at}" for at in range(len(inputs))]
        calls += [
            "  {",
            *(f"    void *{a} = {given};" for a, given in zip(names, arguments, strict=True)),
            f"    void *r = empty({result.nbytes});",
            f"    rise_call_{name}({', '.join(['r', *names])});",
            f"    fwrite(r, 1, {result.nbytes}, stdout);",
            "  }",
        ]
    return MAIN.format(declarations="\n".join(declarations), calls="\n".join(calls))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("op", OPS)
def test_operations_have_the_interpreters_bits(op: str, target: str, tmp_path: Path) -> None:
    names, compilation = compiled_cases(op)
    cases: list[tuple[Case, list[Array], Array]] = []
    for case in names:
        inputs = operands(case[1])
        cases.append((case, inputs, interpreted(program(case, len(inputs[0])), inputs)))
    main = driver([(names[case], inputs, result) for case, inputs, result in cases])
    given = b"".join(each.tobytes() for _, inputs, _ in cases for each in inputs)
    printed = run(tmp_path, compilation.job.complete_ir, target, main, given)
    for case, inputs, expected in cases:
        found = np.frombuffer(printed[: expected.nbytes], expected.dtype)
        printed = printed[expected.nbytes :]
        assert_same(case, inputs, expected, found)
        assert case_name(case)
    assert not printed


SCALARS = {
    "f32": ("float", "1.5f"), "f64": ("double", "-2.25"), "i8": ("signed char", "-3"),
    "i16": ("short", "300"), "i32": ("int", "-70000"), "i64": ("long", "5000000000"),
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_scalars_are_passed_as_c_passes_them(target: str, tmp_path: Path) -> None:
    """More of each kind than there are registers for."""
    kinds = [*SCALARS] * 3
    parameters = ", ".join(f"%p{at}: {kind}" for at, kind in enumerate(kinds))
    body: list[str] = []
    for at, kind in enumerate(kinds):
        value = f"%p{at}"
        if kind == "f32":
            body.append(f"%w{at} = arith.extf %p{at} : f32 to f64")
            value = f"%w{at}"
        elif kind != "f64":
            body.append(f"%w{at} = arith.sitofp %p{at} : {kind} to f64")
            value = f"%w{at}"
        body += [
            f"%c{at} = arith.constant {at} : index",
            f"memref.store {value}, %out[%c{at}] : memref<{len(kinds)}xf64>",
        ]
    text = (
        f"func.func @f(%out: memref<{len(kinds)}xf64>, {parameters}) {{\n"
        + "\n".join(body)
        + "\nreturn\n}"
    )
    compilation = Compilation(parse_module(text, "a.mlir"), Options("scf"))
    types = ", ".join(["void *", *(SCALARS[kind][0] for kind in kinds)])
    values = ", ".join(["r", *(SCALARS[kind][1] for kind in kinds)])
    calls = (
        f"  void *r = empty({8 * len(kinds)});\n  rise_call_f({values});\n"
        f"  fwrite(r, 8, {len(kinds)}, stdout);"
    )
    main = MAIN.format(declarations=f"void rise_call_f({types});", calls=calls)
    printed = run(tmp_path, compilation.job.complete_ir, target, main, b"")
    expected = [float(SCALARS[kind][1].rstrip("f")) for kind in kinds]
    assert np.frombuffer(printed).tolist() == expected


@pytest.mark.parametrize("target", TARGETS)
def test_bools_of_any_byte_and_reductions(target: str, tmp_path: Path) -> None:
    text = (
        "def counts = fun((b : 5.i1), b |> map(fun(e, cast[f64](cast[f16](e)))) |> scan(add, 0.0))"
    )
    program: Any = rl.loads(text, name="a.rise")
    ir = program.counts.lower().compilation.job.complete_ir
    mask = np.frombuffer(bytes([0, 1, 2, 255, 254]), np.bool_)
    main = driver([("counts", [mask], np.zeros(5))])
    printed = run(tmp_path, ir, target, main, mask.tobytes())
    assert np.frombuffer(printed).tolist() == [0, 1, 2, 3, 4]


IMAGE_BASE = 0x1_2340_0000
PAGE = 1 << 16
"""The largest page of Linux on AArch64."""
LOADER = """
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
double sqrt_outside(double x) { return sqrt(x); }
static size_t number(const char *text) { return strtoull(text, 0, 0); }
int main(int count, char **arguments) {
  char *base = (char *)number(arguments[2]);
  size_t size = number(arguments[3]), constants = number(arguments[4]), data = number(arguments[5]);
  double (*function)(long) = (double (*)(long))number(arguments[6]);
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  if (mmap(base, size, PROT_READ | PROT_WRITE, flags, -1, 0) != base) return 1;
  FILE *file = fopen(arguments[1], "rb");
  if (fread(base, 1, size, file) != size) return 2;
  if (mprotect(base, constants, PROT_READ | PROT_EXEC)) return 3;
  if (mprotect(base + constants, data - constants, PROT_READ)) return 4;
  __builtin___clear_cache(base, base + constants);
  printf("%.17g %.17g\\n", function(3), function(1));
  return 0;
}
"""


def outside_addresses(path: Path) -> dict[str, int]:
    """The addresses of the symbols of a program that is linked to fixed ones."""
    with path.open("rb") as file:
        table: Any = ELFFile(file).get_section_by_name(".symtab")
        return {each.name: each["st_value"] for each in table.iter_symbols()}


@pytest.mark.parametrize("model", MODELS)
def test_objects_that_are_loaded_without_llvm(model: str, tmp_path: Path) -> None:
    source, linked, loaded = tmp_path / "main.c", tmp_path / "main", tmp_path / "image"
    source.write_text(LOADER)
    command = [COMPILER, "-static", "-no-pie", "-o", str(linked), str(source), "-lm"]
    subprocess.run(command, check=True, capture_output=True)
    image = Image([read_object(each, OTHER) for each in elf_program(OTHER, model)], PAGE)
    memory = np.zeros(image.size, np.uint8)
    symbols = image.write(memory, IMAGE_BASE, outside_addresses(linked).get)
    memory.tofile(loaded)
    numbers = [IMAGE_BASE, image.size, image.starts[CONSTANTS], image.starts[DATA], symbols["main"]]
    emulated = [EMULATOR, str(linked), str(loaded), *map(str, numbers)]
    printed = subprocess.run(emulated, check=True, capture_output=True, text=True).stdout
    assert [float(each) for each in printed.split()] == [
        expected_result(3, 0),
        expected_result(1, 1),
    ]
