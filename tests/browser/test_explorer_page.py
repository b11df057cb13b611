"""The explorer's page in a real browser: steps, highlights both ways, keys, light and dark."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import riselang as rl
from riselang.explorer.page import Page
from riselang.explorer.tuning_view import Tuning
from riselang.notation.program import parse_term
from riselang.rewrite.derivation import derive
from riselang.rewrite.strategy_text import parse_strategy
from riselang.runtime.tuning_database import BestStrategy, Trial
from riselang.tools import serving
from support.browsers import Watched, browser
from support.long_derivations import long_page

MATMUL = """// Rows with columns; <b>this</b> is text.
def matmul = fun((A : N.K.f32, B : K.M.f32),
  A |> map(fun(row,
    B |> transpose |> map(fun(column,
      zip(row, column) |> map(mult) |> reduce(add, 0.0))))))
"""
TILED = "tile(4, 4) @ outermost('map', nest=2)"
SPEED = {
    "versions": [
        {"name": "as written", "kind": "version", "median": 4e-3, "low": 3.9e-3, "high": 4.2e-3,
         "rate": 2.0, "bytes_rate": 0.5},
        {"name": "tiled", "kind": "chosen", "median": 1e-3, "low": 9e-4, "high": 1.1e-3,
         "rate": 8.0, "bytes_rate": 2.0},
        {"name": "numpy a @ b", "kind": "rival", "median": 8e-4, "low": 7e-4, "high": 9e-4,
         "rate": 10.0, "bytes_rate": 2.5},
    ],
    "peak": 40.0, "bandwidths": [{"name": "cache", "rate": 50.0}, {"name": "memory", "rate": 9.0}],
    "intensity": 8.0, "machine": "a machine", "threads": 1, "rounds": 15, "note": "a note",
}  # fmt: skip
TRIALS = (
    Trial("tile(2, 2)", {"rows": 2, "columns": 2}, "measured", 2e-6),
    Trial("tile(3, 2)", {"rows": 3, "columns": 2}, "inapplicable", None, "<b>8</b> & 3"),
    Trial(TILED, {"rows": 4, "columns": 4}, "measured", 1e-6),
)
Open = Callable[..., Watched]
pytestmark = [pytest.mark.long, pytest.mark.rotating(3)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "matmul.rise").write_text(MATMUL)
    program: Any = rl.load(folder / "matmul.rise", strategy=TILED)
    page = rl.explore(program.matmul, N=8, K=8, M=8)
    Page({**page.data, "speed": SPEED}).save(folder / "matmul.html")
    tuning = Tuning(TRIALS, BestStrategy(TILED, 1e-6, 2e-6))
    Page(page.data, tuning).save(folder / "tuned.html")
    long_page(2000).save(folder / "long.html")
    return folder


@pytest.fixture(scope="module")
def chrome() -> Generator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def opened(chrome: Any, pages: Path) -> Generator[Open]:
    contexts: list[Any] = []
    watched: list[Watched] = []

    def open(name: str = "matmul.html", **options: Any) -> Watched:
        context = chrome.new_context(**{"viewport": {"width": 1500, "height": 900}, **options})
        contexts.append(context)
        watched.append(Watched(context, (pages / name).as_uri()))
        return watched[-1]

    yield open
    complaints = [complaint for each in watched for complaint in each.complaints]
    for context in contexts:
        context.close()
    assert complaints == []


def texts(page: Any, selector: str) -> list[str]:
    return page.locator(selector).all_text_contents()


def test_steps_are_stepped_through_with_their_laws(opened: Open) -> None:
    page = opened().page
    derivation = derive(
        rl.loads(MATMUL, name="m.rise", strategy=TILED).matmul.trace(N=8, K=8, M=8).derive().start,  # type: ignore[union-attr]
        parse_strategy(TILED),
    )
    count = len(derivation.steps) + 1
    assert page.locator("#step-count").text_content() == f"step {count} of {count}"
    shown = "\n".join(texts(page, "#state-text .l"))
    assert shown == str(derivation.end)
    assert page.locator("#state-text .made").count() > 0
    last = derivation.steps[-1].rule
    assert page.locator("#law .rule").text_content() == str(last)
    law = page.locator("#law .said").text_content()
    assert law.replace("⟶", "~>").split() == str(last.law).split()
    page.click("#first")
    assert page.locator("#step-count").text_content() == f"step 0 of {count}"
    first = "\n".join(texts(page, "#state-text .l"))
    assert parse_term(first) == rl.loads(MATMUL, name="m.rise").matmul.trace(N=8, K=8, M=8).term  # type: ignore[union-attr]
    assert page.locator("#back").is_disabled()
    for number, step in enumerate(derivation.steps, 2):
        page.evaluate(
            "n => { const s = document.getElementById('slider'); s.value = n;"
            " s.dispatchEvent(new Event('input')); }",
            number,
        )
        assert page.locator("#law .rule").text_content() == str(step.rule)
    page.click("#steps .step >> nth=1")
    assert page.locator("#law .rule").text_content() == "contract"


def test_highlights_lead_both_ways(opened: Open) -> None:
    page = opened().page
    # From a loop: the pattern it was made for, and the word in the source.
    page.locator("#code-text .l", has_text="iter_args").first.hover()
    assert texts(page, "#state-text .hot") == ["reduce"]
    assert texts(page, "#source-text .hot") == ["reduce"]
    assert page.locator("#trace h3 code").text_content() == "reduce"
    # From the source: all the patterns, and all the lines that they became.
    page.locator("#source-text .w", has_text="transpose").hover()
    assert set(texts(page, "#state-text .hot")) == {"transpose"}
    page.locator("#source-text .w", has_text="map").first.hover()
    loops = texts(page, "#code-text .l.hot")
    assert sum("affine.for" in line for line in loops) >= 2
    # To the assembly and back; a click keeps it.
    page.locator("#source-text .w", has_text="reduce").click()
    page.click("#stage-asm")
    hot = page.locator("#code-text .l.hot")
    assert hot.count() > 0
    page.keyboard.press("Escape")
    assert page.locator(".hot").count() == 0
    # However a machine calls it, it multiplies and adds.
    page.locator("#code-text .l.w", has_text=re.compile("fmadd|fmla")).first.hover()
    assert texts(page, "#state-text .hot") == ["fma"]
    assert texts(page, "#source-text .hot") == ["add"]
    # In an earlier step, too.
    page.click("#first")
    page.locator("#state-text .w", has_text="zip").hover()
    assert texts(page, "#source-text .hot") == ["zip"]


def test_what_a_pattern_became_is_counted_and_gone_to(opened: Open) -> None:
    page = opened().page
    page.locator("#source-text .w", has_text="reduce").click()
    rows = dict(
        zip(texts(page, "#trace li span:first-child"), texts(page, "#trace li span:last-child"),
            strict=True)
    )  # fmt: skip
    assert rows["Last program"] == "1 occurrence"
    assert rows["Affine & vector"].endswith("lines")
    page.locator("#trace button", has_text="Assembly").click()
    assert page.locator("#stage-asm").get_attribute("aria-selected") == "true"
    assert page.locator("#code-text .l.hot").count() > 0


def test_everything_is_done_with_keys(opened: Open) -> None:
    page = opened().page
    count = int(page.get_attribute("#slider", "max"))
    step = page.locator("#step-count")
    page.keyboard.press("Home")
    assert step.text_content() == f"step 0 of {count}"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert step.text_content() == f"step 2 of {count}"
    page.keyboard.press("d")
    assert page.locator("#state-text .plus").count() > 0
    assert page.locator("#state-text .minus").count() > 0
    page.keyboard.press("d")
    page.keyboard.press("4")
    assert page.locator("#stage-llvm").get_attribute("aria-selected") == "true"
    page.keyboard.press("x")
    assert "Affine & vector → LLVM IR" in page.inner_text("#stage-summary")
    assert page.locator("#code-text .plus").count() > 0
    page.keyboard.press("x")
    page.keyboard.press("3")
    page.focus("#code-text")
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert page.locator("#code-text .cursor").count() == 1
    assert page.locator("#source-text .hot").count() == 1
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    assert page.locator("#state-text .hot").count() == 1
    page.keyboard.press("s")
    assert page.locator("#speed").is_visible()
    page.keyboard.press("s")
    assert page.locator("#program").is_visible()
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    # Everything that can be pressed can be reached, and says what it is.
    names = page.eval_on_selector_all(
        "button", "all => all.filter(b => !(b.textContent.trim() || b.ariaLabel)).length"
    )
    assert names == 0


def test_light_and_dark_are_readable(opened: Open) -> None:
    ratios = """() => {
      const parse = (c) => c.match(/[\\d.]+/g).map(Number);
      const shine = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (e) => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor;
        if (c.startsWith('rgb(')) return parse(c); } return [255, 255, 255]; };
      return ['.tc', '.tk', '.tp', '.tn', '.tt', '.bar h2', '.law .said', '.quiet'].map((s) => {
        const e = document.querySelector(s); if (!e) return [s, 99];
        const [a, b] = [shine(parse(getComputedStyle(e).color)), shine(behind(e))];
        return [s, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]; });
    }"""
    for scheme in ("light", "dark"):
        page = opened(color_scheme=scheme).page
        assert page.get_attribute("html", "data-theme") == scheme
        # 4.5 is what WCAG asks of text.
        assert {name: ratio for name, ratio in page.evaluate(ratios) if ratio < 4.5} == {}
        page.keyboard.press("t")
        assert page.get_attribute("html", "data-theme") != scheme


def test_speed_is_drawn(opened: Open) -> None:
    page = opened().page
    page.click("#view-speed")
    assert page.locator("#speed figure").count() == 3
    assert "numpy a @ b" in page.inner_text("#speed table")
    assert page.locator("#speed svg circle").count() == 2


def test_trials_are_drawn_and_lead_to_the_steps(opened: Open) -> None:
    page = opened("tuned.html").page
    assert page.locator("#tuning").is_visible(), "the trials come first"
    assert page.locator("#tuning figure").count() == 4
    assert "<b>8</b> & 3" in page.inner_text("#tuning table")
    page.click("#tuning summary")
    page.click("#tuning [data-step='1']")
    assert not page.locator("#tuning").is_visible()
    assert (page.locator("#step-count").text_content() or "").startswith("step 1 of")
    page.keyboard.press("u")
    assert page.locator("#tuning").is_visible()
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.locator("#program").is_visible(), "the URL has a step"


def test_two_thousand_steps_are_there_in_two_seconds(opened: Open) -> None:
    page = opened("long.html").page
    timing = page.evaluate("performance.timing.domComplete - performance.timing.navigationStart")
    print(f"2,000 steps: {timing} ms")
    # Rows and lines of what is looked at, and not of all the steps.
    assert page.locator("*").count() < 3000
    assert page.locator("#step-count").text_content() == "step 2000 of 2000"
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.locator("#step-count").text_content() == "step 1 of 2000"
    page.evaluate("document.getElementById('steps').scrollTop = 26 * 1000")
    page.wait_for_selector("#step-1000")
    page.click("#step-1000")
    assert page.locator("#step-count").text_content() == "step 1000 of 2000"


@pytest.mark.parametrize(("width", "height"), [(1500, 900), (1000, 760), (400, 780)])
def test_nothing_sticks_out_at_three_sizes(opened: Open, width: int, height: int) -> None:
    page = opened(viewport={"width": width, "height": height}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.documentElement.scrollHeight") <= height
    if width < 760:
        page.locator(".choose button", has_text="Code").click()
        assert page.locator("#code-text").is_visible()
        assert not page.locator("#state-text").is_visible()
        page.locator(".choose button", has_text="Source").click()
    assert page.locator("#source-text .w").first.is_visible()


@pytest.mark.rotating(5)
def test_an_address_leads_to_a_step_and_a_stage(opened: Open, pages: Path) -> None:
    page = opened().page
    page.goto((pages / "matmul.html").as_uri() + "#step=2&stage=asm")
    page.reload()
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.locator("#step-count").text_content().startswith("step 2 of")
    assert page.locator("#stage-asm").get_attribute("aria-selected") == "true"


@pytest.mark.rotating(6)
def test_a_served_page_tells_a_mistake_and_gives_way_to_a_newer_one(chrome: Any) -> None:
    program: Any = rl.loads("fun((x : 4.f32), x |> reverse)", name="r.rise", strategy="none")
    data = rl.explore(program).data
    shown = serving.PageState()
    shown.update("1", Page({**data, "title": "first", "live": "1"}).html.encode())
    server = serving.make_server(0, shown)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    context = chrome.new_context()
    try:
        watched = Watched(context, f"http://127.0.0.1:{server.server_address[1]}/")
        page = watched.page
        assert page.inner_text("#title") == "first"
        shown.set_error("r.rise:1:2: error: <b>this</b> is wrong")
        page.wait_for_selector("#problem:not([hidden])")
        assert page.inner_text("#problem") == "r.rise:1:2: error: <b>this</b> is wrong"
        shown.update("2", Page({**data, "title": "second", "live": "2"}).html.encode())
        page.locator("#title", has_text="second").wait_for()
        assert not page.is_visible("#problem")
        assert watched.complaints == []
    finally:
        context.close()
        server.shutdown()
        thread.join()
        server.server_close()
