"""Ctrl-C at several moments: one line, exit code 130, and nothing that is broken or left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import tomllib
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rise_commands
import riselang as rl
from riselang.tools import exits
from riselang.tools.exits import run_tool

pytestmark = pytest.mark.rotating(3)

READY = "ready"
KERNEL = f"""
import riselang as rl

@rl.jit
def kernel(x: rl.Array[64, rl.f32]):
    for _ in range(1500):
        x = x | rl.map(lambda a: a * 2.0 + 1.0) | rl.slide(3, 1) | rl.map(rl.reduce(rl.add, 0.0)) \\
            | rl.pad(1, 1)
    return x

print("{READY}", flush=True)
"""
LONG = f"""
import riselang as rl

@rl.jit(strategy="none")
def kernel(x: rl.Array[4, rl.f32]):
    for _ in range(6000):
        x = x | rl.reverse | rl.map(lambda a: a + 1.0)
    return x

print("{READY}", flush=True)
"""
SLOW = f"""
import riselang as rl

@rl.jit(strategy="none")
def kernel(x: rl.Array[64, rl.f32]):
    return x | rl.iterate_seq(40_000_000, lambda y: y | rl.map(lambda a: a * 0.5 + 0.25))

print("{READY}", flush=True)
"""
DOT = "def dot = fun((x : 8.f32, y : 8.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))\n"
MOMENTS = {
    "compile": (["compile", "kernel.py", "-o", "kernel.o"], READY, 0.5),
    "show": (["show", "kernel.py", "--as", "asm"], READY, 1.0),
    "derive": (["derive", "long.py", "--strategy", "simplify()", "--save", "steps.json"],
               READY, 0.3),
    "bench": (["bench", "slow.py", "--json", "figures.json"], READY, 0.6),
    "explore": (["explore", "long.py", "--strategy", "simplify()", "-o", "page.html"], READY, 0.3),
    "serve": (["explore", "dot.rise", "--serve", "--port", "0"], "Ctrl-C ends it", 0.1),
    "serving": (["explore", "dot.rise", "--serve", "--port", "0"], "made in", 0.1),
}  # fmt: skip
"""What runs, what it says before it is interrupted, and how many seconds later that is."""


@pytest.mark.rotating(5)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.sampled(1)
def test_nothing_is_left_of_what_is_interrupted(moment: str, tmp_path: Path) -> None:
    arguments, sign, later = MOMENTS[moment]
    folder, cache, temporary = (tmp_path / name for name in ("work", "cache", "tmp"))
    for each in (folder, cache, temporary):
        each.mkdir()
    files = {"kernel.py": KERNEL, "long.py": LONG, "slow.py": SLOW, "dot.rise": DOT}
    for name, text in files.items():
        (folder / name).write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "riselang.tools.rise", *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(cache),
             "TMPDIR": str(temporary), "RISE_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
             "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=mind_interrupts,
    )  # fmt: skip
    try:
        wait_for(process, sign)
        time.sleep(later)
        assert process.poll() is None, "it was over before it was interrupted"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert errors == "interrupted\n"
    assert process.returncode == 130
    assert sorted(each.name for each in folder.iterdir()) == sorted(files)
    assert list(temporary.iterdir()) == []
    assert [each.name for each in cache.rglob("*") if each.suffix == ".partial"] == []


def mind_interrupts() -> None:
    """Whoever runs the tests in the background ignores Ctrl-C, which is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(process: subprocess.Popen[str], sign: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if sign in line:
            return
    assert process.stderr is not None
    raise AssertionError(f"it never said {sign!r}: {process.stderr.read()}")


LOADING = """
import builtins, os, signal, sys
import rise_commands

found = builtins.__import__

def interrupted(name, *others, **named):
    if name.startswith("riselang.tools"):
        os.kill(os.getpid(), signal.SIGINT)
    return found(name, *others, **named)

builtins.__import__ = interrupted
sys.argv = ["rise", "--version"]
getattr(rise_commands, COMMAND)()
"""


@pytest.mark.parametrize("command", ["rise", "rise_cc", "rise_opt"])
def test_nothing_is_said_of_what_is_being_loaded(command: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADING.replace("COMMAND", repr(command))],
        capture_output=True, text=True, check=False, preexec_fn=mind_interrupts,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "interrupted\n")


def test_the_commands_are_started_that_way() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    scripts = project["project"]["scripts"]
    names = {"rise": "rise", "rise-cc": "rise_cc", "rise-opt": "rise_opt"}
    assert scripts == {name: f"rise_commands:{function}" for name, function in names.items()}
    assert all(callable(getattr(rise_commands, function)) for function in names.values())


def test_an_interruption_that_python_drops_is_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """It is dropped in the callback of a weak reference, as interned terms have them."""
    hook = sys.unraisablehook
    moments: list[str] = []

    class Referred:
        pass

    def interrupt_here(_: object) -> None:
        moments.append("callback")
        signal.raise_signal(signal.SIGINT)

    def act() -> None:
        value = Referred()
        reference = weakref.ref(value, interrupt_here)
        del value
        assert reference() is None
        time.sleep(10)
        moments.append("not interrupted")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit, match="130"):
            run_tool(act)
    finally:
        signal.signal(signal.SIGINT, before)
        exits._exit_code.clear()  # or this process ends with it
    assert moments == ["callback"]
    assert sys.unraisablehook is hook
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("delay", [0.002, 0.01, 0.03, 0.06, 0.1])
def test_a_kernel_that_was_interrupted_works_at_the_next_call(delay: float) -> None:
    """Wherever the compiler was, nothing that it keeps is half made."""

    @rl.jit(strategy="tile(4, 4) @ outermost('map', nest=2)")
    def product(a: rl.Array["N", "N", rl.f32], b: rl.Array["N", "N", rl.f32]):
        return a | rl.map(
            lambda row: (
                b
                | rl.transpose
                | rl.map(
                    lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)
                )
            )
        )

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    a = np.arange(64, dtype=np.float32).reshape(8, 8)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        # Where it is quicker than that, it is right at once.
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, delay)
            product(a, a)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert np.array_equal(product(a, a), a @ a)


@pytest.mark.parametrize("moment", ["write", "fsync", "replace"])
def test_the_cache_has_whole_entries_or_none(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from riselang.runtime.cache import KernelCache

    cache = KernelCache(tmp_path, 1 << 20)
    assert cache.write("known", b"before")
    kept: Callable[..., object] = getattr(os, moment)

    def interrupt(*arguments: object) -> object:
        monkeypatch.setattr(os, moment, kept)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, moment, interrupt)
    if moment == "write":
        monkeypatch.undo()
        monkeypatch.setattr("riselang.runtime.cache.os.fdopen", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.write("known", b"after")
    monkeypatch.undo()
    assert cache.read("known") == b"before"
    assert [each.name for each in tmp_path.iterdir()] == ["known.kernel"]
