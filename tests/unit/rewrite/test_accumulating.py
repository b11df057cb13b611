"""Sums that start from the elements of a matrix, and products of few rows: tiles of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.derivation import derive
from riselang.rewrite.strategies.contractions import column_tiles, register_tiles
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.rewrite.strategies.matmul_shapes import match_product
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.strategies.skinny_matmul import streamed_tiles
from riselang.rewrite.strategies.tile_sizes import choose_tiles
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.rewrite.traversals import top_down
from riselang.support.machine import Machine
from riselang.term.nodes import Lambda, Term
from support.pairwise import combined, each_once

pytestmark = pytest.mark.rotating(4)

Sizes = tuple[int, int, int]
SUM = "zip({0}, {1}) |> map(mult) |> reduce(add, {2})"
SECOND = "zip(a, c) |> map(fun(p, zip(b |> transpose, snd(p)) |> map(fun(q, {}))))"
FIRST = "zip(c, a) |> map(fun(p, zip(fst(p), b |> transpose) |> map(fun(q, {}))))"
FROM = {
    "second": SECOND.format(SUM.format("fst(p)", "fst(q)", "snd(q)")),
    "first": FIRST.format(SUM.format("snd(p)", "snd(q)", "fst(q)")),
    "first and second": "zip(c, a) |> map(fun(p, zip(b |> transpose, fst(p)) |> map(fun(q, "
    + SUM.format("snd(p)", "fst(q)", "snd(q)") + "))))",
    "the columns first": SECOND.format(SUM.format("fst(q)", "fst(p)", "snd(q)")),
    "scaled": SECOND.format(SUM.format("fst(p)", "fst(q)", "3.0 * snd(q)")),
}  # fmt: skip
PLAIN = "a |> map(fun(r, b |> transpose |> map(fun(k, " + SUM.format("r", "k", "0.0") + "))))"
BIAS = "a |> map(fun(r, zip(b |> transpose, d) |> map(fun(q, max(snd(q) + ({}), 0.0)))))".format(
    SUM.format("r", "fst(q)", "1.0")
)
FORMS = {**FROM, "plain": PLAIN, "bias": BIAS}


def program(form: str, shape: Sizes) -> Term:
    rows, columns, depth = shape
    return parse_term(
        f"fun((a : {rows}.{depth}.f32, b : {depth}.{columns}.f32, c : {rows}.{columns}.f32, "
        f"d : {columns}.f32), {FORMS[form]})"
    )


def check(form: str, shape: Sizes, strategy: Strategy) -> None:
    """Compares bits with the interpreter."""
    rows, columns, depth = shape
    random = np.random.default_rng(5)
    arrays = [
        (random.standard_normal(each) * 8).astype(np.float32)
        for each in ((rows, depth), (depth, columns), (rows, columns), columns)
    ]
    term = program(form, shape)
    expected = TermKernel("f", term, "interpret")(*arrays)
    found = TermKernel("f", term, strategy=strategy)(*arrays)
    assert found.tobytes() == expected.tobytes()


TILES = {
    "rows kept": register_tiles(4, 8, 4, block=2, kept=True),
    "rows in place": register_tiles(3, 4, 4, block=1, packed=False, in_parallel=False),
    "columns kept": column_tiles(4, 8, 4, kept=True),
    "columns": column_tiles(3, 4, 2, in_parallel=False),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("form", "shape", "tiles"),
    each_once(FROM, [(16, 24, 8), (13, 31, 17), (1, 9, 5)], TILES),
    ids=str,
)
def test_sums_from_a_matrix_in_any_tiles(form: str, shape: Sizes, tiles: str) -> None:
    check(form, shape, fuse() >> top_down(TILES[tiles]))


def test_accumulators_start_from_the_matrix() -> None:
    tiled = fuse() >> top_down(register_tiles(4, 8, 4, block=2))
    kernel = TermKernel("f", program("second", (16, 16, 8)), strategy=tiled)
    loops = kernel.lower().as_text("affine")
    assert loops.count("vector_load %c") == 8
    assert "%c[" not in loops.replace("vector_load %c[", "")


FEW_ROWS = ((1, 64, 8), (3, 31, 17), (8, 9, 3), (5, 20, 1))


@pytest.mark.parametrize(
    ("form", "shape", "depth", "in_parallel"),
    combined(FORMS, FEW_ROWS, [1, 2, 4], [False, True]),
    ids=str,
)
@pytest.mark.sampled(6)
def test_streamed_tiles(form: str, shape: Sizes, depth: int, in_parallel: bool) -> None:
    tiled = streamed_tiles(2, 8, 4, depth=depth, columns_per_thread=10, in_parallel=in_parallel)
    check(form, shape, fuse() >> top_down(tiled))


def test_accumulators_are_in_the_result() -> None:
    tiled = fuse() >> top_down(
        streamed_tiles(2, 8, 4, depth=4, columns_per_thread=64, in_parallel=False)
    )
    for shape in ((4, 32, 16), (3, 31, 16)):
        kernel = TermKernel("f", program("plain", shape), strategy=tiled)
        assert "alloc" not in kernel.lower().as_text("affine")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.sampled(3)
def test_any_number_of_rows(form: str) -> None:
    tiled = streamed_tiles(4, 8, 4, depth=2, columns_per_thread=8, in_parallel=False)
    term = parse_term(f"fun((a : N.5.f32, b : 5.16.f32, c : N.16.f32, d : 16.f32), {FORMS[form]})")
    end = derive(term, fuse() >> top_down(tiled)).end
    random = np.random.default_rng(5)
    for rows in (2, 3, 5, 8):
        arrays = [
            random.standard_normal(shape).astype(np.float32)
            for shape in ((rows, 5), (5, 16), (rows, 16), 16)
        ]
        results = [TermKernel("f", each, "interpret")(*arrays) for each in (term, end)]
        np.testing.assert_array_equal(*results)


def test_accumulators_of_any_number_of_rows_are_in_the_result() -> None:
    tiled = streamed_tiles(4, 8, 4, depth=2, columns_per_thread=8, in_parallel=False)
    term = parse_term(f"fun((a : N.4.f32, b : 4.16.f32), {PLAIN})")
    kernel = TermKernel("f", term, strategy=fuse() >> top_down(tiled))
    assert "alloc" not in kernel.lower().as_text("affine")


DEFAULT_SHAPES = ((1, 300, 70), (6, 129, 50), (24, 40, 30))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", DEFAULT_SHAPES, ids=str)
def test_the_default_strategy_recognizes_all_forms(form: str, shape: Sizes) -> None:
    rows, columns, depth = shape
    chosen = recognized_computations(program(form, shape), Setting("contract"))
    assert [each.description for each in chosen] == [
        f"matrix multiplication of {rows} x {depth} by {depth} x {columns}"
    ]
    assert derive(program(form, shape), DEFAULT).steps


@pytest.mark.parametrize(("form", "shape"), each_once(FORMS, DEFAULT_SHAPES), ids=str)
@pytest.mark.sampled(1)
def test_the_default_gives_the_bits_of_the_source(form: str, shape: Sizes) -> None:
    check(form, shape, DEFAULT)


NOT = {
    "takes the matrix as a row": SECOND.format(SUM.format("snd(p)", "fst(q)", "snd(q)")),
    "starts from the column": "zip(a, c) |> map(fun(p, zip(b, snd(p)) |> map(fun(q, "
    + SUM.format("fst(p)", "fst(q)", "fst(q) |> at(clampIdx(8, 0))")
    + "))))",
}


@pytest.mark.parametrize("name", NOT)
def test_what_takes_more_is_no_product(name: str) -> None:
    term = parse_term(f"fun((a : 8.8.f32, b : 8.8.f32, c : 8.8.f32), {NOT[name]})")
    for _ in range(3):
        assert isinstance(term, Lambda)
        term = term.body
    assert match_product(term) is None


def test_few_rows_read_columns_as_they_lie() -> None:
    machine = Machine(16, 32, cores=4)
    tiles = choose_tiles(MatmulShape(6, 4096, 4096, 4), machine)
    assert (tiles.rows, tiles.columns, tiles.depth, tiles.columns_per_thread) == (3, 16, 4, 1024)
    assert not tiles.is_packed
    assert tiles.is_parallel
    assert str(tiles).endswith("4 products of each sum at a time, in place, in parallel")
    assert choose_tiles(MatmulShape(6, 4096, 4096, 4, is_row_major=False), machine).depth == 0
    assert choose_tiles(MatmulShape(6, 4096, 4096, 4), machine, ahead=True) == tiles
    one_core = replace(machine, cores=1)
    assert choose_tiles(MatmulShape(6, 4096, 4096, 4), one_core, ahead=True).depth == 0
    assert choose_tiles(MatmulShape(16, 4096, 4096, 4), machine).depth == 0
    odd = choose_tiles(MatmulShape(2, 4097, 4096, 4), machine)
    assert odd.columns_per_thread == 1024
    assert odd.is_parallel
