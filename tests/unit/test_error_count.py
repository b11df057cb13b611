"""Mistakes in every form of program have a test of their whole message.

Those in the pages about errors are compared with what the tools print (`test_docs.py`), those of
the notation with message, place and caret (`notation/test_errors.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from making.pages import blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("errors.md", "errors-running.md")
AT_LEAST = {"notation": 15, "MLIR": 10, "Python": 8, "call": 15, "command": 15}


def form(language: str, message: str) -> str:
    """The form of program that a message is about."""
    place = re.match(r"[\w-]+\.(\w+):\d", message)
    if place:
        return {"rise": "notation", "mlir": "MLIR", "py": "Python"}[place[1]]
    return "command" if language == "console" else "call"


def counted() -> Counter[str]:
    found: Counter[str] = Counter()
    for page in PAGES:
        for block in blocks((DOCS / page).read_text()):
            if block.language in ("console", "text"):
                messages = re.findall(r"^.*\berror: .*$", block.text, re.MULTILINE)
                found.update(form(block.language, message) for message in messages)
    return found


def test_every_form_has_its_errors_in_the_pages() -> None:
    found = counted()
    assert all(found[form] >= least for form, least in AT_LEAST.items()), found


def test_there_are_many() -> None:
    assert counted().total() >= 80
