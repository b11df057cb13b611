"""Thirty classic kernels in C: ours beside gcc, clang, and clang with Polly, one thread.

    python benchmarks/c_kernels.py [KERNEL ...]

The same file goes to all of them, with `-O3 -march=native` to the compilers. Ours is what
`rl.from_c` gives by default. Sizes are those that are called large; where gcc takes more than two
seconds for them they are smaller, and the table says so. All rivals get the same arrays and take
turns; the time of the processor counts, in the best of the rounds.
"""

from __future__ import annotations

import os
import sys

from timing import pin_threads

pin_threads()

from c_rivals import COMPILERS, KERNELS, Contest  # noqa: E402
from reporting import record  # noqa: E402
from rivals import is_small  # noqa: E402

from riselang.tools.figures import Rival  # noqa: E402

SIZES = {
    "2mm": {"ni": 400, "nj": 450, "nk": 550, "nl": 600},
    "3mm": {"ni": 400, "nj": 450, "nk": 500, "nl": 550, "nm": 600},
    "adi": {"steps": 20, "n": 1000},
    "atax": {"m": 1900, "n": 2100},
    "bicg": {"m": 1900, "n": 2100},
    "cholesky": {"n": 1000},
    "correlation": {"m": 600, "n": 700},
    "covariance": {"m": 600, "n": 700},
    "deriche": {"w": 4096, "h": 2160},
    "doitgen": {"nr": 150, "nq": 140, "np": 160},
    "durbin": {"n": 2000},
    "fdtd-2d": {"steps": 50, "nx": 1000, "ny": 1200},
    "floyd-warshall": {"n": 700},
    "gemm": {"ni": 1000, "nj": 1100, "nk": 1200},
    "gemver": {"n": 2000},
    "gesummv": {"n": 1300},
    "gramschmidt": {"m": 500, "n": 600},
    "heat-3d": {"steps": 40, "n": 120},
    "jacobi-1d": {"steps": 500, "n": 2000},
    "jacobi-2d": {"steps": 100, "n": 1300},
    "lu": {"n": 1000},
    "ludcmp": {"n": 1000},
    "mvt": {"n": 2000},
    "nussinov": {"n": 1000},
    "seidel-2d": {"steps": 20, "n": 2000},
    "symm": {"m": 500, "n": 600},
    "syr2k": {"n": 800, "m": 700},
    "syrk": {"n": 1200, "m": 1000},
    "trisolv": {"n": 2000},
    "trmm": {"m": 700, "n": 800},
}
LARGE = {
    "2mm": "800 900 1100 1200", "3mm": "800 900 1000 1100 1200", "adi": "500 steps",
    "cholesky": "2000", "correlation": "1200 1400", "covariance": "1200 1400",
    "fdtd-2d": "500 steps", "floyd-warshall": "2800", "gramschmidt": "1000 1200",
    "heat-3d": "500 steps", "jacobi-2d": "500 steps", "lu": "2000", "ludcmp": "2000",
    "nussinov": "2500", "seidel-2d": "500 steps", "symm": "1000 1200", "syr2k": "1200 1000",
    "trmm": "1000 1200",
}  # fmt: skip
"""What is called large, where that is more."""
ROUNDS = int(os.environ.get("RISE_BENCH_ROUNDS", "3"))
SCALE = 0.05 if is_small() else float(os.environ.get("RISE_BENCH_SCALE", "1"))
"""A share of the sizes, for a quick look."""
FEW = ("atax", "jacobi-1d")
"""Of which every part of a report can be made."""
LEAST_OF_GCC = 0.9
LEAST_MEAN = 1.5


def main(names: list[str]) -> None:
    speeds: dict[str, list[float]] = {name: [] for name in (*COMPILERS, "best")}
    print(f"{'kernel':<15}{'ours':>9}" + "".join(f"{name:>18}" for name in COMPILERS))
    for name in names or (FEW if is_small() else sorted(SIZES)):
        contest = Contest(name, {key: int(size * SCALE) for key, size in SIZES[name].items()})
        taken = contest.seconds(ROUNDS)
        ours = min(taken.pop("ours"))
        theirs = {rival: min(times) for rival, times in taken.items()}
        line = f"{name:<15}{ours * 1e3:7.1f}ms"
        for rival, time in theirs.items():
            speeds[rival].append(time / ours)
            line += f"{time * 1e3:9.1f}ms {time / ours:5.2f}x"
            record(f"{name}, {rival}", [ours], Rival(rival, (time,)))
        compilers = [time for rival, time in theirs.items() if rival != "polly"]
        speeds["best"] += [min(compilers) / ours] if compilers else []
        print(line + (f"  (large: {LARGE[name]})" if name in LARGE else ""), flush=True)
    for rival, found in speeds.items():
        if found:
            against = "the better of gcc and clang" if rival == "best" else rival
            print(f"geometric mean: {mean(found):.2f} times {against}, the least {min(found):.2f}")
    print(f"to hold: {LEAST_MEAN} of the better, 1.0 of polly; none below {LEAST_OF_GCC} of gcc")


def mean(values: list[float]) -> float:
    product = 1.0
    for value in values:
        product *= value ** (1 / len(values))
    return product


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - {path.stem for path in KERNELS.glob("*.c")}
    if unknown:
        sys.exit(f"no kernel is called {min(unknown)}")
    main(sys.argv[1:])
