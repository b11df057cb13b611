"""Run random programs on the GPU of this machine, and compare them with the interpreter.

`python tests/native/random_on_gpu.py 2000` runs programs until 2000 of them ran: those that no GPU
can run are not counted. `--guarded 100` lets the first 100 of them run twice more, with guards of
different fills around all buffers (see `support.guarded_gpu`).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from riselang.compiler.compilation import Compilation
from riselang.native import cuda
from riselang.support.config import Options
from riselang.support.errors import LimitationError, UserError
from support.checking import call_of, inputs_of, interpreted, module_of
from support.gpu_programs import on_gpu
from support.guarded_gpu import FILLS, GuardedGpu
from support.programs import Program, seeded_program
from support.values import same

STEP = 200
"""The number of programs after which the counts are printed."""


def random_program(seed: int) -> Program:
    program = seeded_program(seed, compiled=True)
    return Program(on_gpu(program.term, random.Random(seed)), program.results)


def agrees(program: Program, seed: int, *, is_guarded: bool = False) -> bool | None:
    """Whether a program gives what the interpreter does; None if no GPU can run it."""
    try:
        artifact = Compilation(module_of([program]), Options("gpu")).artifact
    except (LimitationError, UserError):
        return None
    values = inputs_of(program, seed)
    expected = interpreted(program, values)
    plain = cuda.driver()
    drivers: list[Any] = [plain, *(GuardedGpu(plain, fill) for fill in FILLS if is_guarded)]
    found = cuda.driver
    try:
        for driver in drivers:
            cuda.driver = lambda driver=driver: driver
            call = call_of(0, program, values)
            artifact.load_executables(lambda _: [program.term])["f0"](*call.outputs, *call.inputs)
            if not same(list(call.outputs), expected):
                return False
    finally:
        cuda.driver = found
    return True


def _run(task: tuple[int, bool]) -> tuple[int, str]:
    seed, is_guarded = task
    try:
        answer = agrees(random_program(seed), seed, is_guarded=is_guarded)
    except Exception as error:
        return seed, f"failed: {type(error).__name__}: {error}"
    return seed, {True: "ran", False: "differs", None: "refused"}[answer]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="the number of programs to run")
    parser.add_argument("--guarded", type=int, default=0, help="how many of them with guards")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=12)
    given = parser.parse_args()
    counts, guarded, seed = Counter[str](), 0, given.seed
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        while counts["ran"] < given.count:
            missing = given.count - counts["ran"]
            tasks = [(seed + n, guarded + n < given.guarded) for n in range(missing)]
            for number, answer in pool.map(_run, tasks, chunksize=8):
                counts[answer.partition(":")[0]] += 1
                if answer not in ("ran", "refused"):
                    print(f"seed {number}: {answer}", flush=True)
                if counts.total() % STEP == 0:
                    print(dict(counts), flush=True)
            seed, guarded = seed + missing, guarded + missing
            print(dict(counts), flush=True)
    sys.exit(counts["ran"] != counts.total() - counts["refused"])


if __name__ == "__main__":
    main()
