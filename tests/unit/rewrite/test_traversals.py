"""Where traversals take a strategy: the order of places, the parts, and the paths of steps."""

from __future__ import annotations

import pytest

from riselang.notation.program import parse_term
from riselang.rewrite.combinators import ENDLESS_REASON, choice, fail, id_
from riselang.rewrite.core import Failure, Setting, Strategy, Success
from riselang.rewrite.paths import (
    Cursor,
    path_of_trail,
    replace_at,
    subterm_at,
    subterms_inside_out,
    subterms_outside_in,
)
from riselang.rewrite.rules.algorithmic import (
    blocked_reduce,
    map_fusion,
    map_interchange,
    peel_map,
    split_join,
)
from riselang.rewrite.rules.functions import beta
from riselang.rewrite.rules.lowering import map_as_loop, map_in_parallel, store_on_heap
from riselang.rewrite.rules.simplification import reverse_of_reverse
from riselang.rewrite.strategy_text import parse_strategy
from riselang.rewrite.traversals import (
    all_,
    argument,
    body,
    bottom_up,
    everywhere,
    function,
    inside,
    normalize,
    one,
    some,
    top_down,
)
from support.rewriting import inner, refused, rewritten, run
from support.rule_checking import replayed

NEST = "fun((x : 4.3.f32), x |> map(fun(row, row |> map(fun(e, sqrt(e))))))"
OUTER_LOOP = "fun((x : 4.3.f32), x |> mapSeq(fun(row, row |> map(fun(e, sqrt(e))))))"
INNER_LOOP = "fun((x : 4.3.f32), x |> map(fun(row, row |> mapSeq(fun(e, sqrt(e))))))"
BOTH_LOOPS = "fun((x : 4.3.f32), x |> mapSeq(fun(row, row |> mapSeq(fun(e, sqrt(e))))))"
INSIDE = (0, 1, 0)
"""From a map to the body of its function."""


def test_places_come_from_the_outside_in_and_the_other_way() -> None:
    term = inner("fun((a : f32, b : f32), (a + b) * sqrt(a))")
    paths = [path_of_trail(trail) for trail, _ in subterms_outside_in(term)]
    assert paths == [(), (0,), (0, 0), (0, 1), (1,), (1, 0)]
    assert [path_of_trail(trail) for trail, _ in subterms_inside_out(term)] == paths[::-1]
    for trail, part in subterms_outside_in(term):
        assert subterm_at(term, path_of_trail(trail)) is part
        assert replace_at(term, path_of_trail(trail), part) is term


def test_a_part_is_replaced_and_the_rest_kept() -> None:
    term = inner("fun((a : f32, b : f32), (a + b) * sqrt(a))")
    other = inner("fun((a : f32, b : f32), a - b)")
    expected = inner("fun((a : f32, b : f32), (a - b) * sqrt(a))")
    assert replace_at(term, (0,), other) == expected
    assert replace_at(term, (), other) == other


def test_a_cursor_goes_from_place_to_place() -> None:
    term = inner("fun((a : f32, b : f32), (a + b) * sqrt(a))")
    cursor = Cursor(term)
    for trail, part in (*subterms_outside_in(term), *subterms_inside_out(term)):
        cursor.move(path_of_trail(trail))
        assert cursor.subterm is part
    assert cursor.root() is term
    cursor.move((0,))
    cursor.subterm = inner("fun((a : f32, b : f32), a - b)")
    cursor.move((1, 0))
    cursor.subterm = inner("fun((a : f32, b : f32), b)")
    cursor.move((0, 1))
    assert cursor.subterm == inner("fun((a : f32, b : f32), b)")
    assert cursor.root() == inner("fun((a : f32, b : f32), (a - b) * sqrt(b))")
    with pytest.raises(IndexError):
        cursor.move((0, 2))


@pytest.mark.parametrize(
    ("strategy", "after", "path"),
    [
        (top_down(map_as_loop), OUTER_LOOP, ()),
        (bottom_up(map_as_loop), INNER_LOOP, INSIDE),
        (inside(map_as_loop), INNER_LOOP, INSIDE),
        (map_as_loop, OUTER_LOOP, ()),
        (function(argument(body(map_as_loop))), INNER_LOOP, INSIDE),
        (one(one(fail | body(map_as_loop))), INNER_LOOP, INSIDE),
        (some(some(body(map_as_loop))), INNER_LOOP, INSIDE),
        (one(some(all_(map_as_loop))), INNER_LOOP, INSIDE),
    ],
    ids=str,
)
def test_where_a_rule_is_applied(strategy: Strategy, after: str, path: tuple[int, ...]) -> None:
    result = run(strategy, NEST)
    assert isinstance(result, Success)
    assert result.term == inner(after)
    assert [step.path for step in result.steps] == [path]
    assert replayed(result, inner(NEST)) == result.term


def test_argument_is_the_array_of_a_map() -> None:
    before = "fun((x : 4.f32), x |> reverse |> reverse |> map(fun(e, sqrt(e))))"
    after = "fun((x : 4.f32), x |> map(fun(e, sqrt(e))))"
    assert rewritten(argument(reverse_of_reverse), before) == inner(after)


@pytest.mark.parametrize("name", ["body", "function", "argument", "inside"])
@pytest.mark.parametrize(
    "program",
    ["fun((x : f32), x)", "fun((x : f32), sqrt(x))", "fun((x : f32), 1.0)",
     "fun((x : 4.f32), x |> map(abs))"],
)  # fmt: skip
def test_a_part_that_is_not_there_is_refused(name: str, program: str) -> None:
    """At any term, also at those with fewer children."""
    for part in (inner(program), parse_term(program)):
        result = parse_strategy(f"{name}(fail)").run(part, Setting("strict"))
        assert isinstance(result, Failure)
        assert result.reason in (f"it has no {name}", "it never applies")


def test_all_some_and_one_count_children() -> None:
    sum_of_two = "fun((x : 4.f32, y : 4.f32), zip(x |> map(sqrt), y |> map(abs)))"
    term = inner(sum_of_two)
    both = function(some(map_as_loop)) >> some(map_as_loop)
    result = both.run(term, Setting("strict"))
    assert isinstance(result, Success)
    assert [step.path for step in result.steps] == [(0, 1), (1,)]
    assert isinstance(all_(map_as_loop).run(term, Setting("strict")), Failure)
    assert refused(one(fail), sum_of_two).reason == "it never applies"
    assert refused(some(id_), "fun((x : f32), x)").reason == "there is nothing inside"
    assert rewritten(all_(fail), "fun((x : f32), x)") == inner("fun((x : f32), x)")


def test_everywhere_applies_at_each_place_once() -> None:
    result = run(everywhere(map_as_loop), NEST)
    assert isinstance(result, Success)
    assert result.term == inner(BOTH_LOOPS)
    assert [step.path for step in result.steps] == [(), INSIDE]
    assert replayed(result, inner(NEST)) == result.term
    assert rewritten(everywhere(reverse_of_reverse), NEST) == inner(NEST)


def test_a_normal_form_is_one_where_nothing_applies() -> None:
    many = "fun((x : 4.f32), x |> map(sqrt) |> map(abs) |> map(floor) |> map(ceil))"
    one_map = "fun((x : 4.f32), x |> map(fun(e, ceil(floor(abs(sqrt(e)))))))"
    result = run(normalize(map_fusion), many)
    assert isinstance(result, Success)
    assert result.term == inner(one_map)
    assert replayed(result, inner(many)) == result.term
    again = normalize(map_fusion).run(result.term, Setting("strict"))
    assert again == Success(result.term)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "strategy",
    [
        normalize(store_on_heap),
        normalize(split_join(3)),
        normalize(top_down(peel_map(1)) | fail),
        everywhere(store_on_heap),
        everywhere(split_join(3)),
        everywhere(choice(beta, split_join(1))),
    ],
    ids=str,
)
def test_a_strategy_that_applies_to_what_it_makes_for_ever_is_refused(strategy: Strategy) -> None:
    failure = refused(strategy, NEST)
    assert failure.reason == ENDLESS_REASON
    assert failure.strategy == strategy


def test_a_rule_that_swaps_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows nothing, but changes the term each time."""
    monkeypatch.setattr("riselang.rewrite.traversals.MAX_STEPS", 50)
    swapped = "fun((x : 4.f32), x |> reverse |> map(fun(e, sqrt(e))))"
    swap = parse_strategy("reverse_before_map | map_before_reverse")
    failure = refused(normalize(swap), swapped)
    assert failure.reason == "it still applies after 50 steps"


def test_a_failure_says_where_it_came_closest() -> None:
    sums = "fun((x : 4.3.f32), x |> map(fun(row, row |> reduce(add, 0.0))))"
    failure = refused(top_down(blocked_reduce(2)), sums)
    assert failure.path == INSIDE
    assert failure.reason == "3 is not a multiple of 2"
    nothing = refused(top_down(map_interchange | map_in_parallel >> fail), "fun((x : f32), x)")
    assert nothing.path == ()


@pytest.mark.rotating(3)
def test_a_long_program_needs_no_more_stack() -> None:
    chain = "x" + " |> reverse" * 1000
    text = f"fun((x : 4.f32), {chain})"
    assert rewritten(normalize(reverse_of_reverse), text) == inner("fun((x : 4.f32), x)")
    assert rewritten(everywhere(fail), text) == inner(text)
