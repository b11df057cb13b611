"""What a notebook shows of values: HTML in which everything is escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import riselang as rl
from riselang.tools.figures import Figure, Report, Rival

TEXT = """// comment
def odd = fun((x : 8.f32), x |> map(fun(a, if a < 1.0 then a else 2.0)) |> reverse |> reverse)
"""
MODULE = """func.func @turn(%out : memref<4xi32>, %a : memref<4xi32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<4, scalar<i32>>
    %r = rise.reverse #rise.nat<4> #rise.scalar<i32>
    %y = rise.apply %r, %x
    rise.out %out <- %y
    rise.return
  }
  func.return
}
"""
SEEDS = Path(__file__).parents[3] / "examples"


class Balanced(HTMLParser):
    """Elements that were opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(value: Any) -> str:
    """What a reader sees; every element is one of those that we write, and is closed."""
    html = value._repr_html_()
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"pre", "mark", "b", "div", "details", "summary", "code", "table", "thead",
                    "tbody", "tr", "th", "td"}  # fmt: skip
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser.text


def odd(strategy: str = "simplify()") -> Any:
    program: Any = rl.loads(TEXT, name="odd.rise", strategy=strategy)
    return program


@pytest.mark.parametrize("value", [
    lambda: odd(), lambda: odd().odd.trace(), lambda: odd().odd.trace().term,
    lambda: odd().odd.lower(), lambda: odd().odd.lower().compile(),
    lambda: odd().odd.trace().derive(),
])  # fmt: skip
def test_programs_at_every_stage(value: Any) -> None:
    assert "if a < 1.0" in text_of(value()) or "a < 1.0" in text_of(value())


def test_a_kernel_says_what_it_takes() -> None:
    assert text_of(odd().odd) == "<kernel odd(x : 8.f32)>"


def test_a_derivation_marks_what_each_step_changed() -> None:
    derivation = odd().odd.trace().derive()
    html = derivation._repr_html_()
    assert html.count("<details") == len(derivation.steps) > 0
    assert html.count("<mark") >= len(derivation.steps)
    assert "⟦" not in html
    for step in derivation.steps:
        assert str(step.rule.law) in text_of(derivation)


@pytest.mark.rotating(3)
def test_of_very_many_steps_the_first_are_shown() -> None:
    text = f"fun((x : 4.f32), x{' |> reverse' * 160})"
    program: Any = rl.loads(text, name="long.rise", strategy="simplify()")
    derivation = program.main.trace().derive()
    assert len(derivation) == 80
    assert derivation._repr_html_().count("<details") == 60
    assert "and 20 more" in text_of(derivation)


def test_modules_and_models() -> None:
    assert "rise.lowering_unit" in text_of(rl.loads(MODULE, name="turn.mlir"))
    model = rl.from_stablehlo(SEEDS / "models/mlp.mlir")
    assert "<model" in text_of(model)


def test_figures_of_benchmarks() -> None:
    figure = Figure("group", "a <b> name", (1.0, 2.0), rival=Rival("R&D", (3.0,)))
    shown = text_of(Report({"processor": "a <chip>"}, {}, (figure,)))
    for part in ("a <chip>", "group: a <b> name", "R&D", "0.500"):
        assert part in shown


def test_costs() -> None:
    assert "flops" in text_of(odd().odd.trace().cost_analysis())
