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
GRAPH_CALLS = 10
SHAPES = (
    *((length, length, length) for length in (1000, 1024, 2048, 4096, 8192)),
    (4096, 64, 4096), (64, 4096, 4096), (4096, 4096, 11008),
)  # fmt: skip
"""The rows, the depth and the columns of each multiplication."""

LADDER: Sequence[tuple[str, Strategy]] = (
    ("one element per thread", on_gpu()),
    ("mma.sync, tiles of 16 x 16, 2 stages", tensor_tiles(32, 2, 1, 1, 1, 2, 1, in_vectors=False)),
    ("tiles of 32 x 32", tensor_tiles(32, 2, 1, 2, 2, 2, 1, in_vectors=False)),
    ("tiles of 64 x 64", tensor_tiles(32, 2, 2, 2, 2, 4, 1, in_vectors=False)),
    ("tiles of 128 x 128", tensor_tiles(32, 2, 2, 4, 4, 4, 1, in_vectors=False)),
    ("wgmma, a warp that copies, 64 x 64", tensor_tiles(64, 2, 4, 1, 1, 8, 1, in_vectors=False)),
    ("tiles of 128 x 128", tensor_tiles(64, 2, 8, 1, 1, 16, 1, in_vectors=False)),
    ("3 stages", tensor_tiles(64, 3, 8, 1, 1, 16, 1, in_vectors=False)),
    ("tiles of 128 x 256, several per block", tensor_tiles(64, 4, 8, 1, 1, 32, in_rounds=True)),
)
"""The strategies, from the slowest to the fastest."""


def product(
    element: Any,
    strategy: Strategy,
    float: str = "relaxed",
    *,
    result: Any = None,
    rows: bool = False,
) -> Any:
    """A matrix multiplication that adds products as f32, or as i32.

    Its second operand is transposed if `rows`.
    """
    total = rl.i32 if element is rl.i8 else rl.f32
    result = element if result is None else result

    def dot(row: Any, column: Any) -> Any:
        products = rl.zip(row, column) | rl.map(lambda x, y: rl.cast(x, total) * rl.cast(y, total))
        return rl.cast(products | rl.reduce(rl.add, 0 if total is rl.i32 else 0.0), result)

    def multiply(a: Any, b: Any) -> Any:
        columns = b if rows else b | rl.transpose
        return a | rl.map(lambda row: columns | rl.map(lambda column: dot(row, column)))

    def multiply_batch(a: Any, b: Any) -> Any:
        return rl.zip(a, b) | rl.map(multiply)

    matrix = rl.Array["M", "K", element] if rows else rl.Array["K", "M", element]
    multiply.__annotations__ = {"a": rl.Array["N", "K", element], "b": matrix}
    multiply_batch.__annotations__ = {
        "a": rl.Array["B", "N", "K", element], "b": rl.Array["B", "K", "M", element],
    }  # fmt: skip
    compiled = [
        rl.jit(each, loops="gpu", float=float, strategy=strategy)
        for each in (multiply, multiply_batch)
    ]
    return lambda a, b: compiled[a.dim() - 2](a, b)


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


def relative_error(result: Any, expected: Any) -> float:
    difference = (result.float() - expected.float()).abs().max()
    return float(difference / expected.float().abs().max())


def report(name: str, work: float, mine: float, theirs: float, error: float) -> None:
    print(
        f"{name:46} {work / mine:7.1f} TFLOP/s  torch {work / theirs:7.1f}  "
        f"ratio {mine / theirs:5.2f}  error {error:.1e}",
        flush=True,
    )


def compare(name: str, ours: Any, theirs: Callable[[Any, Any], Any], a: Any, b: Any) -> None:
    """Measure a program beside torch: its calls, and CUDA graphs of them."""
    error = relative_error(ours(a, b), theirs(a, b))
    programs = (lambda: ours(a, b), lambda: theirs(a, b))
    work = 2 * a.numel() * theirs(a, b).shape[-1] / 1e9
    mine, other = medians(*programs)
    report(name, work, mine, other, error)
    graphs = [graph_of(each) for each in programs]
    mine, other = medians(*(each.replay for each in graphs))
    report("  as a graph", GRAPH_CALLS * work, mine, other, error)


def graph_of(program: Callable[[], Any]) -> Any:
    """Return a CUDA graph of several calls."""
    torch: Any = import_module("torch")
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        program()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        graph.results = [program() for _ in range(GRAPH_CALLS)]
    return graph


def climb(size: int) -> None:
    """Measure the steps of the ladder alternately, so that the clock rate is the same for all."""
    torch: Any = import_module("torch")
    a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
    programs: list[Callable[[], Any]] = [lambda: torch.matmul(a, b)]
    for name, strategy in LADDER:
        steps = strategy if name == LADDER[0][0] else fuse() >> top_down(strategy)
        step = product(rl.bf16, steps)
        programs.append(lambda step=step: step(a, b))
    errors = [relative_error(each(), programs[0]()) for each in programs[1:]]
    theirs, *times = medians(*programs)
    for (name, _), time, error in zip(LADDER, times, errors, strict=True):
        report(name, 2 * size**3 / 1e9, time, theirs, error)


def main(size: int) -> None:
    torch: Any = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = True
    climb(size)

    def random(*sizes: int, dtype: Any) -> Any:
        if dtype == torch.int8:
            return torch.randint(-8, 8, sizes, device="cuda", dtype=dtype)
        return torch.randn(*sizes, device="cuda").to(dtype)

    for element, dtype in ((rl.bf16, torch.bfloat16), (rl.f16, torch.float16)):
        program = product(element, DEFAULT)
        for rows, depth, columns in SHAPES:
            a, b = random(rows, depth, dtype=dtype), random(depth, columns, dtype=dtype)
            name = f"default, {dtype} {rows} x {depth} x {columns}"
            compare(name, program, torch.matmul, a, b)
    a, b = (random(64, 512, 512, dtype=torch.bfloat16) for _ in range(2))
    compare("default, 64 of 512", product(rl.bf16, DEFAULT), torch.bmm, a, b)
    one = torch.ones((), device="cuda")

    def scaled(a: Any, b: Any) -> Any:
        """PyTorch's multiplication of floats of 8 bits, whose scales are one here."""
        return torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    other = (
        ("tf32", rl.f32, rl.f32, torch.float32, lambda a, b: torch.matmul(a, b.t())),
        ("i8", rl.i8, rl.i32, torch.int8, lambda a, b: torch._int_mm(a, b.t())),
        ("f8e4m3fn", rl.f8e4m3fn, rl.bf16, torch.float8_e4m3fn, scaled),
    )
    for name, element, result, dtype, theirs in other:
        program = product(element, DEFAULT, result=result, rows=True)
        for length in (size, 2 * size):
            a, b = (random(length, length, dtype=dtype) for _ in range(2))
            compare(f"default, {name} {length}, transposed", program, theirs, a, b)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
