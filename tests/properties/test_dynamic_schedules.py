"""Programs that the default strategy schedules for all sizes: equal to the interpreter at any size.

The sizes are drawn around those of tiles and vectors, and include 0 and 1. The thresholds for large
programs are lowered, so that small arrays reach the versions for large ones as well.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from riselang.api.kernel import TermKernel
from riselang.dialects.rise.types import leaves
from riselang.nat import Nat
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategies import contractions
from riselang.runtime.arrays import Array
from riselang.support.config import Options
from riselang.term.nodes import has_pattern
from support.fuzzing import Ran, seeds

DOT = "zip({}, {}) |> map(mult) |> reduce(add, 0.0)"
COLUMNS = DOT.format("row", "column")
PROGRAMS = {
    "matmul": f"fun((a : N.K.f32, b : K.M.f32), a |> map(fun(row, b |> transpose |> map(fun(column,"
    f" {COLUMNS})))))",
    "matmul of columns": f"fun((a : N.K.f32, b : M.K.f32), a |> map(fun(row, b |> map(fun(column,"
    f" {COLUMNS})))))",
    "one row": f"fun((a : 1.K.f32, b : K.M.f32), a |> map(fun(row, b |> transpose |> map("
    f"fun(column, {COLUMNS})))))",
    "open batch": f"fun((a : N.20.f32, b : 20.33.f32, c : 33.f32), a |> map(fun(row, zip(b |> "
    f"transpose, c) |> map(fun(p, max(({DOT.format('row', 'fst(p)')}) + snd(p), 0.0))))))",
}
SIZES = (0, 1, 2, 7, 8, 9, 16, 17, 33, 49)


@pytest.fixture(autouse=True)
def small_thresholds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Large programs begin at sizes that the interpreter can compute."""
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(contractions, "MIN_PARALLEL_PRODUCTS", 1 << 10)


def kernel(name: str, permission: str) -> TermKernel:
    term = parse_term(PROGRAMS[name])
    result = TermKernel("f", term, options=Options(float=permission), strategy=DEFAULT)
    result.symbolic = True
    return result


@pytest.mark.parametrize("permission", ["strict", "contract"])
@pytest.mark.parametrize("name", PROGRAMS)
@seeds(4, nightly=20, fuzzed=400, batch=4)
def test_every_size_has_the_bits_of_the_interpreter(
    name: str, permission: str, seeds: range, ran: Ran
) -> None:
    compiled = kernel(name, permission)
    assert has_pattern(compiled.lower().rewritten, "ifAtLeast", "padConst", "take")
    for seed in seeds:
        random = np.random.default_rng(seed)
        sizes = {size: Nat.const(int(random.choice(SIZES))) for size in "NKM"}
        arrays: list[Array] = []
        for type in compiled.types:
            ((lengths, _),) = leaves(type)
            shape = [length.substitute(sizes).constant for length in lengths]
            arrays.append(random.standard_normal(shape).astype(np.float32))
        expected = TermKernel("f", compiled.term, "interpret", Options(float=permission))(*arrays)
        assert np.array_equal(compiled(*arrays), expected), sizes
    ran("programs: interpreter = scheduled for all sizes", len(seeds))
