"""What no tile divides: arrays that are filled up to read them, and cut off where they are stored.

Whatever is too much is computed and dropped, without memory for it; vectors are loaded and stored
as wholes where all their lanes are there.
"""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.module import module_text
from riselang.notation.program import parse_term
from riselang.support.config import Options
from riselang.term.to_dialect import program_module
from support.guarded import Call, Request, runner

pytestmark = pytest.mark.rotating(2)

STORED = {
    "the end of a loop": "x |> mapSeq(fun(row, row |> map(add(1)))) |> take(2)",
    "blocks": "x |> join |> split(4) |> mapSeq(fun(b, b |> map(add(1)))) |> join |> take(9)",
    "columns": "x |> mapSeq(fun(row, row |> map(add(1)))) |> transpose |> take(2)",
    "rows that are cut": "x |> mapSeq(fun(row, row |> map(add(1)))) |> map(take(1))",
    "both": "x |> mapSeq(fun(row, row |> map(add(1)))) |> map(take(2)) |> take(3)",
    "nothing": "x |> mapSeq(fun(row, row |> map(add(1)))) |> take(0)",
    "all": "x |> mapSeq(fun(row, row |> map(add(1)))) |> take(4)",
    "on threads": "x |> mapPar(fun(row, row |> map(add(1)))) |> take(3)",
    "under a let": "(let y = x |> toMem(heap); y |> mapSeq(fun(r, r |> map(add(1))))) |> take(3)",
    "folds inside": "x |> mapSeq(fun(row, x |> reduceSeq(fun((a, r), zip(r, a) |> map(add)), row)))"
    " |> take(3)",
    "folds of many": "x |> reduceSeq(fun((acc, r), acc |> mapSeq(fun(e, e |> map(fun(v, v * 3))))),"
    " x) |> take(3)",
    "folds of many rows": "generate(fun(i : idx[40], x |> join)) |> reduceSeq(fun((acc, r), "
    "zip(r |> split(3), acc) |> mapSeq(fun(p, zip(fst(p), snd(p)) |> map(add)))), x) |> take(3)",
    "a scan": "x |> scanSeq(fun((acc, row), zip(row, acc) |> map(add)), "
    "generate(fun(i : idx[3], 0))) |> take(2)",
    "a map": "x |> map(fun(row, row |> map(add(1)))) |> take(2)",
    "a view": "x |> transpose |> take(2)",
    "vectors": "x |> join |> asVector(4) |> mapSeq(fun(v, v + v)) |> asScalar |> take(6)",
    "whole vectors": "x |> join |> asVector(4) |> mapSeq(fun(v, v + v)) |> asScalar |> take(8)",
    "vectors of rows": "x |> transpose |> mapSeq(fun(c, c |> asVector(2) |> map(fun(v, v + v)) "
    "|> asScalar)) |> map(take(3))",
    "lanes that lie apart": "x |> transpose |> mapSeq(fun(c, c |> asVector(2) |> map(fun(v, v + v))"
    " |> asScalar)) |> transpose |> take(3)",
}
READ = {
    "clamped": "y |> pad(0, 5) |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "on both sides": "y |> pad(2, 3) |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "wrapped": "y |> padWrap(2, 3) |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "reflected": "y |> padReflect(2, 3) |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "constant": "y |> padConst(2, 3, 7) |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "back to front": "y |> pad(2, 3) |> reverse |> asVector(4) |> map(fun(v, v + v)) |> asScalar",
    "of a map": "y |> map(fun(v, v * v)) |> pad(2, 3) |> asVector(4) |> map(fun(v, v + v)) "
    "|> asScalar",
    "padded and cut": "y |> pad(0, 5) |> asVector(4) |> mapSeq(fun(v, v + v)) |> asScalar "
    "|> take(11)",
    "columns": "x |> pad(0, 2) |> transpose |> map(fun(c, c |> asVector(2) |> map(fun(v, v + v)) "
    "|> asScalar))",
}
REGISTERS = {
    "lanes": "zip(x, x) |> reduceSeq(fun((acc, p), zip(fst(p) |> asVector(3) |> toMem(register) "
    "|> asScalar, acc) |> map(fun(q, zip(snd(p), snd(q)) |> map(fun(r, fst(q) * fst(r) + snd(r))))"
    ")), generate(fun(i : idx[3], generate(fun(j : idx[3], 0)))))",
    "a let": "x |> reduceSeq(fun((acc, row), let r = row |> map(add(1)) |> toMem(register); "
    "zip(r, zip(r, acc)) |> map(fun(p, fst(p) * fst(snd(p)) + snd(snd(p))))), "
    "generate(fun(i : idx[3], 0)))",
}


def check(body: str, loops: str) -> str:
    term = parse_term(f"fun((x : 4.3.i32, y : 11.i32), {body})")
    random = np.random.default_rng(1)
    arrays = [random.integers(-9, 9, shape).astype(np.int32) for shape in ((4, 3), (11,))]
    expected = TermKernel("f", term, "interpret")(*arrays)
    kernel = TermKernel("f", term, options=Options(loops))
    assert np.array_equal(kernel(*arrays), expected)
    text = module_text(program_module(term, "f"))
    guarded = runner(2).run(Request(text, loops, [Call("f", [np.zeros_like(expected)], arrays)]))
    assert all(np.array_equal(outputs[0], expected) for outputs in guarded[0])
    return kernel.lower().as_text("affine")


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", STORED)
@pytest.mark.sampled(10)
def test_what_is_cut_off_is_not_stored(name: str, loops: str) -> None:
    check(STORED[name], loops)


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", READ)
@pytest.mark.sampled(5)
def test_vectors_of_padded_arrays(name: str, loops: str) -> None:
    check(READ[name], loops)


@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", REGISTERS)
def test_values_that_are_kept_in_registers(name: str, loops: str) -> None:
    assert "alloc" not in check(REGISTERS[name], loops)


def test_one_condition_serves_the_stores_of_a_tile() -> None:
    """Each store has a condition only if the tile is partly padding."""
    text = check(
        "y |> pad(0, 5) |> asVector(4) |> split(2) |> mapSeq(mapSeqUnroll(fun(v, v + v))) |> join"
        " |> asScalar |> take(11)",
        "affine",
    )
    complete, partial = text.partition("scf.if")[2].split("} else {", 1)
    assert complete.count("vector_store") == 2
    assert "maskedstore" not in complete
    assert partial.count("vector.maskedstore") == 2


@pytest.mark.parametrize(
    "body", ["vectorFromScalar(4)", "asVector(4) |> mapSeq(fun(v, v)) |> asScalar"]
)
def test_lanes_that_are_booleans_have_one_byte_each(body: str) -> None:
    type = "i1" if "Scalar(" in body else "8.i1"
    term = parse_term(f"fun((x : {type}), x |> {body})")
    x = np.array(True) if type == "i1" else np.arange(8) % 3 == 0
    expected = TermKernel("f", term, "interpret")(x)
    assert np.array_equal(TermKernel("f", term)(x), expected)
