"""`rise doctor`: what it says of this machine, and of everything that can be wrong with one."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from riselang.support import config
from riselang.support.cores import available_cores
from riselang.tools import doctor, doctor_checks, rise, self_test
from riselang.tools.doctor_findings import Finding, State

pytestmark = pytest.mark.rotating(6)


def run(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = 0
    try:
        rise.main(["doctor"])
    except SystemExit as exit:
        code = int(exit.code or 0)
    return code, capsys.readouterr().out


def test_no_problems_are_found_here(capsys: pytest.CaptureFixture[str]) -> None:
    code, output = run(capsys)
    assert code == 0, output
    names = re.findall(r"^(?:ok|note) +([\w ]+?)(?:  |$)", output, re.MULTILINE)
    for name in ("riselang", "Python", "numpy", "xdsl", "MLIR", "llvmlite", "LLVM", "CPU",
                 "features", "threads", "NumPy BLAS", "RISE_NUM_THREADS", "RISE_FLOAT",
                 *self_test.BACK_ENDS):  # fmt: skip
        assert name in names, output
    assert output.endswith("no problems found\n")


@pytest.fixture
def no_self_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "run_self_tests", list)


@pytest.mark.usefixtures("no_self_test")
def test_what_is_broken_is_named_with_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "many")
    monkeypatch.setenv("RISE_FLAOT", "strict")
    code, output = run(capsys)
    assert code == 1
    assert "RISE_NUM_THREADS must be a natural number, but is 'many'" in output
    assert "-> unset RISE_NUM_THREADS, or set it to a valid value" in output
    assert (
        "RISE_FLAOT          no setting has this name\n        -> did you mean RISE_FLOAT?"
        in output
    )
    assert output.endswith("broken: threads, RISE_NUM_THREADS\n")


@pytest.mark.usefixtures("no_self_test")
def test_a_check_that_fails_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged() -> Iterator[Finding]:
        raise ImportError("libLLVM.so: no such file")

    monkeypatch.setattr(doctor_checks, "CHECKS", (damaged, doctor_checks.packages))
    code, output = run(capsys)
    assert code == 1
    assert output.startswith("broken  damaged             ImportError: libLLVM.so: no such file\n")
    assert "ok      Python " in output


def by_name(found: Iterator[Finding]) -> dict[str, Finding]:
    return {finding.name: finding for finding in found}


def test_packages_that_are_missing_or_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"xdsl": "0.1.0", "llvmlite": "0.50.0"}
    monkeypatch.setattr(doctor_checks, "package_version", found.get)
    monkeypatch.setattr(
        doctor_checks.metadata, "requires", lambda _: ["xdsl==0.74.0", "numpy>=2,<3"]
    )
    packages = by_name(doctor_checks.packages())
    assert packages["xdsl"].detail == "xdsl is 0.1.0, but 0.74.0 is needed"
    assert packages["MLIR"].detail == "torch-mlir is not installed"
    assert packages["MLIR"].advice.startswith("install riselang again")
    assert packages["llvmlite"].state is State.OK


def test_more_threads_than_cores_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "1000")
    (finding,) = doctor_checks.threads()
    assert finding.state is State.NOTE
    cores = available_cores()
    assert finding.detail == f"1000 on {cores} core{'s' * (cores != 1)}: more threads than cores"


def test_settings_have_a_value_and_an_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in config.SETTINGS:
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.setenv("RISE_FLOAT", "relaxed")
    found = by_name(doctor_checks.settings())
    assert set(found) >= {setting.variable for setting in config.SETTINGS}
    assert found["RISE_FLOAT"].detail.startswith("relaxed, from the environment: ")
    assert found["RISE_NUM_THREADS"].detail.startswith("0, from the default: ")


BROKEN_TESTS = """
import os, signal, sys, time
from riselang.tools import self_test

def wrong(): raise ValueError("2 is\\nnot 3")
def crash(): os.kill(os.getpid(), signal.SIGSEGV)
def leave(): print("[chatter", file=sys.stderr); print("chatter"); os._exit(3)

self_test.BACK_ENDS = {"wrong": wrong, "crash": crash, "fine": int, "leave": leave, "last": int}
self_test.main(sys.argv[1:])
"""


def test_back_ends_that_fail_crash_and_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(BROKEN_TESTS)
    monkeypatch.setattr(doctor, "SELF_TEST", [sys.executable, str(broken)])
    names = ("wrong", "crash", "fine", "leave", "last")
    monkeypatch.setattr(self_test, "BACK_ENDS", dict.fromkeys(names, int))
    found = by_name(iter(doctor.run_self_tests()))
    assert tuple(found) == names
    assert found["wrong"].detail == "ValueError: 2 is not 3"
    assert signal.SIGSEGV.name in found["crash"].detail
    assert found["leave"].detail == "the process ended with exit code 3: [chatter"
    assert found["fine"].state is found["last"].state is State.OK
    assert all(found[name].advice for name in ("wrong", "crash", "leave"))


def test_a_back_end_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import time\ntime.sleep(60)")
    monkeypatch.setattr(doctor, "SELF_TEST", [sys.executable, str(hanging)])
    monkeypatch.setattr(doctor, "TIMEOUT", 0.2)
    monkeypatch.setattr(self_test, "BACK_ENDS", {"slow": int})
    (finding,) = doctor.run_self_tests()
    assert finding.state is State.BROKEN
    assert "the timeout of 0 s" in finding.detail


def test_the_self_test_takes_less_than_five_seconds_of_work() -> None:
    before = os.times()
    doctor.run_self_tests()
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    assert spent < 5
