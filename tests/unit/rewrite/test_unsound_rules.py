"""The check of rules detects unsound rules."""

from __future__ import annotations

import pytest

from riselang.rewrite.rule import RULES, Rule
from support.rule_checking import Unsound, check_rule
from support.unsound_rules import UNSOUND_RULES

WRONG = [name for name in UNSOUND_RULES if "__" in name]
NUMBERS = range(25)
"""The instances that every rule is checked with in a normal run."""


def counterpart(name: str) -> Rule:
    """The right rule, of which a wrong one is a variant."""
    right = name.partition("__")[0]
    return UNSOUND_RULES[right] if right in UNSOUND_RULES else RULES[right]


def test_there_are_many_and_the_registry_has_none_of_them() -> None:
    assert len(WRONG) >= 24
    assert not UNSOUND_RULES.keys() & RULES.keys()


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.sampled(12)
def test_a_wrong_rule_is_found(name: str) -> None:
    with pytest.raises(Unsound):
        check_rule(UNSOUND_RULES[name], NUMBERS)


@pytest.mark.parametrize("right", sorted({counterpart(name).name for name in WRONG}))
@pytest.mark.sampled(12)
def test_the_right_rule_is_accepted(right: str) -> None:
    check_rule(UNSOUND_RULES[right] if right in UNSOUND_RULES else RULES[right], NUMBERS[:5])
