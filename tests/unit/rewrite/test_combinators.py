"""Strategies put together: what they do to a term, and what they say where they fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from riselang.rewrite.combinators import (
    ENDLESS_REASON,
    Named,
    choice,
    fail,
    id_,
    not_,
    repeat,
    seq,
    try_,
)
from riselang.rewrite.core import CONDITION, Strategy, Success
from riselang.rewrite.rules.algorithmic import map_fusion, split_join
from riselang.rewrite.rules.lowering import map_as_loop, store_on_heap
from riselang.rewrite.rules.simplification import reverse_of_reverse
from riselang.rewrite.strategies.schedules import tile
from riselang.rewrite.traversals import argument, body, inside, top_down
from riselang.support.errors import UserError
from support.rewriting import inner, refused, rewritten, run

MAPS = "fun((x : 4.f32), x |> map(sqrt) |> map(abs) |> map(floor))"
FUSED = "fun((x : 4.f32), x |> map(sqrt) |> map(fun(e, floor(abs(e)))))"
REVERSED = "fun((x : 4.f32), x |> reverse |> reverse |> reverse |> reverse |> reverse)"


def test_id_keeps_and_fail_refuses() -> None:
    assert rewritten(id_, MAPS) == inner(MAPS)
    assert refused(fail, MAPS).reason == "it never applies"


def test_a_sequence_has_the_steps_of_all_in_order() -> None:
    result = run(map_fusion >> map_fusion >> map_as_loop, MAPS)
    assert isinstance(result, Success)
    assert [str(step.rule) for step in result.steps] == ["map_fusion", "map_fusion", "map_as_loop"]
    for one, next_one in zip(result.steps, result.steps[1:], strict=False):
        assert one.after == next_one.before


def test_a_sequence_fails_with_what_was_done_before() -> None:
    failure = refused(map_fusion >> reverse_of_reverse, MAPS)
    assert failure.strategy == reverse_of_reverse
    assert [str(step.rule) for step in failure.steps] == ["map_fusion"]
    assert failure.term == inner(FUSED)


def test_a_choice_takes_the_first_that_applies() -> None:
    assert rewritten(reverse_of_reverse | map_fusion | fail, MAPS) == inner(FUSED)
    assert rewritten(id_ | map_fusion, MAPS) == inner(MAPS)


def test_a_choice_gives_the_reason_that_came_closest() -> None:
    failure = refused(fail | split_join(3) | reverse_of_reverse, MAPS)
    assert failure.strategy == split_join(3)
    assert failure.closeness == CONDITION


def test_try_leaves_the_term_where_it_fails() -> None:
    assert rewritten(try_(fail), MAPS) == inner(MAPS)
    assert rewritten(try_(map_fusion >> fail), MAPS) == inner(MAPS)
    assert rewritten(try_(map_fusion), MAPS) == inner(FUSED)


def test_not_changes_nothing_and_fails_where_it_applies() -> None:
    assert rewritten(not_(reverse_of_reverse), MAPS) == inner(MAPS)
    assert refused(not_(map_fusion), MAPS).reason == "map_fusion applies here"


def test_repeat_goes_on_as_long_as_it_applies() -> None:
    assert rewritten(repeat(reverse_of_reverse), REVERSED) == inner(
        "fun((x : 4.f32), x |> reverse)"
    )
    assert rewritten(repeat(fail), REVERSED) == inner(REVERSED)


def test_repeat_counts() -> None:
    once = "fun((x : 4.f32), x |> reverse |> reverse |> reverse)"
    assert rewritten(repeat(reverse_of_reverse, 1), REVERSED) == inner(once)
    assert rewritten(repeat(reverse_of_reverse, 0), REVERSED) == inner(REVERSED)
    failure = refused(repeat(reverse_of_reverse, 3), REVERSED)
    assert len(failure.steps) == 2
    with pytest.raises(UserError, match="expected a count of 0 or more, but found -1"):
        repeat(reverse_of_reverse, -1)


def test_repeat_ends_where_nothing_changes() -> None:
    assert rewritten(repeat(id_), REVERSED) == inner(REVERSED)
    assert rewritten(repeat(try_(fail)), REVERSED) == inner(REVERSED)


@pytest.mark.parametrize("strategy", [store_on_heap, top_down(store_on_heap)])
def test_repeat_ends_for_rules_that_grow_for_ever(strategy: Strategy) -> None:
    failure = refused(repeat(strategy), MAPS)
    assert failure.reason == ENDLESS_REASON
    assert failure.term.depth > inner(MAPS).depth


def test_strategies_that_are_made_alike_are_equal() -> None:
    def make() -> Strategy:
        inner_parts = inside(map_fusion) | argument(body(try_(not_(map_fusion))))
        return seq(inner_parts, repeat(tile(2, 2), 2), Named("n", choice(id_, fail)))

    assert make() == make()
    assert hash(make()) == hash(make())
    assert split_join(2) != split_join(4)
    assert split_join(2) != split_join


def test_strategies_without_parts() -> None:
    assert seq() == id_
    assert choice() == fail
    assert seq(map_fusion) == map_fusion
    assert seq(seq(id_, fail), map_fusion) == seq(id_, fail, map_fusion)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: split_join(1, 2), r"split_join takes 1 parameter \(m\), but got 2"),
        (lambda: split_join(k=1), "split_join has no parameter k; it has: m"),
        (lambda: split_join(-1), "m must be a size, but is -1"),
        (lambda: split_join("n n"), "m must be a size, but is 'n n'"),
        (lambda: map_fusion(1), "map_fusion takes no parameters, but got 1"),
        (lambda: tile(), "tile needs the size of a tile"),
        (lambda: tile(4, -1), "must be at least 1"),
    ],
)
def test_parameters_are_checked(call: Callable[[], Strategy], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call()
