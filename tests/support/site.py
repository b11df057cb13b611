"""The documentation as a site, built once in a run of the tests by the process that comes first."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
LONGEST = 1200
"""After so many seconds the process that builds it is taken for dead."""


@dataclass(frozen=True)
class Site:
    """Where the pages are, and what Sphinx said; nothing, where all is well."""

    pages: Path
    complaints: str


def built_site(factory: pytest.TempPathFactory) -> Site:
    base = factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "built-site"
    said = folder / "said.txt"
    try:
        folder.mkdir()
    except FileExistsError:
        end = time.monotonic() + LONGEST
        while not said.exists() and time.monotonic() < end:
            time.sleep(0.2)
    else:
        _build(folder, said)
    return Site(folder / "html", said.read_text())


def _build(folder: Path, said: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    folders = ["-d", folder / "doctrees", DOCS, folder / "html"]
    run = subprocess.run([*command, *folders], capture_output=True, text=True, check=False)
    complaints = run.stderr or (f"exit code {run.returncode}" if run.returncode else "")
    partial = said.with_suffix(".part")
    partial.write_text(complaints)
    partial.rename(said)
