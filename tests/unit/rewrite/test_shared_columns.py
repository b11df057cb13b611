"""Products with few rows: threads share the columns, whatever their number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.compiler.pipeline import rewrite
from riselang.rewrite.strategies.matmul_shapes import MatmulShape
from riselang.rewrite.strategies.tile_sizes import choose_tiles, columns_per_thread
from riselang.support.machine import assume_machine
from support.machines import MACHINES

PRODUCT = """fun((x : ROWS.DEPTH.f32, w : DEPTH.COLUMNS.f32),
  x |> map(fun(row, w |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
SIXTEEN = replace(MACHINES["AVX-512"], cores=16)


def loaded(rows: int, depth: int, columns: int, strategy: str | None = None) -> Any:
    text = PRODUCT.replace("ROWS", str(rows)).replace("DEPTH", str(depth))
    module: Any = rl.loads(
        text.replace("COLUMNS", str(columns)), name="product.rise", strategy=strategy
    )
    return module.main


@pytest.mark.parametrize("columns", [3072, 50257, 1000, 5029])
def test_all_threads_have_columns(columns: int) -> None:
    shape = MatmulShape(1, columns, 768, 4)
    share = columns_per_thread(shape, SIXTEEN)
    shares, remainder = divmod(columns, share)
    assert shares * share + remainder == columns
    # The time of the slowest thread, and of what one thread computes afterwards.
    assert -(-shares // SIXTEEN.cores) * share + remainder <= columns / 8


@pytest.mark.parametrize("knows_weights", [False, True])
@pytest.mark.parametrize("columns", [3072, 5029])
def test_weights_that_are_known_are_shared_out_as_well(columns: int, knows_weights: bool) -> None:
    with assume_machine(SIXTEEN):
        lowered = loaded(1, 768, columns).lower()
        result = rewrite(
            lowered._program, lowered._strategy, lowered.options, precompute=knows_weights
        )
    share = columns_per_thread(MatmulShape(1, columns, 768, 4), SIXTEEN)
    assert f"split({share}) |> mapPar(fun(columns" in " ".join(str(result.program.term).split())


@pytest.mark.parametrize("rows", [1, 3, 8])
@pytest.mark.parametrize("columns", [1511, 1600])
@pytest.mark.sampled(3)
def test_results_have_the_bits_of_the_source(rows: int, columns: int) -> None:
    source = np.random.default_rng(0)
    x, w = (source.standard_normal(each).astype(np.float32)
            for each in ((rows, 400), (400, columns)))  # fmt: skip
    with assume_machine(SIXTEEN):
        found = loaded(rows, 400, columns)(x, w)
    assert found.tobytes() == loaded(rows, 400, columns, "none")(x, w).tobytes()


MODEL = """fun((x : ROWS.DEPTH.f32, w : DEPTH.COLUMNS.f32, bias : COLUMNS.f32),
  x |> map(fun(row, zip(w |> transpose, bias) |> map(fun(p,
    max((zip(row, fst(p)) |> map(mult) |> reduce(add, 0.0)) + snd(p), 0.0))))))"""


@pytest.mark.parametrize("shape", [(128, 768, 768), (49, 512, 200), (97, 64, 333)], ids=str)
def test_threads_share_the_columns_of_a_product_with_an_epilogue(
    shape: tuple[int, int, int],
) -> None:
    """Each thread reads other columns of the weights, which are too many for the caches."""
    rows, depth, columns = shape
    text = MODEL
    for name, length in zip(("ROWS", "DEPTH", "COLUMNS"), shape, strict=True):
        text = text.replace(name, str(length))
    module: Any = rl.loads(text, name="model.rise")
    source = np.random.default_rng(0)
    x, w, bias = (source.standard_normal(each).astype(np.float32)
                  for each in ((rows, depth), (depth, columns), (columns,)))  # fmt: skip
    with assume_machine(SIXTEEN):
        lowered = module.main.lower(x, w, bias)
        result = rewrite(lowered._program, lowered._strategy, lowered.options, precompute=True)
        parts = lowered.split_by_known_parameters("packed", 3, {1, 2})
        assert parts is not None
        packed = parts[0].compile()(w, bias)
        found = parts[1].compile()(x, w, bias, *(packed if isinstance(packed, tuple) else [packed]))
    plain: Any = rl.loads(text, name="model.rise", strategy="none")
    assert found.tobytes() == plain.main(x, w, bias).tobytes()
    tiles = choose_tiles(
        MatmulShape(rows, columns, depth, 4, has_epilogue=True), SIXTEEN, ahead=True
    )
    assert tiles.piece
    assert f"split({tiles.piece})" in str(result.program.term)
