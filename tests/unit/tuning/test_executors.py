"""Searches whose strategies are compiled and measured elsewhere: pools, Dask clusters and Ray."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
import riselang.strategy as st
from riselang.support.errors import UserError
from riselang.tuning import executors
from riselang.tuning.measurement import Outcome, Task
from riselang.tuning.runner import Request, Runner

SCALE = "fun((x : 64.f32), x |> map(fun(a, a * 2.0)))"
SIZES = (2, 4, 8, 16, 32)
SPLIT = st.split(st.param("size", SIZES)) @ st.outermost("map")
TASK = Task(SCALE, (("float", "contract"), ("loops", "affine")), (), ())


def tune(executor: Any, folder: Path, trials: int = len(SIZES)) -> Any:
    program: Any = rl.loads(SCALE, name="scale.rise", strategy="default")
    return rl.tune(
        program.main, np.ones(64, np.float32), space=SPLIT, search="grid", budget=trials,
        executor=executor, db=folder / "tuning.sqlite",
    )  # fmt: skip


def requests(count: int) -> Iterator[Request]:
    for number in range(count):
        yield Request({"size": number}, str(number), None)


class Instead:
    """An executor whose calls are answered by a function of the strategy."""

    def __init__(self, answer: Callable[[str], Any], workers: int = 2):
        self.answer, self._max_workers = answer, workers
        self.pool = ThreadPoolExecutor(workers)
        self.strategies: list[str] = []

    def submit(self, function: Any, task: Task, strategy: str, *rest: Any) -> Future[Any]:
        self.strategies.append(strategy)
        return self.pool.submit(self.answer, strategy)


def test_a_worker_that_is_free_gets_the_next_strategy() -> None:
    first_may_finish = threading.Event()

    def answer(strategy: str) -> Outcome:
        if strategy == "0":
            assert first_may_finish.wait(60)
        return Outcome("measured", 1.0)

    runner = Runner(TASK, 60.0, Instead(answer))
    finished: list[str] = []
    for request, outcome in runner.run(requests(5)):
        assert outcome.status == "measured"
        finished.append(request.strategy)
        if len(finished) == 4:
            first_may_finish.set()
    assert sorted(finished[:4]) == ["1", "2", "3", "4"]
    assert finished[4] == "0"


def test_no_more_strategies_run_than_there_are_workers() -> None:
    running, most, lock = 0, 0, threading.Lock()

    def answer(strategy: str) -> Outcome:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        return Outcome("measured", 1.0)

    executor = Instead(answer, workers=3)
    assert len(list(Runner(TASK, 60.0, executor).run(requests(10)))) == 10
    assert most <= 3
    assert len(executor.strategies) == 10


def test_a_call_that_is_lost_has_failed_and_the_search_goes_on() -> None:
    def answer(strategy: str) -> Outcome:
        if strategy == "1":
            raise RuntimeError("the worker is gone")
        return Outcome("measured", 1.0)

    outcomes = {
        each.strategy: outcome
        for each, outcome in Runner(TASK, 60.0, Instead(answer)).run(requests(4))
    }
    assert [outcomes[str(number)].status for number in range(4)] == [
        "measured",
        "failed",
        "measured",
        "measured",
    ]
    assert outcomes["1"].reason == "RuntimeError: the worker is gone"


def test_an_executor_without_processes_ends_the_search() -> None:
    def answer(strategy: str) -> Outcome:
        raise BrokenExecutor("a process was killed")

    with pytest.raises(UserError, match=r"has lost its processes .*killed.*are stored"):
        list(Runner(TASK, 60.0, Instead(answer)).run(requests(4)))


def test_a_cluster_without_workers_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(*arguments: Any) -> Future[Any]:
        raise AssertionError("there is no worker")

    monkeypatch.setattr(
        "riselang.tuning.runner.connect", lambda _: executors.Workers(submit, lambda: 0)
    )
    with pytest.raises(UserError, match=r"has had no worker for .* are stored"):
        list(Runner(TASK, 0.5, object()).run(requests(4)))


def test_what_is_no_executor() -> None:
    with pytest.raises(UserError, match=r"executor must be .* but is int"):
        executors.connect(3)


@pytest.mark.nightly
def test_a_pool_of_threads(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as executor:
        result = tune(executor, tmp_path)
    assert [trial.status for trial in result.trials] == ["measured"] * len(SIZES)


# Dask


@contextmanager
def local_cluster(workers: int) -> Generator[tuple[Any, Any]]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        yield cluster, client


@pytest.mark.rotating(8)
def test_a_local_cluster(tmp_path: Path) -> None:
    with local_cluster(2) as (_, client):
        result = tune(client, tmp_path)
    assert {trial.choices["size"]: trial.status for trial in result.trials} == dict.fromkeys(
        SIZES, "measured"
    )


@pytest.mark.nightly
def test_workers_may_be_killed_at_any_time(tmp_path: Path) -> None:
    """20 kills; each lost call runs again on another worker."""
    source, ended = random.Random(0), threading.Event()
    kills = 0

    def kill(client: Any) -> None:
        nonlocal kills
        while kills < 20 and not ended.wait(source.uniform(0.5, 2.0)):
            pids = list(client.run(os.getpid, on_error="ignore").values())
            if len(pids) > 1:
                os.kill(source.choice(pids), signal.SIGKILL)
                kills += 1

    dask: Any = pytest.importorskip("dask")

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1000}),
        local_cluster(3) as (cluster, client),
    ):
        killer = threading.Thread(target=kill, args=[client])
        killer.start()
        try:
            rounds = 0
            while kills < 20:
                rounds += 1
                cluster.scale(3)  # Dask gives up workers that end while they start.
                (tmp_path / str(rounds)).mkdir()
                result = tune(client, tmp_path / str(rounds))
                assert [trial.status for trial in result.trials] == ["measured"] * len(SIZES)
        finally:
            ended.set()
            killer.join()


@pytest.mark.nightly
def test_a_scheduler_with_workers_on_tcp(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    options = ["--scheduler-file", str(file), "--no-dashboard"]
    scheduler = ["-m", "distributed.cli.dask_scheduler", "--port", "0", *options]
    worker = ["-m", "distributed.cli.dask_worker", "--nthreads", "1", *options]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    processes = [
        subprocess.Popen([sys.executable, *each], **quiet) for each in (scheduler, worker, worker)
    ]
    try:
        while not file.exists():
            time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2, timeout=60)
            result = tune(client, tmp_path)
        assert len(result.trials) == len(SIZES)
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait()


# Ray


@pytest.mark.nightly
def test_ray(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    with pytest.raises(UserError, match=r"call ray\.init"):
        tune(ray, tmp_path)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        result = tune(ray, tmp_path)
    finally:
        ray.shutdown()
    assert [trial.status for trial in result.trials] == ["measured"] * len(SIZES)
