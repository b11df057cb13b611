"""Prose has none of the words that the glossary retires, and the check finds them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from support.fuzzing import IS_NIGHTLY, first_seed
from words import ROOT, prose_files, retired_words

SHARE = 4
"""One in so many sources is read for a commit, besides those that it changes."""


def changed_files() -> set[Path]:
    """The files that differ from the commit before the last one, where git knows it."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", "--no-renames", "HEAD~1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return set()
    return {ROOT / name for name in done.stdout.splitlines()}


def files_to_read() -> list[Path]:
    """All pages, since they are read quickly, and some of the sources; all of them at night."""
    changed = changed_files()
    return [
        path
        for path in prose_files()
        if IS_NIGHTLY
        or path.suffix == ".md"
        or path in changed
        or not Random(f"{first_seed()} {path.relative_to(ROOT)}").randrange(SHARE)
    ]


def test_no_retired_word_is_left() -> None:
    found = [each for path in files_to_read() for each in retired_words(path, path.read_text())]
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
