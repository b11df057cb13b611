"""What the documentation shows is what the code does."""

from __future__ import annotations

import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise.schemes import PATTERNS
from riselang.dialects.rise.types import show
from riselang.lowering.imperative import _Translator
from riselang.lowering.loops import Emitter
from riselang.tools import rise, rise_opt

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]


def python_blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_python_in_the_docs_runs(page: str, tmp_path: Path) -> None:
    for number, block in enumerate(python_blocks(page)):
        # From a file, so that errors and traces find their source.
        path = tmp_path / f"block{number}.py"
        path.write_text(block)
        exec(compile(block, str(path), "exec"), {"__name__": "docs"})


def pattern_table() -> str:
    compiled = _Translator(Emitter(InsertPoint.at_end(Block())), "scf").read_rules
    rows = ["| pattern | type | meaning | compiles |", "|---|---|---|---|"]
    for spec in PATTERNS.values():
        sizes = f"({', '.join(spec.explicit)})" if spec.explicit else ""
        mark = "yes" if spec.name in compiled else ""
        rows.append(f"| `{spec.name}{sizes}` | `{show(spec.type)}` | {spec.summary} | {mark} |")
    return "\n".join(rows)


def test_the_pattern_table_is_the_registry() -> None:
    text = (ROOT / "docs/language.md").read_text()
    found = re.search(r"<!-- patterns: .*? -->\n(.*?)\n<!-- end of patterns -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == pattern_table()


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
        tool, *arguments = shlex.split(command.replace("mm.o", str(tmp_path / "mm.o")))
        (rise_opt.main if tool == "rise-opt" else rise.main)(arguments)
        assert "error" not in capsys.readouterr().err
