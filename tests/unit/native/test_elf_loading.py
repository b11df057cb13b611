"""Object files are loaded without LLVM: what they compute, which memory they are in, and damage."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import platform
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from riselang.native import code_loading
from riselang.native.elf.image import CODE, CONSTANTS, DATA, Image, check_relocations
from riselang.native.elf.mapped_code import MappedCode, host_machine, map_objects
from riselang.native.elf.object_file import ObjectFile, read_object
from riselang.native.elf.relocations import UnsupportedObjectError
from riselang.native.elf.unwinding import describes_code
from support.elf_objects import MODELS, compiled, expected, program

HERE = pytest.mark.skipif(host_machine() is None, reason="LLVM loads objects here")
MACHINE = platform.machine()
SQRT = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x**0.5)


def outside(name: str) -> int | None:
    if name == "sqrt_outside":
        return ctypes.cast(SQRT, ctypes.c_void_p).value
    return code_loading.find_symbol(name)


def loaded(model: str, order: int = 1) -> MappedCode:
    return map_objects([read_object(each) for each in program(MACHINE, model)[::order]], outside)


def called(code: MappedCode, *elements: int) -> list[float]:
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code.address("main"))
    return [function(each) for each in elements]


def accesses(start: int, end: int) -> list[str]:
    """The permissions of the memory between two addresses, as the system reports them."""
    found: list[str] = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, access = line.split()[:2]
        low, high = (int(each, 16) for each in span.split("-"))
        if low < end and start < high:
            found.append(access)
    return found


@HERE
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("order", [1, -1])
def test_code_computes_with_everything_that_it_refers_to(model: str, order: int) -> None:
    code = loaded(model, order)
    assert called(code, 0, 3, 1) == [expected(each, call) for call, each in enumerate((0, 3, 1))]
    assert ctypes.c_int64.from_address(code.address("counter")).value == 10
    assert code.address("nothing") == 0
    assert code.address("zeros") == 0, "it is internal"
    assert called(loaded(model), 2) == [expected(2, 0)], "each has its own data"


@HERE
@pytest.mark.parametrize("model", MODELS)
def test_no_memory_is_writable_and_executable(model: str) -> None:
    contents = [read_object(each) for each in program(MACHINE, model)]
    code = map_objects(contents, outside)
    image = Image(contents, mmap.PAGESIZE)
    start = code.address("main") // mmap.PAGESIZE * mmap.PAGESIZE
    parts = [accesses(start + image.starts[k], start + image.starts[k + 1]) for k in range(3)]
    assert [part[0] for part in parts] == ["r-xp", "r--p", "rw-p"]
    assert all(len(part) == 1 for part in parts)
    assert code.address("counter") // mmap.PAGESIZE * mmap.PAGESIZE == start + image.starts[DATA]


@HERE
def test_code_is_unmapped_with_its_object() -> None:
    code = loaded("large")
    start = code.address("main")
    assert accesses(start, start + 1) == ["r-xp"]
    del code
    gc.collect()
    assert accesses(start, start + 1) == []


@HERE
def test_the_unwinder_knows_the_code_until_it_is_unmapped() -> None:
    find = ctypes.CDLL("libgcc_s.so.1")["_Unwind_Find_FDE"]
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_void_p]
    bases = (ctypes.c_void_p * 3)()
    for model in MODELS:
        code = loaded(model)
        starts = [code.address(name) for name in ("main", "other")]
        assert all(find(start + 1, bases) for start in starts)
        del code
        gc.collect()
        assert not any(find(start + 1, bases) for start in starts)


@HERE
def test_missing_symbols_and_values_that_do_not_fit_are_errors() -> None:
    before = len(Path("/proc/self/maps").read_text().splitlines())
    first = read_object(program(MACHINE, "large")[0])
    with pytest.raises(ValueError, match="there is no "):
        map_objects([first], lambda name: None)
    text = "@x = external global i64\ndefine i64 @f() { %v = load i64, ptr @x\n ret i64 %v }"
    triple = f"{MACHINE}-unknown-linux-gnu"
    small = read_object(compiled(text.replace("@x =", "@x = external dso_local global i64 ;"),
                                 triple, "small"))  # fmt: skip
    with pytest.raises(ValueError, match="out of range"):
        map_objects([small], lambda name: 0x10)
    gc.collect()
    assert len(Path("/proc/self/maps").read_text().splitlines()) <= before + 2


def test_what_only_llvm_loads() -> None:
    triple = f"{MACHINE}-unknown-linux-gnu"
    local = compiled("@x = thread_local global i64 7", triple, "small")
    aligned = compiled("@x = global i64 7, align 65536", triple, "small")
    common = compiled("@x = common global i64 0", triple, "small")
    other = program("aarch64" if MACHINE == "x86_64" else "x86_64", "small")[0]
    for each in (local, aligned, common, other):
        with pytest.raises(UnsupportedObjectError):
            map_objects([read_object(each)], outside)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("model", MODELS)
def test_an_image_for_an_address(machine: str, model: str) -> None:
    """An image for each architecture; `tests/native/test_other_architecture.py` runs it."""
    contents = [read_object(each, machine) for each in program(machine, model)]
    image = Image(contents, 4096)
    base = 0x1_2340_0000
    memory = np.zeros(image.size, np.uint8)
    symbols = image.write(memory, base, {"sqrt_outside": 0x7654_3210_0000, "environ": 8}.get)
    assert {"main", "other", "chosen", "counter"} == {*symbols}
    assert base <= symbols["main"] < base + image.starts[CONSTANTS]
    counter = symbols["counter"] - base
    assert memory[counter : counter + 8].view("<i8") == 7
    frames = [memory[start : start + size].tobytes() for start, size in image.frames]
    code = range(base, base + image.starts[CONSTANTS])
    assert frames
    for (start, _), each in zip(image.frames, frames, strict=True):
        assert describes_code(each, base + start, code)
        assert not describes_code(each, base + start, range(base, base + 8))
        assert not describes_code(each[:-3], base + start, code)


def damaged(content: bytes, source: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(source.choice([1, 1, 2, 8])):
        place = source.randrange(len(data))
        match source.randrange(4):
            case 0:
                data[place] ^= 1 << source.randrange(8)
            case 1:
                data[place : place + 8] = source.choice([bytes(8), b"\xff" * 8])
            case 2:
                place -= place % 8
                data[place : place + 8] = source.randrange(1 << 64).to_bytes(8, "little")
            case _:
                del data[place : place + source.randrange(1, 40)]
    return bytes(data[: len(content)])


def try_damaged(contents: list[bytes], seed: int, base: int = 0x7000_0000_0000) -> bool:
    """Whether an image of damaged objects is made; it is written to memory of its size."""
    source = random.Random(seed)
    changed = [damaged(each, source) for each in contents]
    try:
        objects = [read_object(each, "") for each in changed]
        for each in objects:
            if each.machine in (62, 183):
                check_relocations(each)
        image = Image(objects, 4096)
        if image.size > 1 << 24:
            return False
        memory = np.zeros(image.size, np.uint8)
        image.write(memory, base, lambda name: 0x7100_0000_0000)
    except (ValueError, UnsupportedObjectError):
        return False
    code = range(base, base + image.starts[CONSTANTS])
    for start, size in image.frames:
        describes_code(memory[start : start + size].tobytes(), base + start, code)
    return True


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("model", MODELS)
def test_damaged_objects_are_errors(machine: str, model: str) -> None:
    contents = program(machine, model)
    results = [try_damaged(contents, seed) for seed in range(400)]
    assert 0 < sum(results) < len(results)


MAPPED = """
import random, sys
from riselang.native.elf.mapped_code import map_objects
from riselang.native.elf.object_file import read_object
from riselang.native.elf.relocations import UnsupportedObjectError
from support.elf_objects import program
from unit.native.test_elf_loading import MACHINE, damaged, outside
count = 0
for seed in range(400):
    source = random.Random(seed)
    for model in ("small", "large"):
        try:
            objects = [read_object(damaged(each, source)) for each in program(MACHINE, model)]
            map_objects(objects, outside)
            count += 1
        except (ValueError, UnsupportedObjectError):
            pass
print(0 < count < 800)
"""


@HERE
def test_damaged_objects_do_not_end_the_process() -> None:
    tests = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": f"{tests}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-c", MAPPED], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


def test_objects_whose_relocations_are_unknown_are_damaged() -> None:
    content = program(MACHINE, "large")[0]
    whole = read_object(content)
    check_relocations(whole)
    changed = bytearray(content)
    number, table = next(whole.relocations())
    section = next(each for each in whole.sections if each.kind == 4 and each.info == number)
    assert len(table)
    changed[section.offset + 8] = 0xFE
    with pytest.raises(ValueError, match="unknown relocation"):
        check_relocations(read_object(bytes(changed)))


def test_sections_are_found_by_name() -> None:
    content: ObjectFile = read_object(program(MACHINE, "large")[0])
    assert content.has_section(".eh_frame")
    assert not content.has_section(".debug_line")
    assert CODE == 0
