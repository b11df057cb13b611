"""One cache for many processes and threads, whatever happens to them and to it."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.lowered import Lowered
from riselang.compiler.caching import term_key
from riselang.runtime.code_cache import find_cached
from support.fuzzing import examples

pytestmark = pytest.mark.rotating(6)

PROCESSES = examples(6, nightly=12, fuzzed=64)
DAMAGED = 1000
COMPILED_AGAIN = examples(4, nightly=8, fuzzed=200)
THREADS, CALLS = 32, 1000

PROGRAM = """
import sys, numpy as np, riselang as rl
from riselang.native.llvm import codegen as llvm
optimised, optimise = [], llvm._optimize_module
llvm._optimize_module = lambda *arguments: optimised.append(1) or optimise(*arguments)
x = np.arange(1000, dtype=np.float32)
for factor in map(float, sys.argv[1:]):
    @rl.jit
    def scaled(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * factor + 1.0)
    assert np.array_equal(scaled(x), x * np.float32(factor) + 1), factor
print("right", "torch_mlir" in sys.modules, len(optimised))
"""


def start(folder: Path, *factors: int, **options: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", PROGRAM, *map(str, factors)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        **options,
    )  # fmt: skip


def answer(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output.strip()


def test_a_second_process_needs_neither_mlir_nor_the_optimiser(tmp_path: Path) -> None:
    assert answer(start(tmp_path, 2)) == "right True 1"
    assert answer(start(tmp_path, 2)) == "right False 0"
    assert answer(start(tmp_path, 2, 3)) == "right True 1"


@pytest.mark.rotating(8)
def test_processes_that_are_killed(tmp_path: Path) -> None:
    """Some run to their end, others are killed at any time; nobody sees a half of an entry."""
    rng = random.Random(0)
    waiting = [rng.sample(range(8), 4) for _ in range(PROCESSES)]
    running: list[tuple[subprocess.Popen[str], float]] = []
    finished = 0
    while waiting or running:
        while waiting and len(running) < 4:
            killed_after = rng.uniform(0.3, 2.5) if rng.random() < 0.6 else 300.0
            process = start(tmp_path, *waiting.pop())
            running.append((process, time.monotonic() + killed_after))
        for process, deadline in list(running):
            if process.poll() is not None:
                finished += answer(process).startswith("right")
            elif time.monotonic() > deadline:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            else:
                continue
            running.remove((process, deadline))
        time.sleep(0.01)
    assert finished > 0
    assert answer(start(tmp_path, *range(8))).startswith("right")


def test_a_full_disk(tmp_path: Path) -> None:
    """Nothing can be written, though the folder can."""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))  # noqa: E731
    assert answer(start(tmp_path, 2, preexec_fn=limit)) == "right True 1"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = Path("/proc/riselang") if os.geteuid() == 0 else tmp_path / "closed"
    if os.geteuid() != 0:
        folder.mkdir(mode=0o500)
    assert answer(start(folder, 2)) == "right True 1"


def _cut(data: bytearray, rng: random.Random) -> bytearray:
    return data[: rng.randrange(len(data))]


def _flipped(data: bytearray, rng: random.Random) -> bytearray:
    for _ in range(rng.randrange(1, 9)):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def _replaced(data: bytearray, rng: random.Random) -> bytearray:
    return bytearray(rng.randbytes(len(data)))


def _moved(data: bytearray, rng: random.Random) -> bytearray:
    start, end = sorted(rng.sample(range(len(data)), 2))
    return data[:start] + data[end:] + data[start:end]


DAMAGES: tuple[Callable[[bytearray, random.Random], bytearray], ...] = (
    _cut, _flipped, _replaced, _moved,
)  # fmt: skip


def test_damaged_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))

    @rl.jit
    def scaled(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a * 3.0 + 1.0)

    x = np.arange(100, dtype=np.float32)
    lowered = scaled.lower(x)
    lowered.compile()
    key = term_key(lowered.source, lowered.name, lowered.results, lowered.options)
    (entry,) = tmp_path.glob("*.kernel")
    whole = entry.read_bytes()
    rng = random.Random(1)
    for number in range(DAMAGED):
        damaged = DAMAGES[number % len(DAMAGES)](bytearray(whole), rng)
        entry.write_bytes(damaged)
        if bytes(damaged) != whole:
            assert find_cached(key, "scaled", {}) is None
        if number % (DAMAGED // COMPILED_AGAIN) == 0:
            again = Lowered("scaled", lowered.source, 1, lowered.options)
            assert np.array_equal(again.compile()(x), x * 3 + 1)
            assert find_cached(key, "scaled", {}) is not None


def test_threads_that_compile_and_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each compiles a kernel of its own and one of all, and calls both."""
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))

    @rl.jit
    def shared(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a + 1.0)

    wrong: list[object] = []

    def work(number: int) -> None:
        @rl.jit
        def own(x: rl.Array["N", rl.f32]) -> Any:
            return x | rl.map(lambda a: a * float(number % 8) + 1.0)

        x = np.arange(50 + number % 3, dtype=np.float32)
        try:
            for _ in range(CALLS // 2):
                if not np.array_equal(own(x), x * (number % 8) + 1):
                    wrong.append(number)
                if not np.array_equal(shared(x), x + 1):
                    wrong.append("shared")
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
        assert not thread.is_alive()
    assert wrong == []
