"""Laws that are kept as terms are those that their texts say."""

from __future__ import annotations

import pytest

from riselang.rewrite.law_cache import load_sides
from riselang.rewrite.laws import Law
from riselang.rewrite.registry import RULE_FAMILIES, load_all
from riselang.rewrite.rule import RULES

load_all()
OURS = {name: rule.law for name, rule in RULES.items() if rule.family in RULE_FAMILIES}


@pytest.mark.parametrize("name", OURS)
def test_a_law_is_kept_as_its_text_says_it(name: str) -> None:
    kept = load_sides(OURS[name].text)
    assert kept is not None, "law_cache.json lacks this law; run make docs-tables"
    for mine, read in zip(kept, OURS[name].parse_sides(), strict=True):
        assert mine == read
        assert repr(mine) == repr(read)  # the names are those of the law, too


def test_a_law_of_somebody_else_is_read_from_its_text() -> None:
    law = Law.parse("f : s -> t, xs : n.s", "xs |> map(f) |> take(m) ~> xs |> take(m) |> map(f)")
    assert load_sides(law.text) is None
    assert law.sides == law.parse_sides()


def test_a_changed_law_is_another() -> None:
    law = next(iter(OURS.values()))
    assert load_sides(Law(law.parameters, law.right, law.left, law.form).text) != law.sides
