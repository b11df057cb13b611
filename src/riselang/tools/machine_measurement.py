"""`rise doctor --measure`: measure the machine, for strategies and cost models to use.

Every measurement is a RISE program on one thread. Cycles are measured with a chain of operations
of one cycle each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from riselang.api.entry import loads
from riselang.support.benchmarking import time_interleaved
from riselang.support.machine import (
    Measurement,
    assume_machine,
    cpu_identity,
    reported_cache_sizes,
    this_machine,
)
from riselang.support.progress import progress
from riselang.tuning.peaks import memory_bandwidth, operations_per_second

CHAIN_PROGRAM = "fun((x : u64), x |> iterateSeq({repeats}, fun(v, bitxor(v, v >> 1))))"
"""Two dependent operations of one cycle in each iteration."""
CHAIN_REPEATS = 1_000_000
CHASE_PROGRAM = """fun((next : {length}.idx[{length}], start : idx[{length}]),
  start |> iterateSeq({repeats}, fun(i, next |> at(i))))"""
"""Each load needs the result of the previous one, so the time is the latency of loads."""
CHASE_REPEATS = 50_000
LINE_BYTES = 64
INDEX_BYTES = 8
SMALLEST_BYTES, LARGEST_BYTES = 8 << 10, 64 << 20
LATENCY_FACTORS = {1: 1.5, 2: 3.0, 3: 2.0}
"""By level, how many times its latency loads may take that a cache still holds: translations of
addresses, and other programs in a shared cache, make loads slower before it is full."""
STENCIL_PROGRAM = """fun((x : (N + 2).(N + 2).f32),
  x |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose) |> map(map(fun(w,
    w |> join |> reduce(add, 0.0)))))"""
STENCIL_LENGTH = 4096
"""The number of rows and columns of the grid that stencils are measured on: 64 MiB."""
GATHER_PROGRAM = """fun((x : {rows}.17.f32),
  x |> mapSeq(fun(row, (row |> at(clampIdx(17, 3))) * (row |> at(clampIdx(17, 11))))))"""
"""The products of two columns, which LLVM gathers."""
GATHER_ROWS = 1 << 10
WARM_UP_CALLS = 4
REPETITIONS = 15


@dataclass(frozen=True)
class MachineFigures:
    """The measured properties of a core, in units that are shown."""

    clock: float
    """Cycles per second."""
    operations: float
    """Operations on `f32` per second."""
    bandwidth: float
    """Bytes of memory read and written per second."""
    nontemporal_speedup: float
    """The time of a stencil divided by its time with nontemporal stores."""
    gather_speedup: float
    """The time of loads of single elements divided by that of gathers."""
    caches: Mapping[int, int]
    """Bytes by level; levels that the measurement did not find are missing."""


def measure_machine(repetitions: int = REPETITIONS) -> MachineFigures:
    """Measure a core; other programs that run at the same time make the results worse."""
    sizes = _chase_sizes()
    with progress("measuring this machine", len(sizes) + 5) as steps:
        clock = _measure_clock(repetitions)
        steps.advance()
        operations = operations_per_second(repetitions, CHAIN_REPEATS // 4)
        steps.advance()
        bandwidth = memory_bandwidth(repetitions, threads=1)
        steps.advance()
        speedup = _measure_nontemporal_speedup(repetitions)
        steps.advance()
        gather_speedup = _measure_gather_speedup(repetitions)
        steps.advance()
        latencies: list[float] = []
        for size in sizes:
            latencies.append(_measure_latency(size, repetitions))
            steps.advance()
    caches = find_cache_sizes(sizes, latencies)
    return MachineFigures(clock, operations, bandwidth, speedup, gather_speedup, caches)


def as_measurement(figures: MachineFigures) -> Measurement:
    """Convert figures to what strategies use.

    A cache has the size that the system reports if the measured size is within a factor of two:
    latencies show where a cache ends, but not exactly.
    """
    reported = reported_cache_sizes()
    caches = {
        level: reported[level] if _is_near(reported.get(level, 0), size) else size
        for level, size in figures.caches.items()
    }
    vector_operations = 2 * this_machine().lanes(4) * figures.clock
    return Measurement(
        cpu_identity(),
        tuple(sorted(caches.items())),
        round(figures.operations / vector_operations, 2),
        round(figures.bandwidth / figures.clock, 2),
        round(figures.nontemporal_speedup, 2),
        round(figures.gather_speedup, 2),
    )


def find_cache_sizes(sizes: Sequence[int], latencies: Sequence[float]) -> dict[int, int]:
    """Return the cache sizes by level, from the latencies of loads in arrays of some sizes.

    A level begins where the previous one ends, and its latency is the smallest one there. It ends
    at the last array whose loads take at most `LATENCY_FACTORS` times that. Memory is the last
    level, which has no end.
    """
    caches: dict[int, int] = {}
    first = 0
    for level, factor in LATENCY_FACTORS.items():
        if first >= len(sizes):
            break
        limit = factor * min(latencies[first : first + 2])
        last = first
        while last + 1 < len(sizes) and latencies[last + 1] <= limit:
            last += 1
        if last + 1 == len(sizes):
            break
        caches[level] = sizes[last]
        # The next array is partly in this cache, so its loads have the latencies of both levels.
        first = last + 2
    return caches


def _is_near(reported: int, measured: int) -> bool:
    return reported / 2 <= measured <= reported * 2


def _chase_sizes() -> list[int]:
    """Sizes of arrays in bytes, two in each power of two."""
    sizes: list[int] = []
    size = SMALLEST_BYTES
    while size <= LARGEST_BYTES:
        sizes += [size, size * 3 // 2]
        size *= 2
    return sizes


def _measure_clock(repetitions: int) -> float:
    program = _load_program(CHAIN_PROGRAM.format(repeats=CHAIN_REPEATS))
    seconds = _least_seconds(lambda: program.main(np.uint64(0x9E3779B97F4A7C15)), repetitions)
    return 2 * CHAIN_REPEATS / seconds


def _measure_latency(bytes: int, repetitions: int) -> float:
    """Measure the seconds of a load in an array of some bytes, of which each line is read."""
    lines, step = bytes // LINE_BYTES, LINE_BYTES // INDEX_BYTES
    order = np.random.default_rng(0).permutation(lines) * step
    following = np.zeros(lines * step, np.int64)
    following[order] = np.roll(order, -1)
    program = _load_program(CHASE_PROGRAM.format(length=following.size, repeats=CHASE_REPEATS))
    position: Any = 0

    def call() -> None:
        nonlocal position
        # Continue where the last call ended, so that a large array is read in full.
        position = program.main(following, position)

    for _ in range(min(WARM_UP_CALLS, 1 + lines // CHASE_REPEATS)):
        call()
    return _least_seconds(call, repetitions) / CHASE_REPEATS


def _measure_nontemporal_speedup(repetitions: int) -> float:
    """Measure a stencil as it is scheduled for machines with and without fast nontemporal stores,
    whose results the caches are assumed not to hold."""
    x = np.ones((STENCIL_LENGTH + 2,) * 2, np.float32)
    calls: list[tuple[Callable[[], object], int]] = []
    for speedup in (0.5, 2.0):
        machine = replace(
            this_machine(), nontemporal_speedup=speedup, cores=1, caches=((1, 0), (2, 0), (3, 0))
        )
        out = np.empty((STENCIL_LENGTH,) * 2, np.float32)
        with assume_machine(machine):
            program: Any = loads(STENCIL_PROGRAM, name="measure.rise")
            compiled = program.main.lower(x).compile()
        calls.append((partial(compiled, x, out=out), 1))
    plain, nontemporal = time_interleaved(calls, repetitions)
    return min(plain) / min(nontemporal)


def _measure_gather_speedup(repetitions: int) -> float:
    """Measure columns of a matrix, as compiled for machines with and without fast gathers."""
    x = np.ones((GATHER_ROWS, 17), np.float32)
    text = GATHER_PROGRAM.format(rows=GATHER_ROWS)
    calls: list[tuple[Callable[[], object], int]] = []
    for speedup in (0.5, 2.0):
        with assume_machine(replace(this_machine(), gather_speedup=speedup)):
            calls.append((partial(_load_program(text).main.lower(x).compile(), x), 50))
    loads_each, gathers = time_interleaved(calls, repetitions)
    return min(loads_each) / min(gathers)


def _load_program(text: str) -> Any:
    return loads(text, name="measure.rise", strategy="none")


def _least_seconds(call: Callable[[], object], repetitions: int) -> float:
    call()
    (taken,) = time_interleaved([(call, 1)], repetitions)
    return min(taken)
