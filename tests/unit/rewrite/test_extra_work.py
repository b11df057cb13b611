"""Rules state which functions they apply more often, and programs may do that work and no more."""

from __future__ import annotations

from typing import Any

import pytest

import riselang as rl
from riselang.api.lowered import Lowered
from riselang.rewrite.extra_work import added_work, extra_work, format_extra_work
from riselang.rewrite.registry import load_all
from riselang.rewrite.rule import RULES
from riselang.support.errors import InternalError
from support.work import check_lowered_work, check_work

load_all()
WINDOWS = "fun((x : 18.f32) => x |> map(fun(a => exp(a))) |> slide(3, 1) |> map(reduce(add, 0.0)))"


@pytest.mark.parametrize("name", ["map_fusion", "map_fission", "split_join", "share_rows"])
def test_most_rules_add_no_work(name: str) -> None:
    assert extra_work(RULES[name]) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("slide_before_map", "`f` is applied `n * sz` times instead of `n * sp - sp + sz`"),
        ("pad_map_with_zeros", "`f` is applied `m + n` times instead of `n`"),
        ("partial_reduce", "`f` is applied `m * n + n` times instead of `m * n`"),
    ],
)
def test_the_law_says_how_much_is_computed_again(name: str, text: str) -> None:
    assert format_extra_work(RULES[name]) == text


def lowered(strategy: str) -> Lowered:
    program: Any = rl.loads(f"def main = {WINDOWS}", name="windows.rise", strategy=strategy)
    return program.main.lower()


def test_loops_may_do_the_work_that_a_rule_adds() -> None:
    program = lowered("top_down(slide_before_map)")
    check_lowered_work(program)
    costs = program.cost_analysis()
    assert costs.work is not None
    assert costs.optimized_work is not None
    assert added_work(program.derivation).operations == (3 * 16 - 18) * 16
    with pytest.raises(InternalError, match="store what they compute repeatedly"):
        check_work("windows", costs.work, costs.optimized_work)


def test_other_rules_permit_no_more_work() -> None:
    assert added_work(lowered("none").derivation).total == 0
    assert added_work(lowered("top_down(split_join(4))").derivation).total == 0
