"""Literals and sizes as attributes."""

import math

import pytest
from dialect_text import assert_prints_as_written, assert_refused, printed, read

from riselang.dialects.rise.attributes import LiteralAttr, literal
from riselang.dialects.rise.functional import LiteralOp
from riselang.dialects.rise.types import SCALARS


def number_of(text: str) -> float | int:
    (op,) = read(f"%x = rise.literal {text}").body.block.ops
    assert isinstance(op, LiteralOp)
    number = op.value.number
    assert not isinstance(number, tuple)
    return number


@pytest.mark.parametrize(
    "literal",
    [
        "#rise.lit<0.000000e+00>",
        "#rise.lit<-0.000000e+00>",
        "#rise.lit<1.500000e+00, scalar<f16>>",
        "#rise.lit<-1.500000e+00, scalar<bf16>>",
        "#rise.lit<1.000000e-01, scalar<f64>>",
        "#rise.lit<-1, scalar<i1>>",
        "#rise.lit<0, scalar<i1>>",
        "#rise.lit<-128, scalar<i8>>",
        "#rise.lit<127, scalar<i8>>",
        "#rise.lit<-32768, scalar<i16>>",
        "#rise.lit<2147483647, scalar<i32>>",
        "#rise.lit<-9223372036854775808, scalar<i64>>",
        "#rise.lit<42, scalar<index>>",
    ],
)
def test_round_trip(literal: str) -> None:
    assert_prints_as_written(f"%x = rise.literal {literal}")


@pytest.mark.parametrize(
    ("type", "infinity", "minus_infinity", "nan"),
    [
        ("f16", "0x7c00", "0xfc00", "0x7e00"),
        ("bf16", "0x7f80", "0xff80", "0x7fc0"),
        ("f32", "0x7f800000", "0xff800000", "0x7fc00000"),
        ("f64", "0x7ff0000000000000", "0xfff0000000000000", "0x7ff8000000000000"),
    ],
)
def test_infinities_and_nan_are_written_by_their_bits(
    type: str, infinity: str, minus_infinity: str, nan: str
) -> None:
    assert number_of(f"#rise.lit<{infinity}, scalar<{type}>>") == math.inf
    assert number_of(f"#rise.lit<{minus_infinity}, scalar<{type}>>") == -math.inf
    assert math.isnan(number_of(f"#rise.lit<{nan}, scalar<{type}>>"))
    for bits in (infinity, minus_infinity, nan):
        text = f"%x = rise.literal #rise.lit<{bits}, scalar<{type}>>"
        assert printed(text).lower() == text.replace(", scalar<f32>", "")
        assert printed(printed(text)) == printed(text)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("#rise.lit<0>", 0.0),
        ("#rise.lit<-3>", -3.0),
        ("#rise.lit<2.5>", 2.5),
        ("#rise.lit<1.0e3>", 1000.0),
        ("#rise.lit<0.0, !rise.scalar<f32>>", 0.0),
        ("#lit<0.5>", 0.5),
        ("#lit<7, scalar<i64>>", 7),
        ("#rise.lit<true, scalar<i1>>", -1),
        ("#rise.lit<false, scalar<i1>>", 0),
        ("#rise.lit<1, scalar<i1>>", -1),
        ("#rise.lit<255, scalar<i8>>", -1),
        ("#rise.lit<0x10, scalar<i32>>", 16),
        ("#rise.lit<0.0> : !rise.scalar<f32>", 0.0),
    ],
)
def test_other_spellings(written: str, number: float) -> None:
    assert number_of(written) == number


def test_a_literal_that_rounds_is_the_nearest_number() -> None:
    assert number_of("#rise.lit<0.1>") == 0.10000000149011612
    assert number_of("#rise.lit<0.1, scalar<f64>>") == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "#rise.lit<¦300, scalar<i8>>",
            "300 is not a literal of type i8: it does not fit into 8 bits",
        ),
        ("#rise.lit<¦-129, scalar<i8>>", "-129 is not a literal of type i8"),
        ("#rise.lit<¦2, scalar<i1>>", "2 is not a literal of type i1"),
        ("#rise.lit<¦1.5, scalar<i32>>", "a float is not an integer literal"),
        ("#rise.lit<¦1, array<4, scalar<f32>>>", "a literal is a scalar"),
        ("#rise.lit<¦0x1ffffffff>", "is not a literal of type f32"),
        ("#rise.lit<1, ¦f32>", "expected one of scalar"),
        ("#rise.lit<¦>", "expected"),
        ("¦42 : i32", "expected a literal such as #rise.lit<0.0>"),
        ("#rise.lit<0.0> : ¦!rise.scalar<f64>", "this type is !rise.scalar<f64>, but"),
    ],
)
def test_refused(text: str, message: str) -> None:
    assert_refused(f"%x = rise.literal {text}", message)


@pytest.mark.parametrize(
    ("size", "canonical"),
    [("0", "0"), ("N", "N"), ("4*N+1", "N * 4 + 1"), ("N floordiv 2", "N floordiv 2")],
)
def test_sizes_round_trip(size: str, canonical: str) -> None:
    assert_prints_as_written(f'"test.op"() {{size = #rise.nat<{canonical}>}} : () -> ()')
    assert printed(f'"test.op"() {{size = #rise.nat<{size}>}} : () -> ()') == (
        f'"test.op"() {{size = #rise.nat<{canonical}>}} : () -> ()'
    )


def test_literals_of_every_scalar_type_can_be_built() -> None:
    for name, type in SCALARS.items():
        made = literal(1, type)
        assert isinstance(made, LiteralAttr)
        assert made.type == type
        assert made.number == (-1 if name == "i1" else 1)
