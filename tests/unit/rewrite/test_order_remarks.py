"""Remarks on reductions whose order limits their speed."""

from __future__ import annotations

from typing import Any

import pytest

import riselang as rl
from riselang.explorer.explore import explore
from riselang.notation.program import parse_term
from riselang.rewrite.core import Setting
from riselang.rewrite.strategies.order_remarks import order_remarks
from riselang.support.machine import Machine, assume_machine
from riselang.term.contraction import contract
from riselang.tools import rise

DOT = "fun((x : {0}.f32, y : {0}.f32), zip(x, y) |> map(mult) |> reduce({1}, 0.0))"


CACHES = ((1, 1 << 22), (2, 1 << 23), (3, 1 << 24))


def factors(text: str, float: str = "contract", machine: Machine | None = None) -> list[float]:
    with assume_machine(machine or Machine(32, 16)):
        remarks = order_remarks(contract(parse_term(text)), Setting(float))
    return [remark.factor for remark in remarks]


def test_a_long_dot_product_has_a_remark() -> None:
    (factor,) = factors(DOT.format(1 << 16, "add"))
    assert factor > 4


def test_wider_vectors_gain_more() -> None:
    (narrow,), (wide,) = (
        factors(DOT.format(1 << 16, "add"), machine=Machine(bytes, 32, caches=CACHES))
        for bytes in (16, 64)
    )
    assert narrow < wide


def test_memory_limits_the_gain() -> None:
    (short,), (long,) = (factors(DOT.format(length, "add")) for length in (1 << 16, 1 << 26))
    assert long < short


@pytest.mark.parametrize(
    "text",
    [
        DOT.format(64, "add"),
        "fun((x : 2048.64.f32), x |> map(fun(r, r |> reduce(add, 0.0))))",
        DOT.format("N", "add"),
        DOT.format(1 << 16, "add[any]"),
        DOT.format(1 << 16, "max"),
        "fun((x : 65536.i32), x |> reduce(add, 0))",
        "fun((x : 65536.f32), x |> reduce(add, 1.0))",
        "fun((x : 65536.f32), x |> reduce(fun((a, b), a * a + b), 0.0))",
        "fun((x : 65536.f32), x |> reduce(fun((a, b), a + exp(sin(b))), 0.0))",
        "fun((i : 65536.i32, x : 8.f32), i |> reduce(fun((a, k), a + at(clampIdx(8, k), x)), 0.0))",
    ],
)
def test_what_would_not_be_faster_has_none(text: str) -> None:
    assert factors(text) == []


def test_relaxed_programs_have_none() -> None:
    assert factors(DOT.format(1 << 16, "add"), "relaxed") == []


@rl.jit
def norm(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda a: a * a) | rl.reduce(rl.add, 0.0)


def test_explain_names_the_reduction() -> None:
    text = norm.lower(N=1 << 17).explain()
    assert "test_order_remarks.py:" in text
    assert "a reduction of 131072 elements from left to right: about" in text
    assert 'times as fast with order="any" or float="relaxed"' in text
    relaxed = rl.jit(norm.function, float="relaxed").lower(N=1 << 17).explain()
    assert "left to right" not in relaxed
    assert "sums at a time" in relaxed


def test_explain_lists_the_rules_of_a_strategy() -> None:
    lowered = rl.jit(norm.function, strategy="top_down(reduce_as_loop)").lower(N=1 << 17)
    assert lowered.explain().startswith("reduce_as_loop: 1 step\n")
    plain = rl.jit(norm.function, strategy="none").lower(N=16)
    assert plain.explain() == "the program is unchanged"


def test_the_explorer_has_a_note() -> None:
    notes = explore(norm, N=1 << 17).data["notes"]
    assert any("from left to right" in note for note in notes)


def test_derive_prints_the_remark(tmp_path: Any, capsys: Any) -> None:
    file = tmp_path / "dot.rise"
    file.write_text(f"def dot = {DOT.format('N', 'add')}\n")
    rise.main(["derive", str(file), "--size", "N=65536", "--default", "--end"])
    assert "dot.rise:1:65: a reduction of 65536 elements" in capsys.readouterr().out
