"""What compiles and measures elsewhere: executors, Dask clients and Ray."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from riselang.support.errors import UserError
from riselang.tuning.measurement import Outcome

SubmitCall = Callable[..., Future[Any]]


@dataclass(frozen=True)
class Workers:
    """Workers that run calls of Python functions, and how many of them there are now."""

    submit: SubmitCall
    count: Callable[[], int]


def connect(executor: Any) -> Workers:
    """Return the workers of an executor of `concurrent.futures`, of a Dask client or of Ray."""
    if isinstance(executor, ModuleType) and executor.__name__ == "ray":
        return _connect_to_ray(executor)
    if hasattr(executor, "get_executor"):
        # The same strategy may be measured twice.
        dask_executor = executor.get_executor(pure=False)
        return Workers(dask_executor.submit, lambda: sum(executor.nthreads().values()))
    if not hasattr(executor, "submit"):
        raise UserError(
            "executor must be an executor of concurrent.futures, a distributed.Client or the "
            f"module ray, but is {type(executor).__name__}"
        )
    count = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    return Workers(executor.submit, lambda: count)


def _connect_to_ray(ray: Any) -> Workers:
    if not ray.is_initialized():
        raise UserError("Ray is not connected: call ray.init() before rl.tune(executor=ray)")

    def submit(function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        # A task whose worker is lost runs again on another one.
        return ray.remote(max_retries=-1)(function).remote(*arguments).future()

    return Workers(submit, lambda: int(ray.cluster_resources().get("CPU", 0)))


def outcome_of(call: Future[Any]) -> Outcome:
    """Return the outcome of a strategy; a call that a cluster has lost has failed."""
    try:
        outcome: Outcome = call.result()
    except BrokenExecutor as error:
        raise UserError(
            f"the executor has lost its processes ({error}); tune again with a new one: the trials "
            "so far are stored"
        ) from None
    except (Exception, CancelledError) as error:
        return Outcome("failed", reason=f"{type(error).__name__}: {error}")
    return outcome
