"""Guided search: the seven schedules of matrix multiplication and a separated convolution.

    python benchmarks/sketches.py

Each search runs in a process of its own. Printed are the number of sketches and of steps, the
seconds, and the memory of the process at its peak.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import riselang as rl
import riselang.strategy as st
from riselang.term.contraction import contract

BLUR = Path(__file__).parents[1] / "examples/programs/blur.rise"
PRODUCT = """fun((A : 768.1024.f32, B : 1024.1280.f32), A |> map(fun(row, B |> transpose |> map(
  fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
TILES = "map[24](map[40](reduce[1024](map[32](map[32]))))"
BLOCKS = "map[24](map[40](reduce[256](reduce[4](map[32](map[32])))))"
ROWS = "map[24](map[40](reduce[256](map[32](reduce[4](map[32])))))"
IN_VECTORS = "map[24](map[40](reduce[256](map[32](reduce[4](map[8]))))) & contains(asVector[4])"
UNROLLED = IN_VECTORS.replace("reduce[4]", "reduceSeqUnroll[4]")
SCHEDULES: dict[str, list[str]] = {
    "baseline": ["map[768](map[1280](reduce[1024]))"],
    "blocking": [TILES, BLOCKS],
    "vectorization": [
        TILES, BLOCKS,
        "map[24](map[40](reduce[256](reduce[4](map[32](map[8]))))) & contains(asVector[4])",
    ],
    "loop permutation": [TILES, ROWS, IN_VECTORS],
    "array packing": [TILES, ROWS, f"let & {IN_VECTORS}"],
    "cache blocks": [TILES, ROWS, f"let & {UNROLLED}"],
    "parallel": [TILES, ROWS, f"let & mapPar{UNROLLED.removeprefix('map')}"],
    "separated convolution": [
        "map[1024](map[1024](reduce[9]))",
        "map[1024](map[1024]) & contains(toMem(map[1032](map[1024](reduce[9]))))",
    ],
}  # fmt: skip


def search(name: str) -> dict[str, float]:
    """Search for one of the schedules in this process."""
    float = "contract"
    if name == "separated convolution":
        float = "relaxed"
        program: Any = rl.load(BLUR)
        term = program.blur.trace(N=1024, M=1024, K=9).term
    else:
        program = rl.loads(PRODUCT, name="product.rise")
        term = program.main.trace().term
    start = time.perf_counter()
    derivation = st.derive(contract(term), st.sketch(*SCHEDULES[name]), float)
    seconds = time.perf_counter() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"steps": len(derivation), "seconds": seconds, "megabytes": megabytes}


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(search(sys.argv[1])))
        return
    print("| schedule | sketches | steps | seconds | MB |\n|---|---|---|---|---|")
    for name, sketches in SCHEDULES.items():
        command = [sys.executable, __file__, name]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found = json.loads(output)
        row = (name, len(sketches), found["steps"], f"{found['seconds']:.1f}")
        print(f"| {' | '.join(map(str, row))} | {found['megabytes']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
