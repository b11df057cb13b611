"""The cached sides of a law are equal to its parsed sides."""

from __future__ import annotations

import pytest

from riselang.rewrite.law_cache import load_sides
from riselang.rewrite.laws import Law
from riselang.rewrite.registry import RULE_FAMILIES, load_all
from riselang.rewrite.rule import RULES

load_all()
BUILT_IN_LAWS = {name: rule.law for name, rule in RULES.items() if rule.family in RULE_FAMILIES}


@pytest.mark.parametrize("name", BUILT_IN_LAWS)
def test_the_cache_contains_the_parsed_law(name: str) -> None:
    cached_sides = load_sides(BUILT_IN_LAWS[name].text)
    assert cached_sides is not None, "law_cache.json lacks this law; run make docs-tables"
    for cached, parsed in zip(cached_sides, BUILT_IN_LAWS[name].parse_sides(), strict=True):
        assert cached == parsed
        assert repr(cached) == repr(parsed)  # the variables have the same names


def test_a_user_defined_law_is_not_in_the_cache() -> None:
    law = Law.parse("f : s -> t, xs : n.s", "xs |> map(f) |> take(m) ~> xs |> take(m) |> map(f)")
    assert load_sides(law.text) is None
    assert law.sides == law.parse_sides()


def test_a_changed_law_is_not_taken_from_the_cache() -> None:
    law = next(iter(BUILT_IN_LAWS.values()))
    assert load_sides(Law(law.parameters, law.right, law.left, law.form).text) != law.sides
