"""Matrix products in register tiles: the same bits as the source, whatever the tiles are."""

from __future__ import annotations

from dataclasses import replace
from math import lcm
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Strategy
from riselang.rewrite.derivation import derive
from riselang.rewrite.registry import load_all
from riselang.rewrite.strategies.contractions import (
    column_tiles,
    contraction,
    register_tiles,
)
from riselang.rewrite.strategies.matmul import goto
from riselang.rewrite.strategies.matmul_shapes import matmul_shape
from riselang.rewrite.strategies.panels import Panels, panel_tiles
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.strategies.tile_sizes import choose_tiles, register_count
from riselang.rewrite.strategies.tiles import MatmulShape
from riselang.rewrite.traversals import top_down
from riselang.support.machine import Machine, assume_machine
from riselang.term.nodes import Lambda
from support.machines import MACHINES as KNOWN_MACHINES
from support.pairwise import combined, each_once

pytestmark = pytest.mark.rotating(2)

Sizes = tuple[int, int, int]
FORMS = {
    "A B": ("{0}.{2}", "{2}.{1}", "a", "b |> transpose"),
    "A B^T": ("{0}.{2}", "{1}.{2}", "a", "b"),
    "A^T B": ("{2}.{0}", "{2}.{1}", "a |> transpose", "b |> transpose"),
}
SHAPES = [(1, 9, 5), (7, 1, 3), (16, 24, 8), (13, 31, 17), (50, 29, 11)]
MACHINES = {
    "NEON": Machine(16, 32, multiplies_by_lanes=True),
    "SSE": Machine(16, 16),
    "AVX2": Machine(32, 16),
    "AVX-512": Machine(64, 32),
}


PRODUCT = (
    "fun((a : 16.24.f32, b : 24.64.f32), a |> map(fun(r, b |> transpose |> map(fun(c, "
    "zip(r, c) |> map(mult) |> reduce(add, 0.0))))))"
)


def check(form: str, shape: Sizes, strategy: Strategy, scalar: str = "float32") -> None:
    """Compares bits with the interpreter."""
    first, second, rows, columns = FORMS[form]
    name = {"float32": "f32", "float64": "f64", "int32": "i32"}[scalar]
    shapes = [text.format(*shape) for text in (first, second)]
    term = parse_term(
        f"fun((a : {shapes[0]}.{name}, b : {shapes[1]}.{name}), {rows} |> map(fun(r, {columns} "
        "|> map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0))))))"
    )
    random = np.random.default_rng(3)
    arrays = [
        (random.standard_normal([int(size) for size in each.split(".")]) * 8).astype(scalar)
        for each in shapes
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    result = TermKernel("f", term, strategy=strategy)(*arrays)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("form", "shape"), each_once(FORMS, SHAPES), ids=str)
def test_the_tiles_of_this_machine_give_the_bits_of_the_source(form: str, shape: Sizes) -> None:
    check(form, shape, goto)


@pytest.mark.parametrize("scalar", ["float64", "int32"])
def test_other_numbers(scalar: str) -> None:
    check("A B", (13, 31, 17), goto, scalar)


@pytest.mark.parametrize(
    ("tiles", "packed", "in_parallel"),
    combined(
        [(1, 4, 4), (4, 4, 2), (6, 16, 8), (3, 8, 4), (8, 48, 16)], [False, True], [False, True]
    ),
    ids=str,
)
@pytest.mark.sampled(4)
def test_any_tiles(tiles: Sizes, packed: bool, in_parallel: bool) -> None:
    kept = tiles[0] % tiles[2] == 0
    tiled = register_tiles(*tiles, block=2, kept=kept, packed=packed, in_parallel=in_parallel)
    check("A B", (13, 31, 17), fuse() >> top_down(tiled))


@pytest.mark.parametrize(
    ("form", "packs_rows", "piece"), each_once(FORMS, [False, True], [1, 2, 3]), ids=str
)
def test_threads_share_pieces(form: str, packs_rows: bool, piece: int) -> None:
    tiled = register_tiles(4, 8, 8, block=2, packs_rows=packs_rows, piece=piece, columns_ahead=2)
    check(form, (29, 31, 44), fuse() >> top_down(tiled))


@pytest.mark.parametrize(
    ("form", "packs_rows", "piece"), each_once(FORMS, [False, True], [1, 2, 3]), ids=str
)
def test_threads_pack_their_own_pieces(form: str, packs_rows: bool, piece: int) -> None:
    tiled = register_tiles(
        4, 8, 8, block=2, packs_rows=packs_rows, piece=piece, packs_pieces=True, columns_ahead=2
    )
    check(form, (29, 31, 44), fuse() >> top_down(tiled))


def test_pieces_are_packed_inside_of_the_only_parallel_loop() -> None:
    for packs_pieces, loops in ((False, 2), (True, 1)):
        tiled = register_tiles(
            4, 8, 8, block=2, packs_rows=False, piece=2, packs_pieces=packs_pieces
        )
        kernel = TermKernel("f", parse_term(PRODUCT), strategy=fuse() >> top_down(tiled))
        assert kernel.lower().as_text("notation").count("mapPar") == loops


@pytest.mark.parametrize(
    ("form", "packs_rows", "packs_pieces"), each_once(FORMS, [False, True], [False, True]), ids=str
)
def test_operands_of_pieces_are_prefetched(form: str, packs_rows: bool, packs_pieces: bool) -> None:
    first, second, rows, columns = FORMS[form]
    shapes = [text.format(16, 64, 24) for text in (first, second)]
    term = parse_term(
        f"fun((a : {shapes[0]}.f32, b : {shapes[1]}.f32), {rows} |> map(fun(r, {columns} "
        "|> map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0))))))"
    )
    counts: list[int] = []
    for piece in (0, 2):
        tiled = register_tiles(
            4, 16, 8, block=2, packs_rows=packs_rows, rows_ahead=4 * packs_rows, columns_ahead=2,
            piece=piece, packs_pieces=packs_pieces and piece > 0,
        )  # fmt: skip
        kernel = TermKernel("f", term, strategy=fuse() >> top_down(tiled))
        counts.append(kernel.lower().as_text("affine").count("memref.prefetch"))
    assert counts[0] == counts[1] > 0


def test_rows_are_packed_once_for_all_pieces() -> None:
    tiled = register_tiles(4, 16, 8, block=2, piece=2)
    kernel = TermKernel("f", parse_term(PRODUCT), strategy=fuse() >> top_down(tiled))
    code = kernel.lower().as_text("affine")
    lines = [line for line in code.splitlines() if "memref.alloca(" in line]
    assert len(lines) == 2, "for rows and columns"
    assert all(line.startswith(" " * 4 + "%") for line in lines), "before the loops"
    assert code.count("affine.parallel") == 3


@pytest.mark.parametrize("columns", [56, 57, 71])
def test_the_last_piece_has_fewer_columns(columns: int) -> None:
    tiled = register_tiles(4, 8, 8, block=2, piece=3, columns_ahead=2)
    check("A B", (13, columns, 12), fuse() >> top_down(tiled))


def test_pieces_are_one_loop() -> None:
    tiled = register_tiles(4, 8, 8, block=2, packs_rows=False, piece=2)
    kernel = TermKernel("f", parse_term(PRODUCT), strategy=fuse() >> top_down(tiled))
    assert "(%i_4) = (0) to (8) {" in kernel.lower().as_text("affine"), "2 blocks of 4 pieces"


@pytest.mark.parametrize(
    ("tiles", "form", "in_parallel"),
    each_once([(1, 4, 4), (4, 4, 2), (6, 16, 8), (3, 8, 4), (16, 8, 4)], FORMS, [False, True]),
    ids=str,
)
def test_any_tiles_by_columns(tiles: Sizes, form: str, in_parallel: bool) -> None:
    kept = tiles[0] % tiles[2] == 0
    tiled = column_tiles(*tiles, kept=kept, in_parallel=in_parallel, packs_rows=in_parallel)
    check(form, (13, 31, 17), fuse() >> top_down(tiled))


@pytest.mark.parametrize(("form", "depth"), each_once(FORMS, [3, 8, 17]))
def test_rows_of_any_length_are_transposed_in_registers(form: str, depth: int) -> None:
    tiled = column_tiles(8, 32, 16, transposed=True)
    check(form, (19, 40, depth), fuse() >> top_down(tiled))


@pytest.mark.parametrize(("form", "rows"), each_once(FORMS, [8, 13, 19]))
def test_rows_that_are_transposed_in_registers(form: str, rows: int) -> None:
    tiles = (
        register_tiles(4, 8, 4, block=2, kept=True, transposed=True),
        column_tiles(4, 8, 4, kept=True, transposed=True),
    )
    for tiled in tiles:
        check(form, (rows, 31, 16), fuse() >> top_down(tiled))


@pytest.mark.parametrize(
    ("tiles", "form", "depth", "ahead"),
    each_once([(1, 4, 4), (6, 8, 8), (4, 16, 8), (8, 48, 16)], FORMS, [1, 6, 8, 40], [0, 3]),
    ids=str,
)
@pytest.mark.sampled(4)
def test_any_tiles_in_chunks(tiles: Sizes, form: str, depth: int, ahead: int) -> None:
    tiled = register_tiles(
        *tiles, block=2, transposed=depth == 8, in_parallel=ahead > 0,
        depth=depth, rows_ahead=ahead, columns_ahead=ahead,
    )  # fmt: skip
    check(form, (13, 50, 24), fuse() >> top_down(tiled))


def test_chunks_are_accumulated_in_place_and_prefetched() -> None:
    text = (
        "fun((a : 16.24.f32, b : 24.20.f32), a |> map(fun(r, b |> transpose |> map(fun(c, "
        "zip(r, c) |> map(mult) |> reduce(add, 0.0))))))"
    )
    tiled = register_tiles(4, 8, 8, block=2, depth=8, rows_ahead=4, columns_ahead=4)
    kernel = TermKernel("f", parse_term(text), strategy=fuse() >> top_down(tiled))
    code = kernel.lower().as_text("affine")
    assert "memref<16x20xf32>, memref<16x20xf32>)" not in code, "there is one matrix of sums"
    assert "memref.prefetch %out" in code
    assert "locality<3>" in code


def test_columns_are_read_as_they_lie() -> None:
    tiled = fuse() >> top_down(register_tiles(4, 8, 4, block=2))
    text = (
        "fun((a : 16.12.f32, b : {}.f32), a |> map(fun(r, b {} |> map(fun(c, zip(r, c) "
        "|> map(mult) |> reduce(add, 0.0))))))"
    )
    by_rows, by_blocks = (
        [str(step.rule) for step in derive(parse_term(text.format(*each)), tiled).steps]
        for each in (("12.24", "|> transpose"), ("24.12", ""))
    )
    assert "pack_vectors_by_rows(k=4, g=4)" in by_rows
    assert "pack_vectors_of_blocks(k=4)" in by_blocks


PANELS = (
    "fun((a : {a}.{l}.{r}.f32, b : {b}.{l}.{c}.f32), a |> map(transpose) |> join |> map(fun(r, "
    "b |> map(transpose) |> join |> map(fun(c, zip(r, c) |> map(mult) |> reduce(add, 0))))))"
)


@pytest.mark.parametrize("in_parallel", [False, True])
@pytest.mark.parametrize("tiles", [(1, 4, 4), (4, 4, 2), (6, 16, 8), (3, 8, 4)])
def test_panels_are_multiplied_as_they_are(tiles: Sizes, in_parallel: bool) -> None:
    rows, columns, lanes = tiles
    term = parse_term(PANELS.format(a="n", b="m", l="l", r=rows, c=columns))
    tiled = panel_tiles(*tiles, kept=rows % lanes == 0, in_parallel=in_parallel)
    random = np.random.default_rng(4)
    left = random.standard_normal((3, 7, rows)).astype(np.float32)
    right = random.standard_normal((2, 7, columns)).astype(np.float32)
    expected = TermKernel("f", term, "interpret")(left, right)
    kernel = TermKernel("f", term, strategy=fuse() >> top_down(tiled))
    assert kernel(left, right).tobytes() == expected.tobytes()
    kernel.symbolic = True
    assert kernel(left, right).tobytes() == expected.tobytes()


PANEL_SIZES = {"NEON": (4, 8), "SSE": (4, 8), "AVX2": (4, 16), "AVX-512": (4, 32)}
"""Rows and columns of panels that whole vectors divide."""


@pytest.mark.parametrize("sizes", [("n", "m", "l"), (40, 30, 200)])
@pytest.mark.parametrize("name", MACHINES)
def test_panels_are_not_copied(name: str, sizes: tuple[object, ...]) -> None:
    a, b, l = sizes  # noqa: E741
    r, c = PANEL_SIZES[name]
    copied = PANELS.format(a=40, b=30, l=100, r=r, c=c).replace(
        "a |> map(transpose)", "a |> map(fun(x, x |> transpose |> map(map(fun(e, e * 2.0)))))"
    )
    with assume_machine(MACHINES[name]):
        end = str(derive(parse_term(PANELS.format(a=a, b=b, l=l, r=r, c=c)), goto).end)
        stored = str(derive(parse_term(copied), goto).end)
    assert "heap" not in end
    assert "mapPar" in end
    assert "heap" in stored, "what is computed is stored first"


@pytest.mark.parametrize("name", MACHINES)
def test_panels_have_to_fit_the_registers(name: str) -> None:
    machine = MACHINES[name]
    tiles = choose_tiles(MatmulShape(1024, 1024, 1024, 8), machine)
    assert Panels(tiles.rows, tiles.columns, 8, None).fits(machine)
    assert not Panels(64, tiles.columns, 8, None).fits(machine)
    assert not Panels(tiles.rows, tiles.columns + 1, 8, None).fits(machine)


@pytest.mark.parametrize("name", MACHINES)
def test_tiles_fit_the_registers_and_waste_little(name: str) -> None:
    machine = MACHINES[name]
    for shape in (
        MatmulShape(1024, 1024, 1024, 4),
        MatmulShape(37, 515, 129, 4),
        MatmulShape(1000, 1000, 1000, 8),
    ):
        tiles = choose_tiles(shape, machine)
        assert tiles.lanes * shape.bytes == machine.vector_bytes
        assert tiles.rows * tiles.columns // tiles.lanes < machine.registers
        if not tiles.is_by_columns:
            assert -shape.rows % (tiles.rows * tiles.block) <= shape.rows // 10
        assert -shape.columns % tiles.columns <= max(shape.columns // 20, tiles.lanes * 2)
    assert choose_tiles(MatmulShape(1, 128, 784, 4), machine).rows == 1
    assert not choose_tiles(MatmulShape(1, 128, 784, 4), machine).is_packed


def test_an_epilogue_leaves_a_register_to_its_constants() -> None:
    machine = MACHINES["AVX2"]
    shape = MatmulShape(128, 1536, 384, 4, has_epilogue=True)
    term = parse_term(
        "fun((a : 8.8.f32, b : 8.8.f32), a |> map(fun(row, b |> map(fun(column, max("
        "zip(row, column) |> reduce(fun((total, q), total + fst(q) * snd(q)), 0.0), 0.0))))))"
    )
    while isinstance(term, Lambda):
        term = term.body
    found = matmul_shape(term)
    assert found is not None
    assert found.has_epilogue

    def registers(shape: MatmulShape) -> int:
        tiles = choose_tiles(shape, machine, ahead=True)
        return register_count(tiles.rows, tiles.vectors, tiles.lanes, machine)

    assert registers(shape) < registers(replace(shape, has_epilogue=False)) == machine.registers


def test_few_rows_go_by_for_each_tile_of_columns() -> None:
    machine = MACHINES["NEON"]
    assert choose_tiles(MatmulShape(37, 515, 129, 8), machine).is_by_columns
    assert not choose_tiles(MatmulShape(1024, 1024, 1024, 8), machine).is_by_columns
    # The lines that a tile's columns are read from would not stay in the first cache.
    assert not choose_tiles(MatmulShape(37, 515, 1024, 8), machine).is_by_columns


LARGE_CACHE = ((1, 48 << 10), (2, 2 << 20), (3, 64 << 20))
"""The caches of a server with a large L2 cache."""


def test_columns_that_are_read_fast_stay_in_the_second_cache() -> None:
    shape = MatmulShape(2048, 2048, 16384, 4)
    for name in ("AVX2", "AVX-512"):
        tiles = choose_tiles(shape, MACHINES[name])
        assert tiles.depth
        assert tiles.rows_ahead
        assert tiles.columns * tiles.depth * 4 <= MACHINES[name].cache_bytes(2) // 2
    large = choose_tiles(shape, Machine(64, 32, caches=LARGE_CACHE))
    assert large.depth > choose_tiles(shape, MACHINES["AVX-512"]).depth
    assert not choose_tiles(MatmulShape(2048, 2048, 2048, 4), MACHINES["AVX-512"]).depth
    assert not choose_tiles(shape, MACHINES["AVX-512"], ahead=True).depth
    for name in ("NEON", "SSE"):
        tiles = choose_tiles(shape, MACHINES[name])
        assert not tiles.depth
        assert not tiles.rows_ahead


def test_adjacent_rows_are_packed_in_vectors() -> None:
    """The rows of a transposed matrix lie next to each other; others are copied one by one."""
    tiled = fuse() >> top_down(column_tiles(6, 8, 4))
    text = (
        "fun((a : {}.f32, b : 24.16.f32), a {} |> map(fun(r, b |> transpose |> map(fun(c, "
        "zip(r, c) |> map(mult) |> reduce(add, 0.0))))))"
    )
    adjacent, apart = (
        [str(step.rule) for step in derive(parse_term(text.format(*each)), tiled).steps]
        for each in (("24.16", "|> transpose"), ("16.24", ""))
    )
    assert "pack_vectors_of_blocks(k=2)" in adjacent
    assert "pack_vectors_of_blocks(k=4)" in adjacent, "in the last tile, of four rows"
    assert "pack_blocks" in apart


def test_columns_of_a_tile_fill_at_most_half_of_the_first_cache() -> None:
    for depth in (64, 128, 136, 192, 256):
        tiles = choose_tiles(MatmulShape(256, 256, depth, 4), MACHINES["AVX-512"])
        half = MACHINES["AVX-512"].cache_bytes(1) // 2
        assert tiles.columns_ahead or tiles.columns * depth * 4 <= half


def test_rows_that_stay_in_the_first_cache_are_not_packed() -> None:
    near, far = MatmulShape(512, 512, 512, 4), MatmulShape(512, 512, 4096, 4)
    assert not choose_tiles(near, MACHINES["AVX-512"]).packs_rows
    assert not choose_tiles(MatmulShape(37, 515, 96, 4), MACHINES["AVX-512"]).packs_rows
    assert choose_tiles(far, MACHINES["AVX-512"]).packs_rows
    assert choose_tiles(near, MACHINES["NEON"]).packs_rows


@pytest.mark.parametrize(
    ("rows", "is_stored"),
    [("x", True), ("fst(p)", True), ("snd(snd(p))", True), ("x |> map(map(neg))", False)],
)
def test_components_of_variables_are_stored_rows(rows: str, is_stored: bool) -> None:
    term = parse_term(
        "fun((p : (64.16.f32 x (f32 x 64.16.f32)), x : 64.16.f32), "
        f"{rows} |> map(fun(r, x |> map(fun(c, "
        "zip(r, c) |> reduce(fun((total, q), total + fst(q) * snd(q)), 0.0))))))"
    )
    while isinstance(term, Lambda):
        term = term.body
    shape = matmul_shape(term)
    assert shape is not None
    assert shape.has_stored_rows is is_stored


@pytest.mark.parametrize(
    ("columns", "are_stored"),
    [
        ("b |> transpose", True),
        ("zip(b |> transpose, v)", True),
        ("b |> map(map(fun(e, e + 1.0))) |> transpose", False),
        ("w", False),
    ],
)
def test_columns_that_are_computed_are_stored_before_they_are_reused(
    columns: str, are_stored: bool
) -> None:
    column = "fst(c)" if "zip" in columns else "c"
    end = " + snd(c)" if "zip" in columns else ""
    term = parse_term(
        "fun((a : 32.64.f32, b : 64.32.f32, w : 32.64.f32, v : 32.f32), a |> map(fun(r, "
        f"{columns} |> map(fun(c, (zip(r, {column}) "
        f"|> reduce(fun((total, q), total + fst(q) * snd(q)), 0.0)){end})))))"
    )
    while isinstance(term, Lambda):
        term = term.body
    shape = matmul_shape(term)
    assert shape is not None
    assert shape.has_stored_columns is are_stored
    machine = Machine(64, 32, caches=LARGE_CACHE)
    assert choose_tiles(shape, machine).is_packed is not are_stored
    assert choose_tiles(shape, machine, ahead=True).is_packed
    symbolic = replace(shape, symbolic=frozenset({"rows"}))
    assert choose_tiles(symbolic, machine).is_packed is not are_stored
    assert choose_tiles(shape, MACHINES["NEON"]).is_packed


def test_columns_in_the_second_cache_are_packed_if_many_tiles_read_them() -> None:
    machine = Machine(64, 32, caches=LARGE_CACHE)
    few, many, near = (
        MatmulShape(rows, size, size, 4, has_stored_columns=True)
        for rows, size in ((16, 128), (256, 128), (256, 32))
    )
    # The lines of rows at distances of 512 bytes share sets of the first cache.
    crowded, spread = (
        MatmulShape(32, size, size, 4, has_stored_columns=True) for size in (128, 160)
    )
    assert choose_tiles(crowded, machine).is_packed
    assert not choose_tiles(spread, machine).is_packed
    assert not choose_tiles(few, machine).is_packed
    assert choose_tiles(many, machine).is_packed
    assert not choose_tiles(near, machine).is_packed


def test_rows_that_fill_a_part_of_a_vector_are_transposed_in_registers() -> None:
    """Without a shuffle for several of them, each element would be stored alone."""
    shape = MatmulShape(1000, 64, 64, 4, has_stored_rows=False)
    tiles = choose_tiles(shape, MACHINES["AVX-512"])
    assert tiles.is_by_columns
    assert tiles.packs_rows
    assert tiles.rows < tiles.lanes
    assert tiles.is_transposed


@pytest.mark.parametrize("size", [1000, 1024])
def test_rows_of_a_block_stay_in_the_second_cache_beside_few_columns(size: int) -> None:
    machine = Machine(64, 32, caches=LARGE_CACHE)
    tiles = choose_tiles(MatmulShape(size, size, size, 8), machine)
    assert tiles.packs_rows
    block_bytes = tiles.block * tiles.rows * size * 8
    assert machine.cache_bytes(2) // 2 <= block_bytes <= machine.cache_bytes(2)
    # Otherwise, blocks are large, so that their columns are read a few times.
    many = choose_tiles(MatmulShape(2048, 2048, 2048, 8), machine)
    assert many.block * many.rows * 2048 * 8 > machine.cache_bytes(2)


@pytest.mark.parametrize(("size", "bytes"), [(512, 4), (512, 8), (1024, 4)])
def test_rows_that_are_not_packed_fill_a_fourth_of_the_second_cache(size: int, bytes: int) -> None:
    machine = Machine(64, 32, caches=LARGE_CACHE)
    tiles = choose_tiles(MatmulShape(size, size, size, bytes), machine)
    assert not tiles.packs_rows
    assert tiles.block * tiles.rows * size * bytes * 4 <= machine.cache_bytes(2)


@pytest.mark.parametrize("cores", [1, 8, 16])
def test_threads_share_pieces_of_rows_and_columns(cores: int) -> None:
    for size in (512, 1024, 2048):
        machine = Machine(64, 32, caches=LARGE_CACHE, cores=cores)
        tiles = choose_tiles(MatmulShape(size, size, size, 4), machine)
        assert bool(tiles.piece) == (cores > 1)
        assert tiles.packs_pieces == (cores > 1 and size < 2048)
        if cores > 1:
            blocks = -(-size // (tiles.rows * tiles.block))
            pieces = blocks * -(-size // (tiles.columns * tiles.piece))
            assert 4 * cores <= pieces <= 8 * cores


def test_a_large_result_of_few_products_is_written_in_order() -> None:
    for name in ("AVX2", "AVX-512"):
        assert choose_tiles(MatmulShape(4096, 4096, 16, 4), MACHINES[name]).block == 1
    assert choose_tiles(MatmulShape(512, 512, 512, 4), MACHINES["AVX-512"]).block > 1


@pytest.mark.parametrize("cores", [1, 2, 4, 8, 16])
def test_blocks_are_spread_evenly_over_cores(cores: int) -> None:
    for bytes in (4, 8):
        tiles = choose_tiles(
            MatmulShape(2048, 2048, 2048, bytes), Machine(64, 32, caches=LARGE_CACHE, cores=cores)
        )
        blocks = -(-2048 // (tiles.rows * tiles.block))
        assert -(-blocks // cores) * cores * tiles.rows * tiles.block <= 2048 * 1.06


def test_tiles_with_a_small_common_multiple() -> None:
    shape = MatmulShape(1024, 1024, 1024, 4)
    tiles = choose_tiles(shape, MACHINES["AVX-512"], max_multiple=96)
    assert lcm(tiles.rows, tiles.columns) <= 96


NO_CONTRACTIONS = {
    "a reduction of one": "x |> map(fun(r, y |> map(fun(c, c |> reduce(add, 0.0)))))",
    "columns of the row": "x |> map(fun(r, x |> map(fun(c, zip(r, r) |> map(mult) "
    "|> reduce(add, 0.0)))))",
    "columns of each row": "x |> map(fun(r, r |> split(1) |> map(fun(c, zip(c, c) |> map(mult) "
    "|> reduce(add, 0.0)))))",
    "no reduction": "x |> map(fun(r, y |> map(fun(c, zip(r, c)))))",
}


@pytest.mark.parametrize("name", NO_CONTRACTIONS)
def test_what_is_no_contraction_is_left_alone(name: str) -> None:
    load_all()
    term = parse_term(f"fun((x : 4.4.f32, y : 3.4.f32), {NO_CONTRACTIONS[name]})")
    while isinstance(term, Lambda):
        term = term.body
    fused = derive(term, fuse()).end if name != "no reduction" else term
    assert matmul_shape(fused) is None


def test_sizes_that_are_not_known_are_taken_for_large_ones() -> None:
    term = parse_term(
        "fun((a : N.4.f32, b : 5.4.f32), a |> map(fun(r, b |> map(fun(c, zip(r, c) |> "
        "reduce(fun((s, p), fst(p) * snd(p) + s), 0.0))))))"
    )
    assert isinstance(term, Lambda)
    assert isinstance(term.body, Lambda)
    shape = matmul_shape(term.body.body)
    assert shape is not None
    assert shape.symbolic == {"rows"}
    assert (shape.rows, shape.columns, shape.depth) == (1024, 5, 4)
    assert str(contraction()) == "contraction()"


def test_small_matrices_of_any_size_have_tiles_of_their_own() -> None:
    """Columns that do not fill a tile are multiplied in narrower ones, not padded."""
    with assume_machine(KNOWN_MACHINES["AVX-512"]):
        kernel = matmul_of_any_size("f64")
        text = kernel.lower().explain().splitlines()[0]
        small = text.partition("fewer: ")[2]
        assert "right elements: tiles of" in small
        notation = kernel.lower().as_text("notation")
        assert "block |> transpose |> prefetch(" in notation
        for rows, depth, columns in [(9, 1, 1), (10, 5, 31), (17, 9, 47), (33, 80, 97), (9, 7, 64)]:
            source = np.random.default_rng(columns)
            a, b = source.random((rows, depth)), source.random((depth, columns))
            expected = matmul_of_any_size("f64", strategy="none")(a, b)
            assert kernel(a, b).tobytes() == expected.tobytes()


def matmul_of_any_size(scalar: str, strategy: str | None = None) -> Any:
    text = f"""fun((a : N.K.{scalar}, b : K.M.{scalar}), a |> map(fun(row,
      b |> transpose |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0))))))"""
    kernel: Any = rl.loads(text, name="program.rise", strategy=strategy).main
    kernel.symbolic = True
    return kernel
