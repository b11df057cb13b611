"""Which place an address means."""

from __future__ import annotations

import pytest

from riselang.rewrite.core import CONDITION, Success
from riselang.rewrite.rules.lowering import map_as_loop
from riselang.rewrite.selectors import Address, innermost, loop, nth, outermost
from riselang.support.errors import UserError
from support.rewriting import inner, refused, run

PROGRAM = """fun((A : 4.8.f32, B : 8.6.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column,
      zip(row, column) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0))))))"""
ROWS, COLUMNS = (), (0, 1, 0)
FOLD = (*COLUMNS, 0, 1, 0)
PRODUCTS = (*FOLD, 1)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (outermost("map"), ROWS),
        (outermost("any map"), ROWS),
        (outermost("map", nest=2), ROWS),
        (outermost("map", over="column"), COLUMNS),
        (outermost("map", length=6), COLUMNS),
        (outermost("map", length=8), PRODUCTS),
        (outermost("map", over="column", length=6), COLUMNS),
        (innermost("map"), PRODUCTS),
        (innermost("map", nest=2), ROWS),
        (innermost("any reduce"), FOLD),
        (outermost("reduce"), FOLD),
        (outermost("reduce", length=8), FOLD),
        (nth(1, "map"), ROWS),
        (nth(2, "map"), COLUMNS),
        (nth(3, "map"), PRODUCTS),
        (outermost("transpose"), (*COLUMNS, 1)),
        (outermost("zip"), (*PRODUCTS, 1)),
    ],
    ids=str,
)
def test_the_place_that_is_meant(address: Address, path: tuple[int, ...]) -> None:
    found = address.find(inner(PROGRAM))
    assert found is not None
    assert found[0] == path


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (outermost("scan"), "the program does not have the outermost scan"),
        (outermost("map", over="e"), "the outermost map over e"),
        (outermost("map", length=5), "the outermost map of length 5"),
        (outermost("map", nest=3), "the outermost map with 3 nested maps"),
        (nth(4, "map"), "map number 4"),
        (innermost("map", over="row", length=6), "the innermost map over row of length 6"),
    ],
    ids=str,
)
def test_a_place_that_is_not_there(address: Address, words: str) -> None:
    failure = refused(map_as_loop @ address, PROGRAM)
    assert words in failure.reason
    assert failure.closeness == CONDITION


def test_the_place_is_in_the_steps() -> None:
    result = run(map_as_loop @ outermost("map", over="column"), PROGRAM)
    assert [step.path for step in getattr(result, "steps", ())] == [COLUMNS]


def test_a_failure_at_an_address_says_where() -> None:
    assert refused("split_join(5) @ innermost('map')", PROGRAM).path == PRODUCTS


def test_loops_by_number() -> None:
    """Functions, views and lets around a loop are not counted."""
    text = (
        "fun((x : 4.6.f32), (let y = x |> toMem(heap); y |> map(fun(a, a |> map(sqrt) |> reverse))"
        " |> transpose |> map(fun(v, v |> reverse))) |> take(3))"
    )
    for number, length in ((1, 4), (2, 6)):
        result = run(map_as_loop @ loop(number), text)
        assert isinstance(result, Success)
        assert f"array<{length}, " in str(result.steps[0].before.type)
    assert refused(map_as_loop @ loop(3), text).reason == "there are fewer than 3 nested loops"
    with pytest.raises(UserError, match="loops are counted from 1, but found 0"):
        loop(0)


def test_addresses_are_checked() -> None:
    with pytest.raises(UserError, match="'mop' is not a pattern; expected one, or any map"):
        outermost("mop")
    with pytest.raises(UserError, match="counted from 1, but found 0"):
        nth(0, "map")
    with pytest.raises(UserError, match="counted from 1, but found -2"):
        nth(-2, "map")
    with pytest.raises(UserError, match="found nest=0"):
        innermost("map", nest=0)
