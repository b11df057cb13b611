"""Every rule keeps what programs compute, wherever it is applied; and refuses what it cannot do.

`RISE_FUZZ_SEED=7` with `-k map_fusion` begins with the seventh instance of a rule.
"""

from __future__ import annotations

from functools import partial

import pytest

from riselang.rewrite.core import CONDITION, Failure, Setting, Success
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES, Permission, Rule
from riselang.rewrite.traversals import top_down
from support.fuzzing import Ran, seeds
from support.programs import Program
from support.rule_checking import (
    TRIES,
    Unsound,
    check_rule,
    find_instance,
    keeps_values,
)
from support.rule_instances import Instance, instance_of
from support.shrinking import holds

load_all()
ROUNDED = (
    "softmax_in_one_pass", "weighted_sums_in_one_pass", "guarded_sums_in_one_pass",
    "attend_with_tensor_cores", "attend_causally_with_tensor_cores", "scale_after_products",
    "split_depth",
)  # fmt: skip
"""Rules of `exp`, which rounds even whole numbers, and of sums of products of `bf16`, which may be
large: tests/unit/gpu has tests of these."""
WITH_PARAMETERS = [
    name for name, rule in RULES.items() if 0 < len(rule.parameters) < 4 and name not in ROUNDED
]
"""Those with a few parameters, which are all given the same value."""
RELAXED = [
    name
    for name, rule in RULES.items()
    if rule.permission is Permission.RELAXED and not name.endswith(("_in_any_order", "_order_f64"))
]
"""Those that need a permission for the program; the others need `any` at the operation."""
VALUES = range(8)
"""What the parameters of rules are given, whether that fits or not."""
TAKES_ANY = (
    "circular_buffer", "circular_buffer_of_slide", "fetch_ahead", "pad_map", "pad_accumulating",
    "pad_map_with_zeros", "pad_both_with_zeros", "pad_accumulating_with_zeros", "version_by_size",
    "map_over_ranks", "reduce_over_ranks", "shard_array", "pad_windows", "pad_windows_2d",
)  # fmt: skip
"""Rules whose parameter only says how much memory there is, or which version runs."""


@pytest.mark.parametrize("name", [name for name in RULES if name not in ROUNDED])
@seeds(4, nightly=16, fuzzed=1000, batch=250)
@pytest.mark.sampled(17)
def test_programs_compute_the_same(name: str, seeds: range, ran: Ran) -> None:
    try:
        check_rule(RULES[name], seeds)
    except Unsound as error:
        holds(partial(is_kept, error.instance, error.seed), error.before)
        raise
    ran("instances of rules: the same before and after", len(seeds))


def is_kept(instance: Instance, seed: int, program: Program) -> None:
    """The program is the same after the rule, where that applies: for making programs small."""
    result = top_down(instance.rule).run(program.term, Setting(instance.float))
    if isinstance(result, Success):
        keeps_values(instance, program, Program(result.term, program.results), seed)


@pytest.mark.parametrize("name", WITH_PARAMETERS)
@seeds(8, nightly=8, fuzzed=200, batch=50)
@pytest.mark.sampled(4)
def test_any_parameter_is_rejected_or_right(name: str, seeds: range) -> None:
    answers = {Success: 0, Failure: 0}
    for seed in seeds:
        found = find_instance(RULES[name], seed)
        instance = found.instance
        for value in VALUES:
            chosen = instance.rule(*[value] * len(instance.rule.parameters))
            result = chosen.run(instance.body, Setting(instance.float))
            answers[type(result)] += 1
            if isinstance(result, Success):
                before, after = (instance.program(t) for t in (instance.body, result.term))
                keeps_values(instance, before, after, seed)
    assert answers[Success] > 0
    assert answers[Failure] > 0 or name in TAKES_ANY, "no value was refused"


@pytest.mark.sampled(14)
@pytest.mark.parametrize("permission", ["strict", "contract"])
@pytest.mark.parametrize("name", RELAXED)
def test_floats_are_only_regrouped_with_permission(name: str, permission: str) -> None:
    instance = of_floats(RULES[name])
    assert isinstance(instance.rewritten(), Success)
    refused = instance.rule.run(instance.body, Setting(permission))
    assert isinstance(refused, Failure)
    assert refused.closeness == CONDITION
    assert "only" in refused.reason
    assert 'float="relaxed"' in refused.reason


def of_floats(rule: Rule) -> Instance:
    """An instance that adds or multiplies floats, to which the rule applies."""
    for seed in range(TRIES):
        instance = instance_of(rule, seed)
        if instance is None or instance.float != "relaxed":
            continue
        if isinstance(instance.rewritten(), Success):
            return instance
    raise AssertionError(f"no instance of {rule.name} is about sums of floats")


def test_instances_have_all_that_goes_wrong_first() -> None:
    """Empty arrays, arrays of arrays and of pairs, special floats: not only what is easy."""
    seen = [find_instance(RULES["map_fusion"], number).instance for number in range(60)]
    types = " ".join(str(each.type) for instance in seen for each in instance.inputs)
    for part in ("array<0", "tuple<", "f32", "i8", "vector<", "array<2, array<"):
        assert part in types, part
