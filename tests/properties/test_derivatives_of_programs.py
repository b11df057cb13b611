"""Random programs: forward and reverse mode agree."""

from __future__ import annotations

import numpy as np

from riselang.dialects.rise.types import f64, uncurry
from riselang.support.errors import LimitationError
from support.derivatives import Derivatives, has_only_floats, random_buffers
from support.fuzzing import seeds
from support.programs import seeded_program


@seeds(15, nightly=1000, fuzzed=5_000, batch=40)
def test_modes_agree(seeds: range) -> None:
    agreed = 0
    for seed in seeds:
        term = seeded_program(seed, scalars=(f64,)).term
        types, _ = uncurry(term.type)
        if not any(map(has_only_floats, types)):
            continue
        source = np.random.default_rng(seed)
        values = [buffer for type in types for buffer in random_buffers(type, source)]
        try:
            Derivatives(term, values, seed).check_agreement()
        except LimitationError:
            continue  # vectors, while, and scatterWith by other functions than add, max and min
        agreed += 1
    assert agreed
