"""Folds of arrays that change the accumulator in its place, and those that must not."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.lowering.in_place import can_iterate_in_place, can_update_in_place
from riselang.notation.program import parse_term
from riselang.support.config import Options
from riselang.term.nodes import Lambda, Pattern, Term, spine, subterms

IN_PLACE = {
    "elements": "x |> reduce(fun((acc, e), zip(e, acc) |> map(add)), start)",
    "the accumulator first": "x |> reduce(fun((acc, e), zip(acc, e) |> map(sub)), start)",
    "the accumulator alone": "x |> reduce(fun((acc, e), acc |> map(fun(a, a * 2))), start)",
    "nested pairs": (
        "x |> reduce(fun((acc, e), zip(e, zip(acc, e)) |> map(fun(p, fst(p) + fst(snd(p)))))"
        ", start)"
    ),
    "nothing": "x |> reduce(fun((acc, e), acc), start)",
    "only the element": "x |> reduce(fun((acc, e), e |> map(fun(a, a + 1))), start)",
    "under a let": (
        "x |> reduce(fun((acc, e), let s = e |> reduce(add, 0); acc |> map(fun(a, a + s))), start)"
    ),
    "a fold inside": (
        "x |> split(2) |> reduce(fun((acc, es), es |> reduce(fun((a, e), zip(e, a) |> map(max)), "
        "acc)), start)"
    ),
    "in blocks": (
        "x |> reduce(fun((acc, e), zip(e |> split(1), acc |> split(1)) |> map(fun(p, "
        "zip(fst(p), snd(p)) |> map(add))) |> join), start)"
    ),
    "back to front": (
        "x |> reduce(fun((acc, e), zip(e, acc |> reverse) |> map(add) |> reverse), start)"
    ),
    "in vectors": (
        "x |> reduce(fun((acc, e), zip(e |> asVector(3), acc |> asVector(3)) |> map(add) "
        "|> asScalar), start)"
    ),
    "a loop that is asked for": "x |> reduceSeq(fun((acc, e), zip(e, acc) |> mapSeq(add)), start)",
    "filled up and taken": (
        "x |> reduce(fun((acc, e), zip(e |> pad(0, 2), acc |> pad(0, 2)) |> map(add) |> take(3)), "
        "start)"
    ),
    "in tiles that are filled up": (
        "x |> reduce(fun((acc, e), zip(e |> pad(0, 1) |> split(2), acc |> pad(0, 1) |> split(2)) "
        "|> map(fun(t, zip(fst(t), snd(t)) |> map(add))) |> join |> take(3)), start)"
    ),
    "the first elements and then the others": (
        "x |> reduce(fun((acc, e), concat(zip(e |> take(1), acc |> take(1)) |> map(add), "
        "zip(e |> drop(1), acc |> drop(1)) |> map(sub))), start)"
    ),
    "some elements": "x |> reduce(fun((acc, e), scatter(e |> map(clampIdx(3)), acc, e)), start)",
    "some elements that are combined": (
        "x |> reduce(fun((acc, e), scatterWith(sub, e |> map(clampIdx(3)), acc, e)), start)"
    ),
    "a part": ("x |> reduce(fun((acc, e), updateAt(clampIdx(3, 1), e |> take(1), acc)), start)"),
    "a part that depends on a scalar": (
        "x |> reduce(fun((acc, e), let a = acc |> at(clampIdx(3, 0)); "
        "acc |> map(fun(b, b * a + a))), start)"
    ),
    "a view that is bound": (
        "x |> reduce(fun((acc, e), let first = acc |> take(2); "
        "concat(first |> map(fun(a, a + 2)), acc |> drop(2))), start)"
    ),
    "a loop inside": (
        "x |> reduce(fun((acc, e), acc |> while(fun(s, (s |> at(clampIdx(3, 0))) < 9), "
        "fun(s, s |> map(fun(a, a + 5))))), start)"
    ),
}
STORED_BEFORE = {
    "a part of itself that is stored before": (
        "x |> reduce(fun((acc, e), updateAt(clampIdx(2, 1), acc |> take(2) |> toMem(heap), acc)),"
        " start)"
    ),
    "what a let stores before": (
        "x |> reduce(fun((acc, e), let old = acc |> map(fun(a, a + 1)); "
        "zip(zip(acc, old |> reverse), old) |> map(fun(p, fst(fst(p)) + snd(fst(p)) - snd(p)))),"
        " start)"
    ),
}
NOT_IN_PLACE = {
    "what is scattered": (
        "x |> reduce(fun((acc, e), scatter(e |> map(clampIdx(3)), acc, acc |> reverse)), start)"
    ),
    "a part of itself": (
        "x |> reduce(fun((acc, e), updateAt(clampIdx(2, 1), acc |> take(2), acc)), start)"
    ),
    "the first elements again": (
        "x |> reduce(fun((acc, e), concat(zip(e |> take(1), acc |> take(1)) |> map(add), "
        "zip(e |> drop(1), acc |> take(2)) |> map(sub))), start)"
    ),
    "another order": "x |> reduce(fun((acc, e), zip(e, acc |> reverse) |> map(add)), start)",
    "another order in the end": (
        "x |> reduce(fun((acc, e), zip(e, acc) |> map(add) |> reverse), start)"
    ),
    "one view that undoes another": (
        "x |> reduce(fun((acc, e), zip(e |> split(1), acc |> reverse |> split(1)) |> map(fun(p, "
        "zip(fst(p), snd(p)) |> map(add))) |> join), start)"
    ),
    "a neighbour": (
        "x |> reduce(fun((acc, e), acc |> pad(1, 1) |> slide(3, 1) |> map(reduce(add, 0))), start)"
    ),
    "twice": "x |> reduce(fun((acc, e), zip(acc, acc |> reverse) |> map(add)), start)",
    "in the function": (
        "x |> reduce(fun((acc, e), zip(e, acc) |> map(fun(p, fst(p) + (acc |> reduce(add, 0))))), "
        "start)"
    ),
    "filled up before": (
        "x |> reduce(fun((acc, e), zip(e |> pad(1, 0), acc |> pad(1, 0)) |> map(add) |> take(3)), "
        "start)"
    ),
    "in what is folded": (
        "x |> reduce(fun((acc, e), zip(acc, e) |> map(fun(p, p)) |> map(fun(p, "
        "fst(p) + (acc |> at(clampIdx(3, 0))))) ), start)"
    ),
    "a view that is bound and read in another order": (
        "x |> reduce(fun((acc, e), let last = acc |> reverse; zip(acc, last) |> map(add)), start)"
    ),
    "the start of another fold": (
        "x |> reduce(fun((acc, e), x |> reduce(fun((a, f), zip(f, a) |> map(add)), "
        "acc |> reverse)), start)"
    ),
}
FILLED = (
    "y |> reduce(fun((acc, e), zip(e, acc |> map(fun(r, r |> pad(0, 1)))) |> map(fun(p, "
    "zip(fst(p) |> pad(0, 1), snd(p)) |> map(add))) |> map(fun(r, r |> take(3)))), z)"
)
ROWS = "y |> reduce(fun((acc, e), zip(e, acc) |> map(fun(p, zip(fst(p), snd(p)) |> map(add)))), z)"
ROWS_REVERSED = (
    "y |> reduce(fun((acc, e), zip(e, acc) |> map(fun(p, zip(fst(p), snd(p) |> reverse) "
    "|> map(add)))), z)"
)


def program(body: str) -> Term:
    return parse_term(f"fun((x : 4.3.i32, start : 3.i32, y : 4.2.3.i32, z : 2.3.i32), {body})")


def is_in_place(term: Term) -> bool:
    """Whether the outermost fold of arrays is."""
    for part in subterms(term):
        head, arguments = spine(part)
        if (
            isinstance(head, Pattern)
            and head.spec.name.startswith("reduce")
            and len(arguments) == 3
        ):
            return can_update_in_place(arguments[0])
    raise AssertionError("there is no fold")


def check(term: Term, loops: str) -> None:
    random = np.random.default_rng(1)
    shapes = ((4, 3), (3,), (4, 2, 3), (2, 3))
    arrays = [random.integers(-9, 9, shape).astype(np.int32) for shape in shapes]
    compiled = TermKernel("f", term, options=Options(loops))(*arrays)
    assert np.array_equal(compiled, TermKernel("f", term, "interpret")(*arrays))


@pytest.mark.sampled(11)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", IN_PLACE)
def test_what_reads_only_what_it_writes_needs_no_memory(name: str, loops: str) -> None:
    term = program(IN_PLACE[name])
    assert is_in_place(term)
    check(term, loops)
    assert "alloc" not in TermKernel("f", term).lower().as_text("affine")


@pytest.mark.parametrize("name", STORED_BEFORE)
def test_what_is_stored_before_may_be_read_in_any_order(name: str) -> None:
    term = program(STORED_BEFORE[name])
    assert is_in_place(term)
    check(term, "affine")
    check(term, "scf")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("name", NOT_IN_PLACE)
def test_what_reads_more_takes_two_arrays_in_turns(name: str, loops: str) -> None:
    term = program(NOT_IN_PLACE[name])
    assert not is_in_place(term)
    check(term, loops)
    assert TermKernel("f", term).lower().as_text("affine").count("alloc") >= 2


def test_rows_are_looked_into() -> None:
    assert is_in_place(program(ROWS))
    assert is_in_place(program(FILLED))
    assert not is_in_place(program(ROWS_REVERSED))
    for text in (ROWS, ROWS_REVERSED, FILLED):
        check(program(text), "affine")


def test_a_reduction_that_starts_from_a_part_of_what_it_reads() -> None:
    """The start is copied before the target is changed; what is read is not the target."""
    check(
        program("x |> reduce(fun((acc, e), zip(e, acc) |> map(add)), x |> at(clampIdx(4, 1)))"),
        "affine",
    )


PAIRS = {
    "components in turn": ("(fst(s) |> map(fun(a, a + 1)), snd(s) |> map(fun(a, a * 2)))", True),
    "a later component": ("(zip(fst(s), snd(s)) |> map(add), snd(s))", True),
    "an earlier component": ("(fst(s), zip(fst(s), snd(s)) |> map(add))", True),
    "an earlier component that has changed": (
        "(fst(s) |> map(fun(a, a + 1)), zip(fst(s), snd(s)) |> map(add))", False,
    ),
    "swapped": ("(snd(s), fst(s))", False),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize(
    "loop", ["iterate(3, {})", "while(fun(s, (fst(s) |> at(clampIdx(3, 0))) < 50), {})"]
)
def test_pairs_of_arrays(name: str, loop: str) -> None:
    body, is_expected = PAIRS[name]
    step = loop.format(f"fun(s, {body})")
    term = program(
        f"let r = (start |> map(fun(a, a + 9)), x |> at(clampIdx(4, 1))) |> {step}; "
        "zip(fst(r), snd(r)) |> map(sub)"
    )
    (function,) = {
        part
        for part in subterms(term)
        if isinstance(part, Lambda) and part.name == "s" and part.body.type == part.parameter
    }
    assert can_iterate_in_place(function) == is_expected
    if loop.startswith("iterate") or name not in ("an earlier component", "swapped"):
        check(term, "affine")


def test_scalars_of_a_state_are_stored_last() -> None:
    term = program(
        "let r = (0, start) |> while(fun(s, fst(s) < 3), fun(s, (fst(s) + 1, "
        "updateAt(fst(s) |> clampIdx(3), generate(fun(i : idx[1], fst(s) + 7)), snd(s))))); snd(r)"
    )
    check(term, "affine")
    check(term, "scf")
    assert TermKernel("f", term).lower().as_text("affine").count("memref<3xi32>") < 12


def test_iterations_update_in_place() -> None:
    term = program(
        "start |> iterate(3, fun(s, updateAt(clampIdx(3, 1), x |> at(clampIdx(4, 0)) |> take(1), "
        "s |> map(fun(a, a * 2)))))"
    )
    check(term, "affine")
    check(term, "scf")
    assert "alloc" not in TermKernel("f", term).lower().as_text("affine")
    check(program("start |> iterate(3, fun(s, s |> reverse))"), "affine")
