"""Tiles: vectors that lie side by side in the rows of an array are stored row by row."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.builder import Builder
from xdsl.dialects import vector
from xdsl.dialects.builtin import VectorType, f16, f32, f64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

import riselang as rl
from riselang.lowering.tiles import tile_height, transpose_columns


def _simulated(block: Block) -> dict[SSAValue, list[tuple[int, int]]]:
    """For each vector of a block, the columns and lanes that its elements come from."""
    known: dict[SSAValue, list[tuple[int, int]]] = {}
    for column, argument in enumerate(block.args):
        assert isinstance(argument.type, VectorType)
        known[argument] = [(column, lane) for lane in range(argument.type.get_shape()[0])]
    for op in block.ops:
        assert isinstance(op, vector.ShuffleOp)
        both = known[op.v1] + known[op.v2]
        known[op.result] = [both[at] for at in op.mask.get_values()]
    return known


@pytest.mark.parametrize(
    ("element", "lanes", "height"),
    [(f32, 8, 8), (f32, 16, 8), (f32, 16, 16), (f64, 4, 4), (f64, 8, 4), (f64, 8, 8)],
)
def test_rows_have_one_element_of_each_column(element: Attribute, lanes: int, height: int) -> None:
    type = VectorType(element, [lanes])
    assert tile_height(type, height) == height
    block = Block(arg_types=[type] * height)
    rows = transpose_columns(block.args, Builder(InsertPoint.at_end(block)))
    known = _simulated(block)
    assert [known[row] for row in rows] == [
        [(column, lane) for column in range(height)] for lane in range(lanes)
    ]


def test_heights() -> None:
    assert tile_height(VectorType(f32, [16]), 14) == 8
    assert tile_height(VectorType(f32, [16]), 20) == 16
    assert tile_height(VectorType(f32, [16]), 7) == 1
    assert tile_height(VectorType(f64, [8]), 7) == 4
    assert tile_height(VectorType(f16, [16]), 8) == 1
    assert tile_height(VectorType(f32, [2]), 8) == 1
    assert tile_height(VectorType(f32, [12]), 8) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [16, 14, 9])
def test_channels_before_pixels(size: int) -> None:
    """A convolution that computes vectors of channels, and stores rows of pixels."""
    shape = f"1x16x{size}x{size}xf32"
    model = rl.from_stablehlo(f"""
      func.func @main(%x: tensor<{shape}>, %w: tensor<16x16x3x3xf32>) -> tensor<{shape}> {{
        %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
          window = {{pad = [[1, 1], [1, 1]]}}
          {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}
          : (tensor<{shape}>, tensor<16x16x3x3xf32>) -> tensor<{shape}>
        return %0 : tensor<{shape}>
      }}""")
    random = np.random.default_rng(size)
    x = random.standard_normal((1, 16, size, size)).astype(np.float32)
    weights = random.standard_normal((16, 16, 3, 3)).astype(np.float32)
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    expected = np.einsum("cijkl,ockl->oij", windows, weights)[None]
    np.testing.assert_allclose(model(x, weights), expected, rtol=1e-4, atol=1e-4)
