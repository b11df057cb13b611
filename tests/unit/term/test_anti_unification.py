"""What terms have in common, and what functions of it take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import array, f32
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.term.anti_unification import (
    MAX_COPIED_ELEMENTS,
    CommonForms,
    abstract_parts,
    fill_form,
    is_view_of_variable,
    replace_variables,
)
from riselang.term.nodes import Bound, Free, Lambda, Term
from riselang.term.outline_repeats import outline

pytestmark = pytest.mark.rotating(3)

X, Y = (Free(name, array(8, f32)) for name in "xy")


def opened(body: str, variable: Free, type: str = "8.f32") -> Term:
    """A term that mentions a variable as `v`."""
    function = parse_term(f"fun((v : {type}), {body})")
    assert isinstance(function, Lambda)

    def visit(term: Term, level: int) -> Term:
        from riselang.term.substitution import map_children

        if isinstance(term, Bound) and term.index == level:
            return variable
        return map_children(term, lambda t: visit(t, level), lambda t: visit(t, level + 1))

    return visit(function.body, 0)


@pytest.mark.parametrize(
    ("body", "is_view"),
    [
        ("v", True),
        ("v |> split(2) |> transpose |> at(1 |> clampIdx(2))", True),
        ("v |> reverse |> take(3)", True),
        ("v |> split(4) |> map(reverse) |> map(split(2)) |> map(map(reverse))", True),
        ("v |> split(2) |> map(fun(row, row |> reverse |> take(1)))", True),
        ("v |> split(2) |> map(fun(row, zip(row, row)))", False),
        ("zip(v, v)", False),
        ("v |> map(fun(e, e + 1.0))", False),
    ],
)
def test_views_of_one_variable(body: str, is_view: bool):
    assert is_view_of_variable(opened(body, X)) is is_view


def test_terms_of_one_form_differ_in_views_and_numbers():
    first = opened("v |> reverse |> map(fun(e, e * 2.0))", X)
    second = opened("v |> map(fun(e, e * 3.0))", Y)
    form, parts, _ = abstract_parts(first)
    other_form, other_parts, _ = abstract_parts(second)
    assert form == other_form
    assert fill_form(form, parts) == first
    assert fill_form(other_form, other_parts) == second


def test_other_operations_have_another_form():
    first = opened("v |> map(fun(e, e * 2.0))", X)
    second = opened("v |> map(fun(e, e - 2.0))", X)
    assert abstract_parts(first)[0] != abstract_parts(second)[0]


def test_the_common_form_keeps_what_is_equal():
    terms = [
        opened(f"v |> split(2) |> transpose |> at({k} |> clampIdx(2)) |> reverse", X)
        for k in (0, 1)
    ]
    forms = CommonForms({})
    common = forms.common_form(terms)
    assert common is not None
    (rows,) = forms.parameters
    (parameter,) = forms.parameters.values()
    assert parameter.type == array(4, f32)
    for row, term in zip(rows, terms, strict=True):
        assert replace_variables(common, {parameter: row}) == term


def test_variables_become_parameters_and_equal_rows_one():
    forms = CommonForms({})
    first = forms.common_form([opened("v |> reverse", X), opened("v |> reverse", Y)])
    second = forms.common_form([opened("v |> take(2)", X), opened("v |> take(2)", Y)])
    assert first is not None
    assert second is not None
    assert list(forms.parameters) == [(X, Y)]


def test_what_a_function_computes_itself_is_no_parameter():
    forms = CommonForms({X: None})
    assert forms.common_form([X, X]) == X
    assert forms.common_form([X, Y]) is None
    assert forms.common_form([opened("v |> reverse", X), opened("v |> reverse", Y)]) is None


@pytest.mark.parametrize(
    ("count", "is_small"), [(MAX_COPIED_ELEMENTS, True), (MAX_COPIED_ELEMENTS + 1, False)]
)
def test_large_views_are_not_copied_for_a_call(count: int, is_small: bool):
    whole = Free("w", array(2, array(Nat.const(count), f32)))
    rows = [opened(f"v |> at({k} |> clampIdx(2))", whole, f"2.{count}.f32") for k in (0, 1)]
    assert (CommonForms({}).common_form(rows) is not None) is is_small


LAYER = """map(fun(row, zip(row, w |> at({k} |> clampIdx(4))) |> map(fun(p,
  fst(p) * {scale} + snd(p) - exp(fst(p)) * cos(snd(p)) + sin(fst(p) * snd(p)))))) |> toMem(heap)"""


def test_layers_that_differ_in_views_and_numbers_become_one_function():
    layers = " |> ".join(LAYER.format(k=k, scale=f"{k}.5") for k in range(4))
    program = parse_term(f"fun((x : 3.5.f32, w : 4.5.f32), x |> {layers})")
    outlined = outline(program)
    assert repr(outlined).count("repeated") == 5
    source = np.random.default_rng(0)
    arguments = [source.random(shape, np.float32) for shape in ((3, 5), (4, 5))]
    lists = [each.tolist() for each in arguments]
    assert run_term(outlined, lists) == run_term(program, lists)
    loaded: Any = rl.loads(repr(outlined), name="layers.rise", float="strict")
    expected = np.array(run_term(program, lists), np.float32)
    np.testing.assert_allclose(loaded.main(*arguments), expected, rtol=1e-5)


def transform(re: Any, im: Any, length: int) -> tuple[Any, Any]:
    """A Fourier transform by recursion."""
    if length == 1:
        return re, im
    (even_re, odd_re), (even_im, odd_im) = (
        [(x | rl.split(2) | rl.transpose)[k] for k in (0, 1)] for x in (re, im)
    )
    a_re, a_im = transform(even_re, even_im, length // 2)
    b_re, b_im = transform(odd_re, odd_im, length // 2)

    def angle(k: Any) -> Any:
        return rl.cast(rl.from_idx(k), rl.f32) * (-2.0 * np.pi / length)

    turns = rl.zip(
        rl.generate(lambda k: rl.tuple(rl.math.cos(angle(k)), rl.math.sin(angle(k)))),
        rl.zip(b_re, b_im),
    )
    c_re = turns | rl.map(lambda t: t.fst.fst * t.snd.fst - t.fst.snd * t.snd.snd)
    c_im = turns | rl.map(lambda t: t.fst.fst * t.snd.snd + t.fst.snd * t.snd.fst)
    whole = [
        rl.to_mem(
            "heap",
            rl.concat(
                rl.zip(a, c) | rl.map(lambda p: p.fst + p.snd),
                rl.zip(a, c) | rl.map(lambda p: p.fst - p.snd),
            ),
        )
        for a, c in ((a_re, c_re), (a_im, c_im))
    ]
    return whole[0], whole[1]


def test_a_recursive_fourier_transform_is_not_written_out():
    """32 points: 31 butterflies, of five sizes."""
    size = 32

    @rl.jit
    def fourier(re: rl.Array[32, rl.f32], im: rl.Array[32, rl.f32]) -> Any:
        return transform(re, im, size)

    source = np.random.default_rng(0)
    re, im = (source.standard_normal(size).astype(np.float32) for _ in range(2))
    found_re, found_im = fourier(re, im)
    expected = np.fft.fft(re + 1j * im)
    np.testing.assert_allclose(found_re, expected.real, atol=1e-4)
    np.testing.assert_allclose(found_im, expected.imag, atol=1e-4)
    text = fourier.lower().as_text("imperative")
    assert 5 <= text.count("math.cos") <= 8
