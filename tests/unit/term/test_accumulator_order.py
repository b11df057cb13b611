"""Folds take (accumulator, element) in notation, Python and terms, (element, accumulator) in MLIR.

`functools.reduce` and `itertools.accumulate` say what is right.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import riselang as rl
from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import array, f32, fun, i32
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Scalar, Term, apply_all
from riselang.term.to_dialect import program_module

X = np.array([3.0, 1.5, -2.0, 8.0, 0.25], np.float32)
K = np.array([2, 7, 1, 8, 3], np.int32)
BACKENDS = ("interpret", "compile")
REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll")
SCANS = ("scan", "scanSeq")


def difference(acc: Any, e: Any) -> Any:
    return acc - e


def rotated(acc: int, e: np.float32) -> int:
    """An accumulator of another type than the elements, and a step that does not commute."""
    return acc * 3 + int(e)


def test_the_registry_says_which_patterns_accumulate() -> None:
    names = {name for name, spec in PATTERNS.items() if spec.accumulates}
    assert names == {*REDUCTIONS, *SCANS, "reducePar", "reduceRank", "scatterWith"}


def test_terms_and_the_dialect_have_types_of_their_own() -> None:
    assert format_type(PATTERNS["scan"].type) == "(t -> s -> t) -> t -> n.s -> n.t"
    assert format_type(PATTERNS["scan"].dialect_type) == "(s -> t -> t) -> t -> n.s -> n.t"
    assert PATTERNS["map"].dialect_type == PATTERNS["map"].type


# Values


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_in_notation(name: str, backend: Any) -> None:
    text = f"def main = fun((x : N.f32), x |> {name}(fun((acc, e), acc - e), 0.0))"
    program: Any = rl.loads(text, name="program.rise", backend=backend)
    assert program.main(X) == reduce(difference, X, np.float32(0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SCANS)
def test_scans_in_notation(name: str, backend: Any) -> None:
    text = f"def main = fun((x : N.f32), x |> {name}(fun((acc, e), acc - e), 1.0))"
    program: Any = rl.loads(text, name="program.rise", backend=backend)
    expected = list(accumulate(X, difference, initial=np.float32(1)))[1:]
    assert np.array_equal(program.main(X), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fold", [rl.reduce, rl.reduce_seq, rl.reduce_seq_unroll])
def test_reductions_in_python(fold: Any, backend: Any) -> None:
    @rl.jit(backend=backend)
    def program(x: rl.Array["N", rl.f32]):
        return x | fold(lambda acc, e: acc - e, 0.0)

    assert program(X) == reduce(difference, X, np.float32(0))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_parallel_reduction_of_one_chunk(backend: Any) -> None:
    """The chunk is accumulated from the start value, and so is its result."""
    text = "def main = fun((x : N.f32), x |> reducePar(fun((acc, e), acc * 0.5 - e), 1.0))"
    program: Any = rl.loads(text, name="program.rise", backend=backend)

    @rl.jit(backend=backend)
    def in_python(x: rl.Array["N", rl.f32]):
        return x | rl.reduce_par(lambda acc, e: acc * 0.5 - e, 1.0)

    def step(acc: Any, e: Any) -> Any:
        return acc * np.float32(0.5) - e

    expected = step(np.float32(1), reduce(step, X, np.float32(1)))
    assert program.main(X) == in_python(X) == expected


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("scan", [rl.scan, rl.scan_seq])
def test_scans_in_python(scan: Any, backend: Any) -> None:
    @rl.jit(backend=backend)
    def program(x: rl.Array["N", rl.f32]):
        return x | scan(lambda acc, e: acc - e, 0.0)

    expected = list(accumulate(X, difference, initial=np.float32(0)))[1:]
    assert np.array_equal(program(X), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalar_functions_have_the_accumulator_on_the_left(backend: Any) -> None:
    @rl.jit(backend=backend)
    def program(x: rl.Array["N", rl.f32]):
        return x | rl.reduce(rl.sub, 1.0)

    assert program(X) == reduce(difference, X, np.float32(1))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_accumulator_of_another_type(backend: Any) -> None:
    text = "x |> reduce(fun((acc, e), acc * 3 + cast[i32](e)), 1_i32)"
    program: Any = rl.loads(f"def main = fun((x : N.f32), {text})", name="p.rise", backend=backend)

    @rl.jit(backend=backend)
    def in_python(x: rl.Array["N", rl.f32], start: rl.i32):
        return x | rl.reduce(lambda acc, e: acc * 3 + rl.cast(e, rl.i32), start)

    assert program.main(X) == in_python(X, 1) == reduce(rotated, X, 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_pairs_after_the_accumulator_are_destructured(backend: Any) -> None:
    text = "zip(x, k) |> reduce(fun((acc, a, b), acc - a * cast[f32](b)), 0.0)"
    program: Any = rl.loads(
        f"def main = fun((x : 5.f32, k : 5.i32), {text})", name="p.rise", backend=backend,
        float="strict",
    )  # fmt: skip

    @rl.jit(backend=backend, float="strict")
    def in_python(x: rl.Array[5, rl.f32], k: rl.Array[5, rl.i32]):
        return rl.zip(x, k) | rl.reduce(lambda acc, a, b: acc - a * rl.cast(b, rl.f32), 0.0)

    products = [a * np.float32(b) for a, b in zip(X, K, strict=True)]
    expected = reduce(difference, products, np.float32(0))
    assert program.main(X, K) == in_python(X, K) == expected


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_map_before_a_reduction_is_fused_with_the_element(backend: Any) -> None:
    @rl.jit(backend=backend)
    def program(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda e: e * e) | rl.reduce(lambda acc, e: acc / 2.0 - e, 1.0)

    def step(acc: Any, e: Any) -> Any:
        return acc / np.float32(2) - e * e

    assert program(X) == pytest.approx(reduce(step, X, np.float32(1)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_scatter_with_takes_the_old_value_first(backend: Any) -> None:
    places = np.array([1, 0, 1, 1, 3])
    text = (
        "def main = fun((x : 5.i32, y : 4.i32, p : 5.i32), "
        "scatterWith(fun((old, new), old * 2 - new), p |> map(clampIdx(4)), y, x))"
    )
    program: Any = rl.loads(text, name="program.rise", backend=backend)

    @rl.jit(backend=backend)
    def in_python(x: rl.Array[5, rl.i32], y: rl.Array[4, rl.i32], p: rl.Array[5, rl.i32]):
        return rl.scatter_with(lambda old, new: old * 2 - new, p | rl.map(rl.clamp_idx(4)), y, x)

    start = np.array([10, 20, 30, 40], np.int32)
    expected = [
        reduce(lambda old, new: old * 2 - new, K[places == i].tolist(), int(start[i]))
        for i in range(4)
    ]
    arguments = K, start, places.astype(np.int32)
    assert program.main(*arguments).tolist() == expected
    assert in_python(*arguments).tolist() == expected


def test_chunks_of_a_parallel_reduction_are_accumulated_in_order() -> None:
    """Affine functions compose, and do not commute: the accumulator is applied first."""
    n = 3 * 4096 + 5
    random = np.random.default_rng(0)
    a, b = random.integers(-2, 3, n), random.integers(-9, 10, n)

    @rl.jit
    def program(a: rl.Array["N", rl.i64], b: rl.Array["N", rl.i64]):
        return rl.zip(a, b) | rl.reduce_par(
            lambda acc, e: (acc.fst * e.fst, acc.snd * e.fst + e.snd), (1, 0)
        )

    with np.errstate(over="ignore"):
        expected = reduce(
            lambda acc, e: (acc[0] * e[0], acc[1] * e[0] + e[1]),
            zip(a, b, strict=True),
            (np.int64(1), np.int64(0)),
        )
    assert tuple(program(a, b)) == expected


# MLIR

SEED = """func.func @f(%out: memref<f32>, %x: memref<5xf32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<5, scalar<f32>>
    %reduceSeq = rise.reduceSeq #rise.nat<5> #rise.scalar<f32> #rise.scalar<f32>
    %fun = rise.lambda (%elem : !rise.scalar<f32>, %acc : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %1 = rise.embed(%elem, %acc) {
        %2 = arith.subf %elem, %acc : f32
        rise.return %2 : f32
      } : !rise.scalar<f32>
      rise.return %1 : !rise.scalar<f32>
    }
    %2 = rise.literal #rise.lit<0.000000e+00>
    %3 = rise.apply %reduceSeq, %fun, %2, %0
    rise.out %out <- %3
    rise.return
  }
  func.return
}"""


def term_of_module(text: str) -> Term:
    module = parse_module(text)
    verify_module(module)
    functions = [op for op in module.walk() if isinstance(op, FuncOp)]
    ((_, unit),) = read_units(functions[0])
    return unit.term


def text_of(term: Term) -> str:
    module = program_module(term, "f")
    verify_module(module)
    return module_text(module)


def test_a_lambda_of_element_and_accumulator_is_swapped_in_its_place() -> None:
    term = term_of_module(SEED)
    assert term == parse_term("fun((x : 5.f32), x |> reduceSeq(fun((acc, e), e - acc), 0.0))")
    assert run_term(term, [X.tolist()]) == reduce(lambda acc, e: e - acc, X.tolist(), 0.0)
    assert text_of(term) == module_text(parse_module(SEED))


PROGRAMS = {
    name: f"fun((x : 5.f32, a : i32), x |> {name}(fun((acc, e), acc * 3 + cast[i32](e)), a))"
    for name in (*REDUCTIONS, *SCANS)
} | {
    "reducePar": "fun((x : 5.f32), x |> reducePar(sub, 0.0))",
    "scatterWith": "fun((x : 5.i32, p : 2.idx[5], y : 2.i32), scatterWith(sub, p, x, y))",
    "nested": "fun((x : 5.3.f32), x |> reduce(fun((acc, row), row |> reduce(sub, acc)), 0.0))",
    "a swapping lambda": (
        "fun((x : 5.f32, b : f32), let f = fun((e, acc), e - acc * b); "
        "x |> reduce(fun((acc, e), f(e, acc)), 0.0))"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_terms_come_back_from_the_dialect(name: str) -> None:
    term = parse_term(PROGRAMS[name])
    assert term_of_module(text_of(term)) == term


REDUCE = Pattern(PATTERNS["reduce"], (Nat.const(5), f32, i32))
STEP, XS = fun(i32, f32, i32), array(5, f32)
BODY = Scalar("arith.muli", [Bound(1, i32), Scalar("arith.fptosi", [Bound(0, f32)], i32)], i32)


def with_function(body: Term) -> Term:
    """`fun((x, a), fun(f, body)(fun((acc, e), acc * int(e))))`"""
    function = Lambda("acc", i32, Lambda("e", f32, BODY))
    applied = Apply(Lambda("f", STEP, body), function)
    return Lambda("x", XS, Lambda("a", i32, applied))


FUNCTIONS = {
    "a variable": apply_all(REDUCE, [Bound(0, STEP), Bound(1, i32), Bound(2, XS)]),
    "a pattern that is passed on": apply_all(
        Lambda("fold", REDUCE.type, apply_all(Bound(0, REDUCE.type), [
            Bound(1, STEP), Bound(2, i32), Bound(3, XS)
        ])), [REDUCE],
    ),
    "a pattern with its function alone": apply_all(
        Lambda("fold", fun(i32, XS, i32), apply_all(
            Bound(0, fun(i32, XS, i32)), [Bound(2, i32), Bound(3, XS)]
        )), [Apply(REDUCE, Bound(0, STEP))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_are_no_lambdas_come_back(name: str) -> None:
    term = with_function(FUNCTIONS[name])
    assert run_term(term, [[2.0, 3.0, 1.0, 2.0, 1.0], 5]) == 60
    again = term_of_module(text_of(term))
    assert again == term


SHARED = """func.func @f(%o: memref<i32>, %p: memref<i32>, %x: memref<5xi32>, %a: memref<i32>) {
  rise.lowering_unit {
    %0 = rise.in %x : !rise.array<5, scalar<i32>>
    %1 = rise.in %a : !rise.scalar<i32>
    %reduce = rise.reduce #rise.nat<5> #rise.scalar<i32> #rise.scalar<i32>
    %fun = rise.lambda (%elem : !rise.scalar<i32>, %acc : !rise.scalar<i32>) -> !rise.scalar<i32> {
      %2 = rise.embed(%elem, %acc) {
        %3 = arith.subi %elem, %acc : i32
        rise.return %3 : i32
      } : !rise.scalar<i32>
      rise.return %2 : !rise.scalar<i32>
    }
    %4 = rise.apply %reduce, %fun, %1, %0
    %5 = rise.apply %fun, %4, %1
    rise.out %o <- %4
    rise.out %p <- %5
    rise.return
  }
  func.return
}"""


def test_a_lambda_that_is_also_applied_keeps_its_order_there() -> None:
    folded = reduce(lambda acc, e: e - acc, K.tolist(), 4)
    assert run_term(term_of_module(SHARED), [K.tolist(), 4]) == (folded, folded - 4)
