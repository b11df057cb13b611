"""What the documentation shows is what the code does, and the site builds without a warning."""

from __future__ import annotations

import re
import shlex
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest

from generate import DOCS, FILES, PICTURES, generated_with_pictures, page_paths, selected
from making import pattern_reference, patterns, pictures, rules
from making.pages import PageError, blocks, render
from riselang.rewrite.derivation_checks import law_status
from riselang.rewrite.reports import LawStatus
from riselang.rewrite.rule import Rule
from riselang.support.errors import UserError
from riselang.tools import rise, rise_opt
from support.fuzzing import IS_NIGHTLY
from support.site import built_site

pytestmark = pytest.mark.rotating(4)

ROOT = Path(__file__).parents[2]


RULES_PAGE = DOCS / "rules.md"


@pytest.mark.long
@pytest.mark.parametrize("path", page_paths(), ids=lambda path: path.name)
def test_a_page_shows_what_is_printed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if path == RULES_PAGE and not IS_NIGHTLY:
        monkeypatch.setattr(rules, "law_status", status_on_the_page)
    found, made = generated_with_pictures(path, tmp_path)
    assert path.read_text() == found, f"{path.name} is out of date; run make docs-tables"
    for name, picture in made.items():
        kept = (PICTURES / f"{name}.png").read_bytes()
        assert pictures.decoded(kept) == picture, f"{name}.png is out of date; run make docs-tables"


def test_output_without_code_that_prints_it_is_rejected(tmp_path: Path) -> None:
    page = "```python\n{code}\n```\n\n```text\n1\n```\n"
    assert render(page.format(code="print(2)"), tmp_path).endswith("```text\n2\n```\n")
    with pytest.raises(PageError, match="line 5: the code before it prints nothing"):
        render(page.format(code="x = 1"), tmp_path)


def status_on_the_page(rule: Rule) -> LawStatus:
    """What the page says of a law that it has; others are proved, and at night all of them."""
    cells = rules.without_status(rule)
    start = "".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in cells)
    rows = [line for line in RULES_PAGE.read_text().splitlines() if line.startswith(start)]
    return LawStatus(rows[0][len(start) :].strip(" |"), "") if rows else law_status(rule)


def test_every_picture_is_on_a_page() -> None:
    shown = {name for path in page_paths() for name in pictures.names(path.read_text())}
    assert shown == {path.stem for path in PICTURES.glob("*.png")}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_for_editors_are_made_from_the_registries(path: Path) -> None:
    is_current = path.read_text() == FILES[path]()
    assert is_current, f"{path.name} is out of date; run make docs-tables"


@pytest.mark.parametrize(
    ("names", "paths"),
    [
        (["passes.md"], ["docs/reference/passes.md"]),
        (["reference/passes.md"], ["docs/reference/passes.md"]),
        (["docs/reference/passes.md", "README.md"], ["docs/reference/passes.md", "README.md"]),
        (["law_cache.json"], ["src/riselang/rewrite/law_cache.json"]),
    ],
)
def test_pages_are_selected_by_name_or_path(names: list[str], paths: list[str]) -> None:
    assert selected(names) == {ROOT / path for path in paths}


def test_all_files_are_selected_without_a_name() -> None:
    assert selected([]) == {*page_paths(), *FILES}


def test_the_name_of_no_page_is_rejected() -> None:
    with pytest.raises(SystemExit, match=r"does not write nosuch; give a page"):
        selected(["passes.md", "nosuch"])
    with pytest.raises(SystemExit, match=r"does not write pases\.md; did you mean passes\.md"):
        selected(["pases.md"])


def test_a_law_of_the_reference_is_notation(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = pattern_reference.Law("x : n.i32", "x |> reverse |> (", "x")
    entry = pattern_reference.Reference((broken,), pattern_reference.REFERENCE["map"].example)
    monkeypatch.setitem(pattern_reference.REFERENCE, "map", entry)
    with pytest.raises(UserError, match=r"pattern_reference\.py, a law of map:1:\d+: error: "):
        patterns.reference()


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def links(path: Path) -> list[str]:
    """What a page links to, outside of its code."""
    text = re.sub(r"^```.*?^```$|`[^`\n]+`", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return LINK.findall(text)


def anchors(path: Path) -> set[str]:
    """The headings of a page, as links spell them, and its labels."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()).strip() for heading in headings]
    return {heading.replace(" ", "-") for heading in words} | set(
        re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)
    )


@pytest.mark.parametrize("path", [*page_paths(), ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for link in links(path):
        if "://" in link:
            assert re.fullmatch(r"https://[\w.-]+\.[a-z]+/[\w./#%()+=&?~-]*", link), link
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.exists(), f"{path}: {link}"
        assert not anchor or anchor in anchors(target), f"{path}: {link}"


def test_every_page_is_in_the_contents() -> None:
    text = (DOCS / "index.md").read_text()
    listed = {
        line
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        for line in tree.splitlines()
        if line and not line.startswith(":")
    }
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")}
    assert listed == pages - {"index"}


def test_the_site_builds_without_a_warning(tmp_path_factory: pytest.TempPathFactory) -> None:
    site = built_site(tmp_path_factory)
    assert not site.complaints
    assert (site.pages / "index.html").exists()


def python_blocks(page: str) -> list[str]:
    found = blocks((ROOT / page).read_text())
    return [block.text for block in found if block.language == "python"]


def test_the_architecture_page_shows_real_stages() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    namespace: dict[str, Any] = {"__name__": "docs"}
    exec(python_blocks("docs/architecture.md")[0], namespace)
    program = namespace["program"]
    block = r"<!-- stage: (\w+) -->\n *```\w+\n(.*?)\n *```\n *<!-- end -->"
    shown = re.findall(block, text, re.DOTALL)
    assert [stage for stage, _ in shown] == ["notation", "rise", "imperative", "affine"]
    for stage, body in shown:
        assert textwrap.dedent(body).strip() == program.as_text(stage).strip()


def test_the_commands_in_the_readme_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    readme = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    (rise(?:-opt)? .*)$", readme, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        for name in ("mm.o", "matmul.html"):
            command = command.replace(f"-o {name}", f"-o {tmp_path / name}")
        tool, *arguments = shlex.split(command)
        (rise_opt.main if tool == "rise-opt" else rise.main)(arguments)
        assert "error" not in capsys.readouterr().err


def test_the_page_on_installing_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (DOCS / "how-to" / "install.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == set(project["optional-dependencies"])
