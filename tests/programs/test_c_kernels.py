"""Every kernel in examples/c, compared with the C compiler: every bit of every array."""

from __future__ import annotations

import re

import pytest

from riselang.frontends.c.file import CFile
from riselang.frontends.c.schedule import statement_loops
from support.c_programs import EXTRA, KERNELS, check_same, enlarged, fixed
from support.fuzzing import FUZZ_FRACTION, IS_NIGHTLY

pytestmark = pytest.mark.rotating(4)

SIZES = {
    "ni": 7, "nj": 8, "nk": 9, "nl": 10, "nm": 6, "n": 9, "m": 7, "nr": 5, "nq": 4, "np": 6,
    "w": 8, "h": 7, "steps": 3, "nx": 8, "ny": 9,
}  # fmt: skip
EXTRA_SIZES = {"n": 11, "m": 7, "w": 2, "l": 5}
LENGTH = 405
"""Of arrays whose declarations do not say it."""
QUICK = ("atax", "cholesky", "durbin", "gramschmidt", "jacobi-1d", "lu", "trisolv")
"""Kernels for which another order is found in a second."""
NAMES = sorted(path.stem for path in KERNELS.glob("*.c"))


def kernel(name: str) -> tuple[str, dict[str, int]]:
    """The text of a kernel, and its sizes."""
    text = (KERNELS / f"{name}.c").read_text()
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    return text, used


def test_there_are_thirty() -> None:
    assert len(NAMES) == 30


@pytest.mark.parametrize("name", NAMES if IS_NIGHTLY else NAMES[::2])
@pytest.mark.sampled(5)
def test_symbolic_bounds_below_the_declared_lengths(name: str) -> None:
    text, sizes = kernel(name)
    check_same(enlarged(text, sizes, 3), None, sizes)


@pytest.mark.parametrize(
    "name", NAMES if FUZZ_FRACTION else NAMES[::4] if IS_NIGHTLY else NAMES[3::4]
)
@pytest.mark.sampled(3)
def test_symbolic_bounds_and_lengths(name: str) -> None:
    text, sizes = kernel(name)
    check_same(text, None, sizes, seed=1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES if FUZZ_FRACTION else NAMES[1::4])
def test_fixed_bounds(name: str) -> None:
    text, sizes = kernel(name)
    check_same(fixed(text, sizes), None, sizes, seed=2)


@pytest.mark.parametrize("name", NAMES if FUZZ_FRACTION else QUICK)
@pytest.mark.sampled(2)
def test_the_order_that_isl_finds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement_loops, "CACHE_TILE_COLUMNS", 8)
    monkeypatch.setattr(statement_loops, "CACHE_TILE_ROWS", 4)
    text, sizes = kernel(name)
    check_same(enlarged(text, sizes, 3), None, sizes, seed=3, schedule="isl")


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "nussinov"])
@pytest.mark.parametrize("size", [0, 1, 2])
def test_loops_that_hardly_run(name: str, size: int) -> None:
    text, sizes = kernel(name)
    check_same(enlarged(text, sizes, 3), None, dict.fromkeys(sizes, size))


def extra_functions() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in sorted(EXTRA.glob("*.c")):
        text = path.read_text()
        found += [
            (path.stem, function.name)
            for function in CFile.parse_text(text, path.name).functions
            if not function.is_static and function.location.file == path.name
        ]
    return found


@pytest.mark.parametrize(("file", "function"), extra_functions())
@pytest.mark.sampled(8)
def test_what_the_kernels_do_not_cover(file: str, function: str) -> None:
    text = (EXTRA / f"{file}.c").read_text()
    lengths: dict[str, int] = dict.fromkeys(("x", "y", "a", "b", "A", "B", "C"), LENGTH)
    sizes = {**EXTRA_SIZES, "rows": 0} if function == "rows_of_data" else EXTRA_SIZES
    check_same(text, function, sizes, lengths=lengths)


def test_rows_whose_ends_are_data() -> None:
    import numpy as np

    from support.c_programs import compiled_by_us

    text = (EXTRA / "conditions.c").read_text()
    rows = compiled_by_us(text, "rows_of_data")
    value, total = np.arange(6.0), np.zeros(3)
    rows(6, 3, np.array([0, 2, 2, 6], np.int32), value, total)
    assert total.tolist() == [1.0, 0.0, 14.0]
