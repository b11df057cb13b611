"""`while` and `scan` with any state: in registers, or in buffers where there are arrays in it."""

from typing import Any

import numpy as np
from agreement import agree, text

import riselang as rl

X = np.array([3, 1, 4, 1, 5, 9], np.int64)
M = np.arange(12, dtype=np.int64).reshape(3, 4) - 4


def test_scalars_stay_in_registers() -> None:
    def grow(x: rl.Array[6, rl.i64]) -> Any:
        return x | rl.map(rl.while_(lambda v: v < 100, lambda v: v * v + 1))

    (found,) = agree(grow, X)
    assert found.tolist() == [101, 677, 290, 677, 677, 6725]
    assert "memref.alloc" not in text(grow, X)


def test_a_condition_that_never_holds_changes_nothing() -> None:
    def keep(x: rl.Array[6, rl.i64]) -> Any:
        return x | rl.while_(lambda v: v | rl.reduce(rl.add, 0) < 0, lambda v: v | rl.reverse)

    (found,) = agree(keep, X)
    assert np.array_equal(found, X)


def test_pairs() -> None:
    """Euclid's algorithm, with both numbers as the state."""

    def gcd(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.i64]) -> Any:
        step = rl.while_(
            lambda p: rl.snd(p) != 0, lambda p: rl.tuple(rl.snd(p), rl.fst(p) % rl.snd(p))
        )
        return rl.zip(x, y) | rl.map(lambda p: rl.fst(step(p)))

    y = np.array([6, 7, 6, 0, 25, 6], np.int64)
    (found,) = agree(gcd, X, y)
    assert np.array_equal(found, np.gcd(X, y))


def test_arrays() -> None:
    def double(x: rl.Array[6, rl.i64]) -> Any:
        return x | rl.while_(
            lambda v: (v | rl.reduce(rl.add, 0)) < 1000,
            lambda v: rl.zip(v, v | rl.reverse) | rl.map(rl.add),
        )

    agree(double, X)


def test_a_pair_of_a_number_and_an_array_in_every_row() -> None:
    def rows(m: rl.Array[3, 4, rl.i64]) -> Any:
        return m | rl.map_par(
            lambda row: rl.snd(
                rl.while_(
                    lambda s: rl.fst(s) < 3,
                    lambda s: rl.tuple(rl.fst(s) + 1, rl.snd(s) | rl.scan(rl.add, 0)),
                    rl.tuple(rl.cast(0, rl.i64), row),
                )
            )
        )

    agree(rows, M, threads=(1, 2, 3))


def test_a_while_in_a_while() -> None:
    def nested(x: rl.Array[6, rl.i64]) -> Any:
        inner = rl.while_(lambda v: v % 7 != 0, lambda v: v + 1)
        return x | rl.map(rl.while_(lambda v: v < 50, lambda v: inner(v + 3)))

    agree(nested, X)


def test_a_while_in_a_map_that_is_only_read() -> None:
    def windows(x: rl.Array[6, rl.i64]) -> Any:
        grown = x | rl.map(rl.while_(lambda v: v < 20, lambda v: v * 2))
        return grown | rl.slide(3, 1) | rl.map(rl.reduce(rl.add, 0))

    agree(windows, X)


def test_scan_of_rows() -> None:
    def sums(m: rl.Array[3, 4, rl.i64]) -> Any:
        zero = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i64))
        return m | rl.scan(lambda sums, row: rl.zip(row, sums) | rl.map(rl.add), zero)

    (found,) = agree(sums, M)
    assert np.array_equal(found, np.cumsum(M, 0) + np.arange(4))


def test_scan_of_rows_reads_the_last_one_while_it_makes_the_next() -> None:
    def turned(m: rl.Array[3, 4, rl.i64]) -> Any:
        start = rl.generate(lambda i: rl.cast(rl.from_idx(i), rl.i64))
        return m | rl.scan(lambda last, row: rl.zip(last | rl.reverse, row) | rl.map(rl.sub), start)

    agree(turned, M)


def test_scan_of_pairs_with_arrays_stored_through_views() -> None:
    def both(m: rl.Array[3, 4, rl.i64]) -> Any:
        start = rl.tuple(rl.cast(1, rl.i64), rl.generate(lambda i: rl.cast(0, rl.i64)))
        pairs = m | rl.scan(
            lambda s, row: rl.tuple(
                rl.fst(s) * 3, rl.zip(row, rl.snd(s)) | rl.map(lambda a, b: a + b * rl.fst(s))
            ),
            start,
        )
        return rl.unzip(pairs | rl.reverse)

    agree(both, M)
