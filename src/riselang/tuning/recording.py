"""Record a space: measure each of its choices once, so that searches can be replayed on the times.

First, many worker processes compile strategies, check their results and keep the programs. When
all of them are idle, the workers measure one after the other: every strategy alternately with the
fastest one that people wrote, so that the ratio of both does not depend on the clock frequency.

The choices with the same value of one parameter form a *slab*. One slab is recorded after the
other, and those that time does not suffice for are left out: what is recorded has all combinations
of its values, so that a search on it finds all neighbors of each choice.
"""

from __future__ import annotations

import ast
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from random import Random
from statistics import median
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

MAX_CHOICES = 100_000
"""The maximum number of combinations of values of a space."""
MEASURE_SHARE = 0.9
"""The share of the time for a space after which the fastest strategies are measured again."""
HAND_TIMES, EXTRA_SECONDS = 10, 0.02
"""About how long a measurement takes: some times as long as the hand strategy, and some more. When
the time left is needed to measure the strategies that are compiled, no more are compiled."""
CONFIRMED, CONFIRMED_RATIO = 30, 1.1
"""At most so many of the strategies that take at most so many times as long as the hand strategy
are measured again: one disturbed measurement must not become the optimum of the space."""
DISTURBED_RATIO, ATTEMPTS = 1.2, 4
"""If the hand strategy takes so many times as long as usual, something has disturbed the
measurement, which is repeated, with at most so many attempts; but not for strategies that take
twice as long as the hand strategy."""
LIMIT = 15.0
"""The maximum number of seconds to compile or to measure one strategy."""
HAND_LIMIT = 60.0
"""The same for those that people wrote, without which nothing is recorded."""
LONG = Pace(rounds=11, summarize=median)
GRACE = 2.0
"""The seconds after the end for strategies that have started."""


class Recorder:
    """Worker processes, each on a CPU of its own if there are enough; `close` ends them."""

    def __init__(self, jobs: int):
        cpus = separate_cpus()
        places = cpus[-jobs:] if jobs <= len(cpus) else [None] * jobs
        self._workers = [Worker(cpu) for cpu in places]

    def record(
        self,
        task: Task,
        space: Space,
        start: Choices,
        hands: Sequence[str],
        seconds: float,
        outer: str = "",
    ) -> RecordedSpace:
        """Measure the choices of a space for some seconds.

        The strategies `hands` are those that people wrote; the fastest is measured with each
        choice. Those with the same value of the parameter `outer` form a slab.
        """
        began = time.monotonic()
        start = {name: start[name] for name in space.parameters}
        outer = outer or next(iter(space.parameters))
        keys = [space.key(each) for each in choices_by_slab(space, start, outer)]
        hand, hand_seconds = self._fastest_hand(task, hands)
        prepared = self._prepare_all(
            task, {key: str(space.strategy_for(space.choices(key))) for key in keys}, hand,
            HAND_TIMES * hand_seconds + EXTRA_SECONDS, began + MEASURE_SHARE * seconds,
        )  # fmt: skip
        ready = {key: each for key, each in prepared.items() if isinstance(each, _Ready)}
        prepare_seconds = time.monotonic() - began
        # Strategies with the same effect have the same time, so that their order is not random.
        distinct = {each.program: key for key, each in reversed(ready.items())}
        programs = {key: ready[key] for key in ready if distinct[ready[key].program] == key}
        measured = _time_all(task, programs, hand, BRIEF, began + MEASURE_SHARE * seconds)
        finalists = {key: ready[key] for key in _fastest(measured)}
        measured |= _time_all(task, finalists, hand, LONG, began + seconds)
        for worker in self._workers:
            worker.run("forget", task, limit=LIMIT)
        outcomes = {key: each for key, each in prepared.items() if isinstance(each, Outcome)}
        outcomes |= {
            key: measured[same]
            for key, each in ready.items()
            if (same := distinct[each.program]) in measured
        }
        hand_times = [each.incumbent_seconds for each in measured.values()]
        facts = {
            "program": task.program, "options": dict(task.options), "hand": hand,
            "machine": str(this_machine()), "version": __version__, "choices": len(keys),
            "prepared": len(prepared), "programs": len(programs),
            "prepare_seconds": round(prepare_seconds, 1),
            "seconds": round(time.monotonic() - began, 1),
        }  # fmt: skip
        entries = {key: _entry(outcomes[key]) for key in keys if key in outcomes}
        space, entries = whole_slabs(space, start, outer, keys, entries)
        start = {name: start[name] for name in space.parameters}
        hand_seconds = median([each for each in hand_times if each] or [math.inf])
        return RecordedSpace(str(space.strategy), entries, hand_seconds, start, facts)

    def _fastest_hand(self, task: Task, hands: Sequence[str]) -> tuple[str, float]:
        """Return the fastest of the strategies that people wrote, and its seconds."""
        worker, fastest, fastest_seconds = self._workers[0], "", math.inf
        reasons: list[str] = []
        for hand in hands:
            outcome = worker.run("prepare", task, hand, limit=HAND_LIMIT)
            if outcome.status == "compiled":
                outcome = worker.run("time", task, hand, fastest or None, LONG, limit=HAND_LIMIT)
            reasons.append(f"{hand}: {outcome.reason}")
            seconds, least = outcome.seconds, outcome.incumbent_seconds
            if seconds is not None and (least is None or seconds < least):
                fastest, fastest_seconds = hand, seconds
        if not fastest:
            raise UserError(f"no strategy to compare with can be measured; {'; '.join(reasons)}")
        return fastest, fastest_seconds

    def _prepare_all(
        self, task: Task, texts: Mapping[Key, str], hand: str, measure_seconds: float, end: float
    ) -> dict[Key, Outcome | _Ready]:
        """Compile and check strategies in all workers, as many as can be measured until the end if
        each takes `measure_seconds`."""
        waiting = SimpleQueue[Key]()
        for key in texts:
            waiting.put(key)
        outcomes: dict[Key, Outcome | _Ready] = {}
        programs: set[str] = set()

        def work(worker: Worker) -> None:
            worker.run("prepare", task, hand, limit=LIMIT)
            while (left := end - time.monotonic() - measure_seconds * len(programs)) > 0:
                try:
                    key = waiting.get_nowait()
                except Empty:
                    return
                outcome = worker.run("prepare", task, texts[key], limit=min(LIMIT, left + GRACE))
                if outcome.status == "compiled":
                    outcomes[key] = _Ready(worker, texts[key], outcome.program)
                    programs.add(outcome.program)
                elif outcome.status != "timeout" or left + GRACE >= LIMIT:
                    outcomes[key] = outcome

        with ThreadPoolExecutor(len(self._workers)) as pool:
            list(pool.map(work, self._workers))
        return outcomes

    def close(self) -> None:
        for worker in self._workers:
            worker.close()


@dataclass(frozen=True)
class _Ready:
    """A strategy that a worker has prepared."""

    worker: Worker
    strategy: str
    program: str
    """The key of the compiled program."""


def _time_all(
    task: Task, ready: Mapping[Key, _Ready], hand: str, pace: Pace, end: float
) -> dict[Key, Outcome]:
    """Measure strategies one after the other until the end."""
    outcomes: dict[Key, Outcome] = {}
    hand_times: list[float] = []
    for key, each in ready.items():
        for _ in range(ATTEMPTS):
            if time.monotonic() >= end:
                return outcomes
            outcome = each.worker.run("time", task, each.strategy, hand, pace, limit=LIMIT)
            outcomes[key] = outcome
            if outcome.incumbent_seconds is None:
                break
            hand_times.append(outcome.incumbent_seconds)
            usual = median(hand_times)
            is_slow = (outcome.seconds or 0.0) > BRIEF.hopeless_at_once * usual
            if is_slow or outcome.incumbent_seconds <= DISTURBED_RATIO * usual:
                break
    return outcomes


def choices_by_slab(space: Space, start: Choices, outer: str) -> list[Choices]:
    """Return the choices that a space permits, slab by slab, each in random order; the start is the
    first one."""
    if space.size > MAX_CHOICES:
        raise UserError(
            f"a space with {space.size} combinations of values cannot be recorded; keep fewer "
            "values of its parameters"
        )
    keys = itertools.product(*space.parameters.values())
    choices = [each for each in map(space.choices, keys) if space.permits(each)]
    Random(0).shuffle(choices)
    values = space.parameters[outer]
    first = values.index(start[outer])
    return sorted(
        choices,
        key=lambda each: (abs(values.index(each[outer]) - first), str(each[outer]), each != start),
    )


def whole_slabs(
    space: Space, start: Choices, outer: str, keys: Sequence[Key], entries: Mapping[Key, Entry]
) -> tuple[Space, dict[Key, Entry]]:
    """Return the space of the slabs with entries for all choices, and these entries; or all entries
    if no slab is complete."""
    missing = {space.choices(key)[outer] for key in keys if key not in entries}
    whole = [value for value in space.parameters[outer] if value not in missing]
    if not missing or start[outer] not in whole:
        return space, dict(entries)
    kept: dict[str, Kept] = {name: len(values) for name, values in space.parameters.items()}
    part = part_of_space(space, start, {**kept, outer: whole})
    chosen = {key: space.choices(key) for key in entries}
    return part, {
        part.key(chosen[key]): entry
        for key, entry in entries.items()
        if chosen[key][outer] in whole
    }


def _fastest(outcomes: Mapping[Key, Outcome]) -> list[Key]:
    """Return the choices that take the least time relative to the hand strategy."""
    ratios = {
        key: each.seconds / each.incumbent_seconds
        for key, each in outcomes.items()
        if each.seconds is not None and each.incumbent_seconds
    }
    fast = [key for key, ratio in ratios.items() if ratio <= CONFIRMED_RATIO]
    return sorted(fast, key=ratios.__getitem__)[:CONFIRMED]


def _entry(outcome: Outcome) -> Entry:
    if outcome.seconds is None or outcome.incumbent_seconds is None:
        return f"{outcome.status}: {outcome.reason}"
    return outcome.seconds, outcome.incumbent_seconds


Kept = int | Sequence[Choice]
"""How many values of a parameter to keep, around the start, or which."""


def part_of_space(space: Space, start: Choices, kept: Mapping[str, Kept]) -> Space:
    """Return a space with fewer values; parameters that `kept` does not name have the start's."""
    opened = _Narrower(start, kept).visit(ast.parse(escape_keywords(str(space.strategy))))
    return Space(OpenStrategy(ast.unparse(opened)), space.where)


class _Narrower(ast.NodeTransformer):
    def __init__(self, start: Mapping[str, Choice], kept: Mapping[str, Kept]):
        self.start, self.kept = start, kept

    def visit_Call(self, node: ast.Call) -> Any:
        if not is_parameter(node):
            return self.generic_visit(node)
        name, values = read_parameter(node)
        kept = _kept_values(values, self.start[name], self.kept.get(name, 1))
        if len(kept) == 1:
            return ast.Constant(kept[0])
        return ast.parse(f"param({name!r}, {kept})", mode="eval").body


def _kept_values(values: Sequence[Choice], start: Choice, kept: Kept) -> list[Choice]:
    if not isinstance(kept, int):
        return [each for each in values if each == start or each in kept]
    first = max(0, min(values.index(start) - kept // 2, len(values) - kept))
    return list(values[first : first + kept])
