"""Laws of other people that round otherwise apply to programs that permit it, and to no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import riselang as rl
import riselang.strategy as st
from riselang.rewrite.rule import RULES
from riselang.support.errors import UserError
from riselang.term.nodes import Term


@pytest.fixture
def backwards() -> Iterator[st.Rule]:
    @st.law("x : n.f32", permission=st.Permission.RELAXED)
    def sum_backwards() -> None:
        """x |> reverse |> reduce(add, 0.0) ~> x |> reduce(add, 0.0)"""

    yield sum_backwards
    del RULES[sum_backwards.name]


@pytest.fixture
def found() -> Iterator[st.Rule]:
    @st.rule("x : n.f32", permission=st.Permission.RELAXED)
    def found_backwards(term: Term) -> Term:
        """x |> reverse |> reduce(add, 0.0) ~> x |> reduce(add, 0.0)"""
        raise AssertionError("it is not even asked")

    yield found_backwards
    del RULES[found_backwards.name]


def program() -> Term:
    @rl.jit
    def total(x: rl.Array["N", rl.f32]):
        return x | rl.reverse | rl.reduce(rl.add, 0.0)

    return total.trace(N=8).term


@pytest.mark.parametrize("permission", ["strict", "contract"])
def test_it_does_not_apply_where_bits_are_kept(backwards: st.Rule, permission: str) -> None:
    with pytest.raises(UserError, match='only float="relaxed" permits'):
        st.derive(program(), st.top_down(backwards), float=permission)


def test_it_applies_where_they_need_not_be(backwards: st.Rule) -> None:
    derivation = st.derive(program(), st.top_down(backwards), float="relaxed")
    assert len(derivation) == 1
    assert st.check(derivation).is_right


def test_nor_does_one_that_a_function_finds(found: st.Rule) -> None:
    with pytest.raises(UserError, match='only float="relaxed" permits'):
        st.derive(program(), st.top_down(found), float="strict")


def test_it_stays_so_with_its_sizes_chosen(backwards: st.Rule) -> None:
    assert backwards().is_relaxed_only
    assert not any(rule.is_relaxed_only for rule in RULES.values() if rule.family == "algorithmic")
