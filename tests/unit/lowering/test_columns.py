"""Columns of squares that are kept in vectors: merged by shuffles, or read lane by lane."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

KINDS = {"f32": np.float32, "f64": np.float64, "i8": np.int8}


def turned(size: int, kind: str) -> Any:
    text = f"fun((x : {size}.{size}.{kind}), x |> transpose)"
    strategy = "top_down(transpose_in_registers)"
    loaded: Any = rl.loads(text, name="turn.rise", strategy=strategy)
    return loaded.main


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 8, 16])
def test_a_square_is_transposed(size: int, kind: str) -> None:
    x = np.arange(size * size).reshape(size, size).astype(KINDS[kind])
    assert np.array_equal(turned(size, kind)(x), x.T)


@pytest.mark.parametrize(("size", "shuffles"), [(2, 2), (4, 12), (8, 56), (3, 0)])
def test_columns_are_merged_where_lanes_are_a_power_of_two(size: int, shuffles: int) -> None:
    """Each column has its own; those that are the same are merged afterwards."""
    text = turned(size, "f32").trace().lower().as_text("affine")
    assert text.count("vector.shuffle") == shuffles


def row_sums(rows: int, columns: int, kind: str) -> Any:
    text = f"""fun((x : {rows}.{columns}.{kind}),
      x |> map(fun(row, row |> reduce(add, 0.0_{kind}))))"""
    strategy = f"top_down(reductions_in_lanes({rows}, 1, {128 // int(kind[1:])}))"
    loaded: Any = rl.loads(text, name="sums.rise", strategy=strategy)
    return loaded.main


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize(("rows", "columns"), [(4, 8), (8, 12), (8, 13), (2, 5), (16, 9)])
def test_columns_of_an_array_are_merged_from_parts_of_rows(
    rows: int, columns: int, kind: str
) -> None:
    kernel = row_sums(rows, columns, kind)
    assert "vector.shuffle" in kernel.lower().as_text("affine")
    x = np.random.default_rng(1).random((rows, columns)).astype(KINDS[kind])
    expected = np.zeros(rows, x.dtype)
    for column in x.T:
        expected += column
    assert np.array_equal(kernel(x), expected)


def test_parts_of_rows_stay_inside_the_array() -> None:
    """The last column is read lane by lane: its part of a row would end outside of the array."""
    text = row_sums(4, 9, "f32").lower().as_text("affine")
    assert "vector<4xf32>" in text
    assert "affine.load" in text


def test_vectors_of_half_a_column_are_read_lane_by_lane() -> None:
    @rl.jit
    def halves(x: rl.Array[4, 4, rl.f32]):
        rows = x | rl.map(rl.as_vector(4)) | rl.to_mem("register") | rl.map(rl.as_scalar)
        columns = rows | rl.transpose | rl.map(rl.as_vector(2))
        doubled = columns | rl.map_seq_unroll(rl.map_seq_unroll(lambda v: v + v))
        return doubled | rl.map(rl.as_scalar)

    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(halves(x), 2 * x.T)
