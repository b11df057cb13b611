"""A real browser for the tests of pages: the system's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Where Chromium is; `RISE_CHROMIUM` names another one."""
    given = os.environ.get("RISE_CHROMIUM")
    return given or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Generator[Any]:
    """Chromium without a window; a test that has none is skipped."""
    path = chromium()
    if path is None:
        pytest.skip("there is no chromium; apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        # Root may have no sandbox, and the pages are our own.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield started
        finally:
            started.close()


class Watched:
    """A page, and all that it complains of."""

    def __init__(self, context: Any, address: str):
        self.complaints: list[str] = []
        self.page: Any = context.new_page()
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda each: self.complaints.append(each.url))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]", state="attached")

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)
