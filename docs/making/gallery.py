"""The programs of examples/gallery on their page: code, results, pictures and times.

Results and pictures are computed by `docs/generate.py gallery.md`, and nightly tests compare them.
The times are those that `benchmarks/gallery.py --page` wrote.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from making import pictures

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples" / "gallery"))

from harness import FOLDER, NAMES, Program, load  # noqa: E402

DATA = ROOT / "docs" / "gallery"
PICTURES = DATA / "programs"
SUMMARIES, FIGURES = DATA / "summaries.json", DATA / "figures.json"
NOT_SHOWN = {"expected", "example_inputs", "picture", "summary", "iterate_in_python"}
RIVALS = ("NumPy", "numba", "JAX")
MAX_DIFFERENCE = 4
"""The levels of 256 by which pixels may differ, since machines round differently."""


def programs() -> str:
    """Return a section for each program."""
    summaries = json.loads(SUMMARIES.read_text())
    return "\n".join(_section(name, summaries.get(name)) for name in NAMES)


def times() -> str:
    """Return the table of the times of all programs."""
    figures = json.loads(FIGURES.read_text())
    rows = ["| program | riselang, ms | NumPy | numba | JAX |", "|---|---:|---:|---:|---:|"]
    for name in NAMES:
        seconds = figures[name]
        factors = [_factor(seconds, rival) for rival in RIVALS]
        cells = [f"[{_title(name)}](#{_anchor(name)})", f"{seconds['riselang'] * 1e3:.3g}"]
        rows.append(f"| {' | '.join([*cells, *factors])} |")
    return "\n".join(rows)


def results() -> Iterator[tuple[Path, bytes]]:
    """Compute the results; return the files that change."""
    summaries: dict[str, str] = {}
    for name in NAMES:
        program = load(name)
        result = program.function(*program.inputs())
        if hasattr(program.module, "summary"):
            summaries[name] = program.module.summary(result)
        if hasattr(program.module, "picture"):
            picture = pictures.pixels(program.module.picture(result))
            path = PICTURES / f"{name}.png"
            if not path.exists() or not is_similar(path.read_bytes(), picture):
                yield path, pictures.encoded(picture)
    yield SUMMARIES, (json.dumps(summaries, indent=1) + "\n").encode()


def is_similar(file: bytes, picture: pictures.Pixels) -> bool:
    """Whether a file contains a picture, except for rounding."""
    stored = pictures.decoded(file)
    if len(stored.data) != len(picture.data) or stored.width != picture.width:
        return False
    levels = [np.frombuffer(each.data, np.uint8).astype(int) for each in (stored, picture)]
    return float(np.percentile(np.abs(levels[0] - levels[1]), 99)) <= MAX_DIFFERENCE


def _section(name: str, summary: str | None) -> str:
    program = load(name)
    lines = [f"({_anchor(name)})=", f"### {_title(name)}", "", program.description, ""]
    lines += ["```py", _source(program), "```", ""]
    if hasattr(program.module, "picture"):
        lines += [f"![The result of {_title(name)}](gallery/programs/{name}.png){{.pixels}}", ""]
    if summary is not None:
        lines += [f"Result: {summary}.", ""]
    return "\n".join(lines)


def _source(program: Program) -> str:
    """Return the code of a program without its imports, and without the version in NumPy."""
    text = (FOLDER / f"{program.name}.py").read_text()
    parts: list[str] = []
    was_short = False
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_hidden(node):
            continue
        decorators = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(each.lineno for each in decorators)])
        lines = text.splitlines()[start - 1 : node.end_lineno]
        is_short = isinstance(node, ast.Assign)
        if parts and not (is_short and was_short):
            parts += ["", ""]
        parts += lines
        was_short = is_short
    return "\n".join(parts)


def _is_hidden(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef):
        return node.name in NOT_SHOWN
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id in NOT_SHOWN
    return isinstance(node, ast.Expr)


def _factor(seconds: dict[str, float], rival: str) -> str:
    return f"{seconds[rival] / seconds['riselang']:.2g}" if rival in seconds else "-"


def _title(name: str) -> str:
    return name.replace("_", " ")


def _anchor(name: str) -> str:
    return f"gallery-{name.replace('_', '-')}"
