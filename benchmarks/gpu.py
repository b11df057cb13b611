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

SUMS = (
    "fun((sums, p), zip(fst(p), sums) |> map(fun(q, "
    "zip(snd(p), snd(q)) |> map(fun(s, fma(fst(q), fst(s), snd(s)))))))"
)


@rl.jit(loops="gpu")
def scaled_sum(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda pair: pair[0] * 2.0 + pair[1])


@rl.jit(loops="gpu", float="relaxed")
def activation(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda e: rl.math.tanh(e) + rl.math.exp(e * 0.5))


@rl.jit(loops="gpu")
def product(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]) -> Any:
    def element(row: Any, column: Any) -> Any:
        return rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)

    columns = b | rl.transpose
    return a | rl.map(lambda row: columns | rl.map(lambda column: element(row, column)))


def tiled_product(size: int, rows: int, columns: int, threads: int) -> Any:
    """A product with some sums for each thread, of rows and columns that lie `threads` apart.

    `rows` and `columns` are those of a block, which has `threads` times `threads` threads.
    """
    of_rows, of_columns = rows // threads, columns // threads
    zero = f"generate(fun((i : idx[{of_rows}]), generate(fun((j : idx[{of_columns}]), 0.0))))"
    tile = f"zip(r |> transpose, c |> transpose) |> reduceSeq({SUMS}, {zero})"
    over_columns = (
        f"cs |> split({threads}) |> transpose |> mapThread(0, fun(c, {tile})) "
        "|> transpose |> map(fun(x, x |> transpose |> join))"
    )
    over_rows = (
        f"rs |> split({threads}) |> transpose |> mapThread(1, fun(r, {over_columns})) "
        "|> transpose |> join"
    )
    blocks = (
        f"b |> transpose |> split({columns}) |> mapBlock(0, fun(cs, {over_rows})) "
        "|> transpose |> map(join)"
    )
    text = (
        f"fun((a : {size}.{size}.f32, b : {size}.{size}.f32), "
        f"a |> split({rows}) |> mapBlock(1, fun(rs, {blocks})) |> join)"
    )
    loaded: Any = rl.loads(text, name="tiled.rise", loops="gpu")
    return loaded.main


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
    measure("tanh x + exp x/2", lambda: activation(x), lambda: torch.tanh(x) + torch.exp(x * 0.5))
    a, b = (torch.rand(size, size, device="cuda") for _ in range(2))
    measure(f"product of {size}, as it is spread", lambda: product(a, b), lambda: a @ b)
    tiled = tiled_product(size, 128, 64, 16)
    measure(f"product of {size}, 8 x 4 sums a thread", lambda: tiled(a, b), lambda: a @ b)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    elif os.environ.get("RISE_SCALING_SHARE"):
        main(1 << 12, 128)
    else:
        main(1 << 26, 4096)
