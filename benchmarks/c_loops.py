"""The 151 loops in `c_loops.c` on vectors of 4096 elements, one thread, called from C.

    python benchmarks/c_loops.py [LOOP ...]

Ours are object files that are linked to one library; the rivals' libraries are made of the file
itself, whose arrays are declared `restrict`. All take turns in many rounds, each with fresh
arguments, and the best round counts. The ratio is our time over that of the best of them.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from timing import pin_threads

pin_threads()

import numpy as np  # noqa: E402
from c_rivals import COMPILERS  # noqa: E402
from reporting import record  # noqa: E402
from rivals import is_small  # noqa: E402

from riselang.frontends.c.c_program import make_program  # noqa: E402
from riselang.frontends.c.file import CFile  # noqa: E402
from riselang.support.config import default_options  # noqa: E402
from riselang.tools.figures import Rival  # noqa: E402

FILE = Path(__file__).with_suffix(".c")
NAMES = re.findall(r"^LOOP\((\w+)\)", FILE.read_text(), re.MULTILINE)
FEW = ("l002", "l093")
"""Of which every part of a report can be made."""
ROWS = 64
CALLS, ROUNDS = 40, 15
BOUND = 1.0
"""Of the geometric mean."""
DRIVER = """
#include <time.h>
typedef double (*loop)(int, int, void *, void *, void *, void *, void *, void *, void *, void *,
                       void *);
double seconds(loop f, int calls, int n, int m, void **p) {
  struct timespec begin, end;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int i = 0; i < calls; i++)
    f(n, m, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) * 1e-9) / calls;
}
"""
_folder = tempfile.TemporaryDirectory(prefix="rise_bench_loops_")


def main(names: Sequence[str]) -> None:
    names = names or (FEW if is_small() else NAMES)
    rivals = {name: command for name, command in COMPILERS.items() if name != "polly"}
    libraries = {name: _compiled(name, command) for name, command in rivals.items()}
    libraries["ours"] = _ours(names)
    driver = _driver()
    print(f"{'loop':<8}" + "".join(f"{each:>12}" for each in libraries) + "  ratio")
    ratios: dict[str, float] = {}
    for name in names:
        taken = _measured(driver, {each: getattr(lib, name) for each, lib in libraries.items()})
        best = min(rivals, key=lambda each: min(taken[each]))
        ratios[name] = min(taken["ours"]) / min(taken[best])
        record(f"{name}, 4096 elements", taken["ours"], Rival(best, tuple(taken[best])))
        line = "".join(f"{min(taken[each]) * 1e6:10.2f}us" for each in libraries)
        print(f"{name:<8}{line}  {ratios[name]:.2f}", flush=True)
    mean = float(np.exp(np.mean(np.log(list(ratios.values())))))
    print(f"geometric mean of {len(ratios)}: {mean:.3f} (at most {BOUND})")


def _compiled(name: str, command: Sequence[str]) -> ctypes.CDLL:
    library = Path(_folder.name, f"{name}.so")
    subprocess.run([*command, str(FILE), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _ours(names: Sequence[str]) -> ctypes.CDLL:
    file = CFile.parse_text(FILE.read_text(), FILE.name)
    objects: list[str] = []
    for name in names:
        program = make_program([file.model_function(name)], default_options("affine"), "isl")
        objects.append(str(Path(_folder.name, f"{name}.o")))
        Path(objects[-1]).write_bytes(program.object_code())
    library = Path(_folder.name, "ours.so")
    subprocess.run(["gcc", "-shared", *objects, "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _driver() -> Any:
    source, library = Path(_folder.name, "driver.c"), Path(_folder.name, "driver.so")
    source.write_text(DRIVER)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).seconds
    function.restype = ctypes.c_double
    return function


def _arguments() -> list[Any]:
    random = np.random.default_rng(5)
    length = ROWS * ROWS
    arrays = [random.uniform(0.5, 1.5, length) for _ in range(8)]
    return [*arrays, random.integers(0, length, length, np.int32)]


def _measured(driver: Any, functions: Mapping[str, Any]) -> dict[str, list[float]]:
    """Seconds of each round."""
    fresh = _arguments()
    arrays = [each.copy() for each in fresh]
    pointers = (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(2 if is_small() else ROUNDS):
        for name, function in functions.items():
            for array, values in zip(arrays, fresh, strict=True):
                array[...] = values
            driver(function, 2, ROWS * ROWS, ROWS, pointers)
            taken[name].append(driver(function, CALLS, ROWS * ROWS, ROWS, pointers))
    return taken


if __name__ == "__main__":
    main(sys.argv[1:])
