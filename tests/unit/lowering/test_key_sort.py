"""Sorting by integer keys: the interpreter's result for every type, order and machine."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agreement import agree, text
from hypothesis import given, settings
from hypothesis import strategies as st

import riselang as rl
from riselang.lowering.sorting.networks import odd_even_merge_sort
from riselang.support.machine import Machine, assume_machine, this_machine
from support.machines import assembly_for
from support.values import same

pytestmark = pytest.mark.rotating(16)

TYPES = {
    np.float32: rl.f32, np.float64: rl.f64, np.float16: rl.f16,
    np.int8: rl.i8, np.int16: rl.i16, np.int32: rl.i32, np.int64: rl.i64,
}  # fmt: skip
MACHINES = {"NEON": Machine(16, 32), "AVX2": Machine(32, 16), "AVX-512": Machine(64, 32)}
PERMUTING = replace(MACHINES["AVX2"], permutes_lanes=True)
if this_machine().permutes_lanes:
    MACHINES["AVX2 with permutations"] = PERMUTING
LENGTHS = [17, 300]
HARD_PATTERNS = ["ascending", "descending", "equal", "greatest", "two values", "saw tooth"]


def sorter(type: Any, descending: bool = False) -> Any:
    def sort(x: Any) -> Any:
        return x | rl.sort(lambda a, b: a > b if descending else a < b)

    sort.__annotations__ = {"x": rl.Array["N", type]}
    return sort


def numbers(dtype: Any, length: int, seed: int) -> Any:
    """Return random numbers, among them duplicates, extremes and zeros of both signs."""
    source = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.floating):
        x = (source.standard_normal(length) * 4).astype(dtype)
        special = np.array([0.0, -0.0, np.inf, -np.inf, 1.5, np.finfo(dtype).tiny], dtype)
    else:
        limits = np.iinfo(dtype)
        x = source.integers(limits.min, limits.max, length, dtype, endpoint=True)
        special = np.array([limits.min, limits.max, 0, -1, 3], dtype)
    is_special = source.random(length) < 0.4
    return np.where(is_special, source.choice(special, length), x).astype(dtype)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.sampled(5)
def test_numbers_of_each_type(dtype: Any, descending: bool) -> None:
    for length in LENGTHS:
        x = numbers(dtype, length, length)
        (result,) = agree(sorter(TYPES[dtype], descending), x)
        assert np.array_equal(result, np.sort(x)[::-1] if descending else np.sort(x))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_numbers_on_each_machine(machine: str, dtype: Any) -> None:
    with assume_machine(MACHINES[machine]):
        for length in (33, 400):
            agree(sorter(TYPES[dtype]), numbers(dtype, length, length))


@pytest.mark.skipif(not this_machine().permutes_lanes, reason="needs AVX2")
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.int64])
def test_permuted_lanes_stay_within_a_segment(dtype: Any) -> None:
    """Segments of all lengths from two blocks on, with few and with many equal keys."""
    source = np.random.default_rng(1)
    with assume_machine(PERMUTING):
        kernel = rl.jit(sorter(TYPES[dtype]), sizes="symbolic")
        for length in (*range(30, 200), 1000, 4097):
            for different in (2, 9, 10**6):
                x = source.integers(-different, different, length).astype(dtype)
                assert np.array_equal(kernel(x), np.sort(x))


def test_lanes_are_permuted_by_one_instruction() -> None:
    with assume_machine(PERMUTING):
        ir = rl.jit(sorter(rl.f32)).lower(N=1000).as_text("llvm")
    assert any("vpermd" in line or "vpermps" in line for line in assembly_for(ir, "AVX2"))


@pytest.mark.parametrize("kind", HARD_PATTERNS)
def test_patterns_that_are_hard_for_quicksort(kind: str) -> None:
    positions = np.arange(5000, dtype=np.int32)
    x = {
        "ascending": positions,
        "descending": positions[::-1].copy(),
        "equal": np.full(5000, 7, np.int32),
        "greatest": np.full(5000, np.iinfo(np.int32).max, np.int32),
        "two values": positions % 2,
        "saw tooth": positions % 700,
    }[kind]
    kernel = rl.jit(sorter(rl.i32))
    assert np.array_equal(kernel(x), np.sort(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_with_nan_are_merged_as_the_interpreter_merges_them(dtype: Any) -> None:
    for length in (90,):
        x = numbers(dtype, length, length)
        x[::7] = np.nan
        agree(sorter(TYPES[dtype]), x)
        agree(sorter(TYPES[dtype], descending=True), x)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=True) | st.sampled_from([0.0, -0.0]), max_size=80),
    st.booleans(),
)
def test_any_floats(values: list[float], descending: bool) -> None:
    agree(sorter(rl.f32, descending), np.array(values, np.float32))


@pytest.mark.parametrize("dtype", TYPES)
def test_pairs_are_sorted_stably_by_their_keys(dtype: Any) -> None:
    def by_key(x: Any, y: Any) -> Any:
        return rl.unzip(rl.zip(x, y) | rl.sort(lambda a, b: rl.fst(a) < rl.fst(b)))

    by_key.__annotations__ = {
        "x": rl.Array["N", TYPES[dtype]],
        "y": rl.Array["N", rl.i32],
    }
    for length in (200,):
        x = numbers(dtype, length, length)
        keys, values = agree(by_key, x, np.arange(length, dtype=np.int32))
        order = np.argsort(x, kind="stable")
        assert np.array_equal(keys, x[order])
        assert np.array_equal(values, order)


def test_pairs_with_nan_in_their_keys() -> None:
    def by_key(x: rl.Array[50, rl.f64], y: rl.Array[50, rl.i32]) -> Any:
        return rl.unzip(rl.zip(x, y) | rl.sort(lambda a, b: rl.fst(a) > rl.fst(b)))

    x = numbers(np.float64, 50, 1)
    x[::9] = np.nan
    agree(by_key, x, np.arange(50, dtype=np.int32))


def test_a_key_that_is_computed() -> None:
    def by_distance(x: rl.Array["N", rl.f32], center: rl.f32) -> Any:
        return x | rl.sort(lambda a, b: rl.abs(a - center) < rl.abs(b - center))

    x = numbers(np.float32, 100, 2)
    agree(by_distance, x[np.isfinite(x)], np.array(0.5, np.float32))


def test_rows_sorted_by_a_component() -> None:
    def by_first(m: rl.Array["N", 3, rl.f32]) -> Any:
        return m | rl.sort(lambda a, b: rl.at(rl.clamp_idx(3, 1), b) < rl.at(rl.clamp_idx(3, 1), a))

    m = np.random.default_rng(3).integers(-3, 4, (60, 3)).astype(np.float32)
    (result,) = agree(by_first, m)
    assert np.array_equal(result, m[np.argsort(-m[:, 1], kind="stable")])


def test_rows_are_sorted_in_threads() -> None:
    def rows(m: rl.Array[7, 50, rl.f32]) -> Any:
        return m | rl.map_par(rl.sort(lambda a, b: a < b))

    m = np.random.default_rng(4).standard_normal((7, 50)).astype(np.float32)
    (result,) = agree(rows, m, threads=(1, 2))
    assert np.array_equal(result, np.sort(m))


def test_a_weak_comparison_is_merged() -> None:
    def sort(x: rl.Array[40, rl.f32]) -> Any:
        return x | rl.sort(lambda a, b: a <= b)

    x = numbers(np.float32, 40, 5)
    agree(sort, x)
    assert "rise_sort" not in text(sort, x)


def test_short_arrays_need_no_function() -> None:
    x = np.zeros(16, np.float32)
    assert "rise_sort" not in text(sorter(rl.f32), x)


def test_two_sorts_of_a_type_share_a_function() -> None:
    def both(x: rl.Array[40, rl.i32], y: rl.Array[40, rl.i32]) -> Any:
        ascending = rl.sort(lambda a, b: a < b)
        return rl.tuple(ascending(x), ascending(y))

    x = numbers(np.int32, 40, 6)
    agree(both, x, x[::-1].copy())
    assert text(both, x, x).count("func.func private @rise_sort_i32") == 1


@pytest.mark.parametrize("dtype", TYPES)
def test_the_printed_function_is_valid(dtype: Any) -> None:
    assert "func.func private @rise_sort_" in text(sorter(TYPES[dtype]), np.zeros(20, dtype))


@pytest.mark.parametrize("length", [0, 1, 2, 40, 70, 500])
@pytest.mark.parametrize("descending", [False, True])
def test_one_kernel_for_all_lengths(length: int, descending: bool) -> None:
    def sort(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.i32]) -> Any:
        order = rl.sort(lambda a, b: rl.fst(a) > rl.fst(b) if descending else rl.fst(a) < rl.fst(b))
        alone = rl.sort(lambda a, b: a > b if descending else a < b)
        return rl.tuple(alone(x), rl.unzip(order(rl.zip(x, y))))

    kernel = rl.jit(sort, sizes="symbolic")
    x = numbers(np.float32, length, length)
    if length == 70:
        x[::5] = np.nan
    expected = rl.jit(sort, backend="interpret")(x, np.arange(length, dtype=np.int32))
    assert same(flatten(kernel(x, np.arange(length, dtype=np.int32))), flatten(expected))


def flatten(result: Any) -> list[Any]:
    if not isinstance(result, tuple):
        return [result]
    return [each for part in result for each in flatten(part)]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_comparator_networks_sort_all_sequences_of_bits(count: int) -> None:
    positions = np.arange(count)[:, None]
    bits = np.arange(1 << count)[None, :] >> positions & 1
    for low, high in odd_even_merge_sort(count):
        bits[[low, high]] = np.sort(bits[[low, high]], axis=0)
    assert np.all(bits[:-1] <= bits[1:])


@pytest.mark.parametrize("count", [0, 1, 5, 64, 299, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.sampled(5)
def test_the_first_elements_of_a_sorted_array_are_selected(dtype: Any, count: int) -> None:
    def select(x: Any, y: Any) -> Any:
        pairs = rl.zip(x, y) | rl.sort(lambda a, b: rl.fst(a) > rl.fst(b)) | rl.take(count)
        return rl.tuple(x | rl.sort(lambda a, b: a < b) | rl.take(count), rl.unzip(pairs))

    array = rl.Array[300, TYPES[dtype]]
    select.__annotations__ = {"x": array, "y": rl.Array[300, rl.i32]}
    x = numbers(dtype, 300, count)
    smallest, _, order = agree(select, x, np.arange(300, dtype=np.int32))
    assert np.array_equal(smallest, np.sort(x)[:count])
    assert np.array_equal(order, np.argsort(-x.astype(np.float64), kind="stable")[:count])


def test_the_first_elements_of_floats_with_nan() -> None:
    def select(x: rl.Array[60, rl.f32]) -> Any:
        return x | rl.sort(lambda a, b: a > b) | rl.take(9)

    x = numbers(np.float32, 60, 7)
    x[::8] = np.nan
    agree(select, x)


def test_a_selection_of_many_elements() -> None:
    def select(x: rl.Array["N", rl.i32]) -> Any:
        return x | rl.sort(lambda a, b: a > b) | rl.take(50)

    for x in (
        np.random.default_rng(1).integers(-(2**31), 2**31, 32000).astype(np.int32),
        np.arange(32000, dtype=np.int32),
        np.zeros(32000, np.int32),
    ):
        assert np.array_equal(rl.jit(select)(x), np.sort(x)[::-1][:50])
