"""Random misuse of functions, methods and operators is reported at the user's line."""

from __future__ import annotations

import warnings

from support.fuzzing import Ran, seeds
from support.misuse import Misuse, raise_leaks


@seeds(40, nightly=2000, fuzzed=20_000, batch=40)
def test_a_misuse_is_reported_in_one_paragraph(seeds: range, ran: Ran) -> None:
    raise_leaks()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = [Misuse(seed).run() for seed in seeds]
    ran("misuses", len(seeds))
    assert len(seeds) < 40 or sum(error is not None for error in errors) > 20
