"""Write the generated parts of the documentation: tables, outputs, pictures, and grammars.

    python docs/generate.py                            # all pages
    python docs/generate.py passes.md patterns.pyi     # only these

A file is given by its name, or by its path in docs/ or in the repository. The tests fail if a page
differs from what this writes. Review each difference before you commit it.
"""

from __future__ import annotations

import sys
import tempfile
from difflib import get_close_matches
from pathlib import Path

from making import (
    commands,
    dialect,
    gallery,
    grammars,
    pages,
    patterns,
    pictures,
    rules,
    settings,
    stubs,
    tables,
)
from riselang.notation.parse_tables import format_tables

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PICTURES = DOCS / "gallery"
GALLERY = DOCS / "gallery.md"
WHOLE = {
    "patterns.md": patterns.reference,
    "dialect.md": dialect.page,
    "rules.md": rules.page,
    "reference/commands.md": commands.commands,
    "reference/passes.md": commands.passes,
    "reference/settings.md": settings.page,
}
"""Pages without anything written by hand."""
SYNTAXES = ROOT / "editors" / "vscode" / "syntaxes"
FILES = {
    SYNTAXES / "rise.tmLanguage.json": grammars.notation,
    SYNTAXES / "mlir.tmLanguage.json": grammars.mlir,
    ROOT / "src" / "riselang" / "rewrite" / "law_cache.json": rules.law_cache_text,
    ROOT / "src" / "riselang" / "notation" / "parse_tables.json": format_tables,
    ROOT / "src" / "riselang" / "dsl" / "patterns.pyi": stubs.patterns,
}
"""Files beside the documentation that are made from the same registries."""


def page_paths() -> list[Path]:
    """The pages that hold code, commands or tables."""
    written = {*DOCS.rglob("*.md"), *(DOCS / name for name in WHOLE)}
    return [ROOT / "README.md", *sorted(written)]


def generated(path: Path, folder: Path) -> str:
    """The text that a page should have; `folder` is an empty one to run its code in."""
    return generated_with_pictures(path, folder)[0]


def generated_with_pictures(path: Path, folder: Path) -> tuple[str, dict[str, pictures.Pixels]]:
    """The text of a page, and the pictures in it: each is a variable of the page's code."""
    name = str(path.relative_to(ROOT)).removeprefix("docs/")
    if name in WHOLE:
        return WHOLE[name](), {}
    text = tables.with_tables(path.read_text())
    (folder / "examples").symlink_to(ROOT / "examples")
    session = pages.Session(folder)
    text = pages.render(text, folder, session)
    return text, {each: pictures.pixels(session.names[each]) for each in pictures.names(text)}


def main(names: list[str]) -> None:
    wanted = selected(names)
    if GALLERY in wanted:
        for path, data in gallery.results():
            write(path, data)
    for path in page_paths():
        if path not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            text, made = generated_with_pictures(path, Path(folder))
        write(path, text.encode())
        for name, picture in made.items():
            file = PICTURES / f"{name}.png"
            if not file.exists() or pictures.decoded(file.read_bytes()) != picture:
                write(file, pictures.encoded(picture))
    for path, make in FILES.items():
        if path in wanted:
            write(path, make().encode())


def selected(names: list[str]) -> set[Path]:
    """The files with these names or paths, or all; an error if there is no such file."""
    known = [*page_paths(), *FILES]
    found: set[Path] = set()
    for name in names:
        matching = {path for path in known if name in _spellings(path)}
        if not matching:
            near = get_close_matches(name, [each for path in known for each in _spellings(path)], 1)
            hint = f"did you mean {near[0]}?" if near else "give a page, such as docs/rules.md"
            sys.exit(f"error: docs/generate.py does not write {name}; {hint}")
        found |= matching
    return found if names else set(known)


def _spellings(path: Path) -> set[str]:
    in_repository = path.relative_to(ROOT)
    spellings = {path.name, str(path), str(in_repository), f"./{in_repository}"}
    return spellings | ({str(path.relative_to(DOCS))} if path.is_relative_to(DOCS) else set())


def write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
