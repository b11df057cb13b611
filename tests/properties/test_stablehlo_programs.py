"""Random ops of StableHLO: compiled, interpreted, and by StableHLO's own interpreter."""

from __future__ import annotations

import numpy as np
import pytest

import riselang as rl
from support.fuzzing import Ran, seeds
from support.model_examples import as_list
from support.random_stablehlo import MAKERS, random_case
from support.stablehlo_reference import evaluate


@pytest.mark.parametrize("name", sorted(MAKERS))
@seeds(4, nightly=4, fuzzed=400, batch=25)
@pytest.mark.sampled(3)
def test_a_random_op_means_what_it_means_in_stablehlo(name: str, seeds: range, ran: Ran) -> None:
    for seed in seeds:
        case = random_case(name, seed)
        wanted = evaluate(case.plain, case.arguments)
        for backend in ("interpret", "compile"):
            model = rl.from_stablehlo(case.text, backend=backend)
            found = as_list(model(*case.arguments))
            for result, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(result, other, f"{backend} {seed}\n{case.text}")
    ran("random ops of StableHLO", len(seeds))
