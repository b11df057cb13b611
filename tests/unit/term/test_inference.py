"""Type and size inference."""

from collections.abc import Mapping

import pytest

from riselang.dialects.rise.pattern_registry import JOIN, MAP, SLIDE, SPLIT, ZIP
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import dep_fun
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    RiseType,
    array,
    f32,
    f64,
    fun,
    i1,
    i32,
    pair,
    uncurry,
    variable,
    vector,
)
from riselang.nat import Nat, parse_nat
from riselang.term.inference import Inference, TypeMismatch


def applied(spec: PatternSpec, sizes: Mapping[str, int], *arguments: RiseType) -> RiseType:
    """The result type of a pattern on arguments of these types."""
    inference = Inference()
    given = {name: Nat.const(size) for name, size in sizes.items()}
    inputs, result = uncurry(spec.instantiate(inference.instantiate(spec, given)))
    for input, argument in zip(inputs, arguments, strict=True):
        inference.unify(input, argument)
    assert not inference.undecided_equations()
    return inference.resolve(result)


@pytest.mark.parametrize(
    ("spec", "sizes", "arguments", "result"),
    [
        (SPLIT, {"m": 4}, [array(12, f32)], "3.4.f32"),
        (SPLIT, {"m": 4}, [array("N * 4", f32)], "N.4.f32"),
        (SPLIT, {"m": 4}, [array("N * 8 + 4", f32)], "(N * 2 + 1).4.f32"),
        (SPLIT, {"m": 1}, [array("N", f32)], "N.1.f32"),
        (SPLIT, {"m": 4}, [array("N", f32)], "N_by_4.4.f32"),
        (SPLIT, {"m": 6}, [array("N * 4", f32)], "(N_by_3 * 2).6.f32"),
        (SLIDE, {"sz": 3, "sp": 2}, [array("N", f32)], "N_by_2.3.f32"),
        (JOIN, {}, [array(3, array(4, f32))], "12.f32"),
        (JOIN, {}, [array("N", array("M", i32))], "(M * N).i32"),
        (SLIDE, {"sz": 3, "sp": 1}, [array(10, f32)], "8.3.f32"),
        (SLIDE, {"sz": 3, "sp": 2}, [array(9, f32)], "4.3.f32"),
        (SLIDE, {"sz": 3, "sp": 1}, [array("N", f32)], "(N - 2).3.f32"),
        (SLIDE, {"sz": 3, "sp": 1}, [array("N + 2", f32)], "N.3.f32"),
        (SLIDE, {"sz": 2, "sp": 2}, [array("N * 2", f32)], "N.2.f32"),
        (ZIP, {}, [array("N", f32), array("N", i32)], "N.(f32 x i32)"),
        (MAP, {}, [fun(f32, i32), array(4, f32)], "4.i32"),
    ],
)
def test_unknown_sizes_are_solved(
    spec: PatternSpec, sizes: Mapping[str, int], arguments: list[RiseType], result: str
) -> None:
    assert format_type(applied(spec, sizes, *arguments)) == result


@pytest.mark.parametrize(
    ("spec", "sizes", "arguments"),
    [
        (SPLIT, {"m": 5}, [array(12, f32)]),
        (SPLIT, {"m": 4}, [array("N + M", f32)]),
        (SPLIT, {"m": 4}, [array("N * 2 + 1", f32)]),
        (SPLIT, {"m": 4}, [f32]),
        (SLIDE, {"sz": 3, "sp": 2}, [array(10, f32)]),
        (SLIDE, {"sz": 9, "sp": 1}, [array(5, f32)]),
        (ZIP, {}, [array(4, f32), array(5, f32)]),
        (ZIP, {}, [array("N", f32), array("M", f32)]),
        (JOIN, {}, [array(4, f32)]),
        (MAP, {}, [fun(f32, i32), array(4, f64)]),
        (MAP, {}, [f32, array(4, f32)]),
    ],
)
def test_mismatches(spec: PatternSpec, sizes: Mapping[str, int], arguments: list[RiseType]) -> None:
    with pytest.raises(TypeMismatch):
        applied(spec, sizes, *arguments)


def test_a_mismatch_names_both_types_and_the_lengths() -> None:
    inference = Inference()
    with pytest.raises(TypeMismatch) as caught:
        inference.unify(array(4, f32), array(5, f32))
    error = caught.value
    assert (error.expected, error.found) == (array(4, f32), array(5, f32))
    assert error.detail == "the lengths 4 and 5 differ"


def test_what_is_known_is_filled_in() -> None:
    inference = Inference()
    a, b = inference.fresh_type(), inference.fresh_type()
    inference.unify(a, array(4, b))
    assert inference.resolve(a) == array(4, b)
    inference.unify(b, f32)
    assert inference.resolve(a) == array(4, f32)
    assert inference.resolve(fun(a, pair(b, a))) == fun(array(4, f32), pair(f32, array(4, f32)))


def test_unknowns_may_be_equal() -> None:
    inference = Inference()
    a, b = inference.fresh_type(), inference.fresh_type()
    inference.unify(a, b)
    inference.unify(b, a)
    inference.unify(a, f32)
    assert inference.resolve(b) == f32


def test_functions_are_never_stored() -> None:
    inference = Inference()
    element = inference.fresh_type()
    inference.unify(array(4, element), array(4, inference.fresh_type()))
    with pytest.raises(TypeMismatch) as caught:
        inference.unify(element, fun(f32, f32))
    assert "functions are never stored" in caught.value.detail


def test_a_type_does_not_contain_itself() -> None:
    inference = Inference()
    a = inference.fresh_type()
    for other in (array(4, a), pair(f32, a), pair(a, a)):
        with pytest.raises(TypeMismatch) as caught:
            inference.unify(a, other)
        assert caught.value.detail == "the type would contain itself"
    b = inference.fresh_type()
    inference.unify(a, array(2, b))
    with pytest.raises(TypeMismatch):
        inference.unify(b, array(2, a))


def test_variables_of_the_user_are_not_unknowns() -> None:
    inference = Inference()
    inference.unify(variable("a"), variable("a"))
    with pytest.raises(TypeMismatch):
        inference.unify(variable("a"), f32)
    with pytest.raises(TypeMismatch):
        inference.unify(variable("a"), variable("b"))


def test_equations_wait_for_each_other() -> None:
    """`n * m = 12` cannot be solved alone; when m is known it is."""
    inference = Inference()
    n, m = inference.fresh_size(), inference.fresh_size()
    inference.unify(array(n * m, f32), array(12, f32))
    assert inference.undecided_equations()
    inference.unify(array(m, f32), array(4, f32))
    assert not inference.undecided_equations()
    assert inference.resolve_size(n) == Nat.const(3)


def test_a_waiting_equation_may_fail() -> None:
    inference = Inference()
    n, m = inference.fresh_size(), inference.fresh_size()
    inference.unify(array(n * m, f32), array(12, f32))
    with pytest.raises(TypeMismatch):
        inference.unify(array(m, f32), array(5, f32))


def test_a_failed_unification_of_sizes_says_so() -> None:
    inference = Inference()
    assert inference.unify_sizes(Nat.const(4), Nat.const(4))
    assert not inference.unify_sizes(Nat.const(4), Nat.const(5))


def test_a_size_that_must_be_a_multiple_is_refined_everywhere() -> None:
    inference = Inference()
    inputs, result = uncurry(SPLIT.instantiate(inference.instantiate(SPLIT, {"m": Nat.const(4)})))
    inference.unify(inputs[0], array("N", f32))
    assert inference.refined_sizes == {"N": parse_nat("N_by_4 * 4")}
    assert format_type(inference.resolve(array("N", result))) == "(N_by_4 * 4).N_by_4.4.f32"
    # Once more, and by another name.
    inputs, _ = uncurry(SPLIT.instantiate(inference.instantiate(SPLIT, {"m": Nat.const(6)})))
    inference.unify(inputs[0], array("N", f32))
    assert inference.refined_sizes["N"] == parse_nat("N_by_4_by_3 * 12")


def test_the_size_of_a_dependent_function_is_not_refined() -> None:
    inference = Inference()
    inference.fix_variable("N")
    inputs, _ = uncurry(SPLIT.instantiate(inference.instantiate(SPLIT, {"m": Nat.const(4)})))
    with pytest.raises(TypeMismatch) as caught:
        inference.unify(inputs[0], array("N", f32))
    assert caught.value.detail == "N is not known to be a multiple of 4"


def test_dependent_function_types_unify_whatever_their_variables_are_called() -> None:
    inference = Inference()
    unknown = inference.fresh_type()
    left = dep_fun("nat", "n", fun(array("n", f32), array("n", unknown)))
    inference.unify(left, dep_fun("nat", "m", fun(array("m", f32), array("m", f64))))
    assert inference.resolve(unknown) == f64
    with pytest.raises(TypeMismatch):
        inference.unify(left, dep_fun("nat", "m", fun(array("m", f32), array(4, f64))))
    with pytest.raises(TypeMismatch):
        inference.unify(left, dep_fun("data", "t", fun(array(4, variable("t")), f32)))


def test_the_result_of_an_operation_follows_its_operand() -> None:
    inference = Inference()
    operand = inference.fresh_type()
    result = inference.with_lane(operand, i1)
    assert inference.with_lane(vector(4, f32), i1) == vector(4, i1)
    assert inference.with_lane(f32, i1) == i1
    inference.unify(operand, vector("N", f32))
    assert inference.resolve(result) == vector("N", i1)


def test_a_vector_that_an_operation_gives_shows_its_operand() -> None:
    inference = Inference()
    operand = inference.fresh_type()
    inference.unify(inference.with_lane(operand, i1), vector(4, i1))
    inference.unify(operand, vector(inference.fresh_size(), f32))
    assert inference.resolve(operand) == vector(4, f32)


def test_results_that_no_operand_has() -> None:
    inference = Inference()
    first, second = inference.fresh_type(), inference.fresh_type()
    with pytest.raises(TypeMismatch):
        inference.unify(inference.with_lane(first, i1), vector(4, f32))
    inference.unify(inference.with_lane(second, i1), i1)
    with pytest.raises(TypeMismatch):
        inference.unify(second, vector(4, f32))


def test_what_nothing_shows_to_be_a_vector_is_a_scalar() -> None:
    inference = Inference()
    result = inference.with_lane(inference.fresh_type(), i1)
    inference.default_to_scalars()
    assert inference.resolve(result) == i1
