"""The notebooks run, and show what is written in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import riselang

pytestmark = [pytest.mark.long, pytest.mark.rotating(6)]
EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def test_there_are_four() -> None:
    assert [each.stem for each in NOTEBOOKS] == ["language", "model", "strategies", "training"]


@pytest.mark.rotating(8)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_showed(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    # What the kernel keeps of its own goes to a folder of its own.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(riselang.__file__).parents[1]))
    # How long something takes is not what is kept.
    monkeypatch.setenv("RISE_PROGRESS", "0")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    kept = nbformat.read(path, as_version=4)
    ran = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        ran, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    assert any(cell.cell_type == "code" for cell in ran.cells)
    for before, after in zip(kept.cells, ran.cells, strict=True):
        assert shown(before) == shown(after), f"run {path} again and save it"


def shown(cell: Any) -> list[Any]:
    """What a cell printed and gave; a page in a frame is left out, which is not kept."""
    found: list[Any] = []
    for output in cell.get("outputs", []):
        data = {kind: text for kind, text in output.get("data", {}).items()
                if not text.startswith("<iframe")}  # fmt: skip
        found.append((output.output_type, output.get("text"), data))
    return found
