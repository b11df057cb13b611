"""The files of PolyBench as they are: which are lifted, whether results are right, and times.

    python benchmarks/polybench.py FOLDER [KERNEL ...] [--dataset LARGE] [--no-check] [--no-time]

FOLDER is a copy of PolyBench/C 4.2. Nothing in it is changed, and macros keep their defaults, so
arrays have constant lengths and loops have bounds that are parameters. The kernels get the
arguments that the `main` of their file makes.

- Check: with `SMALL_DATASET`, the results of our kernel under `float="strict"`, in the source
  order, in isl's order and as patterns, are compared bit by bit with those of
  `gcc -O2 -ffp-contract=off`.
- Time: our kernel, as `rl.from_c` gives it by default, takes turns with those of gcc, clang and
  clang with Polly, `-O3 -march=native`, whose arrays are declared `restrict`
  (`-DPOLYBENCH_USE_RESTRICT`). Medians count. With `--threads`, ours runs in threads, and Polly
  with `-polly-parallel`, as many as `RISE_NUM_THREADS` says.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from timing import pin_threads

if "--threads" not in sys.argv:
    pin_threads()

from c_rivals import COMPILERS, passed
from reporting import record

import riselang as rl
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.emit.c_entry_points import is_buffer
from riselang.frontends.c.file import CFile
from riselang.frontends.c.model.footprints import evaluate_expression
from riselang.frontends.c.model.scop import Scop
from riselang.support.config import default_options
from riselang.support.errors import RiseError
from riselang.tools.figures import Rival

LIST = "utilities/benchmark_list"
STRICT = ("gcc", "-O2", "-ffp-contract=off", "-w", "-shared", "-fPIC")
SCHEDULES = ("source", "isl", "patterns")
PLAIN, POLLY = ("gcc", "clang"), "polly"
MEAN, MOST, LIFTED = 0.30, 1.03, 22
"""What is to hold: the geometric mean and the largest of our time over that of the better of gcc
and clang, with `LARGE_DATASET`, and how many kernels are lifted."""
_CTYPES = {
    "float32": ctypes.c_float, "float64": ctypes.c_double, "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
}  # fmt: skip
_folder = tempfile.TemporaryDirectory(prefix="rise_bench_polybench_")


@dataclass(frozen=True)
class Kernel:
    """A file of PolyBench, at one size."""

    path: Path
    utilities: Path
    dataset: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def function(self) -> str:
        return f"kernel_{self.name.replace('-', '_')}"

    @property
    def include(self) -> list[str]:
        return [str(self.utilities), str(self.path.parent)]

    @property
    def defines(self) -> dict[str, object]:
        return {f"{self.dataset}_DATASET": 1}

    def model(self) -> Scop:
        text = self.path.read_text()
        file = CFile.parse_text(text, str(self.path), self.include, self.defines)
        return file.model_function(self.function)

    def ours(self, **options: Any) -> Callable[..., Any]:
        return rl.from_c(
            self.path, function=self.function, include=self.include, defines=self.defines, **options
        )

    def compiled(self, command: Sequence[str], *flags: str) -> Any:
        """The function as another compiler compiles it."""
        # Other files could not call a static function.
        text = re.sub(rf"static\s+(?=void\s+{self.function}\b)", "", self.path.read_text())
        function = getattr(self._library(text, command, *flags), self.function)
        function.restype = None
        return function

    def _library(self, text: str, command: Sequence[str], *flags: str) -> ctypes.CDLL:
        number = len(list(Path(_folder.name).iterdir()))
        source = Path(_folder.name, f"{self.name}{number}.c")
        source.write_text(text)
        paths = [f"-I{each}" for each in self.include]
        library = source.with_suffix(".so")
        subprocess.run(
            [*command, *flags, *paths, f"-D{self.dataset}_DATASET", "-Dmain=polybench_main", source,
             self.utilities / "polybench.c", "-o", library, "-lm"],
            check=True,
        )  # fmt: skip
        return ctypes.CDLL(str(library))

    def arguments(self, scop: Scop) -> list[Any]:
        """What `main` passes to the kernel: it calls a function of ours, which copies them."""
        text = self.path.read_text()
        begin = re.search(rf"(?:static\s+)?void\s+{self.function}\s*\(", text)
        assert begin is not None, f"{self.path} has no function {self.function}"
        parameters = _end_of(text, begin.end() - 1, "()")
        end = _end_of(text, text.index("{", parameters), "{}")
        pointer = f"void (*{self.function}){text[begin.end() - 1 : parameters]};"
        text = text[: begin.start()] + pointer + text[end:]
        library = self._library(text, STRICT)
        found: list[Any] = []
        types = [
            ctypes.c_void_p if is_buffer(scop, each) else _CTYPES[each.type.dtype.name]
            for each in scop.function.parameters
        ]
        callback = ctypes.CFUNCTYPE(None, *types)(lambda *given: found.extend(_copies(scop, given)))
        ctypes.c_void_p.in_dll(library, self.function).value = ctypes.cast(
            callback, ctypes.c_void_p
        ).value
        library.polybench_main(1, None)
        return found


def _end_of(text: str, begin: int, brackets: str) -> int:
    """The position after the bracket that closes the one at a position."""
    depth = 0
    for position in range(begin, len(text)):
        depth += (text[position] == brackets[0]) - (text[position] == brackets[1])
        if depth == 0:
            return position + 1
    raise ValueError("a bracket is not closed")


def _copies(scop: Scop, given: Sequence[Any]) -> Iterator[Any]:
    for variable, value in zip(scop.function.parameters, given, strict=True):
        if not is_buffer(scop, variable):
            yield value
            continue
        shape = [
            evaluate_expression(each, {}) or 0 for each in variable.extents if each is not None
        ]
        size = int(np.prod(shape)) * variable.type.dtype.itemsize
        data = ctypes.string_at(value, size)
        yield np.frombuffer(data, variable.type.dtype).reshape(shape).copy()


def kernels(folder: Path, names: Sequence[str], dataset: str) -> list[Kernel]:
    paths = [folder / each for each in (folder / LIST).read_text().split()]
    unknown = set(names) - {path.stem for path in paths}
    if unknown:
        sys.exit(f"{folder / LIST} has no kernel {min(unknown)}")
    chosen = [path for path in paths if not names or path.stem in names]
    return [Kernel(path, folder / "utilities", dataset) for path in chosen]


def level(kernel: Kernel) -> str:
    """How much of a kernel is understood: lifted to patterns, raised to a call of a library, or
    loops."""
    try:
        model, options = kernel.model(), default_options("affine")
        if "lifted to RISE" in make_program([model], options).text("report"):
            return "lifted"
        options = options.with_changes(library="blas", float="relaxed")
        is_call = "library call" in make_program([model], options, "isl").text("report")
        return "raised" if is_call else "loops"
    except RiseError as error:
        return f"refused: {error.message}"


def copied(arguments: Sequence[Any]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


def wrong_orders(kernel: Kernel) -> list[str]:
    """The schedules under which a bit of a result differs from that of gcc."""
    scop = kernel.model()
    arguments = kernel.arguments(scop)
    theirs = copied(arguments)
    kernel.compiled(STRICT)(*map(passed, scop.function.parameters, theirs))
    wrong: list[str] = []
    for schedule in SCHEDULES:
        ours = copied(arguments)
        kernel.ours(float="strict", schedule=schedule)(*ours)
        same = all(
            a.tobytes() == b.tobytes()
            for a, b in zip(ours, theirs, strict=True)
            if isinstance(a, np.ndarray)
        )
        wrong += [] if same else [schedule]
    return wrong


def rivals(threads: int) -> dict[str, list[str]]:
    """The commands of the compilers; in several threads, only Polly's."""
    restrict = ["-DPOLYBENCH_USE_RESTRICT"]
    if threads == 1:
        return {name: [*command, *restrict] for name, command in COMPILERS.items()}
    flags = ["-mllvm", "-polly-parallel", "-mllvm", f"-polly-num-threads={threads}", "-lgomp"]
    return {
        name: [*command, *(flags if name == "polly" else []), *restrict]
        for name, command in COMPILERS.items()
    }


def seconds(kernel: Kernel, rounds: int, threads: int, limit: float) -> dict[str, list[float]]:
    """The times of each in all rounds but the first; those that take longer than a limit have one
    round."""
    scop = kernel.model()
    arguments = kernel.arguments(scop)
    working = copied(arguments)
    given = [*map(passed, scop.function.parameters, working)]
    start = time.perf_counter()
    calls: dict[str, Callable[[], Any]] = {
        "ours": partial(kernel.ours(threads=threads > 1), *working)
    }
    calls["ours"]()
    first = time.perf_counter() - start
    calls |= {
        name: partial(kernel.compiled(each), *given) for name, each in rivals(threads).items()
    }
    clock = time.process_time if threads == 1 else time.perf_counter
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            if turn and taken[name][0] > limit:
                continue
            for source, target in zip(arguments, working, strict=True):
                if isinstance(source, np.ndarray):
                    target[...] = source
            begin = clock()
            call()
            taken[name].append(clock() - begin)
    found = {name: times[1:] or times for name, times in taken.items()}
    return {**found, "first call": [first]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, usage=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--dataset", default="LARGE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=1.0, help="seconds; longer: one round")
    parser.add_argument("--threads", action="store_true")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    options = parser.parse_intermixed_args()
    threads = int(os.environ.get("RISE_NUM_THREADS", "2")) if options.threads else 1
    levels: dict[str, str] = {}
    ratios: dict[str, float] = {}
    beside_polly: dict[str, float] = {}
    differing: list[str] = []
    for kernel in kernels(options.folder, options.kernels, options.dataset):
        levels[kernel.name] = level(kernel)
        line = f"{kernel.name:<15}{levels[kernel.name]:<8}"
        if levels[kernel.name].startswith("refused"):
            print(line, flush=True)
            continue
        if not options.no_check:
            wrong = wrong_orders(Kernel(kernel.path, kernel.utilities, "SMALL"))
            differing += [kernel.name] if wrong else []
            line += f"  wrong: {', '.join(wrong)}" if wrong else "  same bits"
        if not options.no_time:
            taken = seconds(kernel, options.rounds, threads, options.limit)
            first = taken.pop("first call")[0]
            times = {name: statistics.median(each) for name, each in taken.items()}
            best = min((name for name in times if name in PLAIN), key=lambda each: times[each])
            ratios[kernel.name] = times["ours"] / times[best]
            if POLLY in times:
                beside_polly[kernel.name] = times["ours"] / times[POLLY]
            record(kernel.name, taken["ours"], Rival(best, tuple(taken[best])))
            line += "".join(f"  {name} {each * 1e3:.4g}ms" for name, each in times.items())
            line += f"  ratio {ratios[kernel.name]:.3f}  first call {first:.1f}s"
        print(line, flush=True)
    summarize(levels, differing)
    summarize_times("the better of gcc and clang", ratios)
    summarize_times("Polly", beside_polly)


def summarize(levels: dict[str, str], differing: list[str]) -> None:
    known = [name for name, each in levels.items() if each in ("lifted", "raised")]
    refused = sum(each.startswith("refused") for each in levels.values())
    print(f"{len(levels) - refused} of {len(levels)} accepted, {len(known)} lifted or raised "
          f"(at least {LIFTED} of 30); differing: {', '.join(differing) or 'none'}")  # fmt: skip


def summarize_times(rival: str, ratios: dict[str, float]) -> None:
    if ratios:
        mean = statistics.geometric_mean(ratios.values())
        slow = [f"{name} {each:.2f}" for name, each in ratios.items() if each > MOST]
        print(f"geometric mean {mean:.3f} of our time over that of {rival} (at most {MEAN}); "
              f"above {MOST}: {', '.join(slow) or 'none'}")  # fmt: skip


if __name__ == "__main__":
    main()
