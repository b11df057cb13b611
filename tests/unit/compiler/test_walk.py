"""`docs/architecture.md` names each function that decides something about a matrix product."""

from __future__ import annotations

import ast
import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import riselang as rl

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "riselang"
PIPELINE = "compiler/pipeline.py"
MOST_FUNCTIONS, MOST_LINES = 25, 200
Named = tuple[str, str]


def named() -> list[Named]:
    """The files and functions that the page names."""
    page = (ROOT / "docs/architecture.md").read_text()
    table = page.partition("<!-- walk -->")[2].partition("<!-- end of walk -->")[0]
    return re.findall(r"^\| `([\w/.]+)` \| `([\w.]+)` \|", table, re.MULTILINE)


def product(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]) -> Any:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


@pytest.fixture(scope="module")
def called() -> list[Named]:
    """The functions that are called for a product, in the order of their first calls."""
    seen: dict[Named, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(PACKAGE)):
            file = Path(code.co_filename).relative_to(PACKAGE).as_posix()
            seen.setdefault((file, code.co_qualname))

    kernel, array = rl.jit(product), np.ones((64, 64), np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RISE_CACHE", "0")
        before, before_threads = sys.getprofile(), threading.getprofile()
        threading.setprofile(note)
        sys.setprofile(note)
        try:
            result = kernel(array, array)
        finally:
            sys.setprofile(before)
            threading.setprofile(before_threads)
    assert (result == 64).all()
    return list(seen)


def test_the_walk_is_short() -> None:
    assert 0 < len(named()) <= MOST_FUNCTIONS


@pytest.mark.rotating(6)
def test_each_function_is_called_in_this_order(called: list[Named]) -> None:
    assert [each for each in named() if each not in called] == []
    assert sorted(named(), key=called.index) == named()


def test_each_function_is_where_the_page_says() -> None:
    for file, name in named():
        tree: Any = ast.parse((PACKAGE / file).read_text())
        for part in name.split("."):
            tree = next(each for each in tree.body if getattr(each, "name", None) == part)


def test_all_functions_of_the_pipeline_are_on_the_walk() -> None:
    text = (PACKAGE / PIPELINE).read_text()
    functions = [each.name for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    assert sorted(functions) == sorted(name for file, name in named() if file == PIPELINE)
    assert len(text.splitlines()) <= MOST_LINES
