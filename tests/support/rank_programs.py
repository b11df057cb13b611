"""Programs that tests distribute to ranks, and the values that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import riselang as rl
from riselang.dialects.rise.types import leaves
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.ranks.transport import load_mpi

Ranks = int | tuple[int, ...]

MATMUL = """fun((A : 13.7.f32, B : 7.9.f32), A |> map(fun(row, B |> transpose |> map(fun(column,
  zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
JACOBI = """fun((x : 9.11.f32), x |> iterate(4, fun(y,
  y |> pad(1, 1) |> map(fun(row, row |> pad(1, 1)))
    |> map(fun(row, row |> slide(3, 1))) |> slide(3, 1)
    |> map(fun(rows, rows |> transpose |> map(fun(window,
      (window |> join |> reduce(add, 0.0)) * 0.111)))))))"""
SUM = "fun((x : 37.f32), x |> reduce(add, 0.0))"
SOFTMAX = """fun((x : 37.f32),
  let m = x |> reduce(max, 0.0);
  let e = x |> map(fun(v, exp(v - m)));
  let s = e |> reduce(add, 0.0);
  e |> map(fun(v, v / s)))"""
SOFTMAX_OF_ROWS = """fun((x : 7.5.f64), x |> map(fun(row,
  let m = row |> reduce(max, 0.0);
  let e = row |> map(fun(v, exp(v - m)));
  let s = e |> reduce(add, 0.0);
  e |> map(fun(v, v / s)))))"""
SUMMA = 'summa({0}, {1}, 3) @ outermost("map")'


@dataclass(frozen=True)
class RankProgram:
    """A program, the ranks that run it, and the strategy that distributes it."""

    text: str
    ranks: Ranks
    strategy: str | None = None

    @property
    def kernel(self) -> Any:
        module: Any = rl.loads(self.text, name="program.rise")
        return module.main

    def arguments(self) -> list[Any]:
        random = np.random.default_rng(0)
        arguments: list[Any] = []
        for type in self.kernel.types:
            ((lengths, leaf),) = leaves(type)
            shape = [length.constant for length in lengths]
            arguments.append(random.random(shape).astype(numpy_dtype(leaf)))
        return arguments

    @property
    def distributed(self) -> Any:
        return rl.distribute(self.kernel, ranks=self.ranks, strategy=self.strategy)


MESHES: dict[int, Sequence[Ranks]] = {
    1: (1, (1, 1)), 2: (2, (2, 1)), 3: (3, (1, 3)), 4: (4, (2, 2)),
}  # fmt: skip


def rank_programs(count: int) -> Iterator[RankProgram]:
    """Yield the programs for this many ranks."""
    line, mesh = MESHES[count]
    for text in (MATMUL, JACOBI, SUM, SOFTMAX, SOFTMAX_OF_ROWS):
        yield RankProgram(text, line)
    yield RankProgram(MATMUL, mesh)
    yield RankProgram(JACOBI, mesh)
    yield RankProgram(MATMUL, mesh, SUMMA.format(*mesh))  # pyright: ignore[reportGeneralTypeIssues]


def check_rank_program(program: RankProgram) -> None:
    """Check that a distributed program has the bits of the interpreter, on this rank."""
    arguments = program.arguments()
    expected = program.kernel.interpreted()(*arguments)
    distributed = program.distributed
    assert np.array_equal(distributed(*arguments), expected), program
    assert np.array_equal(distributed(*arguments), expected), "the second call"


def loss(w: Any, v: Any, x: Any, y: Any) -> Any:
    """The error of a network with a hidden layer."""
    error = rl.numpy.maximum(x @ w, 0.0) @ v - y
    return (error * error).mean()


@rl.jit
def training_step(
    w: rl.Array[3, 5, rl.f32], v: rl.Array[5, rl.f32],
    x: rl.Array[8, 3, rl.f32], y: rl.Array[8, rl.f32],
):  # fmt: skip
    """A step of training with a batch in four blocks, one for each rank."""
    blocks = rl.zip(x | rl.split(2), y | rl.split(2))
    gradients = blocks | rl.map_rank(
        0, lambda block: rl.grad(loss, argnums=(0, 1))(w, v, block[0], block[1])
    )
    of_w = (gradients | rl.map(lambda gradient: gradient[0])).sum(axis=0)
    of_v = (gradients | rl.map(lambda gradient: gradient[1])).sum(axis=0)
    return w - of_w * 0.025, v - of_v * 0.025


def check_training_step(ranks: int) -> None:
    random = np.random.default_rng(0)
    arguments = [random.random(shape, np.float32) for shape in ((3, 5), (5,), (8, 3), (8,))]
    results = rl.distribute(training_step, ranks=ranks)(*arguments)
    expected = training_step.interpreted()(*arguments)
    assert all(map(np.array_equal, results, expected))


if __name__ == "__main__":
    communicator = load_mpi().COMM_WORLD
    for each in rank_programs(communicator.Get_size()):
        check_rank_program(each)
    check_training_step(communicator.Get_size())
    print(f"rank {communicator.Get_rank()} agrees")
