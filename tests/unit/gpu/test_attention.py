"""Attention in one pass on tensor cores: the laws, the pattern, and the kernels, emulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import bf16
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Success
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.rules.algorithmic import reduce_map_fusion
from riselang.rewrite.rules.attention import softmax_in_one_pass
from riselang.rewrite.strategies.gpu_attention import AttentionTile, one_pass
from riselang.rewrite.traversals import top_down
from riselang.support.config import Options
from riselang.support.errors import LimitationError
from riselang.term.contraction import contract
from riselang.term.nodes import has_pattern
from support.emulated_gpu import Emulate

BF16 = numpy_dtype(bf16)


def definition(
    queries: int, keys: int, length: int, *, is_causal: bool = False, type: str = "bf16"
) -> str:
    """Attention as a program that says what is computed."""
    counted = "generate(fun((i : idx[{}]), cast[i64](i |> fromIdx)))"
    products = "zip(Q, K) |> map(fun(p, cast[f32](fst(p)) * cast[f32](snd(p))))"
    score = f"({products} |> reduce(add, 0.0)) * 0.125"
    if is_causal:
        rows, columns = f"zip(q, {counted.format(queries)})", f"zip(k, {counted.format(keys)})"
        score = score.replace("Q", "fst(query)").replace("K", "fst(key)")
        score = f"select(snd(key) <= snd(query), {score}, -inf)"
    else:
        rows, columns = "q", "k"
        score = score.replace("Q", "query").replace("K", "key")
    return f"""
      {rows} |> map(fun(query,
        let scores = {columns} |> map(fun(key, {score}));
        let largest = scores |> reduce(max, -inf);
        let weights = scores |> map(fun(s, exp(s - largest)));
        let total = weights |> reduce(add, 0.0);
        v |> transpose |> map(fun(column,
          cast[{type}]((zip(weights, column) |> map(fun(p, fst(p) * cast[f32](snd(p))))
            |> reduce(add, 0.0)) / total)))))"""


def program(queries: int, keys: int, length: int, **options: Any) -> str:
    type = options.get("type", "bf16")
    return (
        f"fun((q : {queries}.{length}.{type}, k : {keys}.{length}.{type}, "
        f"v : {keys}.{length}.{type}), {definition(queries, keys, length, **options)})"
    )


def kernel(text: str, tile: AttentionTile | None = None, float: str = "relaxed") -> TermKernel:
    options = Options("gpu", float=float)
    if tile is None:
        return TermKernel("f", parse_term(text), options=options, strategy=DEFAULT)
    return TermKernel("f", parse_term(text), options=options, strategy=top_down(tile.strategy()))


def attend(q: Any, k: Any, v: Any, *, is_causal: bool = False) -> Any:
    """Attention in NumPy."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / 8
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v / weights.sum(-1, keepdims=True)


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    source = np.random.default_rng(3)
    return [source.standard_normal(shape).astype(BF16) for shape in shapes]


def assert_close(found: Any, expected: Any) -> None:
    assert np.allclose(found.astype(np.float64), expected, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("is_causal", [False, True])
def test_one_pass_computes_the_softmax(is_causal: bool) -> None:
    term = contract(parse_term(program(5, 6, 8, is_causal=is_causal)))
    result = top_down(one_pass).run(term, Setting("relaxed"))
    assert isinstance(result, Success)
    assert [step.rule.name for step in result.steps][-1] == "softmax_in_one_pass"
    assert "reduceSeq" in str(result.term)
    q, k, v = arrays((5, 8), (6, 8), (6, 8))
    for each in (term, result.term):
        computed = TermKernel("f", each, backend="interpret", strategy=None)(q, k, v)
        assert_close(computed, attend(q, k, v, is_causal=is_causal))


def test_scores_of_minus_infinity_come_first() -> None:
    text = """fun((s : 4.f32, v : 4.2.f32),
      let scores = s;
      let largest = scores |> reduce(max, -inf);
      let weights = scores |> map(fun(s, exp(s - largest)));
      let total = weights |> reduce(add, 0.0);
      v |> transpose |> map(fun(column,
        (zip(weights, column) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0)) / total)))"""
    term = parse_term(text)
    fused = top_down(reduce_map_fusion).run(term, Setting("relaxed"))
    assert isinstance(fused, Success)
    result = top_down(softmax_in_one_pass).run(fused.term, Setting("relaxed"))
    assert isinstance(result, Success)
    scores = np.array([-np.inf, -np.inf, 1, 2], np.float32)
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    expected = TermKernel("f", term, backend="interpret", strategy=None)(scores, values)
    found = TermKernel("f", result.term, backend="interpret", strategy=None)(scores, values)
    assert np.allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_pattern_has_the_meaning_of_the_definition(is_causal: bool) -> None:
    text = program(32, 16, 8, is_causal=is_causal)
    tile = AttentionTile(16, 2, 1, 1)
    rewritten = top_down(tile.strategy()).run(contract(parse_term(text)), Setting("relaxed"))
    assert isinstance(rewritten, Success), rewritten
    assert has_pattern(rewritten.term, "tensorAttention")
    q, k, v = arrays((32, 8), (16, 8), (16, 8))
    found = TermKernel("f", rewritten.term, backend="interpret", strategy=None)(q, k, v)
    if is_causal:
        k, v = np.pad(k, ((0, 16), (0, 0))), np.pad(v, ((0, 16), (0, 0)))
        expected = attend(q, k, v, is_causal=True)[:16]
        assert_close(found[:16], expected)
    else:
        assert_close(found, attend(q, k, v))


@pytest.mark.rotating(4)
@pytest.mark.parametrize("is_causal", [False, True])
def test_kernels_attend(is_causal: bool, emulate: Emulate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_80")
    body = definition(64, 64, 64, is_causal=is_causal)
    for name, part in (("q", "fst(head)"), ("k", "fst(snd(head))"), ("v", "snd(snd(head))")):
        body = body.replace(f"      {name} |>", f"      {part} |>").replace(
            f"= {name} |>", f"= {part} |>"
        )
        body = body.replace(f"zip({name},", f"zip({part},").replace(
            f"\n        {name} |>", f"\n        {part} |>"
        )
    text = (
        "fun((q : 2.64.64.bf16, k : 2.64.64.bf16, v : 2.64.64.bf16), "
        f"zip(q, zip(k, v)) |> map(fun(head, {body})))"
    )
    compiled = kernel(text)
    assert "tensorAttention" in str(compiled.lower().rewritten)
    gpu = emulate(compiled.lower())
    q, k, v = arrays((2, 64, 64), (2, 64, 64), (2, 64, 64))
    assert_close(compiled(q, k, v), attend(q, k, v, is_causal=is_causal))
    assert [each[1:] for each in gpu.launched] == [((1, 2, 1), (128, 1, 1))]


def test_attention_needs_one_kernel_without_spills(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    ptx = kernel(program(256, 256, 64)).lower().as_text("ptx")
    assert ptx.count(".entry") == 1
    assert "mma.sync" in ptx
    assert ".local" not in ptx
    assert "st.shared" not in ptx, "the results are in registers"


def test_the_order_is_kept_without_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")
    term = contract(parse_term(program(64, 64, 64)))
    assert not isinstance(top_down(one_pass).run(term, Setting("contract")), Success)


def test_old_gpus_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_75")
    with pytest.raises(LimitationError, match=r"compute capability 8\.0"):
        kernel(program(64, 64, 64), AttentionTile(64, 2, 4, 1)).lower().as_text("ptx")


def test_the_definition_in_python_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_GPU_TARGET", "sm_90a")

    def dot(a: Any, b: Any) -> Any:
        products = rl.zip(a, b) | rl.map(lambda x, y: rl.cast(x, rl.f32) * rl.cast(y, rl.f32))
        return products | rl.reduce(rl.add, 0.0)

    @rl.jit(loops="gpu", float="relaxed")
    def attention(
        Q: rl.Array["N", "D", rl.f16], K: rl.Array["M", "D", rl.f16], V: rl.Array["M", "D", rl.f16]
    ) -> Any:
        def of_query(q: Any) -> Any:
            scores = K | rl.map(lambda k: dot(q, k) * 0.125)
            largest = scores | rl.reduce(rl.max, -math.inf)
            weights = scores | rl.map(lambda s: rl.math.exp(s - largest))
            total = weights | rl.reduce(rl.add, 0.0)

            def of_column(column: Any) -> Any:
                products = rl.zip(weights, column) | rl.map(lambda w, v: w * rl.cast(v, rl.f32))
                return rl.cast((products | rl.reduce(rl.add, 0.0)) / total, rl.f16)

            return V | rl.transpose | rl.map(of_column)

        return Q | rl.map(of_query)

    lowered = attention.lower(N=64, M=128, D=64)
    assert "tensorAttention" in str(lowered.rewritten)
