"""Sums over windows with many kernels: the same bits as the source, whatever the tiles are."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Strategy, Success
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.normal_forms import data_flow_normal_form
from riselang.rewrite.strategies.convolution_tiles import (
    WindowShape,
    WindowTiles,
    choose_window_tiles,
    convolution_tiles,
    schedule_windows,
    window_shape,
)
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.rewrite.strategies.matmul_shapes import length_of
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import top_down
from riselang.support.machine import Machine, assume_machine
from riselang.term.contraction import contract
from riselang.term.nodes import Term, subterms
from support.rewriting import inner, refused, rewritten

pytestmark = pytest.mark.rotating(4)

CONVOLUTION = """fun((
    k : {rows}.{columns}.{features}.{kernels}.f32, x : {n}.{h}.{w}.{features}.f32),
  x |> map(fun(image, image |> map(slide({columns}, 1)) |> slide({rows}, 1) |> map(transpose)
    |> map(fun(line, line |> map(fun(window,
      k |> map(map(transpose)) |> map(transpose) |> transpose |> map(fun(kernel,
        zip(window, kernel) |> reduce(fun((total, a), zip(fst(a), snd(a)) |> reduce(
          fun((sum, b), zip(fst(b), snd(b)) |> map(mult) |> reduce(add, sum)), total)), 0.0)
  )))))))))"""
MACHINES = {
    "NEON": Machine(16, 32, multiplies_by_lanes=True),
    "SSE": Machine(16, 16),
    "AVX-512": Machine(64, 32),
}


Sizes = tuple[int, int, int, int, int, int, int]
"""Images, their rows and columns; rows and columns of windows; features, kernels."""
NAMES = ("n", "h", "w", "rows", "columns", "features", "kernels")
CASES: dict[str, Sizes] = {
    "tiles divide everything": (1, 4, 7, 2, 2, 3, 8),
    "a tile of its own at the end of a line": (2, 3, 9, 2, 3, 2, 4),
    "kernels are filled up": (1, 5, 6, 3, 3, 1, 6),
    "one window in a line": (1, 3, 3, 3, 3, 2, 5),
    "windows of one element": (2, 2, 5, 1, 1, 4, 16),
}


def convolution(sizes: Sizes) -> Term:
    return parse_term(CONVOLUTION.format(**dict(zip(NAMES, sizes, strict=True))))


def normal(term: Term) -> Term:
    """The body of a program as the default strategy finds it."""
    return rewritten(data_flow_normal_form, str(contract(term)))


def check(sizes: Sizes, strategy: Strategy) -> None:
    """Compares bits with the interpreter."""
    term, random = convolution(sizes), np.random.default_rng(3)
    n, h, w, rows, columns, features, kernels = sizes
    arrays = [
        random.standard_normal(shape).astype(np.float32)
        for shape in ((rows, columns, features, kernels), (n, h, w, features))
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    result = TermKernel("f", term, strategy=strategy)(*arrays)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("case", CASES)
def test_the_tiles_of_this_machine_give_the_bits_of_the_source(case: str) -> None:
    check(CASES[case], fuse() >> top_down(convolution_tiles()))


@pytest.mark.parametrize("has_blocks", [False, True])
@pytest.mark.parametrize("tiles", [(1, 1, 4), (2, 3, 2), (3, 1, 8)])
def test_any_tiles(tiles: tuple[int, int, int], has_blocks: bool) -> None:
    shape = WindowShape((2, 2), 7, 6, (2, 3, 2), 4)
    strategy = WindowTiles(*tiles, shape, has_blocks).strategy()
    check((2, 3, 9, 2, 3, 2, 6), fuse() >> top_down(strategy))


@pytest.mark.rotating(6)
def test_blocks_of_kernels_are_read_for_all_windows() -> None:
    """Kernels that do not stay in the L2 cache: the outermost loop is over blocks of them."""
    sizes = (2, 5, 9, 2, 2, 3, 70)
    machine = Machine(16, 32, caches=((1, 1 << 10), (2, 1 << 12)))
    shape = WindowShape((2, 4), 8, 70, (2, 2, 3), 4)
    tiles = choose_window_tiles(shape, machine)
    assert tiles.has_kernel_blocks
    assert "a block of kernels at a time" in str(tiles)
    check(sizes, fuse() >> top_down(tiles.strategy()))
    large = Machine(16, 32, caches=((1, 1 << 10), (2, 1 << 20)))
    assert not choose_window_tiles(shape, large).has_kernel_blocks


def test_threads_share_the_lines_of_few_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riselang.rewrite.strategies.convolution_tiles.MIN_PARALLEL_PRODUCTS", 1)
    sizes, shape = (2, 3, 9, 2, 3, 2, 6), WindowShape((2, 2), 7, 6, (2, 3, 2), 4)
    for cores, iterations in ((4, 3 * 2), (1, 3)):
        with assume_machine(Machine(16, 32, cores=cores)):
            strategy = fuse() >> top_down(WindowTiles(2, 1, 2, shape, True).strategy())
            found = rewritten(strategy, str(contract(convolution(sizes))))
            loops = [part for part in subterms(found) if pattern_arguments(part, "mapPar")]
            check(sizes, strategy)
        assert [length_of(each.type).constant for each in loops] == [iterations]


FEATURES_FIRST = """fun((k : 6.2.3.2.f32, x : 2.2.5.9.f32), x |> map(fun(image,
  k |> map(fun(kernel,
    image |> map(fun(plane, plane |> map(slide(2, 1)) |> slide(3, 1) |> map(transpose)))
      |> transpose |> map(transpose) |> map(fun(line, line |> map(fun(window,
        zip(window, kernel) |> reduce(fun((total, a), zip(fst(a), snd(a)) |> reduce(
          fun((sum, b), zip(fst(b), snd(b)) |> map(mult) |> reduce(add, sum)), total)), 0.0)
  )))))))))"""


def test_kernels_may_stand_around_the_windows() -> None:
    """The layout of images that have their features first."""
    term, random = parse_term(FEATURES_FIRST), np.random.default_rng(3)
    found = schedule_windows(normal(term), Setting("contract"))
    assert found is not None
    assert found[0].shape == WindowShape((2, 3), 8, 6, (2, 3, 2), 4)
    arrays = [
        random.standard_normal(shape).astype(np.float32) for shape in ((6, 2, 3, 2), (2, 2, 5, 9))
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    strategy = fuse() >> top_down(convolution_tiles())
    assert TermKernel("f", term, strategy=strategy)(*arrays).tobytes() == expected.tobytes()


PLANES_FIRST = """fun((k : 8.2.3.2.f32, x : 2.2.7.3.2.2.f32),
  x |> map(fun(image, image |> map(fun(line, line |> map(fun(window,
    k |> map(transpose) |> map(map(transpose)) |> map(fun(kernel,
      zip(window, kernel) |> reduce(fun((total, a), zip(fst(a), snd(a)) |> reduce(
        fun((sum, b), zip(fst(b), snd(b)) |> map(mult) |> reduce(add, sum)), total)), 0.0)
  )))))))))"""
"""The kernels have their planes first, as in ONNX, and the windows last."""


@pytest.mark.parametrize("has_blocks", [False, True])
def test_kernels_are_stored_in_the_order_in_which_they_are_read(has_blocks: bool) -> None:
    term, random = parse_term(PLANES_FIRST), np.random.default_rng(3)
    arrays = [
        random.standard_normal(shape).astype(np.float32)
        for shape in ((8, 2, 3, 2), (2, 2, 7, 3, 2, 2))
    ]
    shape = window_shape(normal(term))
    assert shape is not None
    assert shape == WindowShape((2, 2), 7, 8, (3, 2, 2), 4)
    tiles = top_down(WindowTiles(3, 2, 4, shape, has_blocks).strategy())
    result = tiles.run(normal(term), Setting("contract"))
    assert isinstance(result, Success)
    stored = str(result.term).partition(" |> toMem(heap)")[0]
    assert stored.endswith("a |> transpose |> map(fun(x, x |> transpose))))")
    strategy = data_flow_normal_form >> tiles
    expected = TermKernel("f", term, "interpret")(*arrays)
    assert TermKernel("f", term, strategy=strategy)(*arrays).tobytes() == expected.tobytes()


def test_the_shape_is_found_behind_views_and_names() -> None:
    found = window_shape(normal(convolution((2, 6, 9, 2, 3, 4, 5))))
    assert found is not None
    assert found == WindowShape((2, 5), 7, 5, (2, 3, 4), 4)
    assert found.products == 2 * 5 * 7 * 5 * 24
    assert "2 x 3 x 4 at 2 x 5 x 7 positions with 5 kernels" in str(found)


@pytest.mark.parametrize(
    "program",
    [
        "fun((x : 4.f32), x |> map(fun(a, a + 1.0)))",
        # One reduction: a matrix product.
        """fun((a : 4.5.f32, b : 6.5.f32), a |> map(fun(r, b |> map(fun(c,
          zip(r, c) |> reduce(fun((s, p), fma(fst(p), snd(p), s)), 0.0))))))""",
        # The kernels are not the same for all windows.
        """fun((a : 4.5.6.f32, b : 4.3.5.6.f32), zip(a, b) |> map(fun(p, snd(p) |> map(fun(c,
          zip(fst(p), c) |> reduce(fun((s, q), zip(fst(q), snd(q)) |> reduce(
            fun((t, r), fma(fst(r), snd(r), t)), s)), 0.0))))))""",
    ],
)
def test_what_is_no_sum_over_windows_is_refused(program: str) -> None:
    assert window_shape(inner(program)) is None
    assert (
        "expected nested reductions of windows and kernels"
        in refused(convolution_tiles(), program).reason
    )


@pytest.mark.parametrize("name", MACHINES)
def test_tiles_fit_the_registers(name: str) -> None:
    machine = MACHINES[name]
    for rows, columns in ((28, 6), (10, 16), (1, 1), (13, 64), (56, 3)):
        tiles = choose_window_tiles(WindowShape((4,), rows, columns, (3, 3, 8), 4), machine)
        assert tiles.rows * tiles.vectors + tiles.vectors < machine.registers
        assert tiles.rows <= rows
        assert (tiles.vectors - 1) * tiles.lanes < columns


def test_the_default_takes_it() -> None:
    sizes = (1, 12, 12, 3, 3, 4, 8)
    found = recognized_computations(contract(convolution(sizes)), Setting("contract"))
    assert [each.description.partition(" of ")[0] for each in found] == ["windows"]
    check(sizes, DEFAULT)


@pytest.mark.parametrize(
    ("size", "kernels", "tile"), [(56, 64, (14, 2)), (14, 256, (14, 2)), (7, 512, (7, 2))]
)
def test_tiles_wait_little_for_kernels(size: int, kernels: int, tile: tuple[int, int]) -> None:
    """A tile of many windows reads few kernels, and a block of them fits the L2 cache."""
    machine = Machine(64, 32, caches=((1, 32 << 10), (2, 1 << 20), (3, 8 << 20)))
    shape = WindowShape((size,), size, kernels, (3, 3, kernels), 4)
    tiles = choose_window_tiles(shape, machine)
    assert (tiles.rows, tiles.vectors) == tile
