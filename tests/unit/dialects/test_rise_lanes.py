"""Vectors in embeds: what they are unwrapped to, and what has no such form."""

from __future__ import annotations

import pytest
from dialect_text import assert_prints_as_written, assert_refused
from xdsl.dialects.builtin import (
    Float32Type,
    IndexType,
    IntegerType,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.lane_types import (
    Lanes,
    lane_type,
    unwrap_type,
    with_lane_type,
    wrap_type,
)
from riselang.dialects.rise.types import array, f32, i1, index, variable, vector

FLOAT = Float32Type()
VECTORS = """
%v = "test.op"() : () -> !rise.vector<4, scalar<f32>>
%w = "test.op"() : () -> !rise.vector<N, scalar<f32>>
"""


@pytest.mark.parametrize(
    ("type", "plain"),
    [
        (f32, FLOAT),
        (vector(4, f32), VectorType(FLOAT, [4])),
        (vector(1, index), VectorType(IndexType(), [1])),
    ],
)
def test_types_inside_an_embed(type: Lanes, plain: Attribute) -> None:
    assert unwrap_type(type) == plain
    assert wrap_type(plain) == type


@pytest.mark.parametrize("type", [vector("N", f32), vector(0, f32), vector(4, variable("t"))])
def test_vectors_that_have_no_form_inside_an_embed(type: Lanes) -> None:
    with pytest.raises(VerifyException, match="the number of lanes of a vector must be"):
        unwrap_type(type)


@pytest.mark.parametrize(
    "plain",
    [
        IntegerType(3),
        VectorType(IntegerType(3), [4]),
        VectorType(FLOAT, [2, 2]),
        VectorType(FLOAT, []),
        TensorType(FLOAT, [4]),
    ],
)
def test_types_that_are_neither_scalar_nor_vector(plain: Attribute) -> None:
    assert wrap_type(plain) is None


def test_lanes_of_other_types() -> None:
    assert lane_type(vector(4, f32)) == lane_type(f32) == f32
    assert lane_type(array(4, f32)) == array(4, f32)
    assert with_lane_type(vector("N", f32), i1) == vector("N", i1)
    assert with_lane_type(f32, i1) == i1


def test_an_embed_on_vectors_prints_and_reads_back() -> None:
    assert_prints_as_written(
        f"""{VECTORS}%0 = rise.embed(%v) {{
  %1 = arith.mulf %v, %v : vector<4xf32>
  %2 = arith.cmpf olt, %1, %v : vector<4xf32>
  %3 = arith.select %2, %1, %v : vector<4xi1>, vector<4xf32>
  rise.return %3 : vector<4xf32>
}} : !rise.vector<4, scalar<f32>>
"""
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "¦%0 = rise.embed(%v) { rise.return %v : vector<4xf32> } : !rise.scalar<f32>",
            "expected a region that returns f32, but found one that returns vector<4xf32>",
        ),
        (
            "¦%0 = rise.embed(%v) { rise.return %v : vector<4xf32> } "
            ": !rise.vector<2, scalar<f32>>",
            "expected a region that returns vector<2xf32>",
        ),
        (
            "¦%0 = rise.embed(%w) { rise.return %w : vector<4xf32> } : !rise.scalar<f32>",
            "the number of lanes of a vector must be",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert_refused(VECTORS + text + "\n", message)
