"""Models of which MLIR makes loops: random ops on complex numbers, and broken modules."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.stablehlo.elements import COMPLEX_OPS
from riselang.frontends.stablehlo.fallback import model_split
from riselang.tools import rise
from support.broken_stablehlo import STABLEHLO
from support.complex_stablehlo import MOVING, PRODUCTS, complex_case
from support.fuzzing import Ran, seeds
from support.model_examples import as_list
from support.tool_runs import called


@pytest.mark.parametrize("name", [*MOVING, *PRODUCTS])
@seeds(2, nightly=2, fuzzed=100, batch=10)
@pytest.mark.sampled(5)
def test_a_random_op_on_complex_numbers(
    name: str, seeds: range, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As patterns, and, for every other case, by the fallback."""
    cases = [case for seed in seeds if (case := complex_case(name, seed)) is not None]
    for number, case in enumerate(cases):
        ops = COMPLEX_OPS if number % 2 else frozenset[str]()
        monkeypatch.setattr(model_split, "COMPLEX_OPS", ops)
        try:
            model = rl.from_stablehlo(case.text, fallback="linalg")
        except rl.LimitationError as error:
            # MLIR's pass crashes on some gathers, and fails on a pad that removes a dimension.
            if name == "gather" or "out-of-bounds" in str(error):
                continue
            raise
        real = rl.from_stablehlo(case.real.text, backend="interpret")
        wanted = case.expected(lambda arrays, real=real: as_list(real(*arrays)))
        for found, other in zip(as_list(model(*case.arguments)), wanted, strict=True):
            np.testing.assert_allclose(found, other, rtol=1e-5, atol=1e-5, err_msg=case.text)
    ran("random ops on complex numbers", len(cases))


@seeds(40, nightly=60, fuzzed=4000, batch=20)
def test_broken_stablehlo_is_rejected_or_shown(seeds: range, tmp_path: Path, ran: Ran) -> None:
    for seed in seeds:
        path = tmp_path / f"broken{seed}.mlir"
        path.write_bytes(STABLEHLO.broken(seed))
        arguments = ["import", str(path)]
        if Random(seed).random() < 0.5:
            arguments += ["--fallback", "linalg"]
        outcome = called(rise.main, arguments)
        assert "Traceback" not in outcome.errors, outcome.errors
        assert outcome.code in (0, 1), (seed, outcome.errors)
    ran("broken StableHLO modules", len(seeds))
