"""Programs on a GPU beside torch, whose arrays they take and give: nothing leaves the GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gpu_programs import (
    activation,
    column_sums,
    copy,
    corner_strength,
    harris,
    jacobi_2d,
    jacobi_3d,
    layer_norm,
    product,
    rms_norm,
    row_sums,
    scaled_sum,
    scan_columns,
    scan_rows,
    separated_convolution,
    softmax,
    total,
    transposed,
)
from reporting import report

from riselang.native import cuda
from riselang.support.benchmarking import time_interleaved
from riselang.tools.figures import Rival

ROUNDS = 15
Call = Callable[[], Any]


def measure(name: str, ours: Call, theirs: Call, tolerance: float = 1e-4) -> None:
    """Report the times of complete calls, and those of the kernels of calls after each other."""
    torch: Any = import_module("torch")
    torch.testing.assert_close(ours(), theirs(), rtol=tolerance, atol=tolerance)

    def finished(program: Call) -> Callable[[], None]:
        def call() -> None:
            program()
            torch.cuda.synchronize()

        return call

    calls = [(finished(ours), 10), (finished(theirs), 10)]
    taken = time_interleaved(calls, ROUNDS, rest=0.0)
    report(name, taken[0], Rival("torch", taken[1]))
    taken = [tuple(event_seconds(program) for _ in range(ROUNDS)) for program in (ours, theirs)]
    report(f"{name}: kernels", taken[0], Rival("torch", taken[1]))


def event_seconds(program: Call, calls: int = 10) -> float:
    """The seconds of a call of many, by the clock of the GPU."""
    torch: Any = import_module("torch")
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        program()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls / 1000


def vectors(length: int) -> None:
    torch: Any = import_module("torch")
    x, y = (torch.randn(length, device="cuda") for _ in range(2))
    measure("2 x + y", lambda: scaled_sum(x, y), lambda: torch.add(y, x, alpha=2))
    u, v = (torch.randn(1024, device="cuda") for _ in range(2))
    measure("2 x + y, 1024 numbers", lambda: scaled_sum(u, v), lambda: torch.add(v, u, alpha=2))
    measure("copy", lambda: copy(x), lambda: x.clone())
    measure("tanh x + exp x/2", lambda: activation(x), lambda: torch.tanh(x) + torch.exp(x * 0.5))
    measure("sum", lambda: total(x), lambda: x.sum(), length * 1e-6)


def matrices(size: int) -> None:
    torch: Any = import_module("torch")
    m = torch.randn(size, size, device="cuda")
    weights = torch.randn(size, device="cuda")
    norm: Any = torch.nn.functional
    measure("sums of rows", lambda: row_sums(m), lambda: m.sum(1), 1e-3)
    measure("sums of columns", lambda: column_sums(m), lambda: m.sum(0), 1e-3)
    measure("softmax", lambda: softmax(m), lambda: torch.softmax(m, 1))
    measure("layer norm", lambda: layer_norm(m), lambda: norm.layer_norm(m, (size,)))
    measure(
        "RMS norm", lambda: rms_norm(m, weights), lambda: norm.rms_norm(m, (size,), weights, 1e-5)
    )
    measure("transposed", lambda: transposed(m), lambda: m.t().contiguous())
    measure("scans of rows", lambda: scan_rows(m), lambda: m.cumsum(1), 1e-2)
    measure("scans of columns", lambda: scan_columns(m), lambda: m.cumsum(0), 1e-2)


def products(size: int) -> None:
    torch: Any = import_module("torch")
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.rand(size, size, device="cuda") for _ in range(2))
    measure(f"product of {size}", lambda: product(a, b), lambda: a @ b)


def stencils(size: int) -> None:
    torch: Any = import_module("torch")
    convolve: Any = torch.nn.functional.conv2d
    a = torch.randn(size + 2, size + 2, device="cuda")
    plane: Any = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]], device="cuda") / 4
    kernel = plane[None, None]
    measure("Jacobi 2D", lambda: jacobi_2d(a), lambda: convolve(a[None, None], kernel)[0, 0])
    edge = round((size * size) ** (1 / 3) / 64) * 64
    b = torch.randn(edge + 2, edge + 2, edge + 2, device="cuda")

    def torch_jacobi_3d() -> Any:
        rows = b[:-2, 1:-1, 1:-1] + b[2:, 1:-1, 1:-1]
        columns = b[1:-1, :-2, 1:-1] + b[1:-1, 2:, 1:-1]
        return (rows + columns + b[1:-1, 1:-1, :-2] + b[1:-1, 1:-1, 2:]) * (1 / 6)

    measure("Jacobi 3D", lambda: jacobi_3d(b), torch_jacobi_3d)
    image = torch.randn(size + 8, size + 8, device="cuda")
    weights = torch.rand(9, device="cuda")
    column, row = weights[None, None, :, None], weights[None, None, None, :]

    def torch_convolution() -> Any:
        return convolve(convolve(image[None, None], column), row)[0, 0]

    corners = torch.compile(corner_strength)
    measure("Harris (torch.compile)", lambda: harris(image), lambda: corners(image), 1e-3)
    measure(
        "9x9 convolution", lambda: separated_convolution(image, weights), torch_convolution, 1e-3
    )


def main(length: int, size: int) -> None:
    parts = os.environ.get("RISE_GPU_BENCH", "vectors,products,matrices,stencils").split(",")
    if "vectors" in parts:
        vectors(length)
    if "products" in parts:
        products(size)
    if "matrices" in parts:
        matrices(2 * size)
    if "stencils" in parts:
        stencils(2 * size)


if __name__ == "__main__":
    if find_spec("torch") is None or not cuda.is_available():
        print("there is no GPU here, or no torch: nothing is measured")
    elif os.environ.get("RISE_SCALING_SHARE"):
        main(1 << 12, 128)
    else:
        main(1 << 26, 4096)
