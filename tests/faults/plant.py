"""Plant each fault in a copy of the project and run tests there: are the faults found?

    python tests/faults/plant.py                       all of them
    python tests/faults/plant.py join zip              those whose name or module has one of these words
    python tests/faults/plant.py --only "sort is not stable"
    python tests/faults/plant.py frontends.c           those of the C front end
    python tests/faults/plant.py --sample 12 --seed 3  twelve of them, chosen by a seed
    python tests/faults/plant.py --resume              those that have no result for these sources yet
    python tests/faults/plant.py --limit 180           as many as can be planted in three minutes

A fault is found by a test that fails with the fault and passes without it. Results are kept in
build/faults.jsonl. The exit status says whether enough of the chosen faults were found.

Each job has a copy of the project, with the bytecode of its modules, in which it plants one fault
after the other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from queue import Queue

import record_tests
from fault import SOURCES, Fault
from planted import FAULTS
from planted_c import C_FAULTS, DATA_FAULTS, LIFTING_FAULTS
from planted_c_model import ACCUMULATOR_FAULTS, EMISSION_FAULTS, MODEL_FAULTS
from planted_c_reading import JUMP_FAULTS, VALUE_FAULTS
from record_tests import BEGAN, FAILED

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "build" / "faults.jsonl"
TESTS = (
    "tests/unit/lowering", "tests/programs/test_seeds.py", "tests/programs/test_defects.py",
    "tests/programs/test_examples.py", "tests/programs/test_leaks.py",
    "tests/properties/test_polyhedral.py", "tests/properties/test_compiled_programs.py",
    "tests/properties/test_open_sizes.py",
)  # fmt: skip
"""The quick ones first: the first that fails is enough."""
C_TESTS = (
    "tests/programs/test_c_kernels.py::test_what_the_kernels_do_not_cover",
    "tests/properties/test_c_programs.py", "tests/unit/frontends/test_c_dependences.py",
    "tests/programs/test_c_linking.py", "tests/unit/frontends/test_c_arrangement.py",
    "tests/programs/test_c_kernels.py",
)  # fmt: skip
LIFTING_TESTS = (
    "tests/unit/frontends/test_c_tactics.py", "tests/unit/frontends/test_c_library.py",
    "tests/unit/frontends/test_c_lifting.py", "tests/properties/test_c_lifted.py",
)  # fmt: skip
C_UNITS = "tests/unit/frontends/test_c_"
READING_TESTS = (
    f"{C_UNITS}corner_cases.py", f"{C_UNITS}control_flow.py", f"{C_UNITS}calls.py",
    f"{C_UNITS}memory.py", f"{C_UNITS}complex.py", f"{C_UNITS}row_pointers.py",
    f"{C_UNITS}records.py", f"{C_UNITS}rejections.py", f"{C_UNITS}globals.py",
    "tests/properties/test_c_random_control_flow.py",
)  # fmt: skip
MODEL_TESTS = (
    f"{C_UNITS}corner_cases.py", f"{C_UNITS}dependences.py", f"{C_UNITS}checks.py",
    "tests/properties/test_c_subscripts.py", f"{C_UNITS}assumptions.py", f"{C_UNITS}schedules.py",
    f"{C_UNITS}rejections.py", f"{C_UNITS}control_flow.py", "tests/properties/test_c_programs.py",
    "tests/properties/test_c_random_control_flow.py",
)  # fmt: skip
ACCUMULATOR_TESTS = (
    f"{C_UNITS}accumulators.py", f"{C_UNITS}contraction.py", f"{C_UNITS}arrangement.py",
)  # fmt: skip
EMISSION_TESTS = (
    f"{C_UNITS}corner_cases.py", f"{C_UNITS}contraction.py", f"{C_UNITS}checks.py",
    f"{C_UNITS}dependences.py",
    f"{C_UNITS}vectors.py", f"{C_UNITS}emission.py", f"{C_UNITS}source.py",
    f"{C_UNITS}row_pointers.py", f"{C_UNITS}records.py", f"{C_UNITS}control_flow.py",
    "tests/programs/test_c_linking.py", "tests/properties/test_c_random_control_flow.py",
)  # fmt: skip
GROUPS = (
    (FAULTS, TESTS),
    (C_FAULTS, (*C_TESTS, *LIFTING_TESTS)),
    (LIFTING_FAULTS, (*LIFTING_TESTS, *C_TESTS)),
    ((*DATA_FAULTS, *JUMP_FAULTS, *VALUE_FAULTS), READING_TESTS),
    (MODEL_FAULTS, MODEL_TESTS),
    (ACCUMULATOR_FAULTS, ACCUMULATOR_TESTS),
    (EMISSION_FAULTS, EMISSION_TESTS),
)
"""Faults, and the tests that run for each of them, until one fails."""
SEED = "0"
"""Of random programs, so that a fault is found again."""
SECONDS = 300
"""A test that takes longer has failed."""
REQUIRED = 0.95

FOUND, MISSED, INVALID, UNTRIED = "found", "missed", "invalid", "untried"


@dataclass(frozen=True)
class Result:
    fault: str
    verdict: str
    test: str
    """The one that fails; for an invalid result, it fails without the fault, too."""
    seconds: int


@dataclass(frozen=True)
class Project:
    """A copy of the project in which tests run."""

    folder: Path
    deadline: float = float("inf")
    """The value of the clock when tests are stopped."""

    @staticmethod
    def copy(folder: Path, tests: Sequence[str], deadline: float) -> Project:
        """Copy the project, and compile all modules that the tests import."""
        ignored = shutil.ignore_patterns("__pycache__", ".venv", ".git", ".*_cache", "build")
        shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)
        project = Project(folder, deadline)
        if failed := project.failing_tests(tests, "--collect-only", writes_bytecode=True):
            raise SystemExit(f"{failed[0]} cannot be collected")
        compile_all = [sys.executable, "-m", "compileall", "-q", "-j0", "src"]
        subprocess.run(compile_all, cwd=folder, check=True)
        return project

    def copy_to(self, folder: Path) -> Project:
        shutil.copytree(self.folder, folder)
        return replace(self, folder=folder)

    def failing_tests(
        self, tests: Sequence[str], *options: str, writes_bytecode: bool = False
    ) -> list[str]:
        """The tests that fail, or that the process dies in."""
        record = self.folder / "record.txt"
        record.write_text("")
        paths = [str(self.folder / "src"), str(Path(__file__).parent)]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            # Python would not notice that a fault replaces another of the same length at once.
            "PYTHONDONTWRITEBYTECODE": "" if writes_bytecode else "1",
            "RISE_FUZZ_SEED": SEED,
            record_tests.FILE: str(record),
        }
        command = [
            sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider",
            "-p", record_tests.__name__, "-o", f"faulthandler_timeout={SECONDS}",
            "-o", "faulthandler_exit_on_timeout=true", *options, *tests,
        ]  # fmt: skip
        left = self.deadline - time.monotonic()
        run = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False,
            timeout=None if left == float("inf") else max(left, 0),
        )  # fmt: skip
        lines = record.read_text().splitlines()
        failed = [line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)]
        if run.returncode and not failed:
            if not lines:
                raise SystemExit(f"pytest ran no tests:\n{run.stdout}{run.stderr}")
            failed = [lines[-1].removeprefix(BEGAN)]
        return failed

    def look_for(self, fault: Fault, tests: Sequence[str]) -> Result:
        """Run the tests with the fault until one fails."""
        start = time.monotonic()
        file = self.folder / "src" / fault.path
        file.write_text(fault.plant())
        try:
            failed = self.failing_tests(tests, "-x")
            verdict = FOUND if failed else MISSED
        except subprocess.TimeoutExpired:
            failed, verdict = [], UNTRIED
        finally:
            # With its time, so that the bytecode is valid again.
            shutil.copy2(SOURCES / fault.path, file)
        seconds = round(time.monotonic() - start)
        return Result(fault.name, verdict, failed[0] if failed else "", seconds)


class Workshop:
    """Copies of the project for several jobs."""

    def __init__(self, folder: Path, jobs: int, tests: Sequence[str], deadline: float):
        first = Project.copy(folder / "0", tests, deadline)
        self._jobs = jobs
        self._free = Queue[Project]()
        for project in (first, *(first.copy_to(folder / str(job)) for job in range(1, jobs))):
            self._free.put(project)

    def look_for(self, faults: Mapping[Fault, Sequence[str]]) -> Iterator[Result]:
        """Run the tests of each fault until one fails."""

        def look_for(fault: Fault) -> Result:
            with self._project() as project:
                return project.look_for(fault, faults[fault])

        with ThreadPoolExecutor(self._jobs) as pool:
            for run in as_completed([pool.submit(look_for, fault) for fault in faults]):
                yield run.result()

    def failing_tests(self, tests: Sequence[str]) -> set[str]:
        """The tests that fail without any fault."""

        def failing_tests(some: Sequence[str]) -> list[str]:
            with self._project() as project:
                return replace(project, deadline=float("inf")).failing_tests(some)

        parts = [tests[job :: self._jobs] for job in range(self._jobs)]
        with ThreadPoolExecutor(self._jobs) as pool:
            return {
                name for found in pool.map(failing_tests, filter(None, parts)) for name in found
            }

    @contextmanager
    def _project(self) -> Generator[Project]:
        project = self._free.get()
        try:
            yield project
        finally:
            self._free.put(project)


def without_invalid(results: Sequence[Result], workshop: Workshop) -> list[Result]:
    """Run the tests that found something without any fault: they must pass."""
    failed = workshop.failing_tests(
        sorted({result.test for result in results if result.verdict == FOUND})
    )
    return [
        replace(result, verdict=INVALID) if result.test in failed else result for result in results
    ]


def state_of_project() -> str:
    """A digest of what results depend on."""
    digest = hashlib.sha256()
    for folder in ("src", "tests", "examples"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"{path.relative_to(ROOT)}".encode() + path.read_bytes())
    return digest.hexdigest()


def earlier_results(state: str) -> dict[str, Result]:
    """What runs with the same sources and tests found out."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    records = [json.loads(line) for line in lines]
    return {
        each["result"]["fault"]: Result(**each["result"])
        for each in records
        if each["state"] == state
    }


def save(result: Result, state: str) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps({"state": state, "result": asdict(result)}) + "\n")


def choose(options: argparse.Namespace) -> list[Fault]:
    chosen = [
        fault
        for faults, _ in GROUPS
        for fault in faults
        if not options.words or any(word in f"{fault.where} {fault.name}" for word in options.words)
    ]
    if options.only:
        unknown = set(options.only) - {fault.name for fault in chosen}
        if unknown:
            raise SystemExit(f"no fault has the name {', '.join(map(repr, sorted(unknown)))}")
        chosen = [fault for fault in chosen if fault.name in options.only]
    if options.sample is not None and options.sample < len(chosen):
        chosen = random.Random(options.seed).sample(chosen, options.sample)
    if not chosen:
        raise SystemExit("no fault is chosen")
    return chosen


def is_unrelated(fault: Fault, test: str) -> bool:
    """Whether the names of a module and of a test have no word in common: related tests run
    first."""
    ours, theirs = (
        {word[:5] for word in Path(name.partition("::")[0]).stem.split("_") if len(word) > 2}
        for name in (str(fault.path), test)
    )
    return not ours & theirs


def table(results: Iterable[Result]) -> str:
    rows = [("fault", "verdict", "seconds", "test")]
    rows += [(each.fault, each.verdict, str(each.seconds), each.test) for each in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="parts of names and modules of faults")
    parser.add_argument("--only", action="append", metavar="NAME", help="a fault; may be repeated")
    parser.add_argument(
        "--test", action="append", metavar="TEST", help="run only this; may be repeated"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many of the chosen faults")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the sample (default 0)"
    )
    parser.add_argument("--resume", action="store_true", help="keep results of the same sources")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument(
        "--limit",
        type=float,
        default=float("inf"),
        metavar="SECONDS",
        help="stop then; what is left counts as not found",
    )
    parser.add_argument("--list", action="store_true", help="print the chosen faults, run nothing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse_options(arguments)
    chosen, state = choose(options), state_of_project()
    if options.list:
        print("\n".join(f"{fault.name}: {fault.where}" for fault in chosen))
        return 0
    tests = {
        fault: options.test or sorted(group, key=partial(is_unrelated, fault))
        for faults, group in GROUPS
        for fault in faults
    }
    done = earlier_results(state) if options.resume else {}
    left = {fault: tests[fault] for fault in chosen if fault.name not in done}
    run = list(dict.fromkeys(each for fault in chosen for each in tests[fault]))
    with tempfile.TemporaryDirectory() as name:
        workshop = Workshop(Path(name), options.jobs, run, time.monotonic() + options.limit)
        for result in workshop.look_for(left):
            done[result.fault] = result
            if result.verdict != UNTRIED:
                save(result, state)
            print(f"{result.fault}: {result.verdict} {result.test}", flush=True)
        results = without_invalid([done[fault.name] for fault in chosen], workshop)
    found = sum(result.verdict == FOUND for result in results)
    share = found / len(results)
    print(f"\n{table(results)}\n\n{found} of {len(results)} faults found, {share:.0%}")
    for verdict in (MISSED, INVALID, UNTRIED):
        for result in results:
            if result.verdict == verdict:
                print(f"{verdict}: {result.fault}")
    return 0 if share >= REQUIRED else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
