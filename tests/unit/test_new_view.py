"""A new view is what three files say of it: its routes, its meaning on lists, and its reference.

The test adds one to a copy of the sources and runs what is made of that in another process.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import riselang as rl

pytestmark = pytest.mark.rotating(6)

SOURCES = Path(rl.__file__).parent
TESTS = Path(__file__).parents[1]

DECLARED = """
ROTATE = pattern(
    "rotate", "k n t", fun(array(_k + _n, _t), array(_k + _n, _t)), Role.VIEW,
    "the first k elements behind the others",
    explicit="k",
    view=View(
        lambda k, n, i: (i + k) % as_divisor(k + n), "An array with its beginning at its end.",
        lambda k, n, i: (i + n) % as_divisor(k + n),
        "What `rotate` gives, to be written as the array before it.",
        size_attribute=SizeAttribute("k", "count", "by"),
    ),
)
"""
DESCRIBED = """
_describe(
    "rotate",
    [
        Law("x : k.i32, y : n.i32", "concat(x, y) |> rotate(k)", "concat(y, x)"),
        Law(f"{_F}, x : (k + n).i32", "x |> rotate(k) |> map(f)", "x |> map(f) |> rotate(k)"),
    ],
    "x : 4.i32", "x |> rotate(1)", "[1, 2, 3, 4]", "[2, 3, 4, 1]",
)
"""
ADDED = {
    "riselang/dialects/rise/pattern_registry.py": lambda text: text + DECLARED,
    "making/pattern_reference.py": lambda text: text + DESCRIBED,
    "riselang/interpreter/pattern_semantics.py": lambda text: text.replace(
        "MEANINGS: Mapping[str, Callable[..., Any]] = {",
        "MEANINGS: Mapping[str, Callable[..., Any]] = {\n"
        '    "rotate": lambda pattern, xs: (\n'
        '        xs[_size_argument(pattern, "k") :] + xs[: _size_argument(pattern, "k")]\n'
        "    ),",
    ),
}
CHECKS = '''
import sys
from pathlib import Path

import numpy as np

import riselang as rl
from making.stubs import patterns
from making.pattern_reference import REFERENCE
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.interpreter.evaluate import run_term
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term
from riselang.rewrite.proving import Status, prove

assert Path(rl.__file__).is_relative_to(sys.argv[1])
(Path(rl.__file__).parent / "dsl" / "patterns.pyi").write_text(patterns())

from support.concerns import forgotten

assert forgotten(PATTERNS["rotate"]) == []
X = np.arange(12, dtype=np.int32)


def check(function, *inputs, expected):
    """Read, stored and in maps: the interpreter and the compiler have the same result."""
    term = function.trace().term
    assert parse_term(show_term(term)) == term
    found = function(*inputs)
    assert np.array_equal(found, expected), (found, expected)
    meant = run_term(term, [each.tolist() for each in inputs])
    assert np.array_equal(np.array(meant), expected), (meant, expected)
    return function.trace().lower()


@rl.jit
def read(x: rl.Array[12, rl.i32]):
    return x | rl.rotate(5) | rl.map(lambda e: e * 2)


@rl.jit
def stored(x: rl.Array[12, rl.i32]):
    return x | rl.map_seq(lambda e: e * 2) | rl.rotate(5)


@rl.jit
def rows(x: rl.Array[3, rl.Array[4, rl.i32]]):
    return x | rl.map_seq(rl.map_seq(lambda e: e * 2)) | rl.map(rl.rotate(1)) | rl.rotate(2)


@rl.jit
def chosen(x: rl.Array["N", rl.i32]):
    return x | rl.rotate(2) | rl.reverse


assert "rise.codegen.rotate %" in check(read, X, expected=np.roll(X * 2, -5)).as_text("imperative")
text = check(stored, X, expected=np.roll(X * 2, -5)).as_text("imperative")
assert "rise.codegen.rotateAcc" in text and "by <5>" in text and "alloc" not in text, text
grid = X.reshape(3, 4)
text = check(rows, grid, expected=np.roll(np.roll(grid * 2, -1, 1), -2, 0)).as_text("imperative")
assert text.count("rise.codegen.rotateAcc") == 2 and "alloc" not in text, text
assert np.array_equal(chosen(X), np.roll(X, -2)[::-1])

for law in REFERENCE["rotate"].laws:
    left, right = (parse_term(f"fun(({law.parameters}), {side})") for side in (law.left, law.right))
    verdict = prove(left, right, timeout_ms=60_000)
    assert verdict.status is Status.PROVED, verdict
wrong = [parse_term(f"fun(x : 4.i32, x |> rotate({count}))") for count in (1, 2)]
assert prove(*wrong).status is Status.REFUTED
print("all checked")
'''


@pytest.fixture(name="copy")
def copied_sources(tmp_path: Path) -> Path:
    """A folder with a copy of the sources in it, which know the new view."""
    for source in (SOURCES, TESTS.parent / "docs" / "making"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, tmp_path / source.name, ignore=ignored)
    for file, added in ADDED.items():
        path = tmp_path / file
        text = path.read_text()
        assert added(text) != text
        path.write_text(added(text))
    return tmp_path


def test_three_files_are_enough(copy: Path) -> None:
    folders = [copy, TESTS]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "RISE_CACHE_DIR": str(copy / "cache"),
    }
    script = copy / "checks.py"
    script.write_text(CHECKS)
    done = subprocess.run(
        [sys.executable, script, copy], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "all checked", done.stderr
