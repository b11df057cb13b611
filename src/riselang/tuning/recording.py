"""Record a space: measure each of its choices once, so that searches can be replayed on the times.

Strategies are compiled in many worker processes. When that is done, some workers measure, each on a
core of its own: every strategy alternately with the fastest one that people wrote, so that the
ratio of both does not depend on what the other cores do.
"""

from __future__ import annotations

import ast
import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from random import Random
from typing import Any

from riselang.rewrite.parameters import (
    Choice,
    OpenStrategy,
    escape_keywords,
    is_parameter,
    read_parameter,
)
from riselang.support.cores import separate_cpus
from riselang.support.errors import UserError
from riselang.support.machine import this_machine
from riselang.tuning.measurement import BRIEF, Outcome, Pace, Task
from riselang.tuning.replay import Entry, Key, RecordedSpace
from riselang.tuning.spaces import Choices, Space
from riselang.tuning.worker import Worker
from riselang.version import __version__

MAX_CHOICES = 20_000
"""The maximum number of choices of a space, of which as many are measured as there is time for."""
COMPILE_SHARE = 0.6
"""The share of the time for a space in which strategies are compiled; then they are measured."""
LIMIT = 15.0
"""The maximum number of seconds to compile or to measure one strategy."""
HAND_PACE = Pace(is_alone=False)
GRACE = 2.0
"""The seconds after the end for strategies that have started."""


class Recorder:
    """Worker processes that compile, and others that measure; `close` ends them."""

    def __init__(self, jobs: int):
        self._compilers = [Worker() for _ in range(jobs)]
        self._measurers = [Worker(cpu) for cpu in separate_cpus()[::-1]] or [Worker()]

    def record(
        self,
        task: Task,
        space: Space,
        start: Choices,
        hands: Sequence[str],
        seconds: float,
        together: int = 1,
    ) -> RecordedSpace:
        """Measure the choices of a space for some seconds, `together` at a time.

        The strategies `hands` are those that people wrote; the fastest is measured with each
        choice. If there are too many choices for the time, those measured are a random sample.
        """
        began = time.monotonic()
        start = {name: start[name] for name in space.parameters}
        keys = [space.key(each) for each in _choices_of(space, start)]
        measurers = self._measurers[:together]
        shapes = task.without_values()
        hand, hand_seconds = self._fastest_hand(task, hands, measurers[0])

        def compile_key(worker: Worker, key: Key, limit: float) -> Outcome:
            return worker.run("compile", shapes, text(key), limit=limit)

        def measure_key(worker: Worker, key: Key, limit: float) -> Outcome:
            return worker.run("measure", task, text(key), hand, BRIEF, limit=limit)

        def text(key: Key) -> str:
            return str(space.strategy_for(space.choices(key)))

        outcomes = _run_all(self._compilers, keys, began + COMPILE_SHARE * seconds, compile_key)
        compiled = [key for key in keys if key in outcomes and outcomes[key].status == "compiled"]
        measured = _run_all(measurers, compiled, began + seconds, measure_key)
        for key in compiled:
            outcomes.pop(key)
        outcomes |= measured
        facts = {
            "program": task.program, "options": dict(task.options), "hand": hand,
            "machine": str(this_machine()), "version": __version__, "choices": len(keys),
            "seconds": round(time.monotonic() - began, 1),
        }  # fmt: skip
        entries = {key: _entry(outcomes[key]) for key in keys if key in outcomes}
        return RecordedSpace(str(space.strategy), entries, hand_seconds, start, facts)

    def _fastest_hand(self, task: Task, hands: Sequence[str], worker: Worker) -> tuple[str, float]:
        """Return the fastest of the strategies that people wrote, and its seconds."""
        fastest, least = "", math.inf
        for hand in hands:
            rival = fastest or None
            outcome = worker.run("evaluate", task, hand, rival, HAND_PACE, limit=LIMIT)
            if outcome.seconds is None:
                continue
            if outcome.incumbent_seconds is None or outcome.seconds < outcome.incumbent_seconds:
                fastest, least = hand, outcome.seconds
        if not fastest:
            raise UserError(f"none of the strategies {', '.join(hands)} can be measured")
        return fastest, least

    def close(self) -> None:
        for worker in (*self._compilers, *self._measurers):
            worker.close()


def _choices_of(space: Space, start: Choices) -> list[Choices]:
    """Return the start, and the other choices that a space permits, in random order."""
    names, random = tuple(space.parameters), Random(0)
    if space.size <= MAX_CHOICES:
        keys: Iterable[Key] = itertools.product(*space.parameters.values())
    else:
        keys = {
            tuple(random.choice(values) for values in space.parameters.values())
            for _ in range(MAX_CHOICES)
        }
    others = [dict(zip(names, key, strict=True)) for key in sorted(keys, key=str)]
    others = [each for each in others if space.permits(each) and each != start]
    random.shuffle(others)
    return [start, *others]


Run = Callable[[Worker, Key, float], Outcome]


def _run_all(
    workers: Sequence[Worker], keys: Sequence[Key], end: float, run: Run
) -> dict[Key, Outcome]:
    """Run all choices in workers until the end; those that have not finished have no outcome."""
    waiting = SimpleQueue[Key]()
    for key in keys:
        waiting.put(key)
    outcomes: dict[Key, Outcome] = {}

    def work(worker: Worker) -> None:
        while (left := end - time.monotonic()) > 0:
            try:
                key = waiting.get_nowait()
            except Empty:
                return
            outcome = run(worker, key, min(LIMIT, left + GRACE))
            if outcome.status != "timeout" or left + GRACE >= LIMIT:
                outcomes[key] = outcome

    with ThreadPoolExecutor(len(workers)) as pool:
        list(pool.map(work, workers))
    return outcomes


def _entry(outcome: Outcome) -> Entry:
    if outcome.seconds is None or outcome.incumbent_seconds is None:
        return f"{outcome.status}: {outcome.reason}"
    return outcome.seconds, outcome.incumbent_seconds


def part_of_space(space: Space, start: Choices, counts: Mapping[str, int]) -> Space:
    """Return a space with fewer values: `counts` of each parameter, around the start.

    Parameters that `counts` does not name have the value of the start.
    """
    opened = _Narrower(start, counts).visit(ast.parse(escape_keywords(str(space.strategy))))
    return Space(OpenStrategy(ast.unparse(opened)), space.where)


class _Narrower(ast.NodeTransformer):
    def __init__(self, start: Mapping[str, Choice], counts: Mapping[str, int]):
        self.start, self.counts = start, counts

    def visit_Call(self, node: ast.Call) -> Any:
        if not is_parameter(node):
            return self.generic_visit(node)
        name, values = read_parameter(node)
        count = self.counts.get(name, 1)
        if count == 1:
            return ast.Constant(self.start[name])
        position = values.index(self.start[name])
        first = max(0, min(position - count // 2, len(values) - count))
        kept = list(values[first : first + count])
        return ast.parse(f"param({name!r}, {kept})", mode="eval").body
