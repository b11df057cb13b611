"""What the documentation shows is what the code does, and the site builds without a warning."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from generate import generated, page_paths
from making.pages import blocks
from riselang.tools import rise, rise_opt

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", page_paths(), ids=lambda path: path.name)
def test_a_page_shows_what_is_printed(path: Path, tmp_path: Path) -> None:
    found = generated(path, tmp_path)
    assert path.read_text() == found, "make docs-tables writes what is printed now"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d"]
    folders = [tmp_path / "doctrees", ROOT / "docs", tmp_path / "site"]
    run = subprocess.run([*command, *folders], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "site/index.html").exists()


def python_blocks(page: str) -> list[str]:
    found = blocks((ROOT / page).read_text())
    return [block.text for block in found if block.language == "python"]


def test_the_architecture_page_shows_real_stages() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    namespace: dict[str, Any] = {"__name__": "docs"}
    exec(python_blocks("docs/architecture.md")[0], namespace)
    program = namespace["program"]
    shown = re.findall(r"<!-- stage: (\w+) -->\n(.*?)\n *<!-- end -->", text, re.DOTALL)
    assert [stage for stage, _ in shown] == ["notation", "affine"]
    for stage, body in shown:
        assert textwrap.dedent(body).strip() == program.as_text(stage).strip()


def test_the_readme_shows_the_notation_of_its_program() -> None:
    import numpy as np

    namespace: dict[str, Any] = {"__name__": "docs"}
    exec(python_blocks("README.md")[0], namespace)
    arrays = np.zeros((4, 5), np.float32), np.zeros((5, 6), np.float32)
    notation = namespace["matmul"].lower(*arrays).as_text("notation")
    assert textwrap.indent(notation, "    ") in (ROOT / "README.md").read_text()


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
