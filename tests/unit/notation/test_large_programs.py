"""Programs that are exponentially larger than they are written, and long ones."""

from __future__ import annotations

from itertools import pairwise

import pytest

from riselang.dialects.rise.type_binding import (
    binder_height,
    nat_variables,
    substitute,
    type_variables,
)
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import RiseType, array, contains_array, f32, i32, pair, variable
from riselang.nat import Nat
from riselang.notation.analysis import analyze
from riselang.notation.formatting import format_program
from riselang.notation.program import parse_program, parse_term
from riselang.support.errors import LimitationError, RiseError
from riselang.term.inference import Inference, TypeMismatch

pytestmark = pytest.mark.rotating(6)


def doubling(value: str, lets: int = 40) -> str:
    """Each name stands for twice what the one before does."""
    names = " ".join(f"let a{i} = {value.replace('a', f'a{i - 1}')};" for i in range(1, lets + 1))
    return f"fun((a0 : 8.f32), {names} a{lets})"


CHAIN = "\n".join(
    ["def f0 = fun(x, x + 1.0)"]
    + [f"def f{i} = fun(x, f{i - 1}(f{i - 1}(x)))" for i in range(1, 41)]
    + ["def main = fun((a : 8.f32), a |> map(f40))"]
)
PROGRAMS = {
    "zips of zips": (doubling("zp(a, a)").replace("zp", "zip"), "parts when it is written out"),
    "pairs of pairs": (doubling("(a, a)"), "parts when it is written out"),
    "functions of functions": (CHAIN, "are inlined more than"),
}


@pytest.mark.rotating(7)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(1)
def test_exponential_programs_are_refused_where_they_become_too_large(name: str) -> None:
    text, problem = PROGRAMS[name]
    with pytest.raises(LimitationError, match=problem) as caught:
        parse_program(text, "large.rise")
    assert caught.value.location is not None
    (found,) = analyze(text).problems[:1]
    assert problem in found.message
    assert format_program(format_program(text)) == format_program(text)


def test_types_of_a_moderate_size_are_none_to_refuse() -> None:
    term = parse_term(doubling("(a, a)", 8))
    assert term.type.expanded_size > 2**8


def doubled(levels: int, leaf: RiseType = f32) -> RiseType:
    for _ in range(levels):
        leaf = pair(leaf, leaf)
    return leaf


def test_equal_types_are_one_object() -> None:
    assert doubled(60) is doubled(60)
    assert array(Nat.var("N") + 1, f32) is array(Nat.var("N") + 1, f32)


def test_walks_over_types_look_at_shared_parts_once() -> None:
    large = doubled(60, array("N", variable("t")))
    assert large.expanded_size == 3 * 2**60 - 1
    assert nat_variables(large) == {"N"}
    assert type_variables(large) == ("t",)
    assert binder_height(large) == 0
    assert contains_array(large)
    assert not large.is_closed
    assert substitute(large, {"N": Nat.const(4)}, {"t": f32}) == doubled(60, array(4, f32))
    assert format_type(large) == "(((... x ...) x (... x ...)) x ((... x ...) x (... x ...)))"


def test_types_are_unified_once_for_each_pair_of_parts() -> None:
    inference = Inference()
    unknown = inference.fresh_type()
    inference.unify(doubled(60, unknown), doubled(60))
    assert inference.resolve(unknown) == f32
    with pytest.raises(TypeMismatch):
        inference.unify(doubled(60, f32), doubled(60, i32))


def test_chains_of_unknowns_are_followed_once() -> None:
    inference = Inference()
    unknowns = [inference.fresh_type() for _ in range(2_000)]
    for one, other in pairwise(unknowns):
        inference.unify(one, other)
    inference.unify(unknowns[-1], f32)
    assert {inference.resolve(each) for each in unknowns} == {f32}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", ["(" * 20_000 + "a" + ")" * 20_000, " + ".join(["a"] * 4_000)])
def test_long_expressions_are_read_and_laid_out(text: str) -> None:
    program = f"fun((a : f32), {text})"
    try:
        parse_term(program)
    except RiseError as error:
        raise AssertionError(error.message) from None
    assert format_program(program)


def test_brackets_that_are_too_deep_are_refused_where_they_become_so() -> None:
    text = f"fun((a : f32), {'(' * 100_000}a{')' * 100_000})"
    with pytest.raises(LimitationError, match="brackets nest deeper than the limit") as caught:
        parse_program(text)
    assert caught.value.location is not None
    assert caught.value.location.column == len("fun((a : f32), ") + 30_000
