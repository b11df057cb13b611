"""Whether a rule keeps what programs compute: the check of every rule, and of every wrong one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from riselang.rewrite.core import Result, Setting, Success
from riselang.rewrite.paths import replace_at, subterm_at
from riselang.rewrite.rule import Rule
from riselang.rewrite.traversals import top_down
from riselang.term.nodes import Term
from support.checking import Inputs, inputs_of, interpreted
from support.numpy_scalars import Array
from support.programs import Program
from support.rule_contexts import context_of
from support.rule_instances import Instance, instance_of
from support.values import same

TRIES = 40
"""From the seeds of the instances with one number to those with the next."""
MOST_TRIES = 3 * TRIES
"""How many instances are tried at most to find one that a rule applies to."""
MIN_FRACTION = 0.1
"""Of the instances that are made, the share that a rule has to apply to."""
LUCK = 40
"""Tries that do not count, since those of a few instances may be many by chance."""
SETS = 3
"""How many sets of inputs an instance is tried with."""
ANOTHER = 1_000_000
"""From the seed of one set of inputs to that of another."""
WHOLE = 2
"""Whole numbers below this and above its opposite are added and multiplied without rounding."""


class Unsound(AssertionError):
    """A program computes something else after a rule was applied."""

    def __init__(self, instance: Instance, before: Program, seed: int, message: str):
        super().__init__(f"{instance.rule}, number {seed}, {message}")
        self.instance = instance
        self.before = before
        self.seed = seed


class Rare(AssertionError):
    """A rule applies to so few instances that the check says nothing."""


@dataclass(frozen=True)
class Found:
    """An instance, what the rule makes of it, and how many instances were tried to find it."""

    instance: Instance
    after: Term
    tries: int


def check_rule(rule: Rule, numbers: Iterable[int]) -> None:
    """Check the instances with these numbers; raises Unsound or Rare."""
    made, tries = 0, 0
    for number in numbers:
        found = find_instance(rule, number)
        check_instance(found, number)
        made, tries = made + 1, tries + found.tries
    if made < MIN_FRACTION * (tries - LUCK):
        raise Rare(f"{rule.name} applies to {made} of {tries} instances")


def find_instance(rule: Rule, number: int) -> Found:
    """The first instance that the rule applies to, from a seed on that follows from a number."""
    for attempt in range(MOST_TRIES):
        instance = instance_of(rule, number * TRIES + attempt)
        result = instance.rewritten() if instance is not None else None
        if instance is not None and isinstance(result, Success):
            return Found(instance, result.term, attempt + 1)
    raise Rare(f"{rule.name} applies to none of {MOST_TRIES} instances, number {number}")


def check_instance(found: Found, number: int) -> None:
    """The instance alone, and as a part of a larger program."""
    instance = found.instance
    before, after = instance.program(instance.body), instance.program(found.after)
    if found.after.type != instance.body.type:
        raise Unsound(instance, before, number, "changes the type")
    for seed in range(number, number + SETS * ANOTHER, ANOTHER):
        keeps_values(instance, before, after, seed)
    _check_in_context(found, number)


def _check_in_context(found: Found, number: int) -> None:
    instance, setting = found.instance, Setting(found.instance.float)
    context = context_of(instance, number)
    before, after = context.program(instance.body), context.program(found.after)
    by_hand = before.term
    for path in context.paths:
        result = instance.rule.run(subterm_at(before.term, path), setting)
        assert isinstance(result, Success), f"{instance.rule} does not apply in {before.term}"
        by_hand = replace_at(by_hand, path, result.term)
    if by_hand != after.term:
        message = f"gives something else in {before.term}"
        raise Unsound(instance, before, number, message)
    keeps_values(instance, before, after, number)
    first = Program(replayed(top_down(instance.rule).run(before.term, setting), before.term), 1)
    if first.term != after.term:
        keeps_values(instance, before, first, number)


def replayed(result: Result, before: Term) -> Term:
    """What a strategy gives, if its steps lead there from what was before."""
    assert isinstance(result, Success), result.reason
    term = before
    for step in result.steps:
        assert subterm_at(term, step.path) == step.before
        term = replace_at(term, step.path, step.after)
    assert term == result.term
    return term


def keeps_values(instance: Instance, before: Program, after: Program, seed: int) -> None:
    """Both programs give the same; raises Unsound."""
    compare = same if instance.float == "strict" else same_numbers
    choose = inputs_of if instance.float == "strict" else whole_inputs_of
    inputs = choose(before, seed)
    expected = interpreted(before, inputs)
    found = _interpreted_or_error(after, inputs)
    if isinstance(found, Exception) or not compare(found, expected):
        raise Unsound(
            instance,
            before,
            seed,
            f"is wrong:\n{before.term}\n~>\n{after.term}\n"
            f"of {inputs}\ngives {found}, but before {expected}",
        )


def _interpreted_or_error(program: Program, inputs: Inputs) -> list[Array] | Exception:
    """The results; or what is raised where a rule has made a program without a meaning."""
    try:
        return interpreted(program, inputs)
    except Exception as error:
        return error


def whole_inputs_of(program: Program, seed: int) -> Inputs:
    """Inputs for a program that may round otherwise: floats of which no sum is rounded."""
    source = np.random.default_rng(seed)

    def whole(values: Array) -> Array:
        if values.dtype.kind != "f":
            return values
        return np.asarray(source.integers(1 - WHOLE, WHOLE, values.shape)).astype(values.dtype)

    return [[whole(values) for values in arrays] for arrays in inputs_of(program, seed)]


def same_numbers(left: Sequence[Array], right: Sequence[Array]) -> bool:
    """The same, but for the sign of zeros."""
    pairs = zip(left, right, strict=True)
    return all(np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in pairs)
