"""Temporaries that are not needed at the same time share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl

STEP = "let {0} = {1} |> map(fun(a, a * 2.0 + ({1} |> at(i |> at(0 |> clampIdx(4))))));"


def chain(steps: int, end: str = "x{}") -> str:
    """Each step reads one element of the step before it for all of its own."""
    lets = " ".join(STEP.format(f"x{k + 1}", f"x{k}") for k in range(steps))
    return f"{lets} {end.format(steps)}"


def kernels(body: str) -> tuple[Any, Any]:
    text = f"fun((x0 : 64.f32, i : 4.idx[64]), {body})"
    compiled: Any = rl.loads(text, name="p.rise", strategy="none")
    reference: Any = rl.loads(text, name="p.rise", backend="interpret")
    return compiled.main, reference.main


def buffers(kernel: Any) -> int:
    return kernel.lower().as_text("affine").count("= memref.alloc")


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (chain(6), 2),
        (chain(6, "zip(x{}, x1) |> map(add)"), 3),
        (f"x0 |> iterate(3, fun(x0, {chain(6)}))", 4),
    ],
)
def test_a_chain_of_steps_uses_few_buffers(body: str, count: int) -> None:
    kernel, reference = kernels(body)
    assert buffers(kernel) <= count
    x, i = np.arange(64, dtype=np.float32), np.array([5, 1, 2, 3])
    assert kernel(x, i).tobytes() == reference(x, i).tobytes()
