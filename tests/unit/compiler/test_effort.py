"""How much time the compiler takes for faster code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.native.llvm import codegen as llvm

EFFORTS = ("fast", "default", "max")


def scaled(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda a: a * 2.0)


def product(A: rl.Array["N", "N", rl.f32], B: rl.Array["N", "N", rl.f32]) -> Any:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


@pytest.mark.parametrize("effort", EFFORTS)
def test_results_do_not_depend_on_it(effort: str) -> None:
    array = np.arange(40, dtype=np.float32)
    assert np.array_equal(rl.jit(scaled, effort=effort)(array), array * 2)


def test_fast_code_has_plain_loops() -> None:
    assert rl.jit(product).lower(N=64).derivation is not None
    assert rl.jit(product, effort="fast").lower(N=64).derivation is None
    given = rl.jit(product, effort="fast", strategy="simplify()").lower(N=64)
    assert given.derivation is not None, "a strategy that is given is applied"


def test_llvm_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_CACHE", "0")
    seen: list[llvm.Effort] = []
    before = llvm._optimize_module

    def noted(ir: str, target: Any, machine: Any, effort: llvm.Effort, library: str) -> Any:
        seen.append(effort)
        return before(ir, target, machine, effort, library)

    monkeypatch.setattr(llvm, "_optimize_module", noted)
    for effort in EFFORTS:
        rl.jit(scaled, effort=effort).lower(N=8).compile()
    assert seen == [llvm.EFFORTS[effort] for effort in EFFORTS]
    assert [(each.level, each.vectorizes) for each in seen] == [(1, False), (3, True), (3, True)]


def test_it_is_part_of_the_key() -> None:
    keys = {rl.jit(scaled, effort=effort).lower(N=8).key for effort in EFFORTS}
    assert len(keys) == len(EFFORTS)


def test_every_way_in_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program: Any = rl.loads("def f = fun((x : 4.f32), x |> map(neg))", name="f.rise", effort="fast")
    assert program.f.options.effort == "fast"
    assert rl.jit(scaled).trace(N=8).lower(effort="max").options.effort == "max"
    monkeypatch.setenv("RISE_EFFORT", "max")
    assert rl.jit(scaled).options.effort == "max"


def test_other_words_are_rejected() -> None:
    with pytest.raises(rl.UserError, match="effort must be one of fast, default, max"):
        rl.jit(scaled, effort="slow")
