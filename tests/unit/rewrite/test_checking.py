"""Checks find the step that changes a value, and say with which inputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from riselang.dialects.rise.types import array, bf16, f32, i32, pair
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite import derivation_checks
from riselang.rewrite.core import Setting, Success
from riselang.rewrite.derivation import Derivation, derive
from riselang.rewrite.derivation_checks import MAX_RUNS, check, law_status
from riselang.rewrite.interpreter_cost import estimate_steps
from riselang.rewrite.laws import Law
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Permission, Rule
from riselang.rewrite.samples import Precision, first_difference, random_buffers
from riselang.rewrite.strategy_text import parse_strategy
from riselang.rewrite.traversals import top_down
from riselang.support.errors import UserError
from riselang.term.size_substitution import substitute_sizes

DOT = "fun((x : N.f32, y : N.f32), zip(x, y) |> map(mult) |> reduce(add, 0.0))"
SUM = "fun((x : (8 * N).f32), x |> reduce(add, 0.0))"


def derived(program: str, strategy: str, float: str = "strict") -> Derivation:
    return derive(parse_term(program), parse_strategy(strategy), float)


def wrong(law: str, parameters: str, permission: Permission = Permission.STRICT) -> Rule:
    return Rule("wrong", Law.parse(parameters, law), "tests", permission=permission)


BACKWARDS = wrong("x |> map(f) ~> x |> reverse |> map(f)", "f : i32 -> i32, x : n.i32")


def test_every_step_and_the_whole_program_are_run() -> None:
    report = check(derived(DOT, "fuse() >> top_down(reduce_as_loop)"))
    assert report.is_right
    assert [each.runs for each in report.comparisons] == [MAX_RUNS] * len(report.comparisons)
    assert len(report.steps) == 2
    assert all("N = " in sizes for sizes in report.sizes)
    assert "2 of 2 steps give the same values (at N = " in report.show()


def test_the_same_seed_gives_the_same_report() -> None:
    derivation = derived(DOT, "fuse()")
    assert check(derivation, seed=5) == check(derivation, seed=5)


def test_a_step_that_changes_a_value_is_found() -> None:
    program = parse_term("fun((x : 3.4.i32), x |> map(fun(row, row |> map(fun(e, e + 1)))))")
    report = check(derive(program, top_down(BACKWARDS)))
    assert not report.is_right
    (found,) = report.steps
    assert found.subject == "step 1: wrong at 0.0.1.0"
    assert found.difference is not None
    assert [name for name, _ in found.difference.inputs] == ["row"]
    text = report.show()
    assert text.startswith("step 1: wrong at 0.0.1.0 changes a value\n  row = [")
    assert "  before: [" in text
    assert "  first at [" in text
    assert "the whole program changes a value\n  x = [[" in text
    assert "0 of 1 step gives the same values" in text


def test_bits_count_unless_the_rule_is_relaxed() -> None:
    """`0.0 + x` is `x` but for the sign of zero."""
    law, parameters = "x ~> x |> map(fun(e, e + 0.0))", "x : n.f32"
    program = parse_term("fun((x : 64.f32), x |> map(fun(e, e * 2.0)))")
    for permission, is_right in ((Permission.STRICT, False), (Permission.RELAXED, True)):
        derivation = derive(program, top_down(wrong(law, parameters, permission)), "relaxed")
        assert check(derivation).is_right is is_right


def test_sums_in_another_order_are_the_same_within_a_tolerance() -> None:
    report = check(derived(SUM, "top_down(partial_reduce(8))", "relaxed"))
    assert report.is_right
    law = "x |> reduce(f, a) ~> x |> drop(1) |> reduce(f, a)"
    parameters = "f : t -> t -> t, a : t, x : (n + 1).t"
    program = parse_term("fun((x : 9.f32), x |> reduce(add, 0.0))")
    rule = wrong(law, parameters, Permission.RELAXED)
    assert not check(derive(program, top_down(rule), "relaxed")).is_right


@pytest.mark.parametrize("length", ["3", "8", "N"])
def test_a_sum_in_another_order_is_found_where_bits_count(length: str) -> None:
    """NaN and infinities would hide it, and so would the few inputs on which both round alike."""
    rule = wrong("x |> reduce(f, a) ~> x |> reverse |> reduce(f, a)",
                 "f : t -> t -> t, a : t, x : n.t")  # fmt: skip
    program = parse_term(f"fun((x : {length}.f32), x |> reduce(add, 0.0))")
    derivation = derive(program, top_down(rule))
    assert not any(check(derivation, seed).is_right for seed in range(8))


def test_a_law_of_others_is_not_said_to_be_tested() -> None:
    law = wrong("x |> reduce(add, 0.0) ~> x |> reverse |> reduce(add, 0.0)", "x : n.f32")
    assert law_status(law).status == "not proved"


def test_what_stands_under_a_function_parameter_is_run_as_a_whole() -> None:
    program = "fun((x : 4.i32), fun((g : i32 -> i32), x |> map(g) |> map(g))(neg))"
    start = parse_term(program)
    result = top_down(RULES["map_fusion"]).run(start, Setting())
    assert isinstance(result, Success)
    derivation = Derivation(start, result.steps, result.term, "top_down(map_fusion)")
    report = check(derivation)
    assert report.is_right
    assert report.steps[0].runs == MAX_RUNS


def test_a_program_that_takes_functions_is_not_run() -> None:
    start = parse_term("fun((g : i32 -> i32, x : 4.i32), x |> map(g) |> map(g))")
    report = check(derive(start, parse_strategy("fuse()")))
    assert {each.runs for each in report.comparisons} == {0}
    assert report.program.obstacle == "it is a function of functions, sizes or types"


def test_what_cannot_be_run_says_why() -> None:
    program = "fun((x : 4.i32), x |> map(neg) |> map(while(fun(e, e < 3), fun(e, e + 1))))"
    report = check(derived(program, "fuse()"))
    assert report.is_right
    assert report.program.obstacle == "a while may not terminate on random values"
    assert "was not run, since a while may not terminate on random values" in report.show()


def test_inputs_that_the_program_refuses_are_no_inputs() -> None:
    program = "fun((x : 4.i32, i : index), x |> map(neg) |> map(neg) |> at(checkIdx(4, i)))"
    report = check(derived(program, "fuse()"))
    assert report.is_right
    assert report.steps[-1].runs == MAX_RUNS


def test_a_program_that_is_too_large_says_so() -> None:
    term = substitute_sizes(parse_term(DOT), {"N": Nat.const(1_000_000)})
    with pytest.raises(UserError, match=r"too large to interpret.* trace\(N=8\) or --size N=8"):
        check(derive(term, parse_strategy("fuse()"), "strict"))


def test_sizes_that_no_pattern_permits_say_so() -> None:
    program = "fun((x : (N + 1000).f32), x |> take(N - 900) |> map(neg))"
    with pytest.raises(UserError, match="found no small values of N that"):
        check(derived(program, "id"))


def test_work_counts_rounds() -> None:
    small, large = (
        estimate_steps(substitute_sizes(parse_term(DOT), {"N": Nat.const(size)}))
        for size in (10, 1_000)
    )
    assert 50 * small < large < 200 * small


def test_values_have_what_goes_wrong_first() -> None:
    source = np.random.default_rng(0)
    type = pair(array(200, f32), array(200, i32))
    seen = np.concatenate(
        [random_buffers(type, Precision.BITS, source)[0] for _ in range(9)]
    )  # fmt: skip
    assert np.isnan(seen).any()
    assert np.isinf(seen).any()
    assert ((seen == 0) & np.signbit(seen)).any()
    moderate = random_buffers(type, Precision.TOLERANCE, source)[0]
    assert np.abs(moderate).max() <= 2


def test_any_nan_is_equal_to_any_other_and_zeros_are_two() -> None:
    nans = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    assert first_difference([nans[:1]], [nans[1:]], Precision.BITS) is None
    zeros = np.array([1, 0.0], np.float32), np.array([1, -0.0], np.float32)
    assert first_difference([zeros[0]], [zeros[1]], Precision.BITS) == (0, 1)
    assert first_difference([zeros[0]], [zeros[1]], Precision.TOLERANCE) is None


def test_half_precision_is_compared_too() -> None:
    source = np.random.default_rng(1)
    (left,) = random_buffers(array(8, bf16), Precision.BITS, source)
    assert first_difference([left], [left.copy()], Precision.BITS) is None
    close = (left.astype(np.float32) * 1.001).astype(left.dtype)
    assert first_difference([left], [close], Precision.TOLERANCE) is None


# The laws


@pytest.fixture
def prover(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    module = ModuleType("riselang.rewrite.proving")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    derivation_checks._verdict.cache_clear()
    yield module
    derivation_checks._verdict.cache_clear()


def says(prover: ModuleType, status: str, detail: str = "so it is") -> None:
    verdict = SimpleNamespace(status=SimpleNamespace(value=status), detail=detail)
    prover.__dict__["prove"] = lambda left, right: verdict


def test_the_status_of_a_law_is_what_the_prover_says(prover: ModuleType) -> None:
    load_all()
    says(prover, "proved", "for all sizes")
    assert str(law_status(RULES["split_join"](4))) == "proved: for all sizes"


def test_a_law_that_holds_under_its_condition_is_not_refuted_without(prover: ModuleType) -> None:
    load_all()
    says(prover, "refuted")
    assert law_status(RULES["partial_reduce"]).status == "tested"
    assert law_status(RULES["map_fusion"]).status == "refuted"


def test_what_is_out_of_reach_is_tested(prover: ModuleType) -> None:
    load_all()
    says(prover, "out of reach")
    assert law_status(RULES["map_fusion"]).status == "tested"


def test_without_a_prover_laws_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    load_all()
    monkeypatch.setitem(sys.modules, "riselang.rewrite.proving", None)
    derivation_checks._verdict.cache_clear()
    assert law_status(RULES["map_fusion"]).status == "tested"
    derivation_checks._verdict.cache_clear()
