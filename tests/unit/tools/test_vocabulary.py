"""`rise rules`, `rise strategies` and the listings of `rise-opt`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from riselang.rewrite.glossary import definitions_of
from riselang.rewrite.registry import ENTRIES, load_all, names_by_kind, vocabulary
from riselang.rewrite.rule import RULES
from riselang.tools import rise, rise_opt
from riselang.tools.vocabulary import describe_rule, describe_strategy, list_rules, list_strategies

load_all()


def printed(
    main: Callable[[Sequence[str]], None], capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    with suppress(SystemExit):
        main(arguments)
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_every_rule_is_listed_with_its_law() -> None:
    text = list_rules()
    for rule in RULES.values():
        assert f"  {rule.name}" in text
        assert str(rule.law) in text
    assert "where f is associative and commutative; a is neutral for f\n" in text
    assert 'on floats only with float="relaxed"\n' in text


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_shown_in_full(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riselang.tools.vocabulary.law_status", lambda rule: "tested")
    text = describe_rule(name)
    assert text.startswith(name)
    assert f"  law         {RULES[name].law}\n  for all     " in text


def test_a_rule_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(rise.main, capsys, "rules", "partial_reduce")
    assert text.startswith("partial_reduce(m)\n  law         x |> reduce(f, a) ~> x |> split(m)")
    for line in (
        "  for all     f : t -> t -> t, a : t, x : (n * m).t\n",
        "  you choose  m\n",
        "  condition   f is associative and commutative; a is neutral for f\n",
        "  permission  relaxed: it adds or multiplies in a different order",
        "  status      ",
        "  Each block has its own reduction, so blocks can be reduced in parallel.\n",
    ):
        assert line in text


def test_every_word_of_strategies_is_listed() -> None:
    text = list_strategies()
    for name in vocabulary():
        if name not in RULES:
            assert f"\n  {name}" in text
    assert "  a >> b    " in text
    assert "  tile(*sizes) " in text


@pytest.mark.parametrize("name", ENTRIES)
def test_every_strategy_is_shown_in_full(name: str) -> None:
    assert describe_strategy(name).startswith(name)
    assert ENTRIES[name].summary in describe_strategy(name)


def test_a_schedule_without_arguments_says_what_it_is_made_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert printed(rise.main, capsys, "strategies", "hoist") == (
        "hoist()\n"
        "  Computes loop-invariant values before the loops, as far outside as possible.\n"
        "  = repeat(top_down(hoist_from_map | hoist_from_reduce)) >> normalize(inline_free_let)\n"
    )


@pytest.mark.parametrize("kind", names_by_kind())
def test_every_word_says_what_it_does(kind: str) -> None:
    assert all(word.summary.endswith(".") for word in definitions_of(kind))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rules", "map_fuson"), "there is no rule map_fuson; did you mean map_fusion?"),
        (("rules", "zzz"), "there is no rule zzz; 'rise rules' lists all"),
        (("strategies", "tlie"), "there is no strategy tlie; did you mean tile?"),
        (("strategies", "zzz"), "there is no strategy zzz; 'rise strategies' lists all"),
    ],
)
def test_a_name_that_is_unknown_has_a_hint(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert printed(rise.main, capsys, *arguments) == f"error: {message}\n"


def test_rise_opt_lists_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(rise_opt.main, capsys, "--list-rules") == list_rules()
    assert printed(rise_opt.main, capsys, "--list-strategies") == list_strategies()
    assert printed(rise.main, capsys, "rules") == list_rules()
    assert printed(rise.main, capsys, "strategies") == list_strategies()
