"""Requests of several threads, computed together in batches.

Each request passes one row of every argument, without the first dimension, and gets its row of the
results. A thread of its own takes the first request, waits for others up to a delay, or until the
batch is full, and calls the model once for all of them. If that call fails, each request is
computed alone, so that only those at fault get the error.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Condition, Thread
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from riselang.support.counts import format_count
from riselang.support.errors import UserError

if TYPE_CHECKING:
    from concurrent.futures import Future

Array = np.ndarray[Any, np.dtype[Any]]
DEFAULT_DELAY = 0.002
"""Seconds that a request waits for others."""
DEFAULT_MAXIMUM = 8
"""The number of rows of a batch of a model whose first dimension is dynamic."""


@dataclass(frozen=True)
class Row:
    """What a request passes for one argument."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]
    """None stands for any length."""

    def check(self, value: Any) -> Array:
        """Return an argument of a request as an array."""
        array = np.asarray(value)
        if array.dtype != self.dtype and not (
            np.ndim(value) == 0 and np.can_cast(array.dtype, self.dtype, "same_kind")
        ):
            raise UserError(
                f"argument {self.name} of a request: expected dtype {self.dtype}, "
                f"but found {array.dtype}"
            )
        fits = len(array.shape) == len(self.shape) and all(
            wanted in (None, found) for wanted, found in zip(self.shape, array.shape, strict=True)
        )
        if not fits:
            shape = tuple("any" if each is None else each for each in self.shape)
            raise UserError(
                f"argument {self.name} of a request: expected a row of the shape {shape}, which "
                f"lacks the first dimension of the model's argument, but found {array.shape}"
            )
        return array.astype(self.dtype, copy=True)


@dataclass(frozen=True, eq=False)
class _Request:
    arguments: Sequence[Array]
    future: Future[Any]
    arrival: float = field(default_factory=monotonic)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(each.shape for each in self.arguments)


class BatchedModel:
    """A model that computes the requests of several threads together.

    `batched(row)` waits for the results of a request; `batched.submit(row)` returns a
    `concurrent.futures.Future`. Both may be called by any thread. `close`, or the end of a `with`
    statement, computes what is waiting, and refuses later requests.
    """

    def __init__(
        self, model: Callable[..., Any], rows: Sequence[Row], sizes: Sequence[int], delay: float
    ):
        """`sizes` are the batches that the model takes, in increasing order."""
        self.rows = tuple(rows)
        self.sizes = tuple(sizes)
        self.delay = delay
        self._model = model
        self._changed = Condition()
        self._waiting: deque[_Request] = deque()
        self._is_closed = False
        self._thread: Thread | None = None
        self._process = os.getpid()

    @property
    def maximum(self) -> int:
        """The largest number of requests that are computed together."""
        return self.sizes[-1]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Compute the results of one request."""
        return self.submit(*arguments, **named).result()

    def submit(self, *arguments: Any, **named: Any) -> Future[Any]:
        """Return the future results of one request, whose arguments are checked and copied now."""
        from concurrent.futures import Future

        request = _Request(self._check(arguments, named), Future())
        if os.getpid() != self._process:
            raise UserError("the process was forked; make a batched model in the child, too")
        with self._changed:
            if self._is_closed:
                raise UserError("the batched model is closed")
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="riselang batches", daemon=True)
                self._thread.start()
            self._waiting.append(request)
            self._changed.notify_all()
        return request.future

    def _check(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        names = [each.name for each in self.rows]
        given = dict(zip(names, arguments, strict=False))
        for name in named:
            if name not in names or name in given:
                reason = "is passed twice" if name in names else "is not an argument"
                raise UserError(f"{name} {reason} of a request, which has: {', '.join(names)}")
        given |= named
        if len(arguments) > len(names) or len(given) < len(names):
            raise UserError(
                f"a request has {format_count(len(names), 'argument')} ({', '.join(names)}), "
                f"but got {len(arguments) + len(named)}"
            )
        return [each.check(given[each.name]) for each in self.rows]

    def close(self) -> None:
        """Compute the requests that are waiting, and refuse later ones."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and os.getpid() == self._process:
            thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # The thread that calls the model.

    def _serve(self) -> None:
        while batch := self._next_batch():
            running = [each for each in batch if each.future.set_running_or_notify_cancel()]
            if running:
                self._answer(running)

    def _next_batch(self) -> list[_Request]:
        """Wait for requests whose rows have the same shapes; return none when it is closed."""
        with self._changed:
            while not self._waiting and not self._is_closed:
                self._changed.wait()
            if not self._waiting:
                return []
            shapes, end = self._waiting[0].shapes, self._waiting[0].arrival + self.delay
            while not self._is_closed and len(self._fitting(shapes)) < self.maximum:
                rest = end - monotonic()
                if rest <= 0:
                    break
                self._changed.wait(rest)
            batch = self._fitting(shapes)[: self.maximum]
            taken = set(map(id, batch))
            self._waiting = deque(each for each in self._waiting if id(each) not in taken)
            return batch

    def _fitting(self, shapes: tuple[tuple[int, ...], ...]) -> list[_Request]:
        return [each for each in self._waiting if each.shapes == shapes]

    def _answer(self, batch: Sequence[_Request]) -> None:
        try:
            results = self._rows_of_results(batch)
        except BaseException as error:
            if len(batch) > 1:
                for each in batch:
                    self._answer([each])
            else:
                batch[0].future.set_exception(error)
            return
        for each, result in zip(batch, results, strict=True):
            each.future.set_result(result)

    def _rows_of_results(self, batch: Sequence[_Request]) -> list[Any]:
        """Call the model once; the rows of a batch that is not full are those of its last one."""
        size = next(each for each in self.sizes if each >= len(batch))
        padded = [*batch, *[batch[-1]] * (size - len(batch))]
        columns = zip(*(each.arguments for each in padded), strict=True)
        found = self._model(*map(np.stack, columns))
        results: tuple[Any, ...] = found if isinstance(found, tuple) else (found,)
        for each in results:
            if np.shape(each)[:1] != (size,):
                raise UserError(
                    f"a batch of {size} rows has a result of the shape {np.shape(each)}, which has "
                    "no row for each of them; each result needs the dimension of the batch first"
                )
        rows = [tuple(np.array(each[k]) for each in results) for k in range(len(batch))]
        return rows if isinstance(found, tuple) else [row for (row,) in rows]


Shape = Sequence[int | None]


def make_batched(
    model: Callable[..., Any],
    arguments: Mapping[str, tuple[np.dtype[Any], Shape]],
    maximum: int | None,
    delay: float,
) -> BatchedModel:
    """Return a batched model, given the dtypes and the shapes of the arguments of a model, in which
    None is a dynamic dimension."""
    if not arguments:
        raise UserError("the model has no arguments, so there is nothing to batch")
    if delay < 0 or (maximum is not None and maximum < 1):
        raise UserError(f"expected maximum >= 1 and delay >= 0, but found {maximum} and {delay}")
    lengths = {tuple(shape[:1]) for _, shape in arguments.values()}
    if len(lengths) > 1 or () in lengths:
        shapes = ", ".join(f"{name} {tuple(shape)}" for name, (_, shape) in arguments.items())
        raise UserError(
            "the first dimension of all arguments must be the batch, of the same length, but the "
            f"shapes are {shapes}; bind the arguments that are the same for all requests"
        )
    ((length,),) = lengths
    rows = [Row(name, dtype, tuple(shape[1:])) for name, (dtype, shape) in arguments.items()]
    if length is not None:
        if maximum not in (None, length):
            raise UserError(f"the model takes batches of {length}, not of {maximum}")
        return BatchedModel(model, rows, [length], delay)
    return BatchedModel(model, rows, _sizes(maximum or DEFAULT_MAXIMUM), delay)


def _sizes(maximum: int) -> list[int]:
    """Powers of two, and the maximum: a model is compiled for each."""
    sizes = [1]
    while sizes[-1] < maximum:
        sizes.append(min(2 * sizes[-1], maximum))
    return sizes
