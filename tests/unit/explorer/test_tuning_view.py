"""The page of a search for a strategy: trials, charts, the fastest strategy and its steps."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import riselang as rl
from riselang.api.lowered import resolve_strategy
from riselang.explorer.tuning_charts import draw_curve, draw_parallel_coordinates, format_seconds
from riselang.explorer.tuning_view import Tuning, read_tuning
from riselang.rewrite.default import DEFAULT
from riselang.runtime.tuning_database import BestStrategy, Database, Trial, program_key
from riselang.support.errors import UserError
from riselang.tuning.result import TuningResult

SCALE = "fun((x : 64.f32), x |> map(fun(a, a * 2.0)))"
SPLIT = "split({}) @ outermost('map')"
REASON = "64 is not a multiple of 5 & <script>alert(1)</script>"
TRIALS = (
    Trial(SPLIT.format(4), {"size": 4, "lanes": 8, "kept": "id"}, "measured", 2e-6),
    Trial(SPLIT.format(5), {"size": 5, "lanes": 8, "kept": "<b>"}, "inapplicable", None, REASON),
    Trial(SPLIT.format(8), {"size": 8, "lanes": 8, "kept": "id"}, "measured", 1e-6),
    Trial(SPLIT.format(16), {"size": 16, "lanes": 8, "kept": "id"}, "timeout"),
)
BEST = BestStrategy(SPLIT.format(8), 1e-6, 3e-6)


def scale() -> Any:
    program: Any = rl.loads(SCALE, name="scale.rise")
    return program.main.lower()


def result(best: BestStrategy = BEST, trials: tuple[Trial, ...] = TRIALS) -> TuningResult:
    return TuningResult(replace(scale(), strategy=resolve_strategy(best.strategy)), best, trials)


def view_of(html: str) -> ElementTree.Element:
    """The view, which is well-formed XML except for characters that need no escape in HTML."""
    found = re.search(r'<main id="tuning" class="charts" hidden>(.*?)</main>', html, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(f"<main>{found[1]}</main>")


def texts(element: ElementTree.Element, tag: str) -> list[str]:
    return ["".join(each.itertext()) for each in element.iter(tag)]


def test_the_page_of_a_result_has_trials_charts_and_steps() -> None:
    page = rl.explore(result())
    view = view_of(page.html)
    rows = [texts(row, "td") for row in view.iter("tr")][1:]
    assert texts(view, "th") == ["trial", "time", "speedup", "size", "kept", "outcome"]
    assert rows == [
        ["1", "2 µs", "1.50", "4", "id", "measured"],
        ["2", "", "", "5", "<b>", f"inapplicable: {REASON}"],
        ["3", "1 µs", "3.00", "8", "id", "measured"],
        ["4", "", "", "16", "id", "timeout"],
    ]
    assert [row.get("class") for row in view.iter("tr")][1:] == [None, None, "best", None]
    titles = texts(view, "figcaption")
    assert [title.startswith(name) for title, name in zip(titles, (
        "Shortest time after each trial", "Fastest strategy", "Parameters", "Trials"), strict=True,
    )] == [True] * 4  # fmt: skip
    assert "3.00 times the speed of the default strategy" in titles[1]
    assert "lanes = 8" in titles[3]
    assert texts(view, "pre") == [SPLIT.format(8)]
    steps = [each.get("data-step") for each in view.iter("button")]
    assert steps == [str(number) for number in range(1, len(page.data["steps"]) + 1)]
    assert "split" in "".join(texts(view, "li"))


def test_text_from_outside_is_escaped_and_nothing_is_loaded() -> None:
    html = rl.explore(result()).html
    assert "<script>alert(1)</script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<td><b></td>" not in html
    loading = {"src", "href", "style"}
    assert not any(loading & set(each.attrib) for each in view_of(html).iter())


def test_the_charts_have_a_mark_for_each_trial() -> None:
    curve = ElementTree.fromstring(draw_curve(TRIALS, 3e-6))
    assert len(list(curve.iter("circle"))) == 2
    assert [each.get("class") for each in curve.iter("path")] == ["failed", "failed"]
    (line,) = curve.iter("polyline")
    heights = [float(each.split(",")[1]) for each in (line.get("points") or "").split()]
    assert heights == sorted(heights), "the curve falls, so that y grows"
    assert len(heights) == 2 * len(TRIALS)

    parameters = {"size": [4, 5, 8, 16], "kept": ["<b>", "id"]}
    chart = ElementTree.fromstring(draw_parallel_coordinates(TRIALS, parameters, BEST.strategy))
    lines = list(chart.iter("polyline"))
    assert [each.get("class") for each in lines] == ["failed", "failed", None, "best"]
    assert [len((each.get("points") or "").split()) for each in lines] == [2, 2, 3, 3]
    assert {"size", "kept", "time", "<b>", "16", "1 µs"} <= set(texts(chart, "text"))


def test_trials_without_times_have_no_charts() -> None:
    failed = (TRIALS[1], TRIALS[3])
    assert draw_curve(failed, None) == ""
    assert draw_parallel_coordinates(failed, {"size": [5, 16]}, None) == ""
    page = rl.explore(result(BestStrategy("default", 3e-6, 3e-6), failed))
    assert "0 measured" in page.html
    assert page.tuning is not None
    assert page.tuning.strategy is DEFAULT
    assert "no strategy has been tried" in rl.explore(result(BEST, ())).html


def test_trials_with_equal_times_are_drawn() -> None:
    same = [replace(TRIALS[0], strategy=str(number)) for number in range(200)]
    ElementTree.fromstring(draw_curve(same, None))
    ElementTree.fromstring(draw_parallel_coordinates(same, {"size": [4]}, None))


def test_a_program_without_a_search_has_no_view() -> None:
    assert len(view_of(rl.explore(scale()).html)) == 0


def test_trials_are_read_from_a_database(tmp_path: Path) -> None:
    database, lowered = Database(tmp_path / "tuning.sqlite"), scale()
    with pytest.raises(UserError, match="has no trials of this program"):
        read_tuning(database.path, lowered.source, lowered.options)
    assert not database.path.exists()
    key = program_key(lowered.source, lowered.options)
    for trial in TRIALS:
        database.add_trial(key, trial)
    unfinished = read_tuning(database.path, lowered.source, lowered.options)
    assert unfinished == Tuning(TRIALS, None)
    assert str(unfinished.strategy) == SPLIT.format(8)
    assert "the search has not ended" in unfinished.to_html({"rules": [], "steps": []})
    database.set_best(key, BEST)
    assert read_tuning(database.path, lowered.source, lowered.options) == Tuning(TRIALS, BEST)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (1.234e-3, "1.23 ms"), (5e-6, "5 µs"), (3e-9, "3 ns")]
)
def test_times_have_three_digits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text
