"""Budget-performance curves of search algorithms, replayed from recorded spaces.

    python benchmarks/tuning.py record-all DIRECTORY --jobs 14
    python benchmarks/tuning.py record-all DIRECTORY --gpu --jobs 14
    python benchmarks/tuning.py replay DIRECTORY

`record-all` measures the choices of each space once, within `--seconds` altogether: strategies are
compiled in `--jobs` processes, then measured on one thread, each alternately with the fastest
strategy that people wrote. `--only NAME,...` selects spaces.
`replay` runs each search with ten seeds on the recorded times. It prints how many seeds reach 0.95
of the speed of the fastest strategy that people wrote, after how many trials 8 of 10 have reached
it, the median of the time relative to the optimum after 10, 25, 50 and 100 trials, and the score:
(random - found) / (random - optimum), averaged over the trials. The curve of random search is the
median of 200 seeds. Searches begin with a random choice, except those "from the default", which
begin with what the default strategy chooses. With `--charts FOLDER`, it draws the curves.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riselang.tuning.replay import RecordedSpace, median_curve, random_curve, score

if TYPE_CHECKING:
    from tuning_cases import Case

SEEDS = range(10)
BUDGET, GPU_BUDGET = 100, 150
MARKS = (10, 25, 50, 100)
GOOD_SPEED = 0.95
"""The share of the speed of the fastest strategy that people wrote."""
MOST = 0.8
SUFFIX = ".space.gz"


def record_all(folder: Path, cases: Mapping[str, Case], jobs: int, seconds: float) -> None:
    """Record the spaces of all cases within some seconds."""
    from riselang.tuning.recording import Recorder

    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    recorder = Recorder(jobs)
    try:
        for name, case in cases.items():
            left = end - time.monotonic()
            later = list(cases.values())[list(cases).index(name) :]
            remaining = sum(each.share for each in later)
            try:
                space = record(recorder, case, left * case.share / remaining)
            except Exception:  # the records of the other spaces are worth having
                print(f"{name}: not recorded", flush=True)
                traceback.print_exc()
                continue
            space.save(folder / f"{name}{SUFFIX}")
            print(f"{name}: {describe_recording(space)}", flush=True)
            print(f"{name}: {describe(space)}", flush=True)
    finally:
        recorder.close()


def record(recorder: Any, case: Case, seconds: float) -> RecordedSpace:
    """Record the part of a program's generic space that a case names."""
    from riselang.term.contraction import contract
    from riselang.tuning.generic_spaces import generic_space
    from riselang.tuning.recording import part_of_space
    from riselang.tuning.tune import make_task

    began = time.monotonic()
    lowered, inputs = case.program()
    options = lowered.options
    generic, start = generic_space(contract(lowered.source), options.float, options.loops)
    space = part_of_space(generic, start, case.kept)
    task = make_task(lowered, inputs)
    left = seconds - (time.monotonic() - began)
    recorded: RecordedSpace = recorder.record(task, space, start, case.hands, left, case.outer)
    return recorded


def describe(space: RecordedSpace) -> str:
    measured = sum(each is not None for each in space.times.values())
    programs = len({each for each in space.entries.values() if not isinstance(each, str)})
    return (
        f"{len(space.times)} choices, {measured} of them measured, which are {programs} different "
        f"programs; {space.facts['hand']} takes {1e3 * space.hand_seconds:.4g} ms, the optimum "
        f"{1e3 * space.optimum:.4g} ms"
    )


def describe_recording(space: RecordedSpace) -> str:
    facts = space.facts
    return (
        f"of {facts['choices']} choices, {facts['prepared']} compiled in "
        f"{facts['prepare_seconds']} s, {facts['programs']} programs measured, in "
        f"{facts['seconds']} s altogether"
    )


def replay(path: Path, searches: Sequence[str]) -> dict[str, list[float]]:
    """Print how each search does on a recorded space, and return the median curves."""
    space = RecordedSpace.load(path)
    name, times = path.name.removesuffix(SUFFIX), list(space.times.values())
    budget = GPU_BUDGET if name.startswith("gpu") else BUDGET
    random = random_curve(space, budget)
    print(f"\n{name}: {describe(space)}")
    if len(times) <= budget:
        print(f"{budget} trials try all of them, so only the trials before tell searches apart.")
    print()
    print("| search | " + " | ".join(map(str, MARKS)) + " | seeds at 0.95 | after | score |")
    print("|---|" + "---|" * (len(MARKS) + 3))
    after = trials_until_good(space, [random])
    print_row("random", space, random, f" | {after}", 0.0)
    medians = {"random": random}
    for start, label in ((None, ""), (space.start, ", from the default")):
        for search in searches:
            curves = [space.curve(search, seed, budget, start) for seed in SEEDS]
            medians[f"{search}{label}"] = median = median_curve(curves)
            after = trials_until_good(space, curves)
            reached = f"{count_good(space, curves)} of {len(curves)} | {after}"
            value = score(median, random, times)
            print_row(f"{search}{label}", space, median, reached, value)
    return medians


def print_row(
    name: str, space: RecordedSpace, median: Sequence[float], reached: str, score: float
) -> None:
    marks = " | ".join(f"{median[mark - 1] / space.optimum:.3f}" for mark in MARKS)
    print(f"| {name} | {marks} | {reached} | {score:.2f} |")


def count_good(space: RecordedSpace, curves: Sequence[Sequence[float]]) -> int:
    """Count the curves that reach 0.95 of the speed of the fastest hand strategy."""
    return sum(curve[-1] * GOOD_SPEED <= space.hand_seconds for curve in curves)


def trials_until_good(space: RecordedSpace, curves: Sequence[Sequence[float]]) -> int | str:
    """Return the number of trials after which most of the curves reach 0.95: 8 of 10."""
    needed = math.ceil(MOST * len(curves))
    for trials in range(1, len(curves[0]) + 1):
        if count_good(space, [curve[:trials] for curve in curves]) >= needed:
            return trials
    return "-"


def draw(
    space: RecordedSpace, name: str, medians: Mapping[str, Sequence[float]], path: Path
) -> None:
    """Draw the median curves: the speed relative to the fastest hand strategy by trial."""
    from charts import LINE, SHADES, save_canvas
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(8, 4), layout="constrained")
    axes = canvas.add_subplot()
    searches = [each for each in medians if "default" not in each]
    for color, search in zip(SHADES, searches, strict=False):
        speeds = [space.hand_seconds / seconds for seconds in medians[search]]
        axes.plot(range(1, len(speeds) + 1), speeds, color=color, label=search)
    axes.axhline(GOOD_SPEED, color=LINE, linestyle="--", linewidth=0.8)
    axes.set_title(name.replace("_", " "), loc="left")
    axes.set_xlabel("trials")
    axes.set_ylabel("median speed relative to the best hand strategy")
    axes.legend(fontsize=8)
    save_canvas(canvas, path)


def replay_all(folder: Path, charts: Path | None, searches: Sequence[str]) -> None:
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        medians = replay(path, searches)
        if charts is not None:
            charts.mkdir(parents=True, exist_ok=True)
            name = path.name.removesuffix(SUFFIX)
            draw(RecordedSpace.load(path), name, medians, charts / f"tuning_{name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    record_command = commands.add_parser("record-all")
    record_command.add_argument("folder", type=Path)
    record_command.add_argument("--gpu", action="store_true")
    record_command.add_argument("--small", action="store_true")
    record_command.add_argument("--jobs", type=int, default=os.cpu_count())
    record_command.add_argument("--seconds", type=float, default=300.0)
    record_command.add_argument("--only", default="")
    replay_command = commands.add_parser("replay")
    replay_command.add_argument("folder", type=Path)
    replay_command.add_argument("--charts", type=Path)
    with_optuna = "evolution,tpe" if find_spec("optuna") else "evolution"
    replay_command.add_argument("--searches", default=with_optuna)
    options = parser.parse_args()
    if options.command == "replay":
        replay_all(options.folder, options.charts, options.searches.split(","))
        return
    # Set before anything asks for the machine: programs for the CPU have one thread.
    os.environ["RISE_JOBS"] = "1"
    if not options.gpu:
        os.environ["RISE_NUM_THREADS"] = "1"
    from tuning_cases import CPU_CASES, GPU_CASES, SMALL_CASES

    cases = GPU_CASES if options.gpu else SMALL_CASES if options.small else CPU_CASES
    only = options.only.split(",") if options.only else list(cases)
    selected = {name: cases[name] for name in only}
    record_all(options.folder, selected, options.jobs, options.seconds)


if __name__ == "__main__":
    main()
