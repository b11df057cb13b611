"""Naturals as text."""

import time

import pytest

from riselang.nat import Nat, NatError, NatSyntaxError, parse_nat


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0"),
        ("007", "7"),
        ("-4", "-4"),
        ("N*4+1", "N * 4 + 1"),
        ("1 + N", "N + 1"),
        ("N - 1", "N - 1"),
        ("-1 - N", "-N - 1"),
        ("-i + N", "N - i"),
        ("4 - i", "4 - i"),
        ("N * N * 2", "N * N * 2"),
        ("(N + 1) * M", "M * N + M"),
        ("N floordiv 8", "N floordiv 8"),
        ("-(N floordiv 8)", "-(N floordiv 8)"),
        ("-N floordiv 8", "(-N) floordiv 8"),
        ("- - -N", "-N"),
        ("3 - N mod 8", "3 - N mod 8"),
        ("N floordiv 8 * 4", "(N floordiv 8) * 4"),
        ("N mod 8 floordiv 3", "(N mod 8) floordiv 3"),
        ("(N + 1) mod (M + 1)", "(N + 1) mod (M + 1)"),
        ("min(N, 4)", "min(N, 4)"),
        ("max(N - 1, min(4, M)) * 2", "max(N - 1, min(M, 4)) * 2"),
        ("max(4)", "4"),
        (" $i\n*\t?n ", "$i * ?n"),
    ],
)
def test_printing_what_was_parsed(text: str, printed: str) -> None:
    assert str(parse_nat(text)) == printed
    assert parse_nat(printed) == parse_nat(text)


def test_repr_shows_the_text() -> None:
    assert repr(Nat.var("N") * 4) == "Nat('N * 4')"


@pytest.mark.parametrize(
    ("text", "message", "position"),
    [
        ("", "expected a number, a name or '(', but found the end of the text", 0),
        ("N +", "expected a number, a name or '(', but found the end of the text", 3),
        ("N + )", "expected a number, a name or '(', but found ')'", 4),
        ("N M", "expected an operator or the end of the text, but found 'M'", 2),
        ("(N", "expected ')', but found the end of the text", 2),
        ("(N, M)", "expected ')', but found ','", 2),
        ("min(N", "expected ',' or ')', but found the end of the text", 5),
        ("min N", "expected '(', but found 'N'", 4),
        ("min()", "expected a number, a name or '(', but found ')'", 4),
        ("mod 4", "expected a number, a name or '(', but found 'mod'", 0),
        ("N / 4", "unexpected character '/'", 2),
        ("N floordiv 0", "division by zero", 2),
        ("N mod (3 - 4)", "division by -1, which is not positive", 2),
        ("1" * 19, "expected an integer of at most 18 digits, but found 19", 0),
        ("N + \u0661", "unexpected character '\u0661'", 4),
    ],
)
def test_errors_say_what_and_where(text: str, message: str, position: int) -> None:
    with pytest.raises(NatSyntaxError) as caught:
        parse_nat(text)
    assert str(caught.value) == message
    assert caught.value.position == position
    assert isinstance(caught.value, NatError)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "(" * 10_000 + "N" + ")" * 10_000,
        "min(" * 10_000 + "N" + ")" * 10_000,
        "1" * 100_000,
        "-" * 100_000,
        "N mod 7 floordiv " * 10_000 + "M",
        " * ".join(f"(a{index} + b{index})" for index in range(10_000)),
        " + ".join(f"a{index}" for index in range(10_000)),
        "min(" + ", ".join(f"a{index} * a{index}" for index in range(3_000)),
        "N *" * 100_000,
        "a" * 100_000 + " " * 100_000 + "!",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    with pytest.raises(NatSyntaxError):
        parse_nat(text)
    assert time.process_time() - start < 10


def test_nesting_within_the_limit() -> None:
    assert parse_nat("(" * 100 + "N" + ")" * 100) == Nat.var("N")


def test_the_deepest_natural_prints_and_parses() -> None:
    nat = Nat.var("N")
    for divisor in range(3, 51):
        nat = (nat * 2 + divisor) // (Nat.var("M") + divisor)
    assert nat.depth == 48
    assert parse_nat(str(nat * 3)) == nat * 3
