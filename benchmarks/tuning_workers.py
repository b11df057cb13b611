"""How many strategies per second Dask workers with one thread compile and measure.

    python benchmarks/tuning_workers.py 1 4 --seconds 20

For each number of workers, prints how many tilings of a small product of matrices are compiled,
checked and measured per second, and the ratio to the first number of workers. The workers have run
some before, so that all of them have started. On one machine, one strategy is measured at a time.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import os
import random
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from riselang.tuning.measurement import Outcome, Task
from riselang.tuning.runner import Request, Runner

THREADS = 1
SIZE, DEPTH = 240, 8
LIMIT = 60.0
WARM_TRIALS = 4
"""Strategies for each worker before the measured ones."""
PRODUCT = f"""
fun((a : {SIZE}.{DEPTH}.f32, b : {DEPTH}.{SIZE}.f32),
  a |> map(fun(row, transpose(b) |> map(fun(column,
    zip(row, column) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0))))))
"""
OPTIONS = (("float", "contract"), ("loops", "affine"))


def requests(source: random.Random) -> Iterator[Request]:
    """Make requests for all tilings, in random order."""
    divisors = [size for size in range(2, SIZE) if SIZE % size == 0]
    tilings = list(itertools.product(divisors, divisors))
    source.shuffle(tilings)
    for rows, columns in itertools.cycle(tilings):
        yield Request({}, f"tile({rows}, {columns}) @ outermost('map', nest=2)", None)


def strategies_per_second(workers: int, seconds: float, seed: int) -> float:
    import numpy as np

    distributed: Any = import_module("distributed")
    # Sums of small integers are exact in any order.
    numbers = np.random.default_rng(seed)
    shapes = ((SIZE, DEPTH), (DEPTH, SIZE))
    left, right = (numbers.integers(-8, 8, shape).astype(np.float32) for shape in shapes)
    task = Task(PRODUCT, OPTIONS, (left, right), (np.matmul(left, right),))
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=THREADS, dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        runner = Runner(task, LIMIT, client)
        outcomes = runner.run(requests(random.Random(seed)))
        for request, outcome in itertools.islice(outcomes, WARM_TRIALS * workers):
            check(request, outcome)
        start, count = time.perf_counter(), 0
        while time.perf_counter() < start + seconds:
            check(*next(outcomes))
            count += 1
        rate = count / (time.perf_counter() - start)
        runner.close()
    return rate


def check(request: Request, outcome: Outcome) -> None:
    if outcome.status != "measured":
        raise SystemExit(f"{request.strategy}: {outcome.status}: {outcome.reason}")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("workers", type=int, nargs="*", default=[1, 4])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    os.environ["RISE_JOBS"] = os.environ["RISE_NUM_THREADS"] = str(THREADS)
    rates: dict[int, list[float]] = {count: [] for count in options.workers}
    for seed in range(options.rounds):
        for count in options.workers:
            rates[count].append(strategies_per_second(count, options.seconds, seed))
    base = max(rates[options.workers[0]])
    print("| workers | strategies per second | relative |")
    print("|---|---|---|")
    for count, found in rates.items():
        print(f"| {count} | {max(found):.1f} | {max(found) / base:.2f} |")


if __name__ == "__main__":
    main()
