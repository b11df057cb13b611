"""The memory that compiled code keeps between calls."""

from __future__ import annotations

import ctypes
import os
import random
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native import code_loading
from riselang.native.llvm import temporary_pool

MIB = 1 << 20
LIMIT = 128 * MIB
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Memory:
    """The two functions, called as compiled code calls them: without Python's lock."""

    def __init__(self) -> None:
        code = code_loading._runtime_functions()
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        alloc, free = (code.address(f"rise_{each}") for each in temporary_pool.REPLACED_FUNCTIONS)
        self.alloc: Any = ctypes.CFUNCTYPE(pointer, size, size)(alloc)
        self.free: Any = ctypes.CFUNCTYPE(None, pointer)(free)


@pytest.fixture
def kept() -> Memory:
    return Memory()


def resident() -> int:
    """How many bytes of this process are in memory; the C library returns what it holds."""
    getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_large_block_is_given_again(kept: Memory) -> None:
    block = kept.alloc(64, 3 * MIB)
    kept.free(block)
    assert kept.alloc(64, 3 * MIB - 5000) == block, "what fits nearly is taken"
    other = kept.alloc(64, 3 * MIB)
    assert other != block, "a block that is in use is not given"
    kept.free(other)
    kept.free(block)


def test_a_block_of_another_size_is_not_given(kept: Memory) -> None:
    block = kept.alloc(64, 5 * MIB)
    kept.free(block)
    smaller, larger = kept.alloc(64, 2 * MIB), kept.alloc(64, 6 * MIB)
    assert block not in (smaller, larger)
    kept.free(smaller)
    kept.free(larger)


def test_small_blocks_do_not_replace_large_ones(kept: Memory) -> None:
    large = kept.alloc(64, 7 * MIB)
    kept.free(large)
    small = [kept.alloc(64, 5000) for _ in range(2 * temporary_pool.MAX_BLOCKS)]
    for each in small:
        kept.free(each)
    assert kept.alloc(64, 5000) in small, "small blocks are kept, too"
    assert kept.alloc(64, 7 * MIB) == large
    kept.free(large)


@pytest.mark.parametrize("alignment", [16, 64, 256, 4096])
@pytest.mark.parametrize(
    "size", [0, 1, temporary_pool.MIN_POOLED_BYTES - 1, temporary_pool.MIN_POOLED_BYTES, MIB]
)
def test_blocks_begin_where_they_are_asked_to(kept: Memory, alignment: int, size: int) -> None:
    for _ in range(3):
        block = kept.alloc(alignment, size)
        assert block % max(alignment, 64) == 0
        ctypes.memset(block, 255, size)
        kept.free(block)


def test_nothing_may_be_given_back(kept: Memory) -> None:
    kept.free(None)


def test_memory_that_there_is_not_is_null(kept: Memory) -> None:
    assert kept.alloc(64, 1 << 60) is None


@pytest.mark.rotating(3)
@LINUX
def test_no_more_is_kept_than_the_limit(kept: Memory) -> None:
    def use(sizes: list[int]) -> None:
        blocks = [(kept.alloc(64, size), size) for size in sizes]
        for block, size in blocks:
            ctypes.memset(block, 1, size)
        for block, _ in blocks:
            kept.free(block)

    use([9 * MIB])
    before = resident()
    use([9 * MIB] * 40)
    assert resident() - before < LIMIT + 8 * MIB, "many blocks"
    use([LIMIT + MIB] * 2)
    assert resident() - before < LIMIT + 8 * MIB, "blocks that are too large"
    # Sizes that are no longer asked for make room for those that are.
    use([MIB + each * 70_000 for each in range(40)])
    block = kept.alloc(64, 50 * MIB)
    kept.free(block)
    assert kept.alloc(64, 50 * MIB) == block
    kept.free(block)
    use([9 * MIB])


def test_threads_never_share_a_block(kept: Memory) -> None:
    wrong: list[str] = []

    def work(number: int) -> None:
        source = random.Random(number)
        held: list[tuple[int, int, int]] = []
        for step in range(1500):
            if held and source.random() < 0.5:
                block, size, mark = held.pop(source.randrange(len(held)))
                ends = ctypes.string_at(block, 16) + ctypes.string_at(block + size - 16, 16)
                if ends != bytes([mark]) * 32:
                    wrong.append(f"thread {number}, step {step}: {ends!r}")
                kept.free(block)
            else:
                size, mark = source.choice([5_000, 9_000, 70_000, 300_000]), source.randrange(256)
                block = kept.alloc(64, size)
                ctypes.memset(block, mark, size)
                held.append((block, size, mark))
        for block, _, _ in held:
            kept.free(block)

    threads = [threading.Thread(target=work, args=[each]) for each in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


STORED = """fun((A : 256.256.f64, B : 256.256.f64), A |> map(fun(row, B |> transpose
  |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""


def product() -> Any:
    loaded: Any = rl.loads(STORED, name="stored.rise")
    return loaded.main


def faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


@LINUX
def test_a_kernel_waits_for_pages_in_its_first_call_alone() -> None:
    call = product()
    a, b = (np.random.default_rng(each).random((256, 256)) for each in (0, 1))
    out = call(a, b)
    call(a, b, out=out)
    before = faults()
    for _ in range(20):
        call(a, b, out=out)
    # Python and the stacks of threads touch some new pages; if each call waited for the pages of a
    # packed matrix, there would be 20 times as many as the matrix has.
    assert faults() - before < 5 * a.nbytes // 4096
    assert np.allclose(out, a @ b)


@pytest.mark.rotating(3)
def test_nothing_is_kept_where_nothing_may_be() -> None:
    script = """
import ctypes
from riselang.native import code_loading
from tests.unit.native.test_memory import Memory
kept = Memory()
for size in (100, 1 << 20):
    block = kept.alloc(64, size)
    assert int.from_bytes(ctypes.string_at(block - 8, 8), "little") == 0
    kept.free(block)
"""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "RISE_TEMPORARY_POOL": "0", "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd=root)


def test_other_code_in_the_process_keeps_its_own_memory() -> None:
    import llvmlite.binding as binding

    product().lower().compile()
    text = "declare ptr @aligned_alloc(i64, i64)\ndefine ptr @asked() {\n" + (
        "  %block = call ptr @aligned_alloc(i64 64, i64 1048576)\n  ret ptr %block\n}"
    )
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
    engine.finalize_object()
    block = ctypes.CFUNCTYPE(ctypes.c_void_p)(engine.get_function_address("asked"))()
    # The C library takes it back: it would not, were it one of ours.
    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]
    libc.free(block)


@LINUX
@pytest.mark.parametrize("bytes", [MIB, 2 * MIB, 5 * MIB, LIMIT + MIB])
def test_large_blocks_ask_for_huge_pages(kept: Memory, bytes: int) -> None:
    block = kept.alloc(64, bytes)
    flags = flags_of_mapping(block)
    kept.free(block)
    assert "hg" in flags, "the flag that madvise(MADV_HUGEPAGE) sets"


def flags_of_mapping(address: int) -> list[str]:
    """Return the flags of the memory mapping that contains an address."""
    contains, flags = False, list[str]()
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        start, dash, end = words[0].partition("-")
        if dash:
            contains = int(start, 16) <= address < int(end, 16)
        elif contains and words[0] == "VmFlags:":
            flags = words[1:]
    return flags
