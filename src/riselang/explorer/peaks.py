"""What this machine can do at most, measured: operations in a second, and bytes to and from memory.

The programs that find out are programs like any others, on as many threads as these would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from riselang.api.entry import loads
from riselang.support import config
from riselang.support.benchmarking import interleaved
from riselang.support.machine import this_machine

OPERATIONS = """fun((x : {threads}.{length}.f32, a : f32, b : f32), x |> mapPar(fun(row,
  generate(fun(i : idx[{repeats}], i)) |> reduceSeq(fun((acc, i), acc |> mapSeqUnroll(fun(v,
    fma(vectorFromScalar({lanes}, a), vectorFromScalar({lanes}, b), v)))),
    row |> asVector({lanes})) |> asScalar)))"""
"""On each thread as many sums as registers hold, none of which waits for another."""
CACHED = """fun((x : {threads}.{length}.f32), x |> mapPar(fun(row,
  row |> iterateSeq({repeats}, fun(r, r |> mapSeq(fun(a, a * 0.5 + 0.25)))))))"""
"""Everything is read and written, again and again."""
MOVING = """fun((x : {threads}.{length}.f32), x |> mapPar(fun(row,
  row |> mapSeq(fun(a, a * 0.5 + 0.25)))))"""
"""Everything is read and written once."""
LARGE = 16 << 20
"""Numbers that no cache holds, on all threads together."""
REPEATS = 400_000
"""So few that a call is seldom interrupted."""
ROUNDS = 25


@dataclass(frozen=True)
class Bandwidth:
    """Bytes in a second, read and written, of what fits somewhere."""

    name: str
    rate: float


@dataclass(frozen=True)
class Peaks:
    """What the machine can do at most."""

    operations: float
    """On floats of four bytes, in a second, by all threads together."""
    bandwidths: tuple[Bandwidth, ...]
    """The fastest first."""
    threads: int


def peaks(rounds: int = ROUNDS, share: float = 1.0) -> Peaks:
    """Measured now; a smaller share of the work takes less time, and is less sure."""
    threads = config.num_threads()
    repeats = max(1, int(REPEATS * share))
    near = this_machine().cache(2) // 16
    return Peaks(
        # What all threads do together is less than one does where others have the cores.
        max(operations_in_a_second(rounds, repeats, count) for count in {1, threads}),
        (
            _bandwidth("cache", CACHED, (threads, near), max(1, int(100 * share)), rounds),
            _bandwidth(
                "memory", MOVING, (threads, max(near, int(LARGE * share) // threads)), 1, rounds
            ),
        ),
        threads,
    )


def operations_in_a_second(rounds: int, repeats: int, threads: int = 1) -> float:
    """Of so many threads together, when nothing is read or written."""
    machine = this_machine()
    lanes = machine.lanes(4)
    length = lanes * machine.registers * 3 // 4
    if threads > 1:
        # All of them have to be left alone at once: shorter calls, and more of them.
        rounds, repeats = 4 * rounds, max(1, repeats // 4)
    text = OPERATIONS.format(threads=threads, length=length, repeats=repeats, lanes=lanes)
    taken = _seconds(text, (threads, length), rounds, 0.5, 0.25)
    return 2 * threads * length * repeats / taken


def _bandwidth(
    name: str, program: str, shape: tuple[int, int], repeats: int, rounds: int
) -> Bandwidth:
    threads, length = shape
    text = program.format(threads=threads, length=length, repeats=repeats)
    return Bandwidth(name, 2 * 4 * threads * length * repeats / _seconds(text, shape, rounds))


def _seconds(text: str, shape: tuple[int, ...], rounds: int, *numbers: float) -> float:
    program: Any = loads(text, name="peak.rise", strategy="none")
    x, out = np.ones(shape, np.float32), np.ones(shape, np.float32)

    def call() -> None:
        program.main(x, *numbers, out=out)

    call()
    (taken,) = interleaved([(call, 1)], rounds)
    # What a machine can do at most is what it did when nobody else was there.
    return min(taken)
