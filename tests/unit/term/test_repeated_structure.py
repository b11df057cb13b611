"""Repeated structure becomes functions, and the program computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import FunType
from riselang.interpreter.evaluate import run_term
from riselang.notation.program import parse_term
from riselang.support.errors import OutOfRangeError
from riselang.term.nodes import Pattern, Term, subterms
from riselang.term.outline_repeats import outline
from riselang.term.repeats import Repeats

LAYER = """map(fun(row, {w} |> transpose |> map(fun(column,
  zip(row, column) |> map(mult) |> reduce(add, 0.0))))) |> toMem(heap)
  |> map(fun(row, zip(row, {b}) |> map(fun(p, max(fst(p) + snd(p), 0.0))))) |> toMem(heap)"""


def dense(layers: int, last: str = "") -> Term:
    parameters = ", ".join(f"w{k} : 4.4.f32, b{k} : 4.f32" for k in range(layers))
    body = " |> ".join(LAYER.format(w=f"w{k}", b=f"b{k}") for k in range(layers))
    return parse_term(f"fun((x : 3.4.f32, {parameters}), x |> {body}{last})")


def functions_of(term: Term) -> list[Term]:
    """The lets of a program that name functions."""
    return [
        each
        for each in subterms(term)
        if isinstance(each, Pattern)
        and each.spec.name == "let"
        and isinstance(each.argument("s"), FunType)
    ]


def values(layers: int) -> list[object]:
    source = np.random.default_rng(0)
    shapes = [(3, 4), *[shape for _ in range(layers) for shape in ((4, 4), (4,))]]
    return [source.standard_normal(shape).astype(np.float32).tolist() for shape in shapes]


@pytest.mark.parametrize("layers", [4, 7])
def test_layers_become_one_function(layers: int):
    program = dense(layers)
    outlined = outline(program)
    assert len(functions_of(outlined)) == 1
    assert repr(outlined).count("repeated") == 1 + layers
    assert outlined.type == program.type
    assert run_term(outlined, values(layers)) == run_term(program, values(layers))


def test_functions_take_weights_as_they_are_stored():
    """A transposed array that is passed would be copied, or read element by element."""
    layers = 4
    views = "; ".join(f"let v{k} = w{k} |> map(split(2)) |> map(transpose)" for k in range(layers))
    layer = """map(fun(row, {v} |> map(join) |> map(fun(column,
      zip(row, column) |> map(mult) |> reduce(add, 0.0))))) |> toMem(heap)"""
    body = " |> ".join(layer.format(v=f"v{k}") for k in range(layers))
    parameters = ", ".join(f"w{k} : 4.4.f32" for k in range(layers))
    program = parse_term(f"fun((x : 3.4.f32, {parameters}), {views}; x |> {body})")
    outlined = outline(program)
    assert "repeated = fun((x0 : 4.4.f32, x1 : 3.4.f32)" in " ".join(repr(outlined).split())
    x, *weights = values(layers)
    given = [x, *weights[::2]]
    assert run_term(outlined, given) == run_term(program, given)


CONVOLUTION = """map(fun(row, row |> padConst(1, 1, 0.0) |> slide(3, 1)))
  |> map(fun(windows, {w} |> map(fun(kernel, windows |> map(fun(window,
    zip(window, kernel) |> map(mult) |> reduce(add, 0.0))))))) |> map(join) |> toMem(heap)"""


def test_convolutions_before_different_additions_become_one_function():
    """No later loop is fused with a convolution; one that follows a product may be."""
    first, second = CONVOLUTION.format(w="v"), CONVOLUTION.format(w="w")
    program = parse_term(
        f"fun((x : 2.4.f32, v : 1.3.f32, w : 1.3.f32), x |> {first}"
        f"|> map(fun(row, row |> map(fun(e, max(e + 1.0, 0.0))))) |> toMem(heap) |> {second}"
        "|> map(fun(row, row |> map(fun(e, e * 3.0)))))"
    )
    outlined = outline(program)
    assert len(functions_of(outlined)) == 1
    arrays: list[object] = [[[1.0, 2.0, 3.0, 4.0]] * 2, [[0.5, -1.0, 2.0]], [[1.0, 0.25, -1.0]]]
    assert run_term(outlined, arrays) == run_term(program, arrays)


def test_what_occurs_once_stays_as_it_is():
    program = dense(1)
    assert outline(program) is program


def test_a_small_program_stays_as_it_is():
    program = parse_term(
        "fun((x : 4.f32), let y = x |> map(fun(v, v + 1.0)) |> toMem(heap); "
        "y |> map(fun(v, v + 1.0)) |> toMem(heap))"
    )
    assert outline(program) is program


def test_what_follows_the_layers_is_kept():
    program = dense(4, " |> map(fun(row, row |> map(fun(v, v * 2.0))))")
    outlined = outline(program)
    assert len(functions_of(outlined)) == 1
    assert run_term(outlined, values(4)) == run_term(program, values(4))


def test_an_outlined_program_is_outlined_once():
    outlined = outline(dense(4))
    assert outline(outlined) is outlined


def test_names_in_the_notation_read_back_as_the_same_program():
    outlined = outline(dense(5))
    assert parse_term(repr(outlined)) == outlined


def shared(x: str, w: str) -> str:
    """A layer that reads its input twice, and gives two values that are needed."""
    return (
        f"zip({x}, {x} |> map(fun(row, {w} |> transpose |> map(fun(column, zip(row, column)"
        " |> map(mult) |> reduce(add, 0.0))))) |> toMem(heap))"
        " |> map(fun(both, zip(fst(both), snd(both)) |> map(add)))"
    )


def test_a_layer_that_reads_its_input_twice():
    lets = "; ".join(
        f"let x{k + 1} = {shared(f'x{k}', f'w{k}')}; let y{k + 1} = x{k + 1} |> map(fun(row, "
        f"row |> map(fun(v, exp(v) * 0.01 + sin(v) * 0.5 - v * v * 0.25))))"
        for k in range(4)
    )
    uses = (
        "zip(x4, zip(y1, zip(y2, zip(y3, y4)))) "
        "|> map(fun(t, zip(fst(t), zip(fst(snd(t)), snd(snd(snd(snd(t))))))))"
    )
    parameters = ", ".join(f"w{k} : 4.4.f32" for k in range(4))
    program = parse_term(f"fun((x0 : 3.4.f32, {parameters}), {lets}; {uses})")
    outlined = outline(program)
    source = np.random.default_rng(1)
    arguments = [source.random((3, 4)).astype(np.float32).tolist()]
    arguments += [source.random((4, 4)).astype(np.float32).tolist() for _ in range(4)]
    assert functions_of(outlined)
    assert run_term(outlined, arguments) == run_term(program, arguments)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strategy", ["default", "none"])
@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_layers_compile_to_one_function(strategy: str, loops: str):
    text = repr(outline(dense(5)))
    loaded: Any = rl.loads(text, name="dense.rise", loops=loops, strategy=strategy)
    kernel = loaded.main
    arrays = [np.array(each, np.float32) for each in values(5)]
    expected = np.array(run_term(dense(5), values(5)), np.float32)
    np.testing.assert_allclose(kernel(*arrays), expected, rtol=1e-5)
    assert kernel.lower().as_text("imperative").count("func.func private @rise_small_function") == 1


@pytest.mark.parametrize(("rows", "is_called"), [(40, True), (4, False)])
def test_only_small_functions_are_inlined(rows: int, is_called: bool):
    text = f"""fun((x : {rows}.8.f32),
      let f = fun((xs : {rows}.8.f32), xs |> map(map(fun(v, v * v + 1.0))));
      (f(x), f(x |> map(reverse))))"""
    loaded: Any = rl.loads(text, name="functions.rise")
    code = loaded.main.lower().as_text("llvm")
    name = "rise_function_0" if is_called else "rise_small_function_0"
    (definition,) = [line for line in code.splitlines() if "define" in line and name in line]
    assert "internal" in definition
    assert ("noinline" in definition) is is_called


def test_a_function_takes_scalars_pairs_and_views():
    text = """fun((x : 4.6.f32, a : f32, b : f32),
      let f = fun((xs : 6.4.f32, p : (f32 x 4.f32), s : f32),
        xs |> map(fun(row, zip(row, snd(p)) |> map(fun(q, fst(q) * fst(p) + snd(q) - s)))));
      let first = x |> map(fun(row, row |> reduce(add, 0.0)));
      (f(x |> transpose, (a, first), b), f(x |> transpose, (b, first), a)))"""
    loaded: Any = rl.loads(text, name="pairs.rise")
    kernel = loaded.main
    x = np.random.default_rng(0).random((4, 6), np.float32)
    sums = x.sum(1)
    first, second = kernel(x, np.float32(2), np.float32(3))
    np.testing.assert_allclose(first, x.T * 2 + sums - 3, rtol=1e-5)
    np.testing.assert_allclose(second, x.T * 3 + sums - 2, rtol=1e-5)
    assert "call @rise_small_function" in kernel.lower().as_text("imperative")


def test_a_function_with_a_check_tells_its_caller():
    text = """fun((x : 8.f32, i : i32, j : i32),
      let f = fun((xs : 8.f32, k : i32), xs |> map(fun(v, v * (xs |> at(k |> checkIdx(8))))));
      (f(x, i), f(x, j)))"""
    loaded: Any = rl.loads(text, name="checks.rise")
    kernel = loaded.main
    x = np.arange(8, dtype=np.float32)
    first, second = kernel(x, np.int32(2), np.int32(3))
    np.testing.assert_array_equal(first, x * 2)
    np.testing.assert_array_equal(second, x * 3)
    with pytest.raises(OutOfRangeError, match="9"):
        kernel(x, np.int32(2), np.int32(9))


@pytest.mark.parametrize(
    ("numbers", "start", "length", "count"),
    [
        ([1, 2, 1, 2, 1, 2], 0, 2, 3),
        ([7, 1, 2, 3, 1, 2, 3, 8], 1, 3, 2),
        ([5, 5, 5, 5], 0, 1, 4),
        ([1, 9, 2, 9, 3, 9], 1, 1, 3),
    ],
)
def test_repeats_of_a_sequence(numbers: list[int], start: int, length: int, count: int):
    repeats = Repeats(numbers, [10] * len(numbers), 10)
    first = next(iter(repeats))
    assert (first.start, first.length) == (start, length)
    assert len(repeats.occurrences(first)) == count


def test_positions_that_are_taken_are_in_no_other_run():
    repeats = Repeats([1, 2, 1, 2, 1, 2], [10] * 6, 10)
    repeats.used_positions.update(range(2))
    assert [each.start for each in repeats.occurrences(next(iter(repeats)))] == [2, 4]


def test_a_long_sequence_takes_linear_time():
    compared = 0

    class Counted(int):
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int.__eq__(self, other)

    list(Repeats([Counted(0) for _ in range(2000)], [1] * 2000, 10))
    assert compared < 2000 * 600


@pytest.mark.parametrize("layer", [LAYER, LAYER.removesuffix(" |> toMem(heap)")])
def test_what_nobody_needs_may_repeat(layer: str):
    unused = "; ".join(
        f"let unused{k} = x |> {layer.format(w=f'w{k}', b=f'b{k}')}" for k in range(5)
    )
    parameters = ", ".join(f"w{k} : 4.4.f32, b{k} : 4.f32" for k in range(5))
    program = parse_term(f"fun((x : 3.4.f32, {parameters}), {unused}; x)")
    assert run_term(outline(program), values(5)) == run_term(program, values(5))


def test_names_of_values_are_kept():
    lets = "; ".join(
        f"let hidden{k + 1} = {'x' if k == 0 else f'hidden{k}'} |> "
        f"{LAYER.format(w=f'w{k}', b=f'b{k}')}"
        for k in range(4)
    )
    parameters = ", ".join(f"w{k} : 4.4.f32, b{k} : 4.f32" for k in range(4))
    program = parse_term(f"fun((x : 3.4.f32, {parameters}), {lets}; zip(hidden3, hidden4))")
    outlined = outline(program)
    assert functions_of(outlined)
    assert "let hidden3 = repeated(" in repr(outlined)
