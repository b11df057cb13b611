"""The equivalents in docs/explanation/from-other-languages.md run, and agree with NumPy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from making.pages import blocks

PAGE = (Path(__file__).parents[2] / "docs/explanation/from-other-languages.md").read_text()
TABLE = re.compile(r"^\| (\w[\w ]*) \| (\w[\w ]*) \|\n\|---\|---\|\n((?:\|.*\|\n)+)", re.MULTILINE)
TYPES: dict[str, Any] = {
    "x": rl.Array[8, rl.f32],
    "y": rl.Array[8, rl.f32],
    "w": rl.Array[3, rl.f32],
    "A": rl.Array[4, 6, rl.f32],
    "B": rl.Array[6, 5, rl.f32],
    "b": rl.Array[6, rl.f32],
    "c": rl.Array[4, rl.f32],
    "i": rl.Array[3, rl.i32],
    "k": rl.i32,
    "s": rl.f32,
}
NOTATION = """
def f = fun(a, a * a)
def g = fun((a, b), a * b)
def main = fun((x : 8.f32, y : 8.f32, A : 4.6.f32, s : f32), {})
"""


def rows(language: str, form: str) -> Iterator[tuple[str, str]]:
    """The code in both columns of the tables with these headings."""
    for left, right, body in TABLE.findall(PAGE):
        if (left, right) == (language, form):
            for line in body.splitlines():
                cells = [cell.replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                if cells[1].strip().startswith("`"):
                    yield cells[0].strip().strip("`"), cells[1].strip().strip("`")


def values() -> dict[str, Any]:
    random = np.random.default_rng(0)

    def some(*shape: int) -> Any:
        return random.integers(-9, 10, shape).astype(np.float32)

    return {
        "x": some(8), "y": some(8), "w": some(3), "A": some(4, 6), "B": some(6, 5), "b": some(6),
        "c": some(4), "i": np.array([5, 0, 5], np.int32), "k": np.int32(2), "s": np.float32(3),
    }  # fmt: skip


def result(source: str) -> Any:
    """What the Python form of a program computes of the values that it mentions."""
    names = [name for name in TYPES if re.search(rf"\b{name}\b", source)]
    scope: dict[str, Any] = {
        "rl": rl, "math": math, "f": lambda a: a * a, "g": lambda a, b: a * b,
    }  # fmt: skip
    exec(f"def program({', '.join(names)}):\n    return {source}\n", scope)
    program: Callable[..., Any] = scope["program"]
    program.__annotations__ = {name: TYPES[name] for name in names}
    return rl.jit(program)(*(values()[name] for name in names))


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("numpy_form", "form"), list(rows("NumPy", "RISE")))
def test_a_program_computes_what_numpy_computes(numpy_form: str, form: str) -> None:
    scope = {"np": np, "sliding": np.lib.stride_tricks.sliding_window_view, **values()}
    expected = eval(numpy_form, scope)
    np.testing.assert_allclose(result(form), expected, rtol=1e-6)


@pytest.mark.parametrize("form", [form for _, form in rows("JAX", "RISE")])
def test_a_program_for_jax_runs(form: str) -> None:
    assert np.isfinite(result(form)).all()


@pytest.mark.parametrize("form", [form for _, form in rows("Futhark", "notation")])
def test_a_program_for_futhark_runs(form: str) -> None:
    program: Any = rl.loads(NOTATION.format(form), name="equivalents.rise")
    assert np.isfinite(program.main(*(values()[name] for name in ("x", "y", "A", "s")))).all()


@pytest.mark.parametrize("strategy", [form for _, form in rows("Halide", "strategy")])
def test_a_schedule_applies(strategy: str) -> None:
    source = next(block.text for block in blocks(PAGE) if block.file == "mm.rise")
    program: Any = rl.loads(source, name="mm.rise", strategy=strategy)
    assert program.mm.lower(N=64, K=64, M=64).derivation.steps


def test_every_table_is_read() -> None:
    headings = [("NumPy", "RISE"), ("JAX", "RISE"), ("Futhark", "notation"), ("Halide", "strategy")]
    assert all(len(list(rows(*each))) >= 8 for each in headings)
