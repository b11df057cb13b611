"""The tiles of processors that the tests do not run on: their loops keep all sums in registers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import llvmlite.binding as llvm
import pytest

from riselang.api.kernel import TermKernel
from riselang.machine import Machine
from riselang.notation.program import parse_term
from riselang.rewrite.strategies.contractions import tiled
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.strategies.tile_sizes import Shape, Tiles, chosen_tiles
from riselang.rewrite.traversals import top_down

CACHES = ((1, 32 << 10), (2, 1 << 20), (3, 8 << 20))
PROCESSORS = {
    "haswell": Machine(32, 16, caches=CACHES),
    "skylake-avx512": Machine(64, 32, caches=CACHES),
}
PRODUCT = (
    "fun((a : {0}.{2}.{3}, b : {2}.{1}.{3}), a |> map(fun(r, b |> transpose |> map(fun(k, "
    "zip(r, k) |> reduce(fun((p, sum), fma(fst(p), snd(p), sum)), 0.0))))))"
)
HOST = re.compile(r'^target .*$|"target-(cpu|features)"="[^"]*"', re.MULTILINE)
"""What the text says of the processor that the tests run on."""


@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("size", [256, 1024])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_all_sums_of_a_tile_stay_in_registers(processor: str, size: int, scalar: str) -> None:
    shape = Shape(size, size, size, 4 if scalar == "f32" else 8)
    tiles = chosen_tiles(shape, PROCESSORS[processor])
    code = assembly(processor, tiles, PRODUCT.format(size, size, size, scalar))
    products = tiles.rows * tiles.columns // tiles.lanes
    kernels = [loop for loop in loops(code) if count("vfmadd", loop) == products]
    assert kernels
    for loop in kernels:
        assert not count("rsp", loop), "something is on the stack"
        # Each row is loaded once, or by the products themselves.
        assert len(loop) <= products + tiles.rows + tiles.columns // tiles.lanes + 8


def assembly(processor: str, tiles: Tiles, text: str) -> list[str]:
    """The code that a processor would have."""
    kernel = TermKernel("f", parse_term(text), strategy=fuse() >> top_down(tiled(tiles)))
    lowered = HOST.sub("", kernel.lower().as_text("llvm"))
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(lowered)
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    emitter = target.create_target_machine(cpu=processor, opt=3)
    builder = llvm.create_pass_builder(emitter, llvm.create_pipeline_tuning_options(3))
    builder.getModulePassManager().run(module, builder)
    return emitter.emit_assembly(module).splitlines()


def loops(lines: list[str]) -> Iterator[list[str]]:
    """What stands between a label and a jump back to it, with no other jump in between."""
    labels: dict[str, int] = {}
    for number, line in enumerate(lines):
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = number
        elif jump := re.match(r"\s+j\w+\s+(\.LBB\w+)", line):
            body = lines[labels.get(jump[1], number) : number]
            if body and not any(re.match(r"\s+j", each) for each in body):
                yield [each for each in body if re.match(r"\s+[a-z]", each)]


def count(word: str, lines: list[str]) -> int:
    return sum(word in line for line in lines)
