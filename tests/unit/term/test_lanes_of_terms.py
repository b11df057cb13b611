"""Operations on vectors in terms: from the dialect and back, contraction, cost, sizes."""

from __future__ import annotations

import pytest
from test_conversion import assert_comes_back, subterms, unit_of

from riselang.dialects.rise.pattern_registry import VECTOR_FROM_SCALAR
from riselang.dialects.rise.types import f32, f64, i1, vector
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.support.errors import LimitationError
from riselang.term.contraction import contract
from riselang.term.cost import cost
from riselang.term.digest import digest
from riselang.term.nodes import Embed, Lambda, Pattern, Scalar, operation_type, scalar_type
from riselang.term.size_substitution import substitute_sizes
from riselang.term.to_dialect import program_module

PROGRAMS = [
    "fun((v : vec[4, f32], w : vec[4, f32]), v * w + v)",
    "fun(v : vec[4, i32], -v)",
    "fun((c : vec[4, i1], v : vec[4, f16]), select(c, v, v))",
    "fun((v : vec[4, i8], w : vec[4, i8]), v < w)",
    "fun(v : vec[3, i8], cast[f64](v))",
    "fun(v : vec[1, f32], cast[index](v))",
    "fun(v : vec[4, f32], cast[i1](v))",
    "fun(v : vec[4, f32], fma(v, v, sqrt(v)))",
    "fun((x : 8.f32, a : f32), x |> asVector(4) |> map(fun(v, v * vectorFromScalar(4, a * a))))",
]
MODULE = """
func.func @f(%out : memref<4xf32>, %in : memref<4xf32>) {{
  rise.lowering_unit {{
    %v = rise.in %in : !rise.vector<4, scalar<f32>>
    %w = rise.embed(%v) {{
      {body}
    }} : !rise.vector<4, scalar<f32>>
    rise.out %out <- %w
    rise.return
  }}
  func.return
}}
"""


@pytest.mark.parametrize("text", PROGRAMS)
def test_terms_on_vectors_come_back_from_the_dialect(text: str) -> None:
    assert_comes_back(parse_term(text))


def test_the_types_of_an_operation() -> None:
    term = parse_term("fun(v : vec[4, f32], cast[f64](v))")
    assert isinstance(term, Lambda)
    assert operation_type(term.body) == vector(4, f64)
    assert scalar_type(term.body) == f64
    assert digest(term) != digest(parse_term("fun(v : vec[2, f32], cast[f64](v))"))


def test_a_constant_of_equal_lanes_is_a_repeated_scalar() -> None:
    body = """%c = arith.constant dense<2.0> : vector<4xf32>
      %r = arith.mulf %v, %c : vector<4xf32>
      rise.return %r : vector<4xf32>"""
    term = unit_of(MODULE.format(body=body)).term
    assert term == parse_term("fun(v : vec[4, f32], v * vectorFromScalar(4, 2.0))")
    assert any(isinstance(t, Pattern) and t.spec is VECTOR_FROM_SCALAR for t in subterms(term))
    assert run_term(term, [[1.0, 2.0, 3.0, 4.0]]) == [2.0, 4.0, 6.0, 8.0]


@pytest.mark.parametrize(
    "body",
    [
        """%c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : vector<4xf32>
      %r = arith.mulf %v, %c : vector<4xf32>
      rise.return %r : vector<4xf32>""",
        """%c = arith.constant true
      %r = arith.select %c, %v, %v : vector<4xf32>
      rise.return %r : vector<4xf32>""",
    ],
    ids=["a constant of several numbers", "one condition for all lanes"],
)
def test_other_ops_on_vectors_stay_foreign(body: str) -> None:
    term = unit_of(MODULE.format(body=body)).term
    assert any(isinstance(part, Embed) for part in subterms(term))
    assert_comes_back(term)
    assert parse_term(repr(term)) == term


def test_vectors_of_open_length_have_no_form_in_the_dialect() -> None:
    term = parse_term("fun(v : vec[K, f32], v + v)")
    with pytest.raises(LimitationError, match="the number of lanes of a vector must be"):
        program_module(term, "f")
    assert_comes_back(substitute_sizes(term, {"K": Nat.const(4)}))


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_vectors_are_contracted_as_scalars_are(type: str) -> None:
    text = "fun((a : {0}, b : {0}, c : {0}), c - a * b)"
    scalar = contract(parse_term(text.format(type)))
    on_vectors = contract(parse_term(text.format(f"vec[4, {type}]")))
    ops = [[t.op for t in subterms(term) if isinstance(t, Scalar)] for term in (scalar, on_vectors)]
    assert ops[0] == ops[1] == ["math.fma", "arith.negf"]


def test_vectors_of_small_floats_are_not_contracted() -> None:
    term = parse_term("fun(v : vec[4, f16], v * v + v)")
    assert contract(term) == term


def test_each_lane_costs() -> None:
    program = "fun((x : N.f32), x |> asVector(4) |> map(fun(v, exp(v * v) + v)) |> asScalar)"
    found = cost(substitute_sizes(parse_term(program), {"N_by_4": Nat.const(3)}))
    assert (found.flops, found.transcendentals) == (24, 12)


def test_the_interpreter_works_lane_by_lane() -> None:
    term = parse_term("fun((v : vec[3, i8], w : vec[3, i8]), select(v < w, v - w, v + v))")
    assert run_term(term, [[1, -128, 100], [2, 127, 3]]) == [-1, 1, -56]
    assert isinstance(term, Lambda)
    conditions = [t for t in subterms(term) if isinstance(t, Scalar) and t.predicate]
    assert [t.type for t in conditions] == [vector(3, i1)]
    assert f32 not in [t.type for t in subterms(term)]
