"""Worker processes that compile and measure strategies.

Generated code may crash, and some strategies take very long to compile. A worker that crashes or
exceeds its time limit is replaced, and the next strategy runs in a new one.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from riselang.native.workers.messages import receive, send
from riselang.tuning.measurement import (
    Outcome,
    Pace,
    Task,
    compile_strategy,
    evaluate_strategy,
    forget_prepared,
    measure_peak,
    measure_strategy,
    prepare_strategy,
    time_strategy,
)

FUNCTIONS: dict[str, Callable[..., Outcome]] = {
    "compile": compile_strategy,
    "measure": measure_strategy,
    "prepare": prepare_strategy,
    "time": time_strategy,
    "forget": forget_prepared,
    "peak": measure_peak,
    "evaluate": evaluate_strategy,
}


class Worker:
    """A process that executes calls one after the other; `close` ends it.

    With a CPU, it runs only on that one, so that the system does not move it."""

    def __init__(self, cpu: int | None = None) -> None:
        self._cpu = cpu
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._sent: Task | None = None
        """The task that the process has: its arrays are sent only once."""

    def run(self, function: str, task: Task, *arguments: Any, limit: float) -> Outcome:
        """Call one of `FUNCTIONS`; the process is killed if it needs more than `limit` seconds."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                send(process.stdin, (function, None if task is self._sent else task, arguments))
                self._sent = task
                if not select.select([process.stdout], [], [], limit)[0]:
                    self.close()
                    return Outcome("timeout", reason=f"it took more than {limit:g} s")
                return receive(process.stdout)
            except (EOFError, OSError):
                code = process.wait()
                self.close()
                how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                return Outcome("failed", reason=f"the process ended with {how}")
            except BaseException:
                self.close()
                raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            environment = {**os.environ, "RISE_PROGRESS": "0"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "riselang.tuning.worker"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, env=environment,
            )  # fmt: skip
            self._sent = None
            if self._cpu is not None and hasattr(os, "sched_setaffinity"):
                os.sched_setaffinity(self._process.pid, {self._cpu})
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def evaluate_in_worker(
    task: Task,
    strategy: str,
    incumbent: str | None,
    pace: Pace,
    most_operations: float,
    limit: float,
) -> Outcome:
    """Compile and measure a strategy in the worker of this thread; executors call this."""
    if not hasattr(_threads, "worker"):
        _threads.worker = Worker()
    worker: Worker = _threads.worker
    arguments = (task, strategy, incumbent, pace, most_operations)
    return worker.run("evaluate", *arguments, limit=limit)


_threads = threading.local()


def main() -> None:
    # Ctrl-C is handled by the parent process, which then ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints must not print into the answers
    task: Task | None = None
    while True:
        try:
            function, new_task, arguments = receive(sys.stdin.buffer)
        except EOFError:
            return
        task = task if new_task is None else new_task
        try:
            answer = FUNCTIONS[function](task, *arguments)
        except Exception as error:  # a bug in the compiler must not end the search
            answer = Outcome("failed", reason=f"{type(error).__name__}: {error}")
        try:
            send(answers, answer)
        except BrokenPipeError:  # the process that asked was killed
            return


if __name__ == "__main__":
    main()
