"""Programs on a GPU beside torch, whose arrays they take and give: nothing leaves the GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reporting import report
from timing import samples

import riselang as rl
from riselang.native import cuda
from riselang.tools.figures import Rival


@rl.jit(loops="gpu")
def scaled_sum(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda pair: pair[0] * 2.0 + pair[1])


@rl.jit(loops="gpu", float="relaxed")
def row_sums(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.map(lambda row: row | rl.reduce(rl.add, 0.0))


@rl.jit(loops="gpu", float="relaxed")
def column_sums(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.transpose | rl.map(lambda column: column | rl.reduce(rl.add, 0.0))


@rl.jit(loops="gpu", float="relaxed")
def softmax(a: rl.Array["N", "M", rl.f32]) -> Any:
    def of_row(row: Any) -> Any:
        largest = row | rl.reduce(rl.max, float("-inf"))
        powers = row | rl.map(lambda e: rl.math.exp(e - largest))
        total = powers | rl.reduce(rl.add, 0.0)
        return powers | rl.map(lambda e: e / total)

    return a | rl.map(of_row)


@rl.jit(loops="gpu")
def transposed(a: rl.Array["N", "M", rl.f32]) -> Any:
    return a | rl.transpose


@rl.jit(loops="gpu", float="relaxed")
def activation(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: rl.math.tanh(e) + rl.math.exp(e * 0.5))


@rl.jit(loops="gpu")
def product(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]) -> Any:
    def element(row: Any, column: Any) -> Any:
        return rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    columns = b | rl.transpose
    return a | rl.map(lambda row: columns | rl.map(lambda column: element(row, column)))


def measure(name: str, ours: Callable[[], Any], theirs: Callable[[], Any]) -> None:
    torch: Any = import_module("torch")
    torch.testing.assert_close(ours(), theirs(), rtol=1e-4, atol=1e-4)

    def finished(program: Callable[[], Any]) -> Callable[[], None]:
        def call() -> None:
            program()
            torch.cuda.synchronize()

        return call

    taken = samples([finished(ours), finished(theirs)], rounds=15, calls=10)
    report(name, taken[0], Rival("torch", taken[1]))


def main(length: int, size: int) -> None:
    torch: Any = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = (torch.randn(length, device="cuda") for _ in range(2))
    measure("2 x + y", lambda: scaled_sum(x, y), lambda: torch.add(y, x, alpha=2))
    u, v = (torch.randn(1024, device="cuda") for _ in range(2))
    measure("2 x + y, 1024 numbers", lambda: scaled_sum(u, v), lambda: torch.add(v, u, alpha=2))
    measure("tanh x + exp x/2", lambda: activation(x), lambda: torch.tanh(x) + torch.exp(x * 0.5))
    a, b = (torch.rand(size, size, device="cuda") for _ in range(2))
    measure(f"product of {size}", lambda: product(a, b), lambda: a @ b)
    m = torch.randn(2 * size, 2 * size, device="cuda")
    measure("sums of rows", lambda: row_sums(m), lambda: m.sum(1))
    measure("sums of columns", lambda: column_sums(m), lambda: m.sum(0))
    measure("softmax", lambda: softmax(m), lambda: torch.softmax(m, 1))
    measure("transposed", lambda: transposed(m), lambda: m.t().contiguous())


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    elif os.environ.get("RISE_SCALING_SHARE"):
        main(1 << 12, 128)
    else:
        main(1 << 26, 4096)
