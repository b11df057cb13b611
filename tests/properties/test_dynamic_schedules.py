"""Programs that the default strategy schedules for all sizes: equal to the interpreter at any size.

The sizes are drawn around those of tiles and vectors, and include 0 and 1. The thresholds for large
programs are lowered, so that small arrays reach the versions for large ones as well.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import leaves
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies import contractions, default_schedule, stencils, threads
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.term.nodes import has_pattern
from support.fuzzing import Ran, seeds

pytestmark = pytest.mark.rotating(4)

DOT = "zip({}, {}) |> map(mult) |> reduce(add, 0.0)"
COLUMNS = DOT.format("row", "column")
WINDOWS = "map(fun(rows, rows |> transpose |> map(fun(w, w |> join |> reduce(add, 0.0)))))"
PROGRAMS = {
    "matmul": f"fun((a : N.K.f32, b : K.M.f32), a |> map(fun(row, b |> transpose |> map(fun(column,"
    f" {COLUMNS})))))",
    "matmul of columns": f"fun((a : N.K.f32, b : M.K.f32), a |> map(fun(row, b |> map(fun(column,"
    f" {COLUMNS})))))",
    "one row": f"fun((a : 1.K.f32, b : K.M.f32), a |> map(fun(row, b |> transpose |> map("
    f"fun(column, {COLUMNS})))))",
    "open batch": f"fun((a : N.20.f32, b : 20.33.f32, c : 33.f32), a |> map(fun(row, zip(b |> "
    f"transpose, c) |> map(fun(p, max(({DOT.format('row', 'fst(p)')}) + snd(p), 0.0))))))",
    "open batch of whole tiles": "fun((a : N.20.f32, b : 20.32.f32), a |> map(fun(row, b |> "
    f"transpose |> map(fun(column, {COLUMNS})))))",
    "accumulating": "fun((a : N.K.f32, b : K.M.f32, c : N.M.f32), zip(a, c) |> map(fun(p, zip(b |> "
    "transpose, snd(p)) |> map(fun(q, zip(fst(p), fst(q)) |> map(mult) |> reduce(add, snd(q)))))))",
    "row sums": "fun((a : N.M.f32), a |> map(fun(row, row |> reduce(add, 0.0))))",
    "column sums": "fun((a : N.M.f32), a |> transpose |> map(fun(c, c |> reduce(add, 0.0))))",
    "matrix by vector": "fun((a : N.M.f32, x : M.f32), a |> map(fun(row, "
    f"{DOT.format('row', 'x')})))",
    "softmax": "fun((a : N.M.f32), a |> map(fun(row, let m = row |> reduce(max, -3.0e38); let p = "
    "row |> map(fun(e, e - m)) |> toMem(heap); let s = p |> reduce(add, 0.0); "
    "p |> map(fun(e, e / s)))))",
    "line": "fun((x : (N + 2).f32), x |> slide(3, 1) |> map(fun(w, w |> reduce(add, 0.0))))",
    "grid": f"fun((x : (N + 2).(M + 2).f32), x |> map(slide(3, 1)) |> slide(3, 1) |> {WINDOWS})",
    "volume": "fun((x : 4.(N + 2).(M + 2).f32), x |> slide(3, 1) |> map(fun(planes, planes |> map("
    "fun(plane, plane |> map(slide(3, 1)) |> slide(3, 1) |> map(transpose))) |> transpose |> map("
    "fun(rows, rows |> transpose |> map(fun(w, w |> join |> join |> reduce(add, 0.0))))))))",
    "elements": "fun((x : N.f32, y : N.f32), zip(x, y) |> map(fun((a, b), a * 2.0 + b)))",
}
REDUCTIONS = {
    "sum": "fun((x : N.f32), x |> reduce(add, 0.0))",
    "dot product": f"fun((x : N.f32, y : N.f32), {DOT.format('x', 'y')})",
    "row sums": PROGRAMS["row sums"],
}
SIZES = (0, 1, 2, 7, 8, 9, 16, 17, 33, 49, 67)


@pytest.fixture(autouse=True)
def small_thresholds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Large programs begin at sizes that the interpreter can compute."""
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(contractions, "MIN_PARALLEL_PRODUCTS", 1 << 10)
    monkeypatch.setattr(default_schedule, "MIN_PARALLEL_PRODUCTS", 1 << 8)
    monkeypatch.setattr(default_schedule, "LONG_REDUCTION", 1 << 12)
    monkeypatch.setattr(stencils, "MIN_PARALLEL_ELEMENTS", 1 << 8)
    monkeypatch.setattr(threads, "MIN_PARALLEL_COST", 1 << 8)


def kernel(text: str, permission: str) -> TermKernel:
    term = parse_term(text)
    result = TermKernel("f", term, options=Options(float=permission), strategy=DEFAULT)
    result.symbolic = True
    return result


def arrays_for(
    kernel: TermKernel, sizes: dict[str, Nat], random: np.random.Generator
) -> list[Array]:
    arrays: list[Array] = []
    for type in kernel.types:
        ((lengths, _),) = leaves(type)
        shape = [length.substitute(sizes).constant for length in lengths]
        arrays.append(random.standard_normal(shape).astype(np.float32))
    return arrays


@pytest.mark.parametrize("permission", ["strict", "contract"])
@pytest.mark.parametrize("name", PROGRAMS)
@seeds(4, nightly=20, fuzzed=400, batch=4)
@pytest.mark.sampled(3)
def test_every_size_has_the_bits_of_the_interpreter(
    name: str, permission: str, seeds: range, ran: Ran
) -> None:
    compiled = kernel(PROGRAMS[name], permission)
    assert has_pattern(compiled.lower().rewritten, "ifAtLeast", "padConst", "take")
    for seed in seeds:
        random = np.random.default_rng(seed)
        sizes = {size: Nat.const(int(random.choice(SIZES))) for size in "NKM"}
        arrays = arrays_for(compiled, sizes, random)
        expected = TermKernel("f", compiled.term, "interpret", Options(float=permission))(*arrays)
        assert np.array_equal(compiled(*arrays), expected, equal_nan=True), sizes
    ran("programs: interpreter = scheduled for all sizes", len(seeds))


@pytest.mark.rotating(7)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["matmul", "open batch", "open batch of whole tiles"])
def test_small_products_read_matrices_in_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and columns that do not fill tiles are multiplied in smaller tiles."""
    monkeypatch.setattr(contractions, "MIN_PARALLEL_PRODUCTS", 1 << 20)
    compiled = kernel(PROGRAMS[name], "contract")
    sizes = {"N": Nat.const(16), "M": Nat.const(33), "K": Nat.const(3)}
    a, b, *others = arrays_for(compiled, sizes, np.random.default_rng(0))
    interpreted = TermKernel("f", compiled.term, "interpret", Options(float="contract"))
    expected = interpreted(a, b, *others)
    for rows in range(9, 17):
        for columns in (15, 16, 17, 31, 33) if name == "matmul" else (expected.shape[1],):
            result = compiled(a[:rows], np.ascontiguousarray(b[:, :columns]), *others)
            assert np.array_equal(result, expected[:rows, :columns]), (rows, columns)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("size", [0, 1, 63, 64, 1000, 5000, 40_000])
def test_reductions_that_may_be_reordered(name: str, size: int) -> None:
    compiled = kernel(REDUCTIONS[name], "relaxed")
    sizes = {"N": Nat.const(3 if name == "row sums" else size), "M": Nat.const(size)}
    arrays = arrays_for(compiled, sizes, np.random.default_rng(size))
    expected = arrays[0].astype(np.float64) * (arrays[1] if len(arrays) > 1 else 1.0)
    assert np.allclose(compiled(*arrays), expected.sum(axis=-1), rtol=1e-3, atol=1e-2)


def test_math_functions_of_rows_are_computed_in_vectors() -> None:
    """The last elements of a row are computed in a vector with padding, with the same bits."""
    text = "fun((a : N.M.f32), a |> map(fun(row, row |> map(fun(e, exp(e) + tanh(e))))))"
    compiled = kernel(text, "relaxed")
    assert "with math functions" in compiled.lower().explain()
    matrix = np.random.default_rng(0).standard_normal((3, 33)).astype(np.float32)
    expected = compiled(matrix)
    assert np.allclose(expected, np.exp(matrix) + np.tanh(matrix), rtol=1e-5)
    for length in range(32):
        row = np.ascontiguousarray(matrix[:, :length])
        assert np.array_equal(compiled(row), expected[:, :length]), length


def test_rows_of_whole_pages_are_reduced_in_smaller_groups() -> None:
    """Both versions add the elements of each row in order."""
    compiled = kernel(PROGRAMS["row sums"], "strict")
    for rows, length in itertools.product((7, 8, 15, 16, 17), (1023, 1024, 1025, 2048)):
        matrix = np.random.default_rng(rows).standard_normal((rows, length)).astype(np.float32)
        expected = np.add.accumulate(matrix, axis=1)[:, -1]
        assert np.array_equal(compiled(matrix), expected), (rows, length)


@pytest.mark.parametrize("name", ["row sums", "matrix by vector"])
def test_rows_of_any_length_are_reduced_together(name: str) -> None:
    """Neither the rows need fill a group, nor their elements vectors."""
    compiled = kernel(PROGRAMS[name], "relaxed")
    assert "of them at a time" in compiled.lower().explain()
    for rows, length in itertools.product((0, 1, 3, 4, 5, 8, 11), (0, 1, 7, 8, 9, 31, 32, 33, 100)):
        random = np.random.default_rng(length)
        matrix = random.standard_normal((rows, length)).astype(np.float32)
        vector = random.standard_normal(length).astype(np.float32)
        arguments = [matrix] if name == "row sums" else [matrix, vector]
        factors = np.float64(1.0) if name == "row sums" else vector.astype(np.float64)
        expected = (matrix.astype(np.float64) * factors).sum(axis=1)
        assert np.allclose(compiled(*arguments), expected, rtol=1e-4, atol=1e-4), (rows, length)
