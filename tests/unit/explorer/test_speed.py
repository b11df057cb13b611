"""Versions and rivals of a program, measured beside what the machine can do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.explorer.speed import AS_WRITTEN, measure_versions, random_arrays, strategy_versions
from riselang.rewrite.default import DEFAULT
from riselang.rewrite.strategy_text import parse_strategy
from riselang.support.errors import UserError
from riselang.tuning.peaks import measure_peaks

MATMUL = """fun((A : N.K.f32, B : K.M.f32), A |> map(fun(row,
  B |> transpose |> map(fun(column, zip(row, column) |> map(mult) |> reduce(add, 0.0))))))"""
TILED = "tile(4, 4) @ outermost('map', nest=2) >> simplify() >> fuse()"


def matmul(strategy: str = TILED, **sizes: int) -> Any:
    program: Any = rl.loads(MATMUL, name="m.rise", strategy=strategy)
    return program.main.trace(**sizes)


def test_every_prefix_that_gives_another_program_is_a_version() -> None:
    traced = matmul(N=8, K=8, M=8)
    found = strategy_versions(traced.term, traced.strategy, "contract")
    assert [name for name, _ in found] == [AS_WRITTEN, "tile(4, 4) @ outermost('map', nest=2)"]
    assert strategy_versions(traced.term, None, "contract") == [(AS_WRITTEN, None)]
    one = parse_strategy("split_join(4) @ outermost('map')")
    assert strategy_versions(traced.term, one, "contract")[-1] == (str(one), one)


def test_a_matmul_without_a_strategy_has_the_rungs_of_the_ladder() -> None:
    traced = matmul("default", N=32, K=32, M=32)
    names = [name for name, _ in strategy_versions(traced.term, DEFAULT, "contract")]
    assert names[0] == AS_WRITTEN
    assert "matmul.blocking" in names
    assert len(names) == len(set(names)) > 4


def test_versions_and_rivals_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "1")
    calls: list[int] = []

    def rival(a: Any, b: Any) -> Any:
        calls.append(1)
        return np.einsum("ij,jk->ik", a, b)

    speed = measure_versions(matmul(N=8, K=8, M=8), {"einsum": rival}, repetitions=2, share=1e-4)
    kinds = [(each["name"].partition("(")[0], each["kind"]) for each in speed["versions"]]
    assert kinds == [("as written", "version"), ("tile", "chosen"), ("einsum", "rival"),
                     ("numpy a @ b", "rival")]  # fmt: skip
    assert calls
    for each in speed["versions"]:
        assert 0 < each["low"] <= each["median"] <= each["high"]
        assert each["rate"] == pytest.approx(2 * 8**3 / each["median"] / 1e9)
    assert speed["intensity"] == pytest.approx(2 * 8**3 / (3 * 8 * 8 * 4))
    assert speed["threads"] == 1
    rates = [each["rate"] for each in speed["bandwidths"]]
    assert rates == sorted(rates, reverse=True)


def test_what_is_no_product_has_no_rival_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "1")
    program: Any = rl.loads("fun((x : 8.i32), x |> reverse)", name="r.rise", strategy="none")
    speed = measure_versions(program.main.trace(), {}, repetitions=2, share=1e-4)
    assert [each["name"] for each in speed["versions"]] == [AS_WRITTEN]
    assert speed["versions"][0]["rate"] is None
    assert speed["intensity"] is None


@pytest.mark.rotating(3)
def test_the_peaks_are_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_NUM_THREADS", "2")
    found = measure_peaks(repetitions=2, share=1e-4)
    assert found.threads == 2
    assert found.operations > 0
    assert [each.name for each in found.bandwidths] == ["cache", "memory"]
    assert all(each.rate > 0 for each in found.bandwidths)


def test_sizes_have_to_be_known_and_parameters_to_be_arrays() -> None:
    with pytest.raises(UserError, match="needs its sizes: N is not known"):
        measure_versions(matmul(), {})
    program: Any = rl.loads("fun((x : 4.(f32 x f32)), x |> map(fun(p, fst(p))))", name="p.rise")
    with pytest.raises(UserError, match="not an array of scalars"):
        measure_versions(program.main.trace(), {})
    scalar, table = random_arrays(rl_types("fun((a : f64, b : 2.3.i8), b)"))
    assert (scalar.shape, scalar.dtype, table.shape, table.dtype) == (
        (), np.float64, (2, 3), np.int8,
    )  # fmt: skip


def rl_types(text: str) -> list[Any]:
    from riselang.dialects.rise.types import uncurry
    from riselang.notation.program import parse_term

    return list(uncurry(parse_term(text).type)[0])
