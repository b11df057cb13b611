"""Finding the left side of a law: functions of variables, sizes from equations, and refusals."""

from __future__ import annotations

import pytest

from riselang.rewrite.core import CONDITION, HEAD, NOTHING, Setting, Success
from riselang.rewrite.rules.algorithmic import map_interchange
from support.rewriting import inner, refused, rewritten

INCREMENT = "fun((x : 4.f32), x |> map(fun(a, a + 1.0)))"
WEIGHTS = "fun((u : 2.i32, v : 3.i32, x : 2.3.i32), {})"


def weighted(first: str, second: str) -> str:
    """A sum over a window, with two operators."""
    return WEIGHTS.format(
        f"zip(u |> map(fun(a, v |> map(fun(b, a {first} b)))) |> join, x |> join)"
        f" |> map(fun(p, fst(p) {second} snd(p))) |> reduce(add, 0)"
    )


APPLIED = [
    # An unknown function is what stands there, as a function of the variables that the law has.
    (
        "map_interchange",
        "fun((x : 4.f32, y : 3.f32), x |> map(fun(a, y |> map(fun(b, a - b)))))",
        "fun((x : 4.f32, y : 3.f32), y |> map(fun(b, x |> map(fun(a, a - b)))) |> transpose)",
    ),
    (
        "map_interchange",
        "fun((x : 4.f32, y : 3.f32), x |> map(fun(a, y |> map(fun(b, 1.0)))))",
        "fun((x : 4.f32, y : 3.f32), y |> map(fun(b, x |> map(fun(a, 1.0)))) |> transpose)",
    ),
    (
        "map_of_constant",
        "fun((x : 4.f32, y : f32), x |> map(fun(a, y * y)))",
        "fun((x : 4.f32, y : f32), generate(fun((i : idx[4]), y * y)))",
    ),
    # A function that is no lambda is one all the same.
    (
        "split_join(2)",
        "fun((x : 4.2.3.f32), x |> map(transpose))",
        "fun((x : 4.2.3.f32), x |> split(2) |> map(fun(b, b |> map(fun(e, e |> transpose))))"
        " |> join)",
    ),
    # Sizes are found by solving equations, open ones as well.
    (
        "split_join(4)",
        "fun((x : (4 * N).f32), x |> map(fun(a, a + 1.0)))",
        "fun((x : (4 * N).f32), x |> split(4) |> map(fun(b, b |> map(fun(a, a + 1.0)))) |> join)",
    ),
    (
        "split_join('M')",
        "fun((x : (M * N).f32), x |> map(fun(a, a + 1.0)))",
        "fun((x : (M * N).f32), x |> split(M) |> map(fun(b, b |> map(fun(a, a + 1.0)))) |> join)",
    ),
    (
        "peel_map(2)",
        "fun((x : (N + 3).f32), x |> map(fun(a, a + 1.0)))",
        "fun((x : (N + 3).f32), concat(x |> take(2) |> map(fun(a, a + 1.0)),"
        " x |> drop(2) |> map(fun(a, a + 1.0))))",
    ),
    (
        "slide_tiling(2)",
        "fun((x : 6.f32), x |> slide(3, 1))",
        "fun((x : 6.f32), x |> slide(4, 2) |> map(fun(tile, tile |> slide(3, 1))) |> join)",
    ),
    (
        "slide_as_split",
        "fun((x : 6.f32), x |> slide(2, 2))",
        "fun((x : 6.f32), x |> split(2))",
    ),
    (
        "separate_convolution",
        weighted("*", "*"),
        WEIGHTS.format(
            "zip(u, x |> map(fun(row, zip(v, row) |> map(fun(p, fst(p) * snd(p)))"
            " |> reduce(add, 0)))) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0)"
        ),
    ),
    # What is computed and used often is named, not repeated.
    (
        "map_fusion",
        "fun((x : 4.f32), x |> map(sqrt) |> map(fun(e, e * e)))",
        "fun((x : 4.f32), x |> map(fun(a, let e = sqrt(a); e * e)))",
    ),
]


@pytest.mark.parametrize(("rule", "before", "after"), APPLIED, ids=[a[0] for a in APPLIED])
def test_a_law_is_found(rule: str, before: str, after: str) -> None:
    assert rewritten(rule, before) == inner(after)


REFUSED = [
    ("map_fusion", "fun((x : 4.f32), x)", NOTHING, "this is not x |> map(f) |> map(g)"),
    ("map_fusion", INCREMENT, HEAD, "expected map"),
    (
        "transpose_of_transpose",
        "fun((x : 4.4.f32), x |> reverse |> transpose)",
        HEAD,
        "expected transpose",
    ),
    (
        "map_interchange",
        "fun((x : 4.3.f32), x |> map(fun(a, a |> map(fun(b, b)))))",
        HEAD,
        "a is used here, but bound further in",
    ),
    (
        "map_pairing",
        "fun((x : 4.f32, y : 4.f32), zip(x |> map(fun(a, a + 1.0)), y |> map(fun(a, a))))",
        HEAD,
        "x would have two different values here",
    ),
    (
        "separate_convolution",
        weighted("*", "+"),
        CONDITION,
        "times is applied to a different argument",
    ),
    ("separate_convolution", weighted("+", "+"), CONDITION, "arith.addi does not distribute over"),
    ("split_join(3)", INCREMENT, CONDITION, "4 is not a multiple of 3"),
    ("split_join(0)", INCREMENT, CONDITION, "the size 4 is not of the form 0"),
    (
        "split_join(0)",
        "fun((x : 0.f32), x |> map(fun(a, a + 1.0)))",
        HEAD,
        "split: m must be at least 1, but is 0",
    ),
    ("split_join", INCREMENT, CONDITION, "it needs a value for m"),
    ("split_join('q')", INCREMENT, CONDITION, "4 is not a multiple of q"),
    (
        "split_join(4)",
        "fun((x : N.f32), x |> map(fun(a, a + 1.0)))",
        CONDITION,
        "N is not a multiple of 4",
    ),
    ("peel_map(5)", INCREMENT, CONDITION, "the size 4 is not of the form n + 5"),
    ("peel_map('q')", INCREMENT, CONDITION, "4 - q is not known to be 0 or more"),
    (
        "peel_map(2)",
        "fun((x : N.f32), x |> map(fun(a, a + 1.0)))",
        CONDITION,
        "N - 2 is not known to be 0 or more",
    ),
    (
        "reduce_as_scan",
        "fun((x : 0.i32), x |> reduce(add, 0))",
        CONDITION,
        "the size 0 is not of the form n + 1",
    ),
    ("take_all", "fun((x : 4.f32), x |> take(3))", HEAD, "the sizes 3 and 4 differ"),
    (
        "through_vectors(2)",
        "fun((x : 4.2.f32), x)",
        CONDITION,
        "vector elements must be scalars, but 2.f32 is not one",
    ),
    ("through_vectors(2)", "fun((x : f32), x)", HEAD, "expected (k * n).t, but found f32"),
    (
        "partial_reduce(2)",
        "fun((x : 4.f32), x |> reduce(add, 0.0))",
        CONDITION,
        'arith.addf on floats may be reassociated only with float="relaxed"',
    ),
    (
        "partial_reduce(2)",
        "fun((x : 4.i32), x |> reduce(add, 1))",
        CONDITION,
        "1 is not neutral for arith.addi",
    ),
    (
        "partial_reduce(2)",
        "fun((x : 4.i32, a : i32), x |> reduce(add, a))",
        CONDITION,
        "a is not known to be neutral",
    ),
    (
        "partial_reduce(2)",
        "fun((x : 4.i32), x |> reduce(sub, 0))",
        CONDITION,
        "f is not known to be associative",
    ),
    (
        "partial_reduce(2)",
        "fun((x : 4.i32), x |> reduce(max, 0))",
        CONDITION,
        "0 is not neutral for arith.maxsi",
    ),
    (
        "fma_as_sum",
        "fun((a : f32), fma(a, a, a))",
        CONDITION,
        'the rounding of floats may only change with float="relaxed"',
    ),
    (
        "map_identity",
        "fun((x : 6.f32), x |> map(fun(e, 1.0)))",
        HEAD,
        "this is a different variable",
    ),
    (
        "memory_of_memory",
        "fun((a : f32), a |> toMem(stack) |> toMem(heap))",
        HEAD,
        "expected heap, but found stack",
    ),
    (
        "hoist_from_map",
        "fun((x : 6.f32), x |> map(fun(e, sqrt(e))))",
        CONDITION,
        "no computed value is the same in all iterations",
    ),
    (
        "map_fission",
        "fun((x : 6.f32), x |> map(fun(e, e + e)))",
        HEAD,
        "the outermost operation does not have exactly one computed operand",
    ),
    (
        "reduce_map_fission",
        "fun((x : 6.f32), x |> reduce(add, 0.0))",
        HEAD,
        "no value is computed from the element alone",
    ),
    (
        "inline_free_let",
        "fun((x : 6.f32), let y = x |> reduce(add, 0.0); x |> map(fun(e, e + y)))",
        CONDITION,
        "the value is computed, and used several times",
    ),
    ("beta", "fun((x : 6.f32), x)", HEAD, "expected an application of a lambda"),
]


@pytest.mark.parametrize(
    ("rule", "program", "closeness", "reason"), REFUSED, ids=[f"{r[0]}-{r[3]}" for r in REFUSED]
)
def test_why_a_law_is_not_found(rule: str, program: str, closeness: int, reason: str) -> None:
    failure = refused(rule, program, "contract")
    assert reason in failure.reason
    assert failure.closeness == closeness
    assert "?" not in failure.reason


def test_a_law_is_found_in_a_term_that_is_open() -> None:
    """The variables of the program around are no variables of the law."""
    term = inner(
        "fun((z : 2.f32), z |> map(fun(c, z |> map(fun(a, z |> map(fun(b, a * b + c)))))))"
    )
    part = term.children[0].children[1].children[0]
    assert part.open == 2
    result = map_interchange.run(part, Setting("strict"))
    assert isinstance(result, Success)
    assert result.term.open == 2
    written = "#1 |> map(fun(b, #1 |> map(fun(a, a * b + #0)))) |> transpose"
    assert str(result.term) == written
