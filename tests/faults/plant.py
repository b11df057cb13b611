"""Plant each fault in a copy of the project and run tests there: are the faults found?

    python tests/faults/plant.py                       all of them
    python tests/faults/plant.py join zip              those whose name or module has one of these words
    python tests/faults/plant.py --only "sort is not stable"
    python tests/faults/plant.py frontends.c           those of the C front end
    python tests/faults/plant.py --sample 12 --seed 3  twelve of them, chosen by a seed
    python tests/faults/plant.py --resume              those that have no result for these sources yet

A fault is found by a test that fails with the fault and passes without it. Results are kept in
build/faults.jsonl. The exit status says whether enough of the chosen faults were found.
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
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import record_tests
from fault import Fault
from planted import FAULTS
from planted_c import C_FAULTS, LIFTING_FAULTS
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
    f"{C_UNITS}control_flow.py", f"{C_UNITS}calls.py", f"{C_UNITS}memory.py",
    f"{C_UNITS}complex.py", f"{C_UNITS}row_pointers.py", f"{C_UNITS}records.py",
    "tests/properties/test_c_random_control_flow.py", f"{C_UNITS}rejections.py",
    f"{C_UNITS}globals.py",
)  # fmt: skip
MODEL_TESTS = (
    "tests/properties/test_c_subscripts.py", f"{C_UNITS}dependences.py", f"{C_UNITS}checks.py",
    f"{C_UNITS}rejections.py", f"{C_UNITS}control_flow.py", "tests/properties/test_c_programs.py",
    f"{C_UNITS}assumptions.py", f"{C_UNITS}schedules.py",
    "tests/properties/test_c_random_control_flow.py",
)  # fmt: skip
ACCUMULATOR_TESTS = (
    f"{C_UNITS}accumulators.py", f"{C_UNITS}contraction.py", f"{C_UNITS}arrangement.py",
)  # fmt: skip
EMISSION_TESTS = (
    f"{C_UNITS}checks.py", f"{C_UNITS}vectors.py", f"{C_UNITS}emission.py", f"{C_UNITS}source.py",
    f"{C_UNITS}row_pointers.py", f"{C_UNITS}records.py", f"{C_UNITS}control_flow.py",
    "tests/programs/test_c_linking.py", "tests/properties/test_c_random_control_flow.py",
)  # fmt: skip
GROUPS = (
    (FAULTS, TESTS),
    (C_FAULTS, (*C_TESTS, *LIFTING_TESTS)),
    (LIFTING_FAULTS, (*LIFTING_TESTS, *C_TESTS)),
    ((*JUMP_FAULTS, *VALUE_FAULTS), READING_TESTS),
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

FOUND, MISSED, INVALID = "found", "missed", "invalid"


@dataclass(frozen=True)
class Result:
    fault: str
    verdict: str
    test: str
    """The one that fails; for an invalid result, it fails without the fault, too."""
    seconds: int


def copy_project(folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", ".venv", ".git", ".*_cache", "build")
    shutil.copytree(ROOT, folder, ignore=ignored, dirs_exist_ok=True)


def failing_tests(folder: Path, tests: Sequence[str], *options: str) -> list[str]:
    """The tests that fail in a copy of the project, or that its process dies in."""
    record = folder / "record.txt"
    record.touch()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(Path(__file__).parent)]),
        "RISE_FUZZ_SEED": SEED,
        record_tests.FILE: str(record),
    }
    command = [
        sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider",
        "-p", record_tests.__name__, "-o", f"faulthandler_timeout={SECONDS}",
        "-o", "faulthandler_exit_on_timeout=true", *options, *tests,
    ]  # fmt: skip
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    lines = record.read_text().splitlines()
    failed = [line.removeprefix(FAILED) for line in lines if line.startswith(FAILED)]
    if run.returncode and not failed:
        if not lines:
            raise SystemExit(f"pytest ran no tests:\n{run.stdout}{run.stderr}")
        failed = [lines[-1].removeprefix(BEGAN)]
    return failed


def look_for(fault: Fault, tests: Sequence[str]) -> Result:
    """Run the tests with the fault until one fails."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_project(folder)
        (folder / "src" / fault.path).write_text(fault.plant())
        failed = failing_tests(folder, tests, "-x")
    seconds = round(time.monotonic() - start)
    return Result(fault.name, FOUND if failed else MISSED, failed[0] if failed else "", seconds)


def without_invalid(results: Sequence[Result]) -> list[Result]:
    """Run the tests that found something without any fault: they must pass."""
    finders = sorted({result.test for result in results if result.verdict == FOUND})
    if not finders:
        return list(results)
    with tempfile.TemporaryDirectory() as name:
        copy_project(Path(name))
        failed = set(failing_tests(Path(name), finders))
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
    parser.add_argument("--sample", type=int, metavar="N", help="so many of the chosen faults")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the sample (default 0)"
    )
    parser.add_argument("--resume", action="store_true", help="keep results of the same sources")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--list", action="store_true", help="print the chosen faults, run nothing")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parse_options(arguments)
    chosen, state = choose(options), state_of_project()
    if options.list:
        print("\n".join(f"{fault.name}: {fault.where}" for fault in chosen))
        return 0
    tests = {fault: group for faults, group in GROUPS for fault in faults}
    done = earlier_results(state) if options.resume else {}
    with ThreadPoolExecutor(options.jobs) as pool:
        left = [fault for fault in chosen if fault.name not in done]
        for run in as_completed([pool.submit(look_for, fault, tests[fault]) for fault in left]):
            result = done[run.result().fault] = run.result()
            save(result, state)
            print(f"{result.fault}: {result.verdict} {result.test}", flush=True)
    results = without_invalid([done[fault.name] for fault in chosen])
    found = sum(result.verdict == FOUND for result in results)
    share = found / len(results)
    print(f"\n{table(results)}\n\n{found} of {len(results)} faults found, {share:.0%}")
    return 0 if share >= REQUIRED else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
