"""Strategies for GPUs: tiles, vectors and sums by blocks, with the results of the interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.gpu import TILES, warp_tiles
from riselang.rewrite.traversals import top_down
from riselang.support.config import Options
from riselang.support.errors import UserError
from support.emulated_gpu import Emulate
from support.gpu_kernels import values

pytestmark = pytest.mark.rotating(4)

ELEMENT = "zip(row, column) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0)"

FUSED = "zip(row, column) |> reduce(fun((s, p), fma(fst(p), snd(p), s)), 0.0)"


def product(rows: int, depth: int, columns: int, a: str = "a", b: str = "b |> transpose") -> str:
    sizes = {"a": f"{rows}.{depth}", "b": f"{depth}.{columns}"}
    if a != "a":
        sizes["a"] = f"{depth}.{rows}"
    if b == "b":
        sizes["b"] = f"{columns}.{depth}"
    return (
        f"fun((a : {sizes['a']}.f32, b : {sizes['b']}.f32), "
        f"{a} |> map(fun(row, {b} |> map(fun(column, {ELEMENT})))))"
    )


def kernel(text: str, float: str = "contract", strategy: Strategy = DEFAULT) -> TermKernel:
    options = Options("gpu", float=float)
    return TermKernel("f", parse_term(text), options=options, strategy=strategy)


def agrees(program: TermKernel, text: str, emulate: Emulate) -> list[tuple[int, ...]]:
    """Check a program against the interpreter; return the number of threads of its kernels."""
    gpu = emulate(program.lower())
    arguments = values(program)
    options = Options("gpu", float=program.options.float)
    interpreted = TermKernel(
        "f", parse_term(text), backend="interpret", options=options, strategy=None
    )
    assert np.array_equal(program(*arguments), interpreted(*arguments))
    return [block for _, _, block in gpu.launched]


SMALL = top_down(warp_tiles(8, 1, 1, 4, 2, 1, 8))


@pytest.mark.rotating(5)
@pytest.mark.parametrize(
    ("a", "b"), [("a", "b |> transpose"), ("a |> transpose", "b |> transpose"), ("a", "b")]
)
@pytest.mark.sampled(1)
def test_products_add_in_the_order_of_the_source(a: str, b: str, emulate: Emulate) -> None:
    text = product(16, 16, 64, a, b).replace(ELEMENT, FUSED)
    program = kernel(text, strategy=SMALL)
    assert agrees(program, text, emulate) == [(64, 1, 1)]


def test_large_products_are_tiled_by_default() -> None:
    lowered = kernel(product(1024, 64, 1024)).lower()
    assert TILES[0].strategy() == warp_tiles(16, 2, 2, 8, 4, 2, 4)
    ptx = lowered.as_text("ptx")
    assert "ld.shared.v4.b32" in ptx
    assert ptx.count("bar.sync") == 1, "the operands of the next step are loaded ahead of time"
    assert ".local" not in ptx, "the sums are in registers"


@pytest.mark.parametrize("sizes", [(1024, 64, 1000), (64, 64, 64)])
def test_other_products_are_spread(sizes: tuple[int, int, int]) -> None:
    assert "mapWarp" not in str(kernel(product(*sizes)).lower().rewritten)


def test_the_strategy_says_what_it_expects() -> None:
    with pytest.raises(UserError, match=r"expected a matrix multiplication without an epilogue"):
        kernel("fun((x : 8.f32), x |> map(fun(e, -e)))", strategy=SMALL).lower().as_text("kernels")


DEFAULTS = {
    "vectors of floats": ("fun((x : 256.f32), x |> map(fun(e, e * 2.0)))", "asVector(4)"),
    "vectors of doubles": ("fun((x : 128.f64), x |> map(fun(e, e * 2.0)))", "asVector(2)"),
    "rows": (
        "fun((x : 3.128.f32, b : 128.f32), x |> map(fun(r, zip(r, b) |> map(fun(p, "
        "fst(p) + snd(p))))))",
        "asVector(4)",
    ),
    "no vectors": ("fun((x : 130.f32), x |> map(fun(e, e * 2.0)))", "mapPar"),
    "sums of rows": ("fun((x : 2.2048.f32), x |> map(reduce(add, 0.0)))", "mapBlock"),
    "sums of squares": (
        "fun((x : 2.1024.f32), x |> map(fun(r, "
        "sqrt(r |> map(fun(e, e * e)) |> reduce(add, 0.0)))))",
        "mapBlock",
    ),
    "sums in any order": (
        "fun((x : 2.1024.f32), x |> map(fun(r, r |> reduce(add[any], 0.0))))",
        "mapBlock",
    ),
    "maxima": ("fun((x : 2.1024.f32), x |> map(reduce(max, -inf)))", "mapBlock"),
    "sums of columns": (
        "fun((x : 64.32.f32), x |> transpose |> map(reduce(add, 0.0)))",
        "mapBlock",
    ),
    "sums of rows, twice": (
        "fun((x : 2.1024.f32), x |> map(fun(r, let m = r |> reduce(max, -inf); "
        "let e = r |> map(fun(v, v - m)); let s = e |> reduce(add, 0.0); "
        "e |> map(fun(v, v + s)))))",
        "mapThread",
    ),
    "sums of a long array": (
        "fun((x : 3000.f32), sqrt(x |> map(fun(e, e * e)) |> reduce(add, 0.0)))",
        "mapBlock",
    ),
    "sums of many parts": ("fun((x : 67584.f32), x |> reduce(add, 0.0))", "mapBlock"),
    "sums of the elements before": (
        "fun((x : 2.256.f32), x |> map(scan(add, 0.0)))",
        "mapThread",
    ),
    "sums of the rows above": (
        "fun((x : 64.32.f32), x |> transpose |> map(scan(add, 0.0)) |> transpose)",
        "mapBlock",
    ),
    "sums of all elements before": ("fun((x : 33000.f32), x |> scan(add, 0.0))", "mapBlock"),
    "a copy": ("fun((x : 6.50.f32), x |> drop(1))", "mapThread"),
    "a maximum": ("fun((x : 2048.f32), x |> reduce(max, -inf))", "mapBlock"),
    "nested maps": (
        "fun((x : 3.4.32.f32), x |> map(map(map(fun(e, e * 2.0)))))",
        "mapThread(1, fun(x2, x2 |> mapThread(0",
    ),
    "short inner maps": (
        "fun((x : 2.600.3.f32), x |> map(map(map(fun(e, e * 2.0)))))",
        "mapThread(0, fun(x2, x2 |> map(",
    ),
    "rows of rows": (
        "fun((x : 2.2.1024.f32), x |> map(map(reduce(max, -inf))))",
        "mapBlock(1",
    ),
    "transposed": ("fun((x : 64.96.f32), x |> transpose)", "toMem"),
}


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.sampled(4)
def test_what_the_default_does(name: str, emulate: Emulate) -> None:
    text, expected = DEFAULTS[name]
    program = kernel(text, "relaxed" if name.startswith("sums of") else "contract")
    assert expected in str(program.lower().rewritten)
    agrees(program, text, emulate)


def test_sums_are_not_reordered_without_permission() -> None:
    text, _ = DEFAULTS["sums of rows"]
    assert "mapBlock" not in str(kernel(text).lower().rewritten)


def test_blocks_compute_groups_of_short_rows(emulate: Emulate) -> None:
    """A block for each of them would have 16 threads."""
    program = kernel("fun((x : 8.512.64.f32), x |> map(map(map(fun(e, e * 2.0)))))")
    gpu = emulate(program.lower())
    x = np.arange(8 * 512 * 64, dtype=np.float32).reshape(8, 512, 64)
    assert np.array_equal(program(x), 2 * x)
    ((_, grid, block),) = gpu.launched
    assert (grid, block) == ((32, 8, 1), (16, 16, 1))
