"""The documentation in a real browser: it opens, leads on, and fits on a telephone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.browsers import browser
from support.site import built_site

pytestmark = [pytest.mark.long, pytest.mark.rotating(3, by_file=True)]
SIZES = [(390, 844), (1024, 768), (1920, 1080)]
PAGES = ["index", "tutorial", "patterns", "rules", "gallery", "reference/commands", "how-to/rule"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory).pages


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A page whose console says nothing, and which asks nobody outside."""
    opened = chromium.new_page()
    problems: list[str] = []
    opened.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda asked: None if _is_local(asked.url) else problems.append(asked.url))
    yield opened
    opened.close()
    assert not problems


def _is_local(url: str) -> bool:
    return url.startswith(("file:", "data:"))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.sampled(3)
def test_a_page_fits_every_size(page: Any, site: Path, name: str) -> None:
    page.goto((site / f"{name}.html").as_uri())
    assert page.locator("h1").count() == 1
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, f"{name} is {wide} pixels wider than {width}"


def _follow(page: Any, link: str) -> None:
    """Click, and wait for all of the page: its heading is there before the rest."""
    with page.expect_navigation():
        page.click(link)


def test_links_lead_on(page: Any, site: Path) -> None:
    page.set_viewport_size({"width": 1400, "height": 900})
    page.goto((site / "index.html").as_uri())
    _follow(page, "article >> text=A kernel")
    assert page.locator("h1").inner_text().startswith("Write a kernel")
    _follow(page, ".sidebar-tree >> text=Patterns")
    assert page.locator("h1").inner_text().startswith("Patterns")
    assert page.locator("pre .nb").count() > 100  # patterns have a colour


def test_pictures_are_shown(page: Any, site: Path) -> None:
    page.goto((site / "gallery.html").as_uri())
    widths = page.eval_on_selector_all("article img", "all => all.map(each => each.naturalWidth)")
    assert len(widths) >= 10
    assert all(width > 0 for width in widths)


def test_it_is_found_by_searching(page: Any, site: Path) -> None:
    page.goto((site / "search.html").as_uri() + "?q=padReflect")
    page.wait_for_selector("#search-results li a")
    assert "Patterns" in page.locator("#search-results").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_light_and_dark(chromium: Any, site: Path, scheme: str) -> None:
    page = chromium.new_page(color_scheme=scheme)
    page.goto((site / "index.html").as_uri())
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.close()
    shades = [int(part) for part in colour[4:-1].split(",")]
    assert (sum(shades) / 3 < 100) == (scheme == "dark")
