"""Calls in worker processes: what comes back, and what happens when a worker dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.workers import subprocess_worker
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated

pytestmark = pytest.mark.rotating(4)


@pytest.fixture(autouse=True)
def no_other_workers() -> None:
    subprocess_worker._end_workers()


def test_a_worker_answers_and_is_kept() -> None:
    first = call_isolated(os.getpid)
    assert first != os.getpid()
    assert call_isolated(os.getpid) == first


def test_a_death_is_an_error_and_the_next_call_gets_another_worker() -> None:
    first = call_isolated(os.getpid)
    with pytest.raises(WorkerDied, match="SIGABRT"):
        call_isolated(os.abort)
    assert call_isolated(os.getpid) != first
    with pytest.raises(WorkerDied, match="exit code 3"):
        call_isolated(os._exit, 3)


def test_a_worker_that_ends_its_first_call_well_did_not_expire() -> None:
    with pytest.raises(WorkerDied, match="exit code 0"):
        call_isolated(os._exit, 0)


def test_what_a_worker_writes_before_it_dies_is_told() -> None:
    code = "import os\nos.write(2, b'noise\\nLLVM ERROR: no such type\\n')\nos.abort()"
    with pytest.raises(WorkerDied, match="SIGABRT: LLVM ERROR: no such type"):
        call_isolated(exec, code)
    # What a call before wrote is not.
    call_isolated(exec, "import os\nos.write(2, b'LLVM ERROR: before')")
    with pytest.raises(WorkerDied, match=r"^SIGABRT$"):
        call_isolated(os.abort)


def test_what_is_printed_is_no_answer() -> None:
    assert call_isolated(exec, "import os\nprint('x', flush=True)\nos.write(1, b'y')") is None


def test_a_worker_that_was_killed_meanwhile_is_replaced() -> None:
    first = call_isolated(os.getpid)
    os.kill(first, signal.SIGKILL)
    time.sleep(0.2)
    assert call_isolated(os.getpid) != first


@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_worker_that_is_not_called_ends_and_is_replaced(
    is_noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call_isolated(os.getpid)
    call_isolated(exec, "import __main__\n__main__.IDLE_TIMEOUT = 0.05")
    subprocess_worker._idle_workers[0]._process.wait(60)
    if not is_noticed:
        monkeypatch.setattr(subprocess_worker._Worker, "is_alive", True)
    assert call_isolated(os.getpid) != first


def test_errors_of_a_worker_are_raised() -> None:
    with pytest.raises(rl.InternalError, match="ValueError: invalid literal"):
        call_isolated(int, "x")
    with pytest.raises(rl.LimitationError, match="nested too deeply"):
        call_isolated(exec, "def f(): f()\nf()", {})


def test_a_worker_sees_the_modules_that_we_see(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_isolated(os.getpid)
    (tmp_path / "only_here.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    assert call_isolated(exec, "import only_here") is None


def test_arrays_of_one_element_again_and_again_stay_small() -> None:
    splat = np.broadcast_to(np.float32(1.5), (1000, 1000, 1000))
    back = call_isolated(np.asarray, splat)
    assert back.shape == splat.shape
    assert not any(back.strides)
    assert back[1, 2, 3] == np.float32(1.5)


def test_a_process_that_ends_leaves_nothing_open() -> None:
    code = (
        "import os\n"
        "from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated\n"
        "try: call_isolated(os.abort)\n"
        "except WorkerDied: pass\n"
        "call_isolated(os.getpid)\n"
    )
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_calls_in_threads_have_workers_of_their_own() -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda number: call_isolated(abs, -number), range(12)))
    assert found == list(range(12))


def test_a_process_that_forks_shares_no_worker() -> None:
    code = (
        "import os\n"
        "from riselang.native.workers.subprocess_worker import call_isolated\n"
        "first = call_isolated(os.getpid)\n"
        "child = os.fork()\n"
        "other = call_isolated(os.getpid)\n"
        "if not child: os._exit(int(other == first))\n"
        "status = os.waitpid(child, 0)[1]\n"
        "assert other == first and status == 0, (other, first, status)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("depth", [200, 20_000])
def test_a_module_that_mlir_dies_of_is_rejected(depth: int) -> None:
    text = (
        "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
        + '"a.b"() ({\n' * depth
        + "}) : () -> ()\n" * depth
        + "return %x : tensor<f32>\n}\n"
    )
    with pytest.raises(rl.LimitationError, match=r"MLIR crashed while reading <text> \(SIGSEGV\)"):
        rl.from_stablehlo(text)
