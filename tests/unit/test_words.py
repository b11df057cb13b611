"""Prose has none of the words that the glossary retires, and the check finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from words import ROOT, prose_files, retired_words


def test_no_retired_word_is_left() -> None:
    found = [each for path in prose_files() for each in retired_words(path, path.read_text())]
    assert not found, "\n".join(map(str, found))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("page.md", "The loops go over processors.\n", ["processors"]),
        ("page.md", "```text\na processor\n```\nand `processor`\n", []),
        ("code.py", '"""Return a fold of the rows."""\n', ["fold"]),
        ("code.py", "x = 1  # one behind the other\n", ["one behind the other"]),
        ("code.py", 'raise Error(f"{place} is no array")\n', ["is no"]),
        ("code.py", "def place(fold):\n    return fold\n", []),
        ("code.py", "# Constant folding happens in place.\n", []),
    ],
)
def test_words_are_found_in_prose_alone(name: str, text: str, found: list[str]) -> None:
    assert [each.word for each in retired_words(Path(name), text)] == found


def test_all_kinds_of_prose_are_read() -> None:
    files = {path.relative_to(ROOT).as_posix() for path in prose_files()}
    assert {"README.md", "docs/tutorial.md", "src/riselang/__init__.py"} <= files
