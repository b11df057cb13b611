"""What people say of loops: the program computes the same, and the loops are where they belong."""

from __future__ import annotations

import pytest

from riselang.notation.program import parse_term
from riselang.rewrite.registry import ENTRIES
from riselang.rewrite.selectors import LOOPS, loop
from riselang.term.nodes import Lambda, Pattern, Term, spine
from support.rewriting import derived, refused

VECTOR = "fun((x : 8.f32), x |> map(fun(a, sqrt(a))))"
OUTER = "fun((x : 4.f32, y : 6.f32), x |> map(fun(a, y |> map(fun(b, a * b)))))"
CUBE = """fun((x : 4.f32, y : 6.f32, z : 8.f32),
  x |> map(fun(a, y |> map(fun(b, z |> map(fun(c, a * b + c)))))))"""
SIX = """fun((p : 2.i32, q : 3.i32, r : 1.i32, s : 2.i32, t : 3.i32, u : 2.i32),
  p |> map(fun(a, q |> map(fun(b, r |> map(fun(c, s |> map(fun(d, t |> map(fun(e,
    u |> map(fun(f, a + b * c - d * e + f)))))))))))))"""
MATMUL = """fun((A : 4.8.f32, B : 8.6.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column,
      zip(row, column) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0))))))"""
STENCIL = """fun((x : 8.f32),
  x |> pad(1, 1) |> slide(3, 1) |> map(fun(window, window |> reduce(add, 0.0))))"""


def loops(term: Term) -> list[int]:
    """How often the loops of a nest run, from the outside in."""
    while isinstance(term, Lambda):
        term = term.body
    found: list[int] = []
    while (place := loop(len(found) + 1).find(term)) is not None:
        head, _ = spine(place[1])
        assert isinstance(head, Pattern)
        assert head.spec.name in LOOPS
        length = head.argument("n")
        found.append(int(str(length)))
    return found


CASES = [
    (VECTOR, "tile(4) @ outermost('map')", [2, 4]),
    (VECTOR, "split(2) @ outermost('map')", [4, 2]),
    (OUTER, "tile(2, 3) @ outermost('map', nest=2)", [2, 2, 2, 3]),
    (OUTER, "interchange() @ outermost('map')", [6, 4]),
    (OUTER, "reorder(2, 1) @ outermost('map')", [6, 4]),
    (OUTER, "reorder(1, 2) @ outermost('map')", [4, 6]),
    (CUBE, "tile(2, 3, 4) @ outermost('map', nest=3)", [2, 2, 2, 2, 3, 4]),
    (CUBE, "tile(2, 3) @ outermost('map', nest=2)", [2, 2, 2, 3, 8]),
    (CUBE, "reorder(3, 1, 2) @ outermost('map')", [8, 4, 6]),
    (CUBE, "reorder(3, 2, 1) @ outermost('map')", [8, 6, 4]),
    (CUBE, "reorder(2, 3, 1) @ outermost('map')", [6, 8, 4]),
    (SIX, "reorder(6, 5, 4, 3, 2, 1) @ outermost('map')", [2, 3, 2, 1, 3, 2]),
    (SIX, "reorder(2, 1, 4, 3, 6, 5) @ outermost('map')", [3, 2, 2, 1, 2, 3]),
    (SIX, "reorder(3, 6, 1, 5, 2, 4) @ outermost('map')", [1, 2, 2, 3, 3, 2]),
    (MATMUL, "fuse()", [4, 6, 8]),
    (MATMUL, "tile(2, 3) @ outermost('map', nest=2)", [2, 2, 2, 3, 8]),
    (MATMUL, "fuse() >> reorder(1, 3, 2) @ outermost('map')", [4, 8, 6]),
    (MATMUL, "fuse() >> reorder(3, 1, 2) @ outermost('map')", [8, 4, 6]),
    (MATMUL, "fuse() >> split(4) @ outermost('reduce')", [4, 6, 2, 4]),
    (MATMUL, "fuse() >> unroll() @ outermost('reduce')", [4, 6, 8]),
    (MATMUL, "parallel() @ outermost('map') >> sequential() @ outermost('map')", [4, 6, 8]),
    (STENCIL, "tile(2) @ outermost('map') >> sequential() @ innermost('reduce')", [4, 2, 3]),
]  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("program", "strategy", "lengths"), CASES, ids=[c[1] for c in CASES])
def test_loops_are_where_they_belong(program: str, strategy: str, lengths: list[int]) -> None:
    made = derived(program, strategy)
    assert loops(made.end) == lengths
    assert parse_term(str(made.end)) == made.end


GOLDEN = [
    (
        OUTER,
        "tile(2, 3) @ outermost('map', nest=2)",
        """\
fun((x : 4.f32, y : 6.f32),
  x |> split(2) |> map(fun(as,
    y |> split(3) |> map(fun(bs,
      as |> map(fun(a, bs |> map(fun(b, a * b)))))) |> transpose |> map(fun(v, v |> join))))
  |> join)""",
    ),
    (
        OUTER,
        "interchange() @ outermost('map')",
        """\
fun((x : 4.f32, y : 6.f32),
  y |> map(fun(b, x |> map(fun(a, a * b)))) |> transpose)""",
    ),
    (
        MATMUL,
        "fuse() >> reorder(1, 3, 2) @ outermost('map')",
        """\
fun((A : 4.8.f32, B : 8.6.f32),
  A |> map(fun(row,
    zip(row, B) |> reduce(
      fun((accs, p),
        zip(snd(p), accs) |> map(fun(p1, snd(p1) + fst(p) * fst(p1)))),
      B |> transpose |> map(fun(column, 0.0))))))""",
    ),
    (
        "fun((x : 4.f32, y : 4.f32), x |> map(fun(a, a * (y |> reduce(add, 0.0)))))",
        "hoist()",
        """\
fun((x : 4.f32, y : 4.f32),
  let y1 = y |> reduce(add, 0.0);
  x |> map(fun(a, a * y1)))""",
    ),
    (
        """fun((x : 4.6.f32), fst((x |> transpose |> transpose |> map(fun(r, r))
          |> join |> split(6) |> reverse |> reverse, x)))""",
        "simplify()",
        "fun((x : 4.6.f32),\n  x)",
    ),
    (
        "fun((x : 4.f32), x |> map(sqrt) |> map(fun(e, e + 1.0)) |> scan(add, 0.0))",
        "fuse()",
        """\
fun((x : 4.f32),
  x |> scan(fun((x0, x01), x0 + (sqrt(x01) + 1.0)), 0.0))""",
    ),
    (
        VECTOR,
        "store_in_memory('stack') @ outermost('map') >> unroll() @ outermost('map')",
        "fun((x : 8.f32),\n  x |> mapSeqUnroll(sqrt) |> toMem(stack))",
    ),
]


@pytest.mark.parametrize(("program", "strategy", "after"), GOLDEN, ids=[g[1] for g in GOLDEN])
def test_what_becomes_of_a_program(program: str, strategy: str, after: str) -> None:
    assert str(derived(program, strategy).end) == after


REFUSED = [
    (VECTOR, "tile(3)", "8 is not a multiple of 3"),
    (VECTOR, "tile(2, 2)", "this is not x |> map(f)"),
    (OUTER, "tile(2, 4)", "6 is not a multiple of 4"),
    (VECTOR, "interchange()", "expected m.u, but found f32"),
    (OUTER, "reorder(3, 1, 2)", "expected m.u, but found f32"),
    (VECTOR, "reorder(1, 3, 2)", "there are fewer than 2 nested loops"),
    (OUTER, "split(5)", "4 is not a multiple of 5"),
    ("fun((x : 4.f32), x)", "parallel()", "this is not x |> map(f)"),
    ("fun((x : 4.f32), x)", "unroll()", "this is not x |> "),
]


@pytest.mark.parametrize(("program", "strategy", "reason"), REFUSED, ids=[r[1] for r in REFUSED])
def test_what_does_not_fit_is_refused(program: str, strategy: str, reason: str) -> None:
    assert reason in refused(strategy, program).reason


def test_every_schedule_says_what_it_does() -> None:
    for entry in ENTRIES.values():
        assert entry.summary.endswith(".")
        assert entry.name == entry.name.strip("_")
