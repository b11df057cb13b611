"""Arrays that are computed where they are read are stored if they would be computed too often."""

from __future__ import annotations

from typing import Any

import numpy as np
from agreement import agree, lowered
from xdsl.dialects import affine

import riselang as rl
from riselang.api.kernel import Kernel
from riselang.dialects.module import parse_module, walk
from riselang.lowering.loop_counts import trip_count
from riselang.strategy import fuse, register_tiles, top_down
from riselang.term.work import Work


def text(function: Any, *arrays: Any) -> str:
    return rl.jit(function).lower(*arrays).as_text("affine")


def deepest_iterations(function: Any, *arrays: Any) -> int:
    """The number of iterations of the most frequent loop body."""
    module = parse_module(text(function, *arrays), "affine.mlir")
    return max(iterations_around(op) for op in walk(module) if isinstance(op, affine.ForOp))


def iterations_around(op: Any) -> int:
    count = 1
    while op is not None:
        count *= trip_count(op)
        op = op.parent_op()
    return count


def work(function: Any, *arrays: Any) -> Work:
    loops = lowered(function, *arrays).cost_analysis().optimized_work
    assert loops is not None
    return loops


def random(*shape: int) -> Any:
    return np.random.default_rng(7).standard_normal(shape).astype(np.float32)


def test_an_array_stored_in_an_element_is_computed_once_for_all_its_scalars() -> None:
    """The form of a grouped convolution that an elementwise operation follows."""

    def groups(x: rl.Array[6, 10, rl.f32]) -> Any:
        windows = x | rl.map(
            lambda row: row | rl.slide(3, 1) | rl.map(rl.reduce(rl.add, 0.0)) | rl.to_mem("heap")
        )
        return windows | rl.transpose() | rl.map(rl.map(lambda a: a * 2.0))

    agree(groups, random(6, 10))
    assert deepest_iterations(groups, random(6, 10)) == 6 * 8 * 3


def test_sums_that_windows_overlap_are_computed_once() -> None:
    def smooth_sums(x: rl.Array[12, 20, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0))
        return sums | rl.slide(5, 1) | rl.map(rl.reduce(rl.max, 0.0))

    agree(smooth_sums, random(12, 20))
    assert deepest_iterations(smooth_sums, random(12, 20)) == 12 * 20


def test_sums_that_an_inner_loop_reads_through_a_view_are_computed_once() -> None:
    def outer(x: rl.Array[12, 20, rl.f32], y: rl.Array[9, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0)) | rl.reverse()
        return y | rl.map(lambda b: sums | rl.map(lambda a: a * b))

    agree(outer, random(12, 20), random(9))
    assert deepest_iterations(outer, random(12, 20), random(9)) == 12 * 20


def test_row_sums_that_are_zipped_with_rows_are_computed_once() -> None:
    def normalize(x: rl.Array[12, 20, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0))
        return rl.zip(sums, x) | rl.map(lambda p: p[1] | rl.map(lambda a: a / p[0]))

    agree(normalize, random(12, 20))
    assert deepest_iterations(normalize, random(12, 20)) == 12 * 20


def test_expensive_generated_elements_are_stored() -> None:
    def table(x: rl.Array[30, rl.f32]) -> Any:
        waves = rl.generate(lambda i: rl.math.sin(rl.cast(rl.from_idx(i), rl.f32)))
        windows = waves | rl.slide(5, 1)
        return rl.zip(x, windows) | rl.map(lambda p: p[1] | rl.reduce(rl.add, p[0]))

    agree(table, random(30))
    assert deepest_iterations(table, random(30)) == 30 * 5
    assert text(table, random(30)).count("memref.alloc") == 1


def test_cheap_elements_are_computed_where_they_are_read() -> None:
    def smooth(x: rl.Array[30, rl.f32]) -> Any:
        return x | rl.map(lambda a: a * 2.0) | rl.slide(3, 1) | rl.map(rl.reduce(rl.add, 0.0))

    agree(smooth, random(30))
    assert "memref.alloc" not in text(smooth, random(30))


def test_sums_that_are_read_once_are_not_stored() -> None:
    def reversed_sums(x: rl.Array[12, 20, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0))
        return sums | rl.reverse() | rl.map(lambda a: a + 1.0)

    agree(reversed_sums, random(12, 20))
    assert "memref.alloc" not in text(reversed_sums, random(12, 20))


def test_a_few_elements_of_an_array_are_computed_without_the_others() -> None:
    def first(x: rl.Array[1000, 20, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0)) | rl.reverse()
        return sums | rl.take(2) | rl.slide(2, 1) | rl.map(rl.reduce(rl.add, 0.0))

    agree(first, random(1000, 20))
    assert "memref.alloc" not in text(first, random(1000, 20))


def test_a_stored_array_that_a_parallel_loop_reads_is_computed_in_parallel() -> None:
    def sums_of_windows(x: rl.Array[300, 2000, rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0))
        return sums | rl.slide(50, 1) | rl.map_par(rl.reduce(rl.add, 0.0))

    kernel: Kernel = rl.jit(sums_of_windows, float="strict")
    assert kernel.lower(random(300, 2000)).as_text("affine").count("affine.parallel") == 2


def test_sums_of_unknown_length_are_computed_once() -> None:
    def smooth_sums(x: rl.Array["N", "M", rl.f32]) -> Any:
        sums = x | rl.map(rl.reduce(rl.add, 0.0))
        return sums | rl.slide(5, 1) | rl.map(rl.reduce(rl.max, 0.0))

    agree(smooth_sums, random(12, 20))
    assert "memref.alloc" in rl.jit(smooth_sums).lower().as_text("affine")


def test_a_stencil_whose_results_windows_overlap_is_stored() -> None:
    """Weighted sums take no loop, but more operations than loading their results."""

    def weighted(window: Any) -> Any:
        a, b, c = (window[i] for i in range(3))
        return a * 0.25 + b * 0.5 + c * 0.25

    def twice(x: rl.Array[34, rl.f32]) -> Any:
        first = x | rl.slide(3, 1) | rl.map(weighted)
        return first | rl.slide(5, 1) | rl.map(rl.reduce(rl.add, 0.0))

    agree(twice, random(34))
    assert work(twice, random(34)).operations == 32 * 5 + 28 * 5


def test_the_indices_of_reorder_are_computed_once() -> None:
    """An element has many scalars, and each of them would compute its index."""

    def shifted(x: rl.Array[6, 40, rl.f32], y: rl.Array[6, 5, rl.f32]) -> Any:
        def source(i: Any) -> Any:
            row = y | rl.at(i) | rl.reduce(rl.add, 0.0)
            return rl.clamp_idx(6)(rl.cast(row, rl.i64))

        return x | rl.reorder(source)

    agree(shifted, random(6, 40), random(6, 5))
    assert work(shifted, random(6, 40), random(6, 5)).operations == 6 * 5


def test_an_expensive_value_of_padding_is_stored() -> None:
    def padded(x: rl.Array[4, 6, rl.f32], y: rl.Array[6, 50, rl.f32]) -> Any:
        sums = y | rl.map(rl.reduce(rl.add, 0.0))
        return rl.pad_const(20, 20, sums, x) | rl.map(rl.map(lambda a: a + 1.0))

    agree(padded, random(4, 6), random(6, 50))
    assert deepest_iterations(padded, random(4, 6), random(6, 50)) == 6 * 50


def test_a_scatter_updates_its_result() -> None:
    def histogram(counts: rl.Array[8, rl.i32], keys: rl.Array[50, rl.i32]) -> Any:
        indices = keys | rl.map(lambda key: rl.clamp_idx(8)(key))
        return rl.scatter_with(rl.add, indices, counts, keys)

    counts, keys = np.arange(8, dtype=np.int32), np.arange(-5, 45, dtype=np.int32)
    agree(histogram, counts, keys)
    assert "memref.alloc" not in text(histogram, counts, keys)


def test_packed_columns_are_read_where_they_are() -> None:
    """They are stored in vectors, and read as vectors, by a view that consists of scalars."""

    def multiply(a: rl.Array[16, 8, rl.f32], b: rl.Array[8, 16, rl.f32]) -> Any:
        def dot(row: Any, column: Any) -> Any:
            return rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

        return a | rl.map(lambda row: b | rl.transpose | rl.map(lambda column: dot(row, column)))

    strategy = fuse() >> top_down(register_tiles(4, 8, 4, block=2))
    program = rl.jit(multiply, strategy=strategy).lower(random(16, 8), random(8, 16))
    buffers = [line for line in program.as_text("affine").splitlines() if "memref.alloc" in line]
    assert len(buffers) == len(("columns", "rows")), buffers


def test_vectors_whose_lanes_are_read_often_are_stored() -> None:
    def windows(x: rl.Array[32, rl.f32]) -> Any:
        vectors = x | rl.as_vector(16) | rl.map(lambda v: v * v)
        return vectors | rl.as_scalar | rl.slide(12, 5)

    agree(windows, random(32))
    assert work(windows, random(32)).operations == 32


def test_windows_of_a_stored_array_are_not_copied() -> None:
    def sums(x: rl.Array[34, rl.f32]) -> Any:
        windows = x | rl.map_seq(lambda a: a * a) | rl.slide(4, 5)
        totals = windows | rl.map(rl.reduce(rl.add, 0.0))
        return rl.zip(totals, windows) | rl.map(lambda a, b: b | rl.map(lambda c: c - a))

    agree(sums, random(34))
    assert text(sums, random(34)).count("memref.alloc") == 1


def test_elements_that_vectors_read_are_computed_once_for_all_components() -> None:
    """The accelerations of bodies: a weight of each pair, which three components share."""

    def accelerations(
        offsets: rl.Array[64, 64, 3, rl.f32], squares: rl.Array[64, 64, rl.f32]
    ) -> Any:
        weights = 1 / (squares * rl.math.sqrt(squares))
        return (offsets * weights[:, :, None]).sum(axis=1)

    offsets, squares = random(64, 64, 3), np.abs(random(64, 64)) + 1
    program = rl.jit(accelerations, float="relaxed")
    module = parse_module(program.lower(offsets, squares).as_text("affine"), "affine.mlir")
    roots = [op for op in walk(module) if op.name == "math.sqrt"]
    assert sum(map(iterations_around, roots)) == 64 * 64
    expected = (offsets * (squares**-1.5)[:, :, None]).sum(axis=1)
    assert np.allclose(program(offsets, squares), expected, rtol=1e-3, atol=1e-4)
