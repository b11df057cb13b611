"""The tactics, declared with placeholders."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.frontends.c.tactics.matching import UpdatePattern, arrays, loops, update

i, j, k, b = loops("i j k b")
A, B, C, x, y = arrays("A B C x y")


@dataclass(frozen=True)
class Tactic:
    """A name, and the updates of which it matches any."""

    name: str
    patterns: tuple[UpdatePattern, ...]


GEMM = Tactic(
    "gemm",
    (
        update(C[i, j], A[i, k], B[k, j]),
        update(C[i, j], A[k, i], B[k, j]),
        update(C[i, j], A[i, k], B[j, k]),
        update(C[i, j], A[k, i], B[j, k]),
    ),
)
BATCHED_GEMM = Tactic(
    "batched gemm",
    (
        update(C[b, i, j], A[b, i, k], B[b, k, j]),
        update(C[b, i, j], A[b, k, i], B[b, k, j]),
        update(C[b, i, j], A[b, i, k], B[b, j, k]),
        update(C[b, i, j], A[b, i, k], B[k, j]),
    ),
)
GEMV = Tactic("gemv", (update(y[i], A[i, j], x[j]), update(y[i], A[j, i], x[j])))
GER = Tactic("ger", (update(C[i, j], x[i], y[j]),))
TACTICS = (GEMM, BATCHED_GEMM, GEMV, GER)
"""The tactics in the order in which they are tried; a contraction is the most general product."""
