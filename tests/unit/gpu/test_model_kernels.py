"""The kernels of models: epilogues are parts of products, and images are spread over threads."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import bf16
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.support.config import Options
from support.emulated_gpu import Emulate

pytestmark = pytest.mark.rotating(3)

BF16 = numpy_dtype(bf16)
RELAXED = Options("gpu", float="relaxed")
DENSE = (
    "x |> map(fun(row, w |> transpose |> map(fun(column, zip(row, column) "
    "|> reduce(fun((a, p), a + fst(p) * snd(p)), 0.0))))) |> toMem(heap)"
)
POOLED = """fun((x : 4.8.8.2.f32, b : 2.f32), x |> map(fun(image,
  image |> map(fun(row, row |> map(fun(e, zip(e, b) |> map(fun(p, max(fst(p) + snd(p), 0.0)))))
    |> slide(2, 2) |> map(fun(window, window |> transpose)))) |> slide(2, 2)
  |> map(fun(rows, rows |> transpose |> map(fun(windows, windows |> transpose
    |> map(fun(window, window |> reduce(fun((a, w), w |> reduce(max, a)), -inf))))))))))
"""
PADDED = """fun((x : 2.8.8.f32, k : 3.3.3.f32), x |> map(fun(image,
  image |> padConst(1, 1, generate(fun((i : idx[8]), 0.0)))
  |> map(fun(row, row |> padConst(1, 1, 0.0) |> slide(3, 1))) |> slide(3, 1)
  |> map(fun(rows, rows |> transpose |> map(fun(window, k |> map(fun(kernel,
    zip(window, kernel) |> reduce(fun((a, p), zip(fst(p), snd(p))
      |> reduce(fun((c, q), c + fst(q) * snd(q)), a)), 0.0))))))))))
"""


def compiled(text: str) -> TermKernel:
    return TermKernel("f", parse_term(text), options=RELAXED, strategy=DEFAULT)


def test_a_bias_is_added_where_the_sums_are(emulate: Emulate) -> None:
    text = (
        f"fun((x : 4.8.f32, w : 8.40.f32, b : 40.f32), {DENSE} "
        "|> map(fun(row, zip(row, b) |> map(fun(p, max(fst(p) + snd(p), 0.0))))))"
    )
    program = compiled(text)
    gpu = emulate(program.lower())
    source = np.random.default_rng(0)
    x, w, b = (source.integers(-3, 4, n).astype(np.float32) for n in ((4, 8), (8, 40), (40,)))
    assert np.array_equal(program(x, w, b), np.maximum(x @ w + b, 0))
    assert len(gpu.launched) == 1


def test_pooled_images_are_spread_over_threads(emulate: Emulate) -> None:
    program = compiled(POOLED)
    gpu = emulate(program.lower())
    x = np.random.default_rng(0).standard_normal((4, 8, 8, 2)).astype(np.float32)
    b = np.array([0.5, -0.5], np.float32)
    expected = np.maximum(x + b, 0).reshape(4, 4, 2, 4, 2, 2).max((2, 4))
    assert np.array_equal(program(x, b), expected)
    ((_, grid, block),) = gpu.launched
    assert np.prod(grid) * np.prod(block) >= 4 * 4 * 4 * 2


def test_padded_images_are_spread_over_threads(emulate: Emulate) -> None:
    program = compiled(PADDED)
    gpu = emulate(program.lower())
    source = np.random.default_rng(0)
    x, k = (source.integers(-3, 4, n).astype(np.float32) for n in ((2, 8, 8), (3, 3, 3)))
    windows = np.lib.stride_tricks.sliding_window_view(
        np.pad(x, ((0, 0), (1, 1), (1, 1))), (3, 3), (1, 2)
    )
    assert np.array_equal(program(x, k), np.einsum("bijkl,ckl->bijc", windows, k))
    assert any(np.prod(grid) * np.prod(block) >= 2 * 8 * 8 for _, grid, block in gpu.launched)


@pytest.mark.parametrize("name", ["repeated"])
def test_results_of_functions_are_not_copied(name: str, emulate: Emulate) -> None:
    text = (
        f"fun((x : 64.f32), let {name} = fun((y : 64.f32), y |> map(fun(e, e * 2.0))); "
        f"let z = {name}(x) |> toMem(heap); {name}(z))"
    )
    program = compiled(text)
    gpu = emulate(program.lower())
    x = np.arange(64, dtype=np.float32)
    assert np.array_equal(program(x), 4 * x)
    assert len(gpu.launched) == 2


def test_an_activation_of_blocks_is_applied_where_the_sums_are(emulate: Emulate) -> None:
    """Layers of models add biases to rows, and apply activations to batches of rows."""
    text = (
        f"fun((x : 4.8.f32, w : 8.40.f32, b : 40.f32), {DENSE} "
        "|> map(fun(row, zip(row, b) |> map(fun(p, fst(p) + snd(p))))) |> split(2) "
        "|> map(map(map(fun(e, max(e, 0.0))))) |> join)"
    )
    program = compiled(text)
    gpu = emulate(program.lower())
    source = np.random.default_rng(0)
    x, w, b = (source.integers(-3, 4, n).astype(np.float32) for n in ((4, 8), (8, 40), (40,)))
    assert np.array_equal(program(x, w, b), np.maximum(x @ w + b, 0))
    assert len(gpu.launched) == 1


VARIANCE = """fun((x : 2.64.256.f32),
  let wide = x |> map(map(map(fun(e, cast[f64](e)))));
  zip(x, wide) |> map(fun(p, zip(fst(p), snd(p)) |> map(fun(q,
    let mean = (snd(q) |> reduce(add, 0.0_f64)) / 256.0_f64;
    let squares = snd(q) |> map(fun(e, (e - mean) * (e - mean))) |> reduce(add, 0.0_f64);
    fst(q) |> map(fun(e, cast[bf16]((e - cast[f32](mean)) / sqrt(cast[f32](squares))))))))))"""


@pytest.mark.rotating(6)
def test_conversions_are_parts_of_the_loops_that_read_them(emulate: Emulate) -> None:
    program = compiled(VARIANCE)
    lowered = program.lower()
    assert "asVector(4)" in str(lowered.rewritten), "also elements of 2 bytes"
    gpu = emulate(lowered)
    x = np.random.default_rng(0).standard_normal((2, 64, 256)).astype(np.float32)
    mean = x.mean(-1, keepdims=True, dtype=np.float64)
    expected = (x - mean) / np.sqrt(((x - mean) ** 2).sum(-1, keepdims=True))
    assert np.allclose(program(x).astype(np.float32), expected, atol=2e-3)
    assert len(gpu.launched) == 1


def test_converted_operands_of_products_are_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensor cores multiply elements of one type."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = """fun((x : 512.64.f32, w : 512.64.bf16),
      let wide = w |> map(map(fun(e, cast[f32](e))));
      x |> map(fun(row, wide |> map(fun(column, zip(row, column)
        |> reduce(fun((a, p), a + fst(p) * snd(p)), 0.0))))))"""
    assert "tensorMMA" in str(compiled(text).lower().rewritten)


def test_rows_are_read_where_they_are(emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = """fun((x : 2.64.64.bf16, w : 64.64.bf16),
      x |> join |> toMem(heap) |> map(fun(row, w |> map(fun(column, zip(row, column)
        |> reduce(fun((a, p), a + cast[f32](fst(p)) * cast[f32](snd(p))), 0.0))))))"""
    program = compiled(text)
    gpu = emulate(program.lower())
    source = np.random.default_rng(0)
    x, w = (source.integers(-3, 4, n).astype(BF16) for n in ((2, 64, 64), (64, 64)))
    expected = x.reshape(128, 64).astype(np.float32) @ w.astype(np.float32).T
    assert np.array_equal(program(x, w), expected)
    assert len(gpu.launched) == 1
