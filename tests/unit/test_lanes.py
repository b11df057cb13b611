"""What decides which tests run where: seeds of commits, numbers of examples, pairs of choices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest

import run_checks
from support import fuzzing, pairwise

CHOICES = (range(5), "ab", (None, 1, 2), "xyz")


def test_every_pair_of_choices_occurs() -> None:
    chosen = pairwise.pairwise(*CHOICES)
    assert len(chosen) < 25 < len(list(product(*CHOICES)))
    for (one, first), (other, second) in combinations(enumerate(CHOICES), 2):
        found = {(row[one], row[other]) for row in chosen}
        assert found == set(product(first, second))
    assert pairwise.pairwise(*CHOICES) == chosen


def test_every_choice_occurs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise, "IS_NIGHTLY", False)
    assert pairwise.each_once("abc", [1, 2]) == [("a", 1), ("b", 2), ("c", 2)]
    assert len(set(pairwise.each_once("xy", "ab", range(5)))) == 5
    assert {row[:2] for row in pairwise.each_once("xy", "ab", range(5))} == set(product("xy", "ab"))
    monkeypatch.setattr(pairwise, "IS_NIGHTLY", True)
    assert len(pairwise.each_once("abc", [1, 2])) == len(pairwise.combined("abc", [1, 2])) == 6


def test_a_commit_decides_the_seed() -> None:
    first, second = (fuzzing.seed_of_commit(each * 40) for each in "1f")
    assert first != second
    assert first % fuzzing.STEP == second % fuzzing.STEP == 0
    assert fuzzing.seed_of_commit("") == 0


def test_the_seed_is_for_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fuzzing.SEED_VARIABLE, "")
    seed = fuzzing.first_seed()
    assert os.environ[fuzzing.SEED_VARIABLE] == str(seed)
    monkeypatch.setenv(fuzzing.SEED_VARIABLE, "7")
    assert fuzzing.first_seed() == 7


@pytest.mark.parametrize(
    ("is_nightly", "share", "expected"),
    [(False, 0, 10), (True, 0, 40), (False, 0.1, 100), (False, 0.001, 1), (True, 0.001, 40)],
)
def test_how_many_examples_there_are(
    is_nightly: bool, share: float, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzzing, "IS_NIGHTLY", is_nightly)
    monkeypatch.setattr(fuzzing, "FUZZ_FRACTION", share)
    assert fuzzing.examples(10, nightly=40, fuzzed=1000) == expected


FAILING = """
import pytest
from support.fuzzing import seeds

@seeds(2, nightly=4, fuzzed=8, batch=1)
def test_random(seeds):
    assert seeds.start != 41

@pytest.mark.sampled(1)
@seeds(3, nightly=4, fuzzed=8, batch=1)
def test_batches(seeds):
    pass

@pytest.mark.nightly
def test_slow():
    pass

def test_other():
    pass

@pytest.mark.long
def test_long():
    pass

@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", range(9))
def test_cases(case):
    pass
"""
ROTATING = """
import pytest

pytestmark = pytest.mark.rotating(3)

@pytest.mark.parametrize("turn", range(90))
def test_turns(turn):
    pass
"""
ROTATING_BY_FILE = ROTATING.replace("(3)", "(3, by_file=True)").replace("_turns", "_files")


def run_pytest(folder: Path, *arguments: str, **variables: str) -> str:
    """What pytest prints for some tests that have our configuration."""
    tests = Path(__file__).parents[1]
    (folder / "conftest.py").write_text((tests / "conftest.py").read_text())
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  nightly: n\n  sampled: s\n  long: l\n  rotating: r\n"
    )
    (folder / "test_some.py").write_text(FAILING)
    (folder / "test_turns.py").write_text(ROTATING)
    (folder / "test_files.py").write_text(ROTATING_BY_FILE)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("RISE_")
    }
    environment |= {"PYTHONPATH": os.pathsep.join((str(tests), *sys.path)), **variables}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.rotating(3)
def test_a_failure_is_shown_with_the_way_to_repeat_it(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, RISE_FUZZ_SEED="40")
    assert "the first seed of random tests: 40" in printed
    command = "RISE_FUZZ_SEED=40 .venv/bin/pytest -n 0 'test_some.py::test_random[41-41]'"
    assert command in printed.splitlines()
    assert "test_slow" not in printed
    assert printed.index("test_long") < printed.index("test_other")


@pytest.mark.rotating(5)
def test_nightly_tests_run_by_night(tmp_path: Path) -> None:
    printed = run_pytest(tmp_path, RISE_FUZZ_SEED="40", RISE_NIGHTLY="1")
    assert "test_slow PASSED" in printed
    assert "test_random[43-43] PASSED" in printed
    assert "RISE_NIGHTLY=1 RISE_FUZZ_SEED=40 .venv/bin/pytest" in printed


def sampled_cases(printed: str) -> set[str]:
    return set(re.findall(r"test_cases\[(\d)\] PASSED", printed))


@pytest.mark.rotating(3)
def test_the_seed_samples_the_cases_of_a_test(tmp_path: Path) -> None:
    samples = [
        sampled_cases(run_pytest(tmp_path, RISE_FUZZ_SEED=str(seed))) for seed in (40, 40, 50, 60)
    ]
    assert [len(each) for each in samples] == [2, 2, 2, 2]
    assert samples[0] == samples[1]
    assert len({*map(frozenset, samples)}) > 1
    assert len(sampled_cases(run_pytest(tmp_path, RISE_NIGHTLY="1"))) == 9
    assert sampled_cases(run_pytest(tmp_path, "-k", "test_cases")) == set("012345678")
    assert sampled_cases(run_pytest(tmp_path, "test_some.py::test_cases")) == set("012345678")


@pytest.mark.rotating(5)
def test_the_seed_chooses_the_rotating_tests(tmp_path: Path) -> None:
    runs = [run_pytest(tmp_path, RISE_FUZZ_SEED=str(seed)) for seed in (40, 41, 43)]
    turns = [{*re.findall(r"test_turns\[(\d+)\] PASSED", printed)} for printed in runs]
    assert all(15 < len(each) < 45 for each in turns)
    assert len({*map(frozenset, turns)}) == len(turns)
    assert {printed.count("test_files[") for printed in runs} == {0, 90}
    assert run_pytest(tmp_path, "test_turns.py").count("test_turns[") == 90
    assert run_pytest(tmp_path, RISE_NIGHTLY="1").count("test_turns[") == 90


@pytest.mark.rotating(3)
def test_a_fuzz_runs_all_batches(tmp_path: Path) -> None:
    counts = [
        len(re.findall(r"test_batches\[\S+ PASSED", run_pytest(tmp_path, **variables)))
        for variables in ({"RISE_FUZZ_SEED": "40"}, {"RISE_FUZZ": "1"})
    ]
    assert counts == [1, 8]


MAKEFILE = "good:\n\t@echo all is well\nbad:\n\t@echo this is wrong; exit 3\nlast:\n\t@echo ran\n"


def test_checks_that_fail_are_shown_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    monkeypatch.chdir(tmp_path)
    assert run_checks.main(["good"]) == 0
    assert run_checks.main(["good", "bad", "then", "last"]) == 1
    lines = [line.partition(" (")[0].strip() for line in capfd.readouterr().out.splitlines()]
    assert lines[-3:] == ["passed make good", "FAILED make bad", "passed make last"]
    assert lines.index("== make bad") < lines.index("this is wrong") < len(lines) - 3
    assert "ran" in lines
