"""Attention on a GPU, from its definition, beside FlashAttention in torch: 16 heads."""

from __future__ import annotations

import math
import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gpu import ROUNDS, event_seconds
from reporting import report

import riselang as rl
from riselang.native import cuda
from riselang.tools.figures import Rival

HEADS, LENGTH = 16, 128


def dot(a: Any, b: Any) -> Any:
    products = rl.zip(a, b) | rl.map(lambda x, y: rl.cast(x, rl.f32) * rl.cast(y, rl.f32))
    return products | rl.reduce(rl.add, 0.0)


def softmax_sums(scores: Any, values: Any) -> Any:
    """The sums of values with the softmax of scores as weights."""
    largest = scores | rl.reduce(rl.max, -math.inf)
    weights = scores | rl.map(lambda s: rl.math.exp(s - largest))
    total = weights | rl.reduce(rl.add, 0.0)

    def of_column(column: Any) -> Any:
        products = rl.zip(weights, column) | rl.map(lambda w, v: w * rl.cast(v, rl.f32))
        return rl.cast((products | rl.reduce(rl.add, 0.0)) / total, rl.bf16)

    return values | rl.transpose | rl.map(of_column)


def attention(tokens: int, *, is_causal: bool) -> Any:
    scale = 1 / math.sqrt(LENGTH)
    matrices: Any = rl.Array[HEADS, tokens, LENGTH, rl.bf16]

    def full(q: Any, keys: Any, values: Any) -> Any:
        return softmax_sums(keys | rl.map(lambda k: dot(q, k) * scale), values)

    def causal(q: Any, i: Any, keys: Any, values: Any) -> Any:
        scores = rl.zip(keys, rl.arange(tokens)) | rl.map(
            lambda k, j: rl.where(j <= i, dot(q, k) * scale, -math.inf)
        )
        return softmax_sums(scores, values)

    def of_head(queries: Any, keys: Any, values: Any) -> Any:
        if not is_causal:
            return queries | rl.map(lambda q: full(q, keys, values))
        counted = rl.zip(queries, rl.arange(tokens))
        return counted | rl.map(lambda q, i: causal(q, i, keys, values))

    def program(Q: Any, K: Any, V: Any) -> Any:
        return rl.zip(Q, rl.zip(K, V)) | rl.map(lambda q, kv: of_head(q, kv[0], kv[1]))

    program.__annotations__ = dict.fromkeys("QKV", matrices)
    return rl.jit(program, loops="gpu", float="relaxed")


def measure(tokens: int, *, is_causal: bool) -> None:
    torch: Any = import_module("torch")
    backends: Any = import_module("torch.nn.attention")
    shape = (HEADS, tokens, LENGTH)
    q, k, v = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    program = attention(tokens, is_causal=is_causal)

    def theirs() -> Any:
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(q[None], k[None], v[None], is_causal=is_causal)[0]

    with backends.sdpa_kernel(backends.SDPBackend.FLASH_ATTENTION):
        torch.testing.assert_close(program(q, k, v), theirs(), rtol=2e-2, atol=2e-2)
        calls = (lambda: program(q, k, v), theirs)
        taken = [tuple(event_seconds(call) for _ in range(ROUNDS)) for call in calls]
    name = f"attention of {tokens} tokens" + (", causal" if is_causal else "")
    report(name, taken[0], Rival("FlashAttention", taken[1]), bound=1.5)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    else:
        for tokens in (256,) if os.environ.get("RISE_SCALING_SHARE") else (1024, 4096):
            for is_causal in (False, True):
                measure(tokens, is_causal=is_causal)
