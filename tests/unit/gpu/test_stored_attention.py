"""Attention of models, whose scores and weights are arrays of their own, becomes one kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_attention import arrays, assert_close, attend

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Success
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.rule import Rule
from riselang.rewrite.rules.weighted_sums import (
    guarded_sums_in_one_pass,
    scale_after_products,
    weighted_sums_in_one_pass,
)
from riselang.rewrite.traversals import top_down
from riselang.support.config import Options
from riselang.support.machine import assume_machine, this_machine
from support.emulated_gpu import Emulate

pytestmark = pytest.mark.rotating(6)

HEADS, TOKENS, LENGTH = 2, 64, 64
PRODUCTS = (
    "map(fun(p, fst(p) |> map(fun(row, snd(p) |> transpose |> map(fun(column, "
    "zip(row, column) |> map(fun(q, fst(q) * snd(q))) |> reduce(add, 0.0)))))))"
)
MODEL = f"""fun((q : 64.2.64.bf16, k : 64.2.64.bf16, v : 64.2.64.bf16),
  let scores = zip(
      q |> transpose |> map(map(map(fun(e, cast[f32](e) * 0.5)))) |> toMem(heap),
      k |> transpose |> map(transpose) |> map(map(map(fun(e, cast[f32](e) * 0.25))))
        |> toMem(heap))
    |> {PRODUCTS} |> toMem(heap);
  let powers = zip(scores, scores |> map(map(reduce(max, -inf))))
    |> map(fun(x, zip(fst(x), snd(x))
      |> map(fun(y, fst(y) |> map(fun(e, exp(e - snd(y))))))));
  let weights = zip(powers, powers |> map(map(reduce(add, 0.0))))
    |> map(fun(x, zip(fst(x), snd(x)) |> map(fun(y, fst(y) |> map(fun(e, e / snd(y)))))));
  zip(GUARDED |> toMem(heap),
      v |> transpose |> map(map(map(fun(e, cast[f32](e))))) |> toMem(heap))
    |> {PRODUCTS})"""
GUARD = """zip(scores |> map(map(fun(row, row |> map(fun(e, e == -inf)) |> reduce(bitand, true)))),
      weights)
    |> map(fun(x, zip(fst(x), snd(x))
      |> map(fun(y, snd(y) |> map(fun(e, select(fst(y), 0.0, e)))))))"""


def model(*, is_guarded: bool) -> TermKernel:
    return kernel(MODEL.replace("GUARDED", GUARD if is_guarded else "weights"))


def kernel(text: str) -> TermKernel:
    options = Options("gpu", float="relaxed")
    return TermKernel("f", parse_term(text), options=options, strategy=DEFAULT)


def heads_first(x: Any) -> Any:
    return np.swapaxes(x, 0, 1)


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_model_computes_attention_in_one_kernel(
    is_guarded: bool, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    program = model(is_guarded=is_guarded)
    gpu = emulate(program.lower())
    q, k, v = arrays(*[(TOKENS, HEADS, LENGTH)] * 3)
    expected = attend(*(heads_first(each) for each in (q, k, v)))
    assert_close(program(q, k, v), expected)
    assert len(gpu.launched) == 1


@pytest.mark.parametrize(("old", "new"), [("bf16", "f32"), ("64", "32"), ("64.bf16", "48.bf16")])
def test_other_types_and_sizes_are_not_fused(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tensor cores compute attention of bf16 and f16, and of certain lengths."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    program = kernel(MODEL.replace("GUARDED", GUARD).replace(old, new))
    assert "tensorAttention" not in str(program.lower().rewritten)
    assert ".entry" in program.lower().as_text("ptx")


def test_operands_that_cannot_be_read_are_copied(
    emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a head are every second row of the array."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    text = MODEL.replace("GUARDED", "weights").replace("q : 64.2.64", "q : 128.64")
    program = kernel(text.replace("q |> transpose", "q |> split(2) |> transpose"))
    gpu = emulate(program.lower())
    q, k, v = arrays(*[(TOKENS, HEADS, LENGTH)] * 3)
    expected = attend(*(heads_first(each) for each in (q, k, v)))
    assert_close(program(q.reshape(128, 64), k, v), expected)
    assert len(gpu.launched) == 2


@pytest.mark.parametrize("cores", [1, 16])
def test_scores_that_are_returned_are_stored(monkeypatch: pytest.MonkeyPatch, cores: int) -> None:
    """Also on machines whose cores copy arrays in parallel, which a GPU does not."""
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    start, end = MODEL.replace("GUARDED", "weights").split("  zip(weights")
    with assume_machine(replace(this_machine(), cores=cores)):
        program = kernel(f"{start}  (scores, zip(weights{end[:-1]} |> toMem(heap)))")
        assert "tensorAttention" not in str(program.lower().rewritten)


SUMS = """fun((x : 4.f32, y : 4.2.f32), y |> transpose |> map(fun(column,
  zip(x, column) |> reduce(fun((sum, p), fma(WEIGHT, snd(p), sum)), 0.0))))"""
WEIGHT = """exp(2.0 * fst(p) - (x |> reduce(fun((m, e), max(m, 2.0 * e)), -inf)))
  / (x |> reduce(fun((t, e),
      t + exp(2.0 * e - (x |> reduce(fun((m, c), max(m, 2.0 * c)), -inf)))), 0.0))"""
GUARDED_WEIGHT = f"select(x |> reduce(fun((b, e), b & (2.0 * e == -inf)), true), 0.0, {WEIGHT})"


@pytest.mark.parametrize(
    ("rule", "weight"),
    [(weighted_sums_in_one_pass, WEIGHT), (guarded_sums_in_one_pass, GUARDED_WEIGHT)],
)
@pytest.mark.parametrize(
    "scores", [[1, 2, 3, 4], [-np.inf, 0, -np.inf, 1], [-np.inf] * 4, [np.nan, 1, 2, 3]]
)
def test_sums_in_one_pass_are_those_of_the_definition(
    rule: Rule, weight: str, scores: list[float]
) -> None:
    """Also for a query that attends to no key, and for NaN."""
    term = parse_term(SUMS.replace("WEIGHT", weight))
    result = top_down(rule).run(term, Setting("relaxed"))
    assert isinstance(result, Success), result
    x, y = np.array(scores, np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    expected, found = (
        TermKernel("f", each, backend="interpret", strategy=None)(x, y)
        for each in (term, result.term)
    )
    assert np.allclose(found, expected, rtol=1e-6, equal_nan=True)


def test_factors_are_multiplied_after_a_dot_product() -> None:
    text = (
        "fun((x : 4.bf16, y : 4.bf16), zip(x, y) |> reduce(fun((sum, p), "
        "fma(cast[f32](fst(p)) * 0.5, cast[f32](snd(p)) * 0.25, sum)), 0.0))"
    )
    result = top_down(scale_after_products).run(parse_term(text), Setting("relaxed"))
    assert isinstance(result, Success)
    assert "* (0.5 * 0.25)" in str(result.term)


SOFTMAX = """fun((x : 4.512.f32),
  let powers = zip(x, x |> map(reduce(max, -inf)))
    |> map(fun(p, fst(p) |> map(fun(e, exp(e - snd(p))))));
  let quotients = zip(powers, powers |> map(reduce(add, 0.0)))
    |> map(fun(p, fst(p) |> map(fun(e, e / snd(p))))) |> toMem(heap);
  quotients |> map(fun(row, row |> map(fun(e, e * 2.0)))))"""


def test_the_steps_of_a_softmax_are_one_loop_over_rows(emulate: Emulate) -> None:
    program = kernel(SOFTMAX)
    gpu = emulate(program.lower())
    x = np.random.default_rng(0).standard_normal((4, 512)).astype(np.float32)
    powers = np.exp(x - x.max(-1, keepdims=True))
    assert np.allclose(program(x), 2 * powers / powers.sum(-1, keepdims=True), rtol=1e-5)
    assert len(gpu.launched) <= 2
