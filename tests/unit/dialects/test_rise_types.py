"""The types of the dialect as text."""

import pytest
from dialect_text import assert_prints_as_written, assert_refused, printed, refusal
from xdsl.dialects.builtin import Float128Type, IntegerType
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import SCALARS, ScalarType, array, f32, fun, i32, leaves, pair
from riselang.nat import Nat

SCALAR_NAMES = tuple(str(type.element) for type in SCALARS.values())


def value_of(type: str) -> str:
    return f'%x = "test.op"() : () -> {type}'


@pytest.mark.parametrize(
    "type",
    [
        *(f"!rise.scalar<{name}>" for name in SCALAR_NAMES),
        "!rise.array<4, scalar<f32>>",
        "!rise.array<0, scalar<i8>>",
        "!rise.array<4, array<3, array<2, scalar<f64>>>>",
        "!rise.array<N, scalar<f32>>",
        "!rise.array<N * 4 + 1, scalar<f32>>",
        "!rise.array<N floordiv 8, array<N mod 8, scalar<i32>>>",
        "!rise.array<min(N, 4), scalar<f32>>",
        "!rise.tuple<scalar<f32>, scalar<i32>>",
        "!rise.tuple<scalar<f32>, tuple<scalar<i32>, array<2, scalar<i1>>>>",
        "!rise.array<4, tuple<scalar<f32>, array<N, scalar<index>>>>",
        "!rise.fun<scalar<f32> -> scalar<f32>>",
        "!rise.fun<scalar<f32> -> fun<scalar<i32> -> scalar<f32>>>",
        "!rise.fun<fun<scalar<f32> -> scalar<i1>> -> array<2, scalar<f32>>>",
        '!rise.var<"a">',
    ],
)
def test_round_trip(type: str) -> None:
    assert_prints_as_written(value_of(type))


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("!rise.array<1+N*4, scalar<f32>>", "!rise.array<N * 4 + 1, scalar<f32>>"),
        ("!rise.array<(N + 1) * 2, scalar<f32>>", "!rise.array<N * 2 + 2, scalar<f32>>"),
        (
            "!rise.fun<scalar<f32> -> func<scalar<f32> -> scalar<f32>>>",
            "!rise.fun<scalar<f32> -> fun<scalar<f32> -> scalar<f32>>>",
        ),
        (
            "!rise.fun<!rise.scalar<f32> -> !rise.array<4, !rise.scalar<f32>>>",
            "!rise.fun<scalar<f32> -> array<4, scalar<f32>>>",
        ),
        (
            "!rise.fun< func< scalar<i32> -> scalar<i32> > -> scalar<i32> >",
            "!rise.fun<fun<scalar<i32> -> scalar<i32>> -> scalar<i32>>",
        ),
        ("!rise.array<\n  4,\n  scalar<f32>\n>", "!rise.array<4, scalar<f32>>"),
    ],
)
def test_other_spellings(written: str, canonical: str) -> None:
    assert printed(value_of(written)) == value_of(canonical)


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("!rise.scalar¦<i7>", "i7 is not a scalar type"),
        ("!rise.scalar¦<vector<4xf32>>", "vector<4xf32> is not a scalar type"),
        ("!rise.scalar¦<f128>", "f128 is not a scalar type"),
        ("!rise.scalar¦<!rise.scalar<f32>>", "is not a scalar type"),
        ("!rise.array<4¦>", "expected"),
        ("!rise.array<scalar¦<f32>>", "between an array's length and its element type"),
        ("!rise.array<¦, scalar<f32>>", "this is not a size: expected a number"),
        ("!rise.array<4 ¦/ 2, scalar<f32>>", "unexpected character '/'"),
        ("!rise.array¦<-1, scalar<f32>>", "negative length -1"),
        (
            "!rise.array<4, ¦f32>",
            "expected one of scalar, array, tuple, fun, func, idx, vector, var",
        ),
        (
            "!rise.array¦<4, fun<scalar<f32> -> scalar<f32>>>",
            "an array element must be a data type",
        ),
        (
            "!rise.tuple¦<scalar<f32>, fun<scalar<f32> -> scalar<f32>>>",
            "a tuple component must be a data type",
        ),
        (
            "!rise.tuple¦<fun<scalar<f32> -> scalar<f32>>, scalar<f32>>",
            "a tuple component must be a data type",
        ),
        ("!rise.tuple<scalar<f32>¦>", "between the two types of a tuple"),
        ("!rise.fun<scalar<f32>¦, scalar<f32>>", "between argument and result"),
        ("!rise.array<4, ¦!other.scalar<f32>>", "'!other.scalar' is not a RISE type"),
        ("!rise.tuple<array¦<-2, scalar<f32>>, scalar<f32>>", "negative length -2"),
    ],
)
def test_refused(type: str, message: str) -> None:
    assert_refused(value_of(type), message)


def test_types_that_nest_too_deeply_are_refused() -> None:
    text = "!rise." + "array<1, " * 300 + "scalar<f32>" + ">" * 300
    error = refusal(value_of(text))
    assert "types nest deeper than 200 levels" in error.message
    assert error.location is not None


def test_lengths_are_equal_when_they_are_equal_for_every_size() -> None:
    assert array("N * 2 + N", f32) == array("3 * N", f32)
    assert array("(N + 1) * M", f32) == array("N * M + M", f32)
    assert array("N", f32) != array("M", f32)


def test_leaves_of_nested_tuples() -> None:
    type = array(4, pair(f32, array(3, pair(i32, f32))))
    found = [([str(length) for length in lengths], leaf) for lengths, leaf in leaves(type)]
    assert found == [(["4"], f32), (["4", "3"], i32), (["4", "3"], f32)]


@pytest.mark.parametrize(
    ("type", "notation"),
    [
        (array("N", array("K", f32)), "N.K.f32"),
        (array(Nat.var("N") * 2, f32), "(N * 2).f32"),
        (array(4, pair(f32, i32)), "4.(f32 x i32)"),
        (fun(f32, i32, f32), "f32 -> i32 -> f32"),
        (fun(fun(f32, i32), f32), "(f32 -> i32) -> f32"),
    ],
)
def test_notation(type: ScalarType, notation: str) -> None:
    assert format_type(type) == notation


@pytest.mark.parametrize("element", [IntegerType(3), Float128Type()])
def test_scalars_of_other_types_cannot_be_built(element: IntegerType) -> None:
    with pytest.raises(VerifyException, match="is not a scalar type"):
        ScalarType(element)


def test_functions_cannot_be_stored_when_types_are_built() -> None:
    function = fun(f32, f32)
    with pytest.raises(VerifyException, match="must be a data type"):
        array(4, function)
    with pytest.raises(VerifyException, match="must be a data type"):
        pair(f32, function)
