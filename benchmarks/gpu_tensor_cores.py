"""Matrix multiplications on tensor cores beside torch (cuBLAS), measured with CUDA events.

The same program is compiled with one strategy after the other, each of which adds one thing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import riselang as rl
from riselang.native import cuda
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.gpu_mapping import on_gpu
from riselang.rewrite.strategies.gpu_tensor_cores import tensor_tiles
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.traversals import top_down

ROUNDS, MILLISECONDS = 9, 20
"""The number of measurements, and the minimum length of each."""

LADDER: Sequence[tuple[str, Strategy]] = (
    ("one element per thread", on_gpu()),
    ("mma.sync, tiles of 64 x 64, 2 stages", tensor_tiles(32, 2, 2, 2, 2, 4, 1)),
    ("tiles of 128 x 128", tensor_tiles(32, 2, 2, 4, 4, 4, 1)),
    ("4 stages", tensor_tiles(32, 4, 2, 4, 4, 4, 1)),
    ("wgmma, a warp that copies, tiles of 128 x 128", tensor_tiles(64, 3, 8, 1, 1, 16, 1)),
    ("tiles of 128 x 256, 2 stages", tensor_tiles(64, 2, 8, 1, 1, 32, 1)),
    ("4 stages", tensor_tiles(64, 4, 8, 1, 1, 32, 1)),
    ("groups of 8 blocks share columns", tensor_tiles(64, 4, 8, 1, 1, 32, 8)),
    ("several tiles per block", tensor_tiles(64, 4, 8, 1, 1, 32, 8, in_rounds=True)),
)
"""The strategies, from the slowest to the fastest."""


def product(element: Any, strategy: Strategy, float: str = "relaxed") -> Any:
    """A matrix multiplication that adds products as f32."""

    def multiply(a: Any, b: Any) -> Any:
        def dot(row: Any, column: Any) -> Any:
            products = rl.zip(row, column) | rl.map(
                lambda x, y: rl.cast(x, rl.f32) * rl.cast(y, rl.f32)
            )
            return rl.cast(products | rl.reduce(rl.add, 0.0), element)

        columns = b | rl.transpose
        return a | rl.map(lambda row: columns | rl.map(lambda column: dot(row, column)))

    multiply.__annotations__ = {"a": rl.Array["N", "K", element], "b": rl.Array["K", "M", element]}
    return rl.jit(multiply, loops="gpu", float=float, strategy=strategy)


def medians(*programs: Callable[[], Any]) -> list[float]:
    """Return the median time of each program in milliseconds, measured alternately."""
    torch: Any = import_module("torch")

    def once(program: Callable[[], Any], calls: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(calls):
            program()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / calls

    calls = [1 + int(MILLISECONDS / max(once(each, 1), once(each, 1))) for each in programs]
    times = [
        [once(program, count) for program, count in zip(programs, calls, strict=True)]
        for _ in range(ROUNDS)
    ]
    return [sorted(each)[ROUNDS // 2] for each in zip(*times, strict=True)]


def compare(name: str, ours: Any, a: Any, b: Any) -> None:
    torch: Any = import_module("torch")
    expected = a @ b
    error = (ours(a, b).float() - expected.float()).abs().max() / expected.float().abs().max()
    mine, theirs = medians(lambda: ours(a, b), lambda: torch.matmul(a, b))
    work = 2 * a.shape[0] * a.shape[1] * b.shape[1] / 1e9
    print(
        f"{name:46} {work / mine:7.1f} TFLOP/s  torch {work / theirs:7.1f}  "
        f"ratio {mine / theirs:5.2f}  error {error.item():.1e}",
        flush=True,
    )


def main(size: int) -> None:
    torch: Any = import_module("torch")
    a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
    for name, strategy in LADDER:
        steps = strategy if name == LADDER[0][0] else fuse() >> top_down(strategy)
        compare(name, product(rl.bf16, steps), a, b)
    for element, dtype in ((rl.bf16, torch.bfloat16), (rl.f16, torch.float16)):
        for length in (size // 4, size // 2, size, 2 * size):
            x, y = (torch.randn(length, length, device="cuda").to(dtype) for _ in range(2))
            compare(f"default, {dtype} {length}", product(element, DEFAULT), x, y)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
