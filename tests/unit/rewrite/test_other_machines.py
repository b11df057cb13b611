"""Code that is arranged for other machines than the one the tests run on.

What a program computes does not depend on the machine that it is arranged for; tiles fit the
registers of each; and no object needs what no library defines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.frontends.c.lift.costs import LIBRARY_CALL, SUM_LOOPS, VECTOR_CALL, Workload, cheapest
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.contractions import strategy_for_tiles
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.strategies.tile_sizes import choose_tiles
from riselang.rewrite.strategies.tiles import MatmulShape, Tiles
from riselang.rewrite.traversals import top_down
from riselang.support.machine import assume_machine, this_machine
from support.machines import MACHINES, assembly_for, unresolved

pytestmark = pytest.mark.rotating(4)

PRODUCT = (
    "fun((a : {0}.{2}.{3}, b : {2}.{1}.{3}), a |> map(fun(r, b |> transpose |> map(fun(k, "
    "zip(r, k) |> reduce(fun((sum, p), fma(fst(p), snd(p), sum)), 0.0))))))"
)
STENCIL = (
    "fun((x : {0}.{0}.f32), x |> pad(1, 1) |> map(pad(1, 1)) |> slide(3, 1) "
    "|> map(fun(rows, rows |> map(slide(3, 1)) |> transpose |> map(fun(w, w |> join "
    "|> reduce(add, 0.0))))))"
)
PROGRAMS = {
    "product f32": PRODUCT.format(22, 67, 12, "f32"),
    "product f64": PRODUCT.format(22, 67, 12, "f64"),
    "one row": PRODUCT.format(1, 64, 100, "f32"),
    "few rows": PRODUCT.format(5, 64, 40, "f64"),
    "matrix by vector": "fun((a : 90.70.f32, x : 70.f32), a |> map(fun(r, zip(r, x) |> map(mult) "
    "|> reduce(add, 0.0))))",
    "columns": "fun((a : 90.70.f32), a |> transpose |> map(reduce(add, 0.0)))",
    "transpose": "fun((a : 130.70.f32), a |> transpose |> map(map(fun(e, e * 2.0))))",
    "stencil": STENCIL.format(66),
    "line": "fun((x : 1000.f32), x |> map(fun(e, e * 2.0 + 1.0)) |> reduce(max, 0.0))",
    "scan": "fun((x : 300.f32), x |> scan(add, 0.0))",
}
LARGE = {
    "large product f32": PRODUCT.format(70, 51, 40, "f32"),
    "large product f64": PRODUCT.format(70, 51, 40, "f64"),
}
TARGETS_OF = {"Neoverse N1": "Neoverse N1", "AVX2": "AVX2", "AVX-512": "AVX-512"}


def kernel(text: str, backend: str = "compile") -> TermKernel:
    return TermKernel("f", parse_term(text), backend, strategy=DEFAULT)


def inputs(text: str) -> list[np.ndarray[Any, Any]]:
    found = re.findall(r"\w+ : ([\d.]+)\.(f\d\d)", text.partition("),")[0])
    random = np.random.default_rng(3)
    kinds = {"f32": np.float32, "f64": np.float64}
    return [
        random.standard_normal(tuple(map(int, lengths.split(".")))).astype(kinds[kind])
        for lengths, kind in found
    ]


@pytest.mark.rotating(6)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(1)
def test_a_program_computes_the_same_on_every_machine(name: str) -> None:
    check_on_every_machine(PROGRAMS[name])


@pytest.mark.nightly
@pytest.mark.parametrize("name", LARGE)
def test_a_large_program_computes_the_same_on_every_machine(name: str) -> None:
    check_on_every_machine(LARGE[name])


def check_on_every_machine(text: str) -> None:
    arrays = inputs(text)
    expected = kernel(text, "interpret")(*arrays)
    for name, machine in MACHINES.items():
        with assume_machine(machine):
            arranged = kernel(text)
            assert arranged(*arrays).tobytes() == expected.tobytes(), name
            assert not unresolved(arranged.lower().compilation.job.complete_ir, TARGETS_OF[name])


@pytest.mark.parametrize("machine", MACHINES)
def test_a_sum_of_products_is_a_library_call_on(machine: str) -> None:
    """A sum in order waits for itself, however wide vectors are."""
    work = Workload(products=1000, elements=2000, results=1, bytes=8)
    with assume_machine(MACHINES[machine]):
        assert cheapest(work, [SUM_LOOPS, VECTOR_CALL]) is VECTOR_CALL
        assert cheapest(Workload(8, 16, 1, 8), [SUM_LOOPS, LIBRARY_CALL]) is SUM_LOOPS


def test_the_machine_that_is_assumed_is_this_one_no_longer() -> None:
    here = this_machine()
    with assume_machine(MACHINES["AVX-512"]):
        assert this_machine().vector_bytes == 64
    assert this_machine() == here


@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("size", [256, pytest.param(1024, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.sampled(2)
def test_all_sums_of_a_tile_stay_in_registers(machine: str, size: int, scalar: str) -> None:
    shape = MatmulShape(size, size, size, 4 if scalar == "f32" else 8)
    tiles = choose_tiles(shape, MACHINES[machine])
    code = assembly(machine, tiles, PRODUCT.format(size, size, size, scalar))
    products = tiles.rows * tiles.columns // tiles.lanes
    # A packed matrix may be on the stack, too, where an index is added to the address.
    multiply, stack = ("fmla", "[sp") if machine == "Neoverse N1" else ("vfmadd", "(%rsp)")
    kernels = [loop for loop in loops(code) if count(multiply, loop) == products]
    assert kernels
    for loop in kernels:
        assert not count(stack, loop), "something is on the stack"
        # Each row is loaded once, or by the products themselves.
        assert len(loop) <= products + tiles.rows + tiles.columns // tiles.lanes + 8


def assembly(machine: str, tiles: Tiles, text: str) -> list[str]:
    """The code that a machine would have."""
    kernel = TermKernel(
        "f", parse_term(text), strategy=fuse() >> top_down(strategy_for_tiles(tiles))
    )
    return assembly_for(kernel.lower().compilation.job.llvm_ir, TARGETS_OF[machine])


def loops(lines: list[str]) -> Iterator[list[str]]:
    """What stands between a label and a jump back to it, with no other jump in between."""
    labels: dict[str, int] = {}
    jump_to = re.compile(r"\s+(?:j\w+|b(?:\.\w+)?|cbn?z\s+\w+,|tbn?z\s+\w+, #\d+,)\s+(\.LBB\w+)")
    for number, line in enumerate(lines):
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = number
        elif jump := jump_to.match(line):
            body = lines[labels.get(jump[1], number) : number]
            if body and not any(jump_to.match(each) for each in body):
                yield [each for each in body if re.match(r"\s+[a-z]", each)]


def count(word: str, lines: list[str]) -> int:
    return sum(word in line for line in lines)
