"""Write the generated parts of the documentation: tables, the dialect, and what is printed.

    python docs/generate.py

The tests fail where a page differs from what this writes. Look at a difference before you keep it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from making import dialect, pages, patterns, rules, tables

DOCS = Path(__file__).parent
ROOT = DOCS.parent
WHOLE = {
    "patterns.md": patterns.reference,
    "dialect.md": dialect.page,
    "rules.md": rules.page,
}
"""Pages without anything written by hand."""


def page_paths() -> list[Path]:
    """The pages that hold code, commands or tables."""
    return [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def generated(path: Path, folder: Path) -> str:
    """The text that a page should have; `folder` is an empty one to run its code in."""
    if path.name in WHOLE:
        return WHOLE[path.name]()
    text = tables.with_tables(path.read_text())
    (folder / "examples").symlink_to(ROOT / "examples")
    return pages.render(text, folder)


def main(names: list[str]) -> None:
    for path in page_paths():
        if names and path.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text = generated(path, Path(folder))
        if text != path.read_text():
            path.write_text(text)
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
