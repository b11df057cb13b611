"""Functions of sizes and data types: text, verifiers, and what they mean."""

import numpy as np
import pytest
from dialect_text import assert_prints_as_written, assert_refused, read

import riselang as rl
from riselang.dialects.module import module_text, verify_module, walk
from riselang.dialects.rise.dependent import DepLambdaOp
from riselang.dialects.rise.pattern_registry import REVERSE
from riselang.dialects.rise.type_binding import dep_fun
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import array, f32, fun, variable
from riselang.interpreter.evaluate import run_term
from riselang.nat import Nat
from riselang.term.contraction import contract
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Bound, DepApply, DepLambda, Lambda, Pattern, Term, apply_all
from riselang.term.to_dialect import program_module

REVERSED = """
    %rev = rise.depLambda (n : nat) -> !rise.fun<array<n, scalar<f32>> -> array<n, scalar<f32>>> {
      %r = rise.reverse #rise.nat<n> #rise.scalar<f32>
      rise.return %r : !rise.fun<array<n, scalar<f32>> -> array<n, scalar<f32>>>
    }
"""
ANY_REVERSED = """
    %any = rise.depLambda (t : data) -> \
!rise.depfun<n : nat, fun<array<n, var<"t">> -> array<n, var<"t">>>> {
      %i = rise.depLambda (m : nat) -> !rise.fun<array<m, var<"t">> -> array<m, var<"t">>> {
        %r = rise.reverse #rise.nat<m> #rise.var<"t">
        rise.return %r : !rise.fun<array<m, var<"t">> -> array<m, var<"t">>>
      }
      rise.return %i : !rise.depfun<n : nat, fun<array<n, var<"t">> -> array<n, var<"t">>>>
    }
"""
PROGRAM = f"""
func.func @f(%out : memref<8xf32>, %a : memref<8xf32>) {{
  rise.lowering_unit {{
    %x = rise.in %a : !rise.array<8, scalar<f32>>
    {REVERSED}
    {ANY_REVERSED}
    %reverse = rise.depApply %rev, #rise.nat<8>
    %y = rise.apply %reverse, %x
    %split = rise.split #rise.nat<2> #rise.nat<4> #rise.scalar<f32>
    %ys = rise.apply %split, %y
    %rows = rise.depApply %any, #rise.array<2, scalar<f32>>
    %four = rise.depApply %rows, #rise.nat<4>
    %z = rise.apply %four, %ys
    %join = rise.join #rise.nat<4> #rise.nat<2> #rise.scalar<f32>
    %w = rise.apply %join, %z
    rise.out %out <- %w
    rise.return
  }}
  return
}}
"""
SWAPPED = [1, 0, 3, 2, 5, 4, 7, 6]


def program_term() -> Term:
    function = next(op for op in walk(read(PROGRAM)) if op.name == "func.func")
    return read_units(function)[0][1].term


@pytest.mark.parametrize("text", [REVERSED, ANY_REVERSED], ids=["size", "type"])
def test_round_trip(text: str) -> None:
    assert_prints_as_written(text)


def test_types_do_not_depend_on_the_names_of_variables() -> None:
    one = dep_fun("nat", "n", fun(array("n", f32), array("n * K", f32)))
    assert one == dep_fun("nat", "m", fun(array("m", f32), array("m * K", f32)))
    assert one != dep_fun("nat", "m", fun(array("m", f32), array("m * L", f32)))
    assert format_type(one) == "(n : nat) -> n.f32 -> (K * n).f32"
    clashing = dep_fun("nat", "m", fun(array("m", f32), array("n", f32)))
    assert format_type(clashing) == "(m : nat) -> m.f32 -> n.f32"
    nested = dep_fun("data", "t", dep_fun("nat", "n", fun(variable("t"), array("n", f32))))
    assert format_type(nested) == "(t : data) -> (n : nat) -> t -> n.f32"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%f = rise.depLambda (n : ¦size) -> !rise.scalar<f32> {}", "expected 'nat' or 'data'"),
        ("%f = rise.depLambda (¦mod : nat) -> !rise.scalar<f32> {}", "this is not a name"),
        ("%f = rise.depLambda (n : nat) -> ¦f32 {}", "expected a RISE type, but found f32"),
        (
            '%x = "test.op"() : () -> !rise.scalar<f32>\n¦%f = rise.depLambda (n : nat) -> '
            "!rise.scalar<i32> {\n  rise.return %x : !rise.scalar<f32>\n}",
            "is declared as !rise.depfun<n : nat, scalar<i32>>, but its result makes it "
            "!rise.depfun<n : nat, scalar<f32>>",
        ),
        (
            '%x = "test.op"() : () -> !rise.array<n, scalar<f32>>\n¦%f = rise.depLambda (n : nat) '
            "-> !rise.array<n, scalar<f32>> {\n  rise.return %x : !rise.array<n, scalar<f32>>\n}",
            "mentions another n; rename one of them",
        ),
        (
            f"%i = rise.iterate #rise.nat<n> #rise.scalar<f32>\n¦{REVERSED.strip()}",
            "binds n, but another n is in scope; rename one of them",
        ),
        (
            '%f = "test.op"() : () -> !rise.scalar<f32>\n%g = rise.depApply %f, ¦#rise.nat<4>',
            "expected a dependent function to apply, but found !rise.scalar<f32>",
        ),
        (
            f"{REVERSED}\n%g = rise.depApply %rev, ¦#rise.scalar<f32>",
            "expected a size such as #rise.nat<4>, but found !rise.scalar<f32>",
        ),
        (
            f"{ANY_REVERSED}\n%g = rise.depApply %any, ¦#rise.nat<4>",
            "expected a data type such as #rise.scalar<f32>, but found #rise.nat<4>",
        ),
        ("¦%r = rise.reverse #rise.nat<4> #rise.var<\"t\">", "a closed type for attribute t"),
    ],
)  # fmt: skip
def test_refused(text: str, message: str) -> None:
    assert_refused(text, message)


def test_the_program_is_interpreted_and_compiled() -> None:
    assert run_term(program_term(), [list(range(8))]) == SWAPPED
    out = np.zeros(8, np.float32)
    rl.loads(PROGRAM).f(out, np.arange(8, dtype=np.float32))
    assert out.tolist() == SWAPPED


def test_terms_become_ops_and_terms_again() -> None:
    term = program_term()
    module = program_module(term, "f")
    verify_module(module)
    assert module_text(read(module_text(module))) == module_text(module)
    function = next(op for op in walk(module) if op.name == "func.func")
    assert read_units(function)[0][1].term == term


def test_binders_get_names_that_nothing_around_them_has() -> None:
    size = Nat.var("n")
    inner = fun(array("n", f32), array("n", f32))
    one = DepLambda("nat", "n", Pattern(REVERSE, (size, f32)), "n")
    term = Lambda("x", array("n", f32), apply_all(DepApply(one, size), [Bound(0, array("n", f32))]))
    assert one.type == dep_fun("nat", "n", inner)
    module = program_module(term, "f")
    verify_module(module)
    assert [op.parameter.data for op in walk(module) if isinstance(op, DepLambdaOp)] == ["n1"]


def test_contraction_applies_dependent_functions() -> None:
    stack = [contract(program_term())]
    while stack:
        term = stack.pop()
        assert not isinstance(term, DepLambda)
        stack.extend(term.children)
