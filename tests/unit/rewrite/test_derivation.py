"""Derivations: shown, kept, replayed and compared; and what is said where a strategy fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from riselang.notation.program import parse_term
from riselang.rewrite.derivation import Derivation, derive, replay
from riselang.rewrite.paths import replace_at, subterm_at
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from support.rewriting import derived

DOT = """fun((x : 8.f32, y : 8.f32),
  zip(x, y) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0))"""
BLOCKS = "fuse() >> split(4) @ outermost('reduce')"
Kept = dict[str, Any]


def blocks() -> Derivation:
    return derived(DOT, BLOCKS)


def test_the_terms_on_the_way() -> None:
    made = blocks()
    terms = list(made.terms())
    assert len(terms) == len(made) + 1 == 3
    assert (terms[0], terms[-1]) == (made.start, made.end)
    for before, step, after in zip(terms, made.steps, terms[1:], strict=False):
        assert subterm_at(before, step.path) == step.before
        assert replace_at(before, step.path, step.after) == after


def test_it_is_shown_step_by_step() -> None:
    assert (
        str(blocks())
        == """\
fun((x : 8.f32, y : 8.f32),
  zip(x, y) |> map(mult) |> reduce(add, 0.0))

-- 1. reduce_map_fusion: x |> map(g) |> reduce(f, a) ~> x |> reduce(fun((acc, e), f(acc, g(e))), a)
fun((x : 8.f32, y : 8.f32),
  ⟦zip(x, y) |> reduce(fun((x0, p), x0 + fst(p) * snd(p)), 0.0)⟧)

-- 2. blocked_reduce(m=4): x |> reduce(f, a) ~> x |> split(m) |> reduce(fun((acc, block), \
block |> reduce(f, acc)), a)
fun((x : 8.f32, y : 8.f32),
  ⟦zip(x, y) |> split(4) |> reduce(
     fun((x0, ps),
       ps |> reduce(fun((x01, p), x01 + fst(p) * snd(p)), x0)),
     0.0)⟧)
"""
    )


def test_it_is_kept_and_replayed() -> None:
    made = blocks()
    again = replay(made.to_json())
    assert again == made
    assert again.to_json() == made.to_json()


def test_nothing_done_is_a_derivation_too() -> None:
    made = derived(DOT, "id")
    assert len(made) == 0
    assert replay(made.to_json()) == made


# Damage


def at_top(key: str, value: Any) -> Callable[[Kept], None]:
    return lambda kept: kept.update({key: value})


def without(key: str) -> Callable[[Kept], None]:
    return lambda kept: kept.pop(key)


def in_step(key: str, value: Any) -> Callable[[Kept], None]:
    return lambda kept: kept["steps"][1].update({key: value})


DAMAGES: dict[str, tuple[Callable[[Kept], Any], str]] = {
    "no program": (without("program"), "it needs program, float, strategy, end and steps"),
    "no steps": (without("steps"), "it needs program, float, strategy, end and steps"),
    "no end": (without("end"), "it needs program"),
    "steps that are none": (at_top("steps", 3), "it needs program"),
    "a program that is no text": (at_top("program", 3), "it needs program"),
    "no version": (without("version"), "has version None, but expected version 1"),
    "another version": (at_top("version", 2), "has version 2, but expected version 1"),
    "a program with a mistake": (at_top("program", "fun((x : 4.f32), y)"), "y"),
    "another program": (at_top("program", "fun((x : f32), x)"), "step 1: "),
    "another end": (at_top("end", "0" * 64), "the steps result in a different program"),
    "a step that is none": (lambda kept: kept["steps"].append(3), "a step needs a rule, a path"),
    "a step without a rule": (lambda kept: kept["steps"][0].pop("rule"), "a step needs a rule"),
    "a step without a path": (lambda kept: kept["steps"][0].pop("path"), "a step needs a rule"),
    "a step without a result": (lambda kept: kept["steps"][0].pop("result"), "a step needs a rule"),
    "a path of texts": (in_step("path", ["0"]), "a step needs a rule"),
    "a negative place": (in_step("path", [-1]), "a step needs a rule"),
    "a place that is true": (in_step("path", [True]), "a step needs a rule"),
    "a place that is not there": (
        in_step("path", [0, 7]),
        "step 2: the program has no subterm at this path",
    ),
    "a place for nothing": (
        in_step("path", [0] * 500),
        "step 2: the program has no subterm at this path",
    ),
    "another place": (in_step("path", []), "step 2: blocked_reduce(m=4) does not apply"),
    "an unknown rule": (in_step("rule", "map_fussion"), "did you mean map_fusion"),
    "a rule that is a text": (in_step("rule", "'x'"), "expected a strategy"),
    "a strategy for a rule": (in_step("rule", "top_down(beta)"), "top_down(beta) is not a rule"),
    "a rule that does not apply": (in_step("rule", "map_fusion"), "map_fusion does not apply"),
    "another size": (
        in_step("rule", "blocked_reduce(m=2)"),
        "has a different result than the saved one",
    ),
    "a size that does not fit": (in_step("rule", "blocked_reduce(m=3)"), "not a multiple of 3"),
    "another result": (in_step("result", "0" * 16), "has a different result than the saved one"),
    "a step less": (lambda kept: kept["steps"].pop(), "the steps result in a different program"),
    "a step twice": (lambda kept: kept["steps"].append(kept["steps"][0]), "does not apply"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_derivation_is_refused(damage: str) -> None:
    change, message = DAMAGES[damage]
    kept = json.loads(blocks().to_json())
    change(kept)
    with pytest.raises(UserError) as caught:
        replay(json.dumps(kept), "some.json")
    assert message in caught.value.message
    assert "some.json" in str(caught.value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "\0", '"x"', "[" * 100_000])
def test_what_is_no_derivation_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"some\.json is not a derivation"):
        replay(text, "some.json")


def test_any_cut_is_refused() -> None:
    text = blocks().to_json()
    for end in range(0, len(text.rstrip()), 7):
        with pytest.raises(UserError):
            replay(text[:end])


# Differences


def test_what_two_derivations_have_in_common() -> None:
    other = derived(DOT, "fuse() >> split(2) @ outermost('reduce')")
    assert (
        blocks().diff(other)
        == """\
  reduce_map_fusion at 0.0
- blocked_reduce(m=4) at 0.0
+ blocked_reduce(m=2) at 0.0
different programs
"""
    )


def test_two_ways_to_the_same_program() -> None:
    detour = derived(DOT, f"{BLOCKS} >> body(body(unblocked_reduce(m=4))) >> body(body(split(4)))")
    assert (
        blocks().diff(detour)
        == """\
  reduce_map_fusion at 0.0
  blocked_reduce(m=4) at 0.0
+ unblocked_reduce(m=4) at 0.0
+ blocked_reduce(m=4) at 0.0
both give the same program
"""
    )


# Failures


def failure(program: str, strategy: str) -> str:
    with pytest.raises(UserError) as caught:
        derive(parse_term(program, "dot.rise"), parse_strategy(strategy))
    return str(caught.value)


def test_a_failure_marks_the_place_and_says_what_was_done() -> None:
    assert (
        failure(DOT, "fuse() >> split(3) @ outermost('reduce')")
        == """\
dot.rise:2:48: error: the strategy fuse() >> split(3) @ outermost('reduce') does not apply: \
blocked_reduce(m=3) failed, since 8 is not a multiple of 3
    zip(x, y) |> map(fun(p, fst(p) * snd(p))) |> reduce(add, 0.0))
                                                 ^^^^^^
note: this is where it was tried:
fun((x : 8.f32, y : 8.f32),
  ⟦zip(x, y) |> reduce(fun((x0, p), x0 + fst(p) * snd(p)), 0.0)⟧)
note: blocked_reduce is the law x |> reduce(f, a) ~> x |> split(m) |> reduce(fun((acc, block), \
block |> reduce(f, acc)), a)
note: 1 step was applied before this one"""
    )


def test_a_failure_has_the_location_of_the_part_it_was_tried_at() -> None:
    text = failure(DOT, "split(3) @ outermost('reduce')")
    assert text.startswith("dot.rise:2:48: error: the strategy split(3) @ outermost('reduce')")


def test_a_failure_without_steps_says_nothing_of_them() -> None:
    text = failure(DOT, "split(4) @ outermost('scan')")
    assert "failed, since the program does not have the outermost scan" in text
    assert "before" not in text


def test_a_failure_counts_the_steps() -> None:
    assert "note: 2 steps were applied before this one" in failure(DOT, f"{BLOCKS} >> fail")


def test_a_size_that_the_program_does_not_have_is_refused() -> None:
    slide = "fun((x : 6.f32), x |> slide(3, 1))"
    text = failure(slide, "top_down(circular_buffer_of_slide('q'))")
    assert "uses q, which is not a size of the program" in text


def test_a_rule_alone_says_how_to_look_for_a_place() -> None:
    with pytest.raises(UserError, match=r"top_down\(map_fusion\) looks for a subterm") as caught:
        derived(DOT, "map_fusion")
    assert "a rule alone applies to the whole program" in str(caught.value)
