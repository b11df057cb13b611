"""Folds of the rows and of the columns of a matrix: side by side, with the bits of the source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies.accumulated_rows import accumulated_rows
from riselang.rewrite.strategies.default_schedule import recognized_computations
from riselang.rewrite.strategies.reduction_schedules import sums_of_rows
from riselang.rewrite.strategies.schedules import fuse
from riselang.rewrite.strategies.skinny_matmul import (
    interleaved_reductions,
    reductions_in_lanes,
    streamed_reductions,
    streamed_tiles,
)
from riselang.rewrite.traversals import top_down
from riselang.support.config import Options
from riselang.support.errors import UserError
from riselang.support.machine import assume_machine, this_machine
from riselang.term.nodes import Term
from support.pairwise import combined

pytestmark = pytest.mark.rotating(2)

LINES = {"rows": "a", "columns": "a |> transpose"}
FORMS = {
    "sums": "{} |> map(fun(l, l |> reduce(add, 0.0)))",
    "products": "{} |> map(fun(l, zip(l, x) |> map(mult) |> reduce(add, 1.0)))",
    "means": "{} |> map(fun(l, (l |> reduce(add, 0.0)) / 7.0))",
    "largest": "{} |> map(fun(l, l |> reduce(max, 0.0)))",
    "with another": "zip({}, y) |> map(fun(p, (fst(p) |> reduce(add, 0.0)) * snd(p)))",
    "from another": "zip({}, y) |> map(fun(p, fst(p) |> reduce(add, snd(p))))",
}


def program(form: str, lines: str, count: int, length: int) -> Term:
    shape = (count, length) if lines == "rows" else (length, count)
    return parse_term(
        f"fun((a : {shape[0]}.{shape[1]}.f32, x : {length}.f32, y : {count}.f32), "
        f"{FORMS[form].format(LINES[lines])})"
    )


def check(form: str, lines: str, count: int, length: int, strategy: Strategy) -> None:
    """Compares bits with the interpreter."""
    term = program(form, lines, count, length)
    shape = (count, length) if lines == "rows" else (length, count)
    random = np.random.default_rng(6)
    arrays = [
        (random.standard_normal(each) * 8).astype(np.float32) for each in (shape, length, count)
    ]
    expected = TermKernel("f", term, "interpret")(*arrays)
    found = TermKernel("f", term, strategy=strategy)(*arrays)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("form", "lines", "count"), combined(FORMS, LINES, [8, 13]))
def test_interleaved_reductions(form: str, lines: str, count: int) -> None:
    check(form, lines, count, 9, fuse() >> top_down(interleaved_reductions(4)))


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("form", "lines", "count", "length", "shape"),
    combined(FORMS, LINES, [16, 21], [8, 11], [(8, 2, 4), (4, 2, 4), (2, 4, 2), (4, 1, 1)]),
)
def test_reductions_in_lanes(
    form: str, lines: str, count: int, length: int, shape: tuple[int, int, int]
) -> None:
    """The last rows and the last elements of each row do not fill a vector."""
    check(form, lines, count, length, fuse() >> top_down(reductions_in_lanes(*shape)))


def test_rows_of_unknown_number_and_length_are_reduced_in_lanes() -> None:
    """Parts of the rows are loaded in vectors if the rows are known to be long enough."""
    text = "fun((a : N.M.f32), a |> map(fun(row, row |> reduce(add, 0.0))))"
    kernel = TermKernel("f", parse_term(text), strategy=top_down(reductions_in_lanes(4, 2, 4)))
    kernel.symbolic = True
    assert "vector<4xf32>" in kernel.lower().as_text("affine").partition("affine.for")[2]
    assert "affine.vector_load %a" in kernel.lower().as_text("affine")
    random = np.random.default_rng(7)
    for shape in ((8, 4), (8, 3), (7, 9), (21, 11), (0, 4), (5, 0)):
        a = random.standard_normal(shape).astype(np.float32)
        expected = TermKernel("f", parse_term(text), "interpret")(a)
        assert kernel(a).tobytes() == expected.tobytes(), shape


def test_gathered_rows_are_left_alone() -> None:
    text = """fun((i : 64.64.i32, x : 64.f32), i |> map(fun(row,
      row |> map(fun(k, x |> at(clampIdx(64, k)))) |> reduce(add, 0.0))))"""
    assert recognized_computations(parse_term(text), Setting("contract")) == []


def test_the_state_of_a_loop_is_written() -> None:
    text = """fun((a : 64.64.f32, x : 64.f32), x |> iterate(3, fun(y, a |> map(fun(row,
      zip(row, y) |> map(mult) |> reduce(add, 0.0))))))"""
    (match,) = recognized_computations(parse_term(text), Setting("contract"))
    assert match.description == "64 reductions of 64 elements"
    text = """fun((a : 16.16.f32, x : 99.16.f32), let first = a |> at(0 |> clampIdx(16));
      x |> scan(fun((y, b), zip(zip(y, a) |> map(fun(p, snd(p) |> map(fun(e, fst(p) + e))))
        |> transpose, b) |> map(fun(p, (fst(p) |> reduce(max, 0.0)) + snd(p)))), first)
      |> concat(first |> split(16)))"""
    (match,) = recognized_computations(parse_term(text), Setting("contract"))
    assert match.description == "16 reductions of 16 elements"


@pytest.mark.parametrize(
    ("form", "lines", "length", "in_parallel"), combined(FORMS, LINES, [1, 8, 11], [False, True])
)
def test_streamed_reductions(form: str, lines: str, length: int, in_parallel: bool) -> None:
    check(
        form,
        lines,
        12,
        length,
        fuse()
        >> top_down(streamed_reductions(4, reductions_per_thread=6, in_parallel=in_parallel)),
    )


@pytest.mark.parametrize(
    ("form", "lines", "sizes"), combined(FORMS, LINES, [(64, 48), (61, 67)]), ids=str
)
def test_the_default_strategy_recognizes_line_reductions(
    form: str, lines: str, sizes: tuple[int, int]
) -> None:
    chosen = recognized_computations(program(form, lines, *sizes), Setting("contract"))
    assert [each.description for each in chosen] == [
        f"{sizes[0]} reductions of {sizes[1]} elements"
    ]
    check(form, lines, *sizes, DEFAULT)


READ = (
    "zip({} |> map(fun(l, l |> reduce(add, 0.0))), {}) "
    "|> map(fun(p, snd(p) |> map(fun(e, e / fst(p)))))"
)


@pytest.mark.parametrize("lines", LINES)
def test_what_is_computed_when_it_is_read_is_left_alone(lines: str) -> None:
    """Several at once would be computed for each that is read."""
    text = READ.format(LINES[lines], LINES[lines])
    term = parse_term(f"fun((a : 64.64.f32), {text})")
    assert recognized_computations(term, Setting("contract")) == []
    named = parse_term(
        f"fun((a : 64.64.f32), let s = {LINES[lines]} |> map(fun(l, l |> reduce(add, 0.0))); "
        "a |> map(fun(r, zip(r, s) |> map(fun(p, fst(p) / snd(p))))))"
    )
    assert len(recognized_computations(named, Setting("contract"))) == 1


def test_integers_and_relaxed_rows_are_reduced_in_vectors() -> None:
    rows = program("sums", "rows", 64, 512)
    (strict,) = recognized_computations(rows, Setting("strict"))
    assert "of them at a time, in vectors of" in strict.schedule
    (relaxed,) = recognized_computations(rows, Setting("relaxed"))
    assert relaxed.description == "a reduction of 512 elements"
    ints = parse_term("fun((a : 64.64.i32), a |> map(fun(l, l |> reduce(add, 0))))")
    assert recognized_computations(ints, Setting("contract")) == []


@pytest.mark.parametrize("count", [16, 19])
@pytest.mark.parametrize("form", ["sums", "products", "means", "with another"])
def test_rows_in_any_order_are_reduced_together(form: str, count: int) -> None:
    """Sums of small integers are exact in any order."""
    text = FORMS[form].format("a").replace("reduce(add, 1.0)", "reduce(add, 0.0)")
    term = parse_term(f"fun((a : {count}.24.f32, x : 24.f32, y : {count}.f32), {text})")
    random = np.random.default_rng(3)
    shapes = ((count, 24), (24,), (count,))
    arrays = [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    expected = TermKernel("f", term, "interpret")(*arrays)
    strategy = fuse() >> top_down(sums_of_rows(8, 4))
    kernel = TermKernel("f", term, strategy=strategy, options=Options(float="relaxed"))
    assert np.array_equal(kernel(*arrays), expected)


def test_only_rows_of_large_matrices_are_reduced_together() -> None:
    setting = Setting(float="relaxed")
    with assume_machine(replace(this_machine(), vector_bytes=32)):
        for length, together in ((64, False), (4096, True)):
            term = program("sums", "rows", length, length)
            (found,) = recognized_computations(term, setting)
            assert str(found.strategy).startswith("sums_of_rows(8, 8)") == together


@pytest.mark.parametrize(("length", "vectors"), [(1000, 2), (1024, 1)])
def test_fewer_rows_at_addresses_that_differ_by_pages(length: int, vectors: int) -> None:
    machine = replace(this_machine(), vector_bytes=32, caches=((1, 32 << 10), (2, 1 << 19)))
    with assume_machine(machine):
        (found,) = recognized_computations(program("sums", "rows", 64, length), Setting())
    assert f"reductions_in_lanes(8, {vectors}, 4)" in str(found.strategy)


def test_sizes_must_be_positive() -> None:
    with pytest.raises(UserError, match="streamed_reductions: 'depth' must be at least 1"):
        streamed_reductions(0, reductions_per_thread=4)
    with pytest.raises(UserError, match="streamed_tiles: 'columns_per_thread' must be at least 1"):
        streamed_tiles(1, 4, 4, depth=4, columns_per_thread=0)
    with pytest.raises(UserError, match="interleaved_reductions: 'count' must be at least 1"):
        interleaved_reductions(0)
    with pytest.raises(UserError, match="reductions_in_lanes: 'lanes' must be at least 1"):
        reductions_in_lanes(0, 1, 1)


def test_few_rows_with_contiguous_columns() -> None:
    text = (
        "fun((a : {}.64.f32, w : 64.64.f32), a |> map(fun(r, w |> map(fun(c, zip(r, c) "
        "|> map(mult) |> reduce(add, 0.0))))))"
    )
    few, more = (
        recognized_computations(parse_term(text.format(n)), Setting("contract")) for n in (2, 8)
    )
    assert [each.description for each in few] == ["64 reductions of 64 elements"]
    assert [each.description for each in more] == ["matrix multiplication of 8 x 64 by 64 x 64"]


@pytest.mark.parametrize("cores", [1, 4])
def test_columns_of_unknown_number_are_divided_only_among_threads(cores: int) -> None:
    term = parse_term("fun((a : N.M.f32), a |> transpose |> map(reduce(add, 0.0)))")
    with assume_machine(replace(this_machine(), cores=cores)):
        (computation,) = recognized_computations(term, Setting("contract"))
    assert ("parallel" in computation.schedule) == (cores > 1)


ROWS = {
    "of numbers": """fun((x : 40.6.f32, w : 6.f32), x |> map(fun(row,
      let total = 1.0 / (row |> reduce(add, 1.0));
      zip(row, w) |> map(fun((a, b), a * b * total))))
      |> transpose |> map(fun(column, column |> reduce(add, 0.0))))""",
    "of arrays": """fun((x : 40.6.f32, w : 3.6.f32), x |> map(fun(row,
      let total = 1.0 / (row |> reduce(add, 1.0));
      w |> map(fun(v, zip(row, v) |> map(fun((a, b), (a - b) * total))))))
      |> transpose |> map(fun(each, each |> transpose |> map(fun(column,
        column |> reduce(max, 0.25))))))""",
}


@pytest.mark.parametrize("form", ROWS)
def test_computed_rows_are_not_stored(form: str) -> None:
    """The columns of computed rows are reduced row by row, with the bits of the program."""
    term = parse_term(ROWS[form])
    source = np.random.default_rng(2)
    x = source.random((40, 6), np.float32)
    w = source.random((6,) if form == "of numbers" else (3, 6), np.float32)
    with assume_machine(replace(this_machine(), cores=1)):
        (found,) = recognized_computations(term, Setting("contract"))
        assert "sums of 40 computed rows" in str(found)
        strategy = top_down(accumulated_rows(1 if form == "of numbers" else 2))
        kernel = TermKernel("f", term, strategy=strategy)
        expected = TermKernel("f", term, "interpret")(x, w)
        assert kernel(x, w).tobytes() == expected.tobytes()
        lines = kernel.lower().as_text("affine").splitlines()
        assert not [each for each in lines if "alloc" in each and "40x" in each]


def test_computed_rows_of_large_results_or_on_several_threads_are_stored() -> None:
    for text, cores in ((ROWS["of numbers"], 4), (ROWS["of numbers"].replace("6", "600000"), 1)):
        with assume_machine(replace(this_machine(), cores=cores)):
            found = recognized_computations(parse_term(text), Setting("strict"))
        assert not any("computed rows" in str(each) for each in found)


def test_sums_of_computed_rows_are_stored_before_a_loop_that_reads_them() -> None:
    rows = """x |> map(fun(row, w |> map(fun(v, zip(row, v) |> map(fun((a, b), {}))))))
      |> transpose |> map(fun(each, each |> transpose |> map(fun(column,
        column |> reduce(add, 0.0)))))"""
    text = f"""fun((x : 4000.6.f32, w : 3.6.f32), zip({rows.format("a * a * b")},
      {rows.format("exp(a - b)")}) |> map(fun((p, q), zip(p, q) |> map(fun((a, b), a / b)))))"""
    source = np.random.default_rng(2)
    x, w = source.random((4000, 6), np.float32), source.random((3, 6), np.float32)
    with assume_machine(replace(this_machine(), cores=1)):
        kernel: Any = rl.loads(text, name="sums.rise").main
        plain: Any = rl.loads(text, name="sums.rise", strategy="none").main
        assert kernel(x, w).tobytes() == plain(x, w).tobytes()
        notation = kernel.lower().as_text("notation")
        assert notation.count("reduceSeq(") == 2
        assert notation.count("toMem(heap)") == 2
