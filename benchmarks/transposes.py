"""The transpose of a large matrix beside C versions of it, compiled by gcc; on one thread.

    python benchmarks/transposes.py [SIZE ...]

`transposes.c` contains the versions: plain loops, tiles, recursion, tiles that are transposed in
registers, in a buffer, and stores that bypass the caches. Sizes are multiples of 256, and matrices
are aligned to 64 bytes. Each version is measured a few times, then the best ones interleaved with
ours.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from timing import pin_threads

pin_threads()

import numpy as np  # noqa: E402
from reporting import report  # noqa: E402
from rivals import is_small  # noqa: E402
from timing import samples  # noqa: E402

import riselang as rl  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

SOURCE = Path(__file__).with_suffix(".c")
BOUND = 1.3
BEST = 4
"""How many of the fastest C versions are measured interleaved."""
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC", "-w")


def c_versions(folder: str) -> dict[str, Any]:
    library = Path(folder, "transposes.so")
    subprocess.run(["gcc", *FLAGS, SOURCE, "-o", library], check=True)
    loaded = ctypes.CDLL(str(library))
    text = SOURCE.read_text()
    plain = re.findall(r"^void (\w+)\(", text, re.MULTILINE)
    generated = re.findall(r"^[A-Z_]+\((\w+),", text, re.MULTILINE)
    return {name: getattr(loaded, name) for name in (*plain, *generated)}


def aligned(size: int) -> Any:
    memory = np.zeros(4 * size * size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 4 * size * size].view(np.float32).reshape(size, size)


def measure(size: int, rounds: int) -> None:
    def transpose(x: Any) -> Any:
        return x | rl.transpose

    transpose.__annotations__["x"] = rl.Array[size, size, rl.f32]
    x, out = aligned(size), aligned(size)
    x[...] = np.random.default_rng(0).random((size, size), np.float32)
    compiled = rl.jit(transpose).lower(x).compile()
    ours: Callable[[], object] = lambda: compiled(x, out=out)  # noqa: E731
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, out)]
    with tempfile.TemporaryDirectory(prefix="rise_bench_c_") as folder:
        versions = {
            name: partial(function, ctypes.c_int(size), *pointers)
            for name, function in c_versions(folder).items()
        }
        first = {name: min(samples([call], 2)[0]) for name, call in versions.items()}
        best = sorted(first, key=first.__getitem__)[:BEST]
        print(", ".join(f"{name} {first[name] * 1e3:.2f} ms" for name in sorted(first)))
        for call in (ours, *versions.values()):
            out[...] = 0
            call()
            assert np.array_equal(out, x.T), call
        copy = lambda: np.copyto(out, x)  # noqa: E731
        taken = samples([ours, copy, *(versions[name] for name in best)], rounds)
    fastest = min(range(len(best)), key=lambda each: min(taken[each + 2]))
    name = f"transpose {size}x{size}"
    report(name, taken[0], Rival(f"C, {best[fastest]}", taken[fastest + 2]), bound=BOUND)
    report(name, taken[0], Rival("copy", taken[1]))


if __name__ == "__main__":
    if shutil.which("gcc") is None:
        sys.exit("error: the C versions are compiled by gcc, which is not installed")
    sizes = list(map(int, sys.argv[1:])) or ([256] if is_small() else [1024, 4096])
    for each in sizes:
        measure(each, 3 if is_small() else 25)
