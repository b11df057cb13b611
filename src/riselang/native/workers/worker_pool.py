"""Compiles many jobs in parallel, on several cores.

MLIR and LLVM are called under locks, so threads would wait for each other; the jobs are distributed
over processes, including the current one. If a worker fails or cannot be started, the others do
its jobs.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from riselang.native.compile_job import Job
from riselang.native.workers import compile_worker
from riselang.native.workers.compile_worker import LENGTH
from riselang.support.forking import after_fork_in_child

MIN_FUNCTIONS_FOR_WORKERS = 16
"""A module with fewer functions is compiled faster than a worker starts."""


class _Queue:
    """Pending jobs, and the machine code of finished ones."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[int, Job]] = deque()
        self.machine_code: dict[int, bytes] = {}
        self.is_complete = False
        self.condition = threading.Condition()

    def add(self, number: int, job: Job) -> None:
        with self.condition:
            self.waiting.append((number, job))
            self.condition.notify()

    def close(self) -> None:
        with self.condition:
            self.is_complete = True
            self.condition.notify_all()

    def abandon(self) -> None:
        with self.condition:
            self.waiting.clear()
            self.is_complete = True
            self.condition.notify_all()

    def take(self) -> tuple[int, Job] | None:
        """Take the next job; None if there are no more."""
        with self.condition:
            while not self.waiting and not self.is_complete:
                self.condition.wait()
            return self.waiting.popleft() if self.waiting else None

    def put_back(self, number: int, job: Job) -> None:
        with self.condition:
            self.waiting.append((number, job))


def compile_jobs(jobs: Iterable[Job], processes: int) -> list[bytes]:
    """Compile jobs in `processes` processes, including this one; return the code in order."""
    queue = _Queue()
    threads = [threading.Thread(target=_feed_worker, args=(queue,)) for _ in range(processes - 1)]
    for thread in threads:
        thread.start()
    count = 0
    try:
        for job in jobs:
            queue.add(count, job)
            count += 1
        queue.close()
        _compile_here(queue)
    except BaseException:
        queue.abandon()
        raise
    finally:
        for thread in threads:
            thread.join()
    # Jobs that failed in a worker are compiled here, which raises their errors.
    _compile_here(queue)
    return [queue.machine_code[number] for number in range(count)]


def _compile_here(queue: _Queue) -> None:
    while (numbered_job := queue.take()) is not None:
        number, job = numbered_job
        queue.machine_code[number] = job.object_code()


_idle_workers: list[subprocess.Popen[bytes]] = []
"""Workers that were started and have no jobs yet."""
_parent_workers: list[subprocess.Popen[bytes]] = []
"""Workers of the process that this one was forked from, which this one does not use."""


@after_fork_in_child
def _abandon_inherited_workers() -> None:
    for process in _idle_workers:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                os.close(pipe.fileno())
    _parent_workers.extend(_idle_workers)
    _idle_workers.clear()


def start_workers(count: int) -> None:
    """Start workers for jobs that will come soon; a worker without jobs exits after a while."""
    while len(_idle_workers) < count and (process := _start_worker()) is not None:
        _idle_workers.append(process)


def _start_worker() -> subprocess.Popen[bytes] | None:
    command = [sys.executable, str(Path(compile_worker.__file__))]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None


def _feed_worker(queue: _Queue) -> None:
    """Pass jobs to one worker process."""
    try:
        process = _idle_workers.pop()
    except IndexError:
        process = _start_worker()
    if process is None:
        return
    try:
        while (numbered_job := queue.take()) is not None:
            code = _compile_in_worker(process, numbered_job[1])
            if code is None:
                queue.put_back(*numbered_job)
                return
            queue.machine_code[numbered_job[0]] = code
    finally:
        # The process may be gone already, with unflushed data.
        process.kill()
        with contextlib.suppress(OSError):
            process.communicate()


def _compile_in_worker(process: subprocess.Popen[bytes], job: Job) -> bytes | None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(job.to_json().encode() + b"\n")
        process.stdin.flush()
        head = process.stdout.read(LENGTH.size)
        length = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else -1
        code = process.stdout.read(length) if length >= 0 else None
    except OSError:
        return None
    return code if code is not None and len(code) == length else None
