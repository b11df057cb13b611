"""Measurement of the machine's peak performance (flop/s) and memory bandwidth (bytes/s).

The benchmarks are RISE programs, with the same number of threads as other programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.api.entry import loads
from riselang.support import config
from riselang.support.benchmarking import time_interleaved
from riselang.support.machine import this_machine

PEAK_PROGRAM = """fun((x : {threads}.{length}.f32, a : f32, b : f32), x |> mapPar(fun(row,
  generate(fun(i : idx[{repeats}], i)) |> reduceSeq(fun((acc, i), acc |> mapSeqUnroll(fun(v,
    fma(vectorFromScalar({lanes}, a), vectorFromScalar({lanes}, b), v)))),
    row |> asVector({lanes})) |> asScalar)))"""
"""Each thread updates as many independent accumulators as fit in the vector registers."""
CACHE_PROGRAM = """fun((x : {threads}.{length}.f32), x |> mapPar(fun(row,
  row |> iterateSeq({repeats}, fun(r, r |> mapSeq(fun(a, a * 0.5 + 0.25)))))))"""
"""Reads and writes every element repeatedly."""
MEMORY_PROGRAM = """fun((x : {threads}.{length}.f32), x |> mapPar(fun(row,
  row |> mapSeq(fun(a, a * 0.5 + 0.25)))))"""
"""Reads and writes every element once."""
LARGE_LENGTH = 16 << 20
"""A number of elements, for all threads together, that no cache can hold."""
REPEATS = 400_000
"""Few enough that a call is seldom interrupted."""
REPETITIONS = 25


@dataclass(frozen=True)
class Bandwidth:
    """The bandwidth of a level of the memory hierarchy, in bytes per second read and written."""

    name: str
    rate: float


@dataclass(frozen=True)
class Peaks:
    """The peak performance of the machine."""

    operations: float
    """Operations on `f32` per second, of all threads together."""
    bandwidths: tuple[Bandwidth, ...]
    """Sorted from the fastest to the slowest."""
    threads: int


def measure_peaks(repetitions: int = REPETITIONS, share: float = 1.0) -> Peaks:
    """Measure the peaks; a smaller `share` of the work takes less time and is less accurate."""
    threads = config.num_threads()
    repeats = max(1, int(REPEATS * share))
    near = this_machine().cache_bytes(2) // 16
    return Peaks(
        # If other processes use the cores, all threads together may be slower than one.
        max(operations_per_second(repetitions, repeats, count) for count in {1, threads}),
        (
            _measure_bandwidth(
                "cache", CACHE_PROGRAM, (threads, near), max(1, int(100 * share)), repetitions
            ),
            _measure_bandwidth(
                "memory",
                MEMORY_PROGRAM,
                (threads, max(near, int(LARGE_LENGTH * share) // threads)),
                1,
                repetitions,
            ),
        ),
        threads,
    )


def operations_per_second(repetitions: int, repeats: int, threads: int = 1) -> float:
    """Measure the operations per second of a number of threads, without memory accesses."""
    machine = this_machine()
    lanes = machine.lanes(4)
    length = lanes * machine.registers * 3 // 4
    if threads > 1:
        # No thread may be interrupted during a call, so use more and shorter calls.
        repetitions, repeats = 4 * repetitions, max(1, repeats // 4)
    text = PEAK_PROGRAM.format(threads=threads, length=length, repeats=repeats, lanes=lanes)
    taken = _measure_seconds(text, (threads, length), repetitions, 0.5, 0.25)
    return 2 * threads * length * repeats / taken


def memory_bandwidth(repetitions: int, threads: int) -> float:
    """Measure the bytes of memory per second that a number of threads read and write."""
    shape = (threads, LARGE_LENGTH // threads)
    return _measure_bandwidth("memory", MEMORY_PROGRAM, shape, 1, repetitions).rate


def _measure_bandwidth(
    name: str, program: str, shape: tuple[int, int], repeats: int, repetitions: int
) -> Bandwidth:
    threads, length = shape
    text = program.format(threads=threads, length=length, repeats=repeats)
    return Bandwidth(
        name, 2 * 4 * threads * length * repeats / _measure_seconds(text, shape, repetitions)
    )


def _measure_seconds(text: str, shape: tuple[int, ...], repetitions: int, *numbers: float) -> float:
    program: Any = loads(text, name="peak.rise", strategy="none")
    x, out = np.ones(shape, np.float32), np.ones(shape, np.float32)

    def call() -> None:
        program.main(x, *numbers, out=out)

    call()
    (taken,) = time_interleaved([(call, 1)], repetitions)
    # The minimum is the run with the least interference from other processes.
    return min(taken)
