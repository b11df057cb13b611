"""Weak scaling on the ranks of this machine, beside the prediction of the alpha-beta model.

    python benchmarks/ranks.py              # measures 1 and 2 ranks with mpiexec
    python benchmarks/ranks.py --simulate   # predicts up to 4,096 ranks from the plans

The work of a rank is the same for each number of ranks. The prediction is the time on one rank plus
that of the messages of the plan; alpha and beta are measured with messages between two ranks. Run
it where `riselang[mpi]` is installed, on an idle machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import riselang as rl
from riselang.dialects.rise.types import leaves
from riselang.ranks.cost import communication_seconds, step_traffic
from riselang.ranks.transport import load_mpi
from riselang.tools.ranks import find_mpiexec

ROWS, ITERATIONS = 512, 20
PRODUCT = """fun((A : {n}.512.f32, B : 512.512.f32), A |> shard(0) |> map(fun(row,
  B |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))) |> take(1))"""
JACOBI = """fun((x : {n}.{m}.f32), x |> shard(0) |> iterate({k}, fun(y,
  y |> pad(1, 1) |> map(fun(row, row |> pad(1, 1)))
    |> map(fun(row, row |> slide(3, 1))) |> slide(3, 1)
    |> map(fun(rows, rows |> transpose |> map(fun(window,
      (window |> join |> reduce(add, 0.0)) * 0.111)))))) |> take(1))"""
SUM = "fun((x : {n}.f32), x |> shard(0) |> reduce(add, 0.0))"
SUMMA = """fun((A : {n}.{n}.f32, B : {n}.{n}.f32),
  let a = A |> shard(0) |> map(shard(1));
  let b = B |> shard(0) |> map(shard(1));
  a |> map(fun(row, b |> transpose |> map(fun(column,
    zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
CASES: dict[str, tuple[str, Callable[[int], dict[str, int]], str]] = {
    "product, 512 rows a rank": (PRODUCT, lambda p: {"n": ROWS * p}, "contract"),
    "Jacobi 2D, 512 rows a rank": (
        JACOBI, lambda p: {"n": ROWS * p, "m": 1024, "k": ITERATIONS}, "contract",
    ),
    "sum, 4 million a rank": (SUM, lambda p: {"n": (1 << 22) * p}, "relaxed"),
}  # fmt: skip


def load(text: str) -> Any:
    module: Any = rl.loads(text, name="program.rise")
    return module.main


def best_seconds(action: Callable[[], object], barrier: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(9):
        barrier()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, Any]:
    """Measure all cases on the ranks of MPI; the first rank returns the times."""
    mpi = load_mpi()
    world = mpi.COMM_WORLD
    results: dict[str, Any] = {}
    for name, (text, sizes, float) in CASES.items():
        kernel = load(text.format(**sizes(world.Get_size())))
        function = rl.distribute(kernel, ranks=world.Get_size(), float=float, results="root")
        shapes = [_shape(type) for type in kernel.types]
        arrays = [np.random.default_rng(0).random(shape, np.float32) for shape in shapes]
        function(*arrays)
        seconds = best_seconds(lambda f=function, a=arrays: f(*a), world.Barrier)
        results[name] = world.allreduce(seconds, op=mpi.MAX)
    if world.Get_size() == 2:
        results["alpha"], results["beta"] = message_times(world)
    return results


def message_times(world: Any) -> tuple[float, float]:
    """Return the seconds of a message between two ranks, and those of each byte."""

    def one_way(size: int) -> float:
        data, other = np.zeros(size, np.uint8), 1 - world.Get_rank()

        def exchange() -> None:
            if world.Get_rank() == 0:
                world.Send(data, other)
                world.Recv(data, other)
            else:
                world.Recv(data, other)
                world.Send(data, other)

        return best_seconds(exchange, world.Barrier) / 2

    alpha = one_way(8)
    return alpha, (one_way(1 << 22) - alpha) / (1 << 22)


def _shape(type: Any) -> list[int]:
    ((lengths, _),) = leaves(type)
    return [length.constant for length in lengths]


def predict(name: str, ranks: int, alpha: float, beta: float) -> float:
    text, sizes, float = CASES[name]
    distributed = rl.distribute(load(text.format(**sizes(ranks))), ranks=ranks, float=float)
    return communication_seconds(distributed.plan(), alpha, beta)


def compare() -> None:
    mpiexec = find_mpiexec()
    assert mpiexec is not None, "needs riselang[mpi]"
    measured: dict[int, dict[str, float]] = {}
    for ranks in (1, 2):
        command = [mpiexec, "-n", str(ranks), sys.executable, __file__, "--rank"]
        environment = {**os.environ, "RISE_NUM_THREADS": "1"}
        ended = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment
        )  # fmt: skip
        measured[ranks] = json.loads(ended.stdout)
    alpha, beta = measured[2]["alpha"], measured[2]["beta"]
    print(f"alpha {alpha * 1e6:.2f} us, beta {beta * 1e9:.3f} ns per byte")
    print("| program | 1 rank, ms | 2 ranks, ms | predicted, ms | efficiency |")
    print("|---|---|---|---|---|")
    for name in CASES:
        one, two = measured[1][name], measured[2][name]
        predicted = one + predict(name, 2, alpha, beta)
        row = [f"{each * 1000:.2f}" for each in (one, two, predicted)]
        print(f"| {name} | {' | '.join(row)} | {one / two:.2f} |")


def simulate(alpha: float = 2e-6, beta: float = 1e-10, flops: float = 5e10) -> None:
    """Predict SUMMA with one panel for each column of the mesh, and Jacobi, from their plans."""
    print(f"alpha {alpha * 1e6:.1f} us, beta {beta * 1e9:.2f} ns per byte, {flops:.0e} flop/s")
    print("| ranks | SUMMA, ms | of it messages | efficiency | Jacobi step, us | of it messages |")
    print("|---|---|---|---|---|---|")
    side = 1
    while side * side <= 4096:
        block = 512
        product = load(SUMMA.format(n=block * side))
        strategy = f"top_down(summa({side}, {side}, {block}))"
        mesh = (side, side)
        plan = rl.distribute(product, ranks=mesh, strategy=strategy).plan()
        # The first two steps cut the arrays; the panels are alike, so one of them is planned.
        messages = side * step_traffic(plan, plan.steps[2]).seconds(alpha, beta)
        compute = side * 2 * block**3 / flops
        stencil = load(JACOBI.format(n=block * side, m=block * side, k=2))
        plan = rl.distribute(stencil, ranks=mesh).plan()
        halo = step_traffic(plan, plan.steps[-1]).seconds(alpha, beta)
        step = 10 * block**2 / flops
        print(
            f"| {side * side} | {(compute + messages) * 1e3:.1f} | {messages * 1e3:.2f} | "
            f"{compute / (compute + messages):.2f} | {(step + halo) * 1e6:.0f} | "
            f"{halo * 1e6:.1f} |",
            flush=True,
        )
        side *= 2


if __name__ == "__main__":
    if "--rank" in sys.argv:
        figures = measure()
        if os.environ.get("PMI_RANK", "0") == "0":
            print(json.dumps(figures))
    elif "--simulate" in sys.argv:
        simulate()
    else:
        compare()
