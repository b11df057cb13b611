"""Elementwise operations on a product and another matrix move into the loops of the product."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.machine import assume_machine
from support.machines import MACHINES

PROGRAM = """fun((a : ROWS.DEPTH.f32, b : DEPTH.COLUMNS.f32, bias : COLUMNS.f32,
    x : ROWS.COLUMNS.f32),
  let sums = a |> map(fun(row, b |> transpose |> map(fun(column,
      zip(row, column) |> map(mult) |> reduce(add, 0.0))))) |> toMem(heap);
  READ)"""
READERS = {
    "a residual": """zip(sums, x) |> map(fun(p,
      zip(fst(p), snd(p)) |> map(fun(q, fst(q) - snd(q)))))""",
    "a residual, first": """zip(x, sums) |> map(fun(p,
      zip(fst(p), snd(p)) |> map(fun(q, fst(q) - snd(q)))))""",
    "a bias and a residual": """zip(sums, x) |> map(fun(p, zip(fst(p), zip(bias, snd(p)))
      |> map(fun(q, max(fst(q) + fst(snd(q)) + snd(snd(q)), 0.0)))))""",
    "a function that calls the library": """zip(sums, x) |> map(fun(p,
      zip(fst(p), snd(p)) |> map(fun(q, tanh(fst(q)) + snd(q) * fst(q)))))""",
}  # fmt: skip
OTHERS = {
    "two readers": """zip(zip(sums, x) |> map(fun(p, zip(fst(p), snd(p)) |> map(add))),
      sums) |> map(fun(p, zip(fst(p), snd(p)) |> map(mult)))""",
    "columns": """zip(sums |> transpose, x |> transpose) |> map(fun(p,
      zip(fst(p), snd(p)) |> map(add) |> reduce(add, 0.0)))""",
    "shifted rows": """zip(sums |> drop(1), x |> take(ROWS - 1)) |> map(fun(p,
      zip(fst(p), snd(p)) |> map(add)))""",
}
SHAPES = {"divisible": (128, 24, 64), "panels": (56, 96, 256), "with remainders": (97, 17, 61)}


def loaded(reader: str, shape: tuple[int, int, int], strategy: str | None = None) -> Any:
    text = PROGRAM.replace("READ", reader)
    for name, length in zip(("ROWS", "DEPTH", "COLUMNS"), shape, strict=True):
        text = text.replace(name, str(length))
    module: Any = rl.loads(text, name="program.rise", strategy=strategy)
    return module.main


def small_machine(name: str, threads: int = 1) -> Any:
    """Return a machine whose caches do not hold these matrices."""
    caches = ((1, 4 << 10), (2, 16 << 10), (3, 64 << 10))
    return assume_machine(replace(MACHINES[name], caches=caches, cores=threads))


@pytest.mark.parametrize("machine", ["AVX2", "AVX-512", "Neoverse N1"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reader", [*READERS, *OTHERS])
@pytest.mark.sampled(10)
def test_results_have_the_bits_of_the_source(reader: str, shape: str, machine: str) -> None:
    source = np.random.default_rng(0)
    rows, depth, columns = SHAPES[shape]
    shapes = ((rows, depth), (depth, columns), (columns,), (rows, columns))
    arrays = [source.standard_normal(each).astype(np.float32) for each in shapes]
    text = (READERS | OTHERS)[reader]
    with small_machine(machine, threads=2):
        found = loaded(text, SHAPES[shape])(*arrays)
    assert found.tobytes() == loaded(text, SHAPES[shape], "none")(*arrays).tobytes()


@pytest.mark.parametrize("reader", [*READERS, *OTHERS])
def test_the_product_is_not_stored(reader: str) -> None:
    rows, _, columns = shape = SHAPES["divisible"]
    with small_machine("AVX-512"):
        lowered = loaded((READERS | OTHERS)[reader], shape).lower()
        lines = lowered.as_text("affine").splitlines()
    stored = [line for line in lines if "memref.alloc" in line and f"{rows}x{columns}xf32" in line]
    assert bool(stored) == (reader in OTHERS)


def test_a_product_that_a_cache_holds_is_stored() -> None:
    shape = SHAPES["divisible"]
    with assume_machine(MACHINES["AVX-512"]):
        lowered = loaded(READERS["a residual"], shape).lower()
    assert not any("fuse_operand" in step.rule.name for step in lowered.derivation.steps)
