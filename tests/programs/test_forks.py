"""Processes that are forked while a thread compiles: they compile and run kernels themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.rotating(6),
]

COMMON = """
import multiprocessing, os, sys, threading, time
import numpy as np
import riselang as rl

x = np.arange(64, dtype=np.float32)
LIMIT = 60.0

def scaled(factor):
    @rl.jit
    def kernel(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * factor + 1.0)
    return kernel

def check(kernel, factor):
    assert np.array_equal(kernel(x), x * np.float32(factor) + 1), factor

latest, stop = [], []

def compile_on():
    number = 0
    while not stop:
        number += 1
        latest[:] = [(scaled(float(number)), number)]
        check(*latest[0])

def child(number):
    for kernel, factor in latest:
        check(kernel, factor)
    check(scaled(1000.5 + number), 1000.5 + number)

def forked(work, *arguments):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(*arguments)
            code = 0
        finally:
            os._exit(code)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            assert status == 0, status
            return
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    sys.exit("a child hangs")

thread = threading.Thread(target=compile_on, daemon=True)
thread.start()
"""
LOOP = """
for number, delay in enumerate([{delays}]):
    time.sleep(delay)
    forked(child, number)
stop.append(1)
thread.join()
print("right")
"""
POOL = """
time.sleep(0.1)
context = multiprocessing.get_context("fork")
with context.Pool(2) as pool:
    pool.map_async(child, range(4)).get(LIMIT)
stop.append(1)
thread.join()
print("right")
"""
THREADS = """
@rl.jit
def parallel(x: rl.Array["N", rl.f32]):
    return x | rl.map_par(lambda a: a * 2.0)

def child_with_threads(number):
    assert np.array_equal(parallel(x), 2 * x)
    @rl.jit
    def other(x: rl.Array["N", rl.f32]):
        return x | rl.map_par(lambda a: a * 3.0 + number)
    assert np.array_equal(other(x), 3 * x + number)

assert np.array_equal(parallel(x), 2 * x)
for number in range(2):
    forked(child_with_threads, float(number))
stop.append(1)
thread.join()
print("right")
"""


def run(script: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ, "RISE_CACHE": "1", "RISE_CACHE_DIR": str(folder), **settings,
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "right\n"
    return done


@pytest.mark.parametrize("delays", ["0, 0.05, 0.1", "0.2, 0.3, 0.02, 0.03, 0.5"])
def test_forks_while_a_thread_compiles(tmp_path: Path, delays: str) -> None:
    """The first of them while the compiler is imported."""
    run(COMMON + LOOP.format(delays=delays), tmp_path)


def test_forks_while_a_thread_compiles_and_logs(tmp_path: Path) -> None:
    done = run(COMMON + LOOP.format(delays="0.1, 0.2"), tmp_path, RISE_LOG_COMPILES="1")
    assert "compiled kernel" in done.stderr


def test_a_pool_of_processes_that_is_started_while_a_thread_compiles(tmp_path: Path) -> None:
    run(COMMON + POOL, tmp_path)


def test_kernels_on_threads_in_forked_processes(tmp_path: Path) -> None:
    run(COMMON + THREADS, tmp_path, RISE_NUM_THREADS="2")
