"""The thirty kernels of `c_kernels.py` at the sizes that are called medium, one thread.

    python benchmarks/c_medium.py [KERNEL ...]

Each compiler gets the file as it is, and with `restrict` at every array; our calls reject overlaps.
The ratio is our time over that of the best of them. At these sizes some calls take microseconds:
all take turns in many rounds, and the best round counts. Ours is a whole call from Python with its
checks; arguments of rivals are converted before.
"""

from __future__ import annotations

import sys
import time

from timing import pin_threads

pin_threads()

from c_rivals import COMPILERS, KERNELS, RESTRICT, Contest  # noqa: E402
from reporting import record  # noqa: E402
from rivals import is_small  # noqa: E402

from riselang.tools.figures import Rival  # noqa: E402

SIZES = {
    "2mm": {"ni": 180, "nj": 190, "nk": 210, "nl": 220},
    "3mm": {"ni": 180, "nj": 190, "nk": 200, "nl": 210, "nm": 220},
    "adi": {"steps": 100, "n": 200},
    "atax": {"m": 390, "n": 410},
    "bicg": {"m": 390, "n": 410},
    "cholesky": {"n": 400},
    "correlation": {"m": 240, "n": 260},
    "covariance": {"m": 240, "n": 260},
    "deriche": {"w": 720, "h": 480},
    "doitgen": {"nr": 50, "nq": 40, "np": 60},
    "durbin": {"n": 400},
    "fdtd-2d": {"steps": 100, "nx": 200, "ny": 240},
    "floyd-warshall": {"n": 500},
    "gemm": {"ni": 200, "nj": 220, "nk": 240},
    "gemver": {"n": 400},
    "gesummv": {"n": 250},
    "gramschmidt": {"m": 200, "n": 240},
    "heat-3d": {"steps": 100, "n": 40},
    "jacobi-1d": {"steps": 100, "n": 400},
    "jacobi-2d": {"steps": 100, "n": 250},
    "lu": {"n": 400},
    "ludcmp": {"n": 400},
    "mvt": {"n": 400},
    "nussinov": {"n": 500},
    "seidel-2d": {"steps": 100, "n": 400},
    "symm": {"m": 200, "n": 240},
    "syr2k": {"n": 240, "m": 200},
    "syrk": {"n": 240, "m": 200},
    "trisolv": {"n": 400},
    "trmm": {"m": 200, "n": 240},
}
FEW = ("atax", "jacobi-1d")
"""Of which every part of a report can be made."""
SECONDS = 0.5
"""What the rounds of a kernel take together, for each rival."""
SHORT = 1e-3
LEAST_ROUNDS, MOST_ROUNDS = 5, 500
BOUND = 1.03


def main(names: list[str]) -> None:
    compilers = [name for name in COMPILERS if name != "polly"]
    rivals = [name + end for end in ("", RESTRICT) for name in compilers]
    print(f"{'kernel':<15}{'ours':>11}" + "".join(f"{name:>20}" for name in rivals) + "  ratio")
    ratios: dict[str, float] = {}
    for name in names or (FEW if is_small() else sorted(SIZES)):
        taken = measured(Contest(name, SIZES[name], rivals))
        line = "".join(f"{min(taken[each]) * 1e6:18.1f}us" for each in rivals)
        ours = min(taken["ours"])
        best = min(rivals, key=lambda each: min(taken[each]))
        ratios[name] = ours / min(taken[best])
        record(f"{name}, medium", taken["ours"], Rival(best, tuple(taken[best])), bound=BOUND)
        print(f"{name:<15}{ours * 1e6:9.1f}us{line}  {ratios[name]:.2f}", flush=True)
    above = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio > BOUND]
    print(f"above {BOUND}: {', '.join(above) or 'none'}")


def measured(contest: Contest) -> dict[str, list[float]]:
    """Seconds of each round: of the processor, unless reading them takes a part of the time."""
    first = contest.seconds(2, time.perf_counter)
    longest = max(min(times) for times in first.values())
    clock = time.perf_counter if longest < SHORT else time.process_time
    rounds = 2 if is_small() else int(min(MOST_ROUNDS, max(LEAST_ROUNDS, SECONDS / longest)))
    return contest.seconds(rounds, clock)


if __name__ == "__main__":
    unknown = set(sys.argv[1:]) - {path.stem for path in KERNELS.glob("*.c")}
    if unknown:
        sys.exit(f"no kernel is called {min(unknown)}")
    main(sys.argv[1:])
