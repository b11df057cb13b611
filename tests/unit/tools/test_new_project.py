"""`rise new`: the kernel, the test and the benchmark of a new project run."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from riselang.tools import rise


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    monkeypatch.chdir(tmp_path)
    rise.main(["new", "my-kernels"])
    assert capsys.readouterr().out.startswith("made the project 'my-kernels': README.md,")
    return tmp_path / "my-kernels"


def test_everything_in_a_new_project_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (project / "README.md").read_text().startswith("# my-kernels\n")
    monkeypatch.syspath_prepend(str(project))
    names = ("kernels", "test_kernels", "benchmark")
    modules: Any = sys.modules
    for name in names:
        # Other tests may have modules of these names.
        monkeypatch.delitem(modules, name, raising=False)
    _, tests, benchmark = (importlib.import_module(name) for name in names)
    for name in names:
        monkeypatch.delitem(modules, name)
    tests.test_smooth(10)
    monkeypatch.setattr(benchmark, "LENGTH", 100)
    benchmark.main()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "riselang", "NumPy",
    ]  # fmt: skip


@pytest.mark.nightly
def test_the_commands_of_a_new_project(project: Path) -> None:
    for command in (["-m", "pytest", "-q"], ["benchmark.py"]):
        subprocess.run([sys.executable, *command], cwd=project, check=True)
    rise.main(["show", str(project / "kernels.py")])


def test_a_folder_with_files_is_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "kernels.py").write_text("mine")
    with pytest.raises(SystemExit):
        rise.main(["new", "my-kernels"])
    assert "'my-kernels' exists; choose a new name, or an empty folder" in capsys.readouterr().err
    assert (project / "kernels.py").read_text() == "mine"
