"""Budget-performance curves of search algorithms, replayed from recorded spaces.

    python benchmarks/tuning.py record 256 build/product.json
    python benchmarks/tuning.py replay build/product.json

`record` measures every choice of a space for a product of this size, which takes minutes to hours.
`replay` runs each search with ten seeds on the recorded times, and prints the median of the time
relative to the optimum after 10, 25, 50 and 100 trials, how many seeds reach 0.95 of the optimum's
speed, and the score: (random - found) / (random - optimum), averaged over the trials.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import riselang as rl
from riselang.runtime.tuning_database import Trial
from riselang.tuning.replay import RecordedSpace, score

SEEDS = range(10)
BUDGET = 100
MARKS = (10, 25, 50, 100)
TILES = """tile(param('rows', powers_of_two(2, 64)), param('columns', powers_of_two(4, 128)))
 @ outermost('map', nest=2) >> reorder(1, 2, 5, 3, 4) @ outermost('map')
 >> split(param('steps', powers_of_two(2, 64))) @ outermost('reduce')
 >> vectorize(param('lanes', powers_of_two(2, 16))) @ outermost('reduce')"""


def product(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    """Return the product of two matrices as plain patterns."""
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def record(size: int, path: Path, budget: int = 100_000) -> None:
    """Measure all choices of the space of a product of two square matrices."""
    x = np.random.default_rng(0).random((size, size), np.float32)
    space = " ".join(TILES.split())
    result = rl.tune(
        product, x, x, space=space, search="grid", budget=budget, db=path.with_suffix(".sqlite")
    )
    path.write_text(recorded(space, result.trials).to_json())


def recorded(space: str, trials: tuple[Trial, ...]) -> RecordedSpace:
    return RecordedSpace(space, {tuple(trial.choices.values()): trial.seconds for trial in trials})


def replay(path: Path) -> None:
    """Print how each search does on a recorded space."""
    space = RecordedSpace.load(path)
    random = space.median_curve("random", SEEDS, BUDGET)
    print(f"{path.stem}: {len(space.times)} choices, optimum {1e3 * space.optimum:.3g} ms")
    print("| search | " + " | ".join(map(str, MARKS)) + " | seeds at 0.95 | score |")
    print("|---|" + "---|" * (len(MARKS) + 2))
    for search in ("random", "evolution", *(["tpe"] if find_spec("optuna") else [])):
        curves = [space.curve(search, seed, BUDGET) for seed in SEEDS]
        median = [float(np.median(values)) for values in zip(*curves, strict=True)]
        reached = sum(curve[-1] * 0.95 <= space.optimum for curve in curves)
        marks = " | ".join(f"{median[mark - 1] / space.optimum:.2f}" for mark in MARKS)
        value = score(median, random, space.optimum)
        print(f"| {search} | {marks} | {reached} of {len(curves)} | {value:.2f} |")


def main() -> None:
    match sys.argv[1:]:
        case ["record", size, path]:
            record(int(size), Path(path))
        case ["replay", *paths]:
            for path in paths:
                replay(Path(path))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
