"""Random programs come back unchanged from dialect text, from notation and from Python."""

from __future__ import annotations

import pytest

from support.fuzzing import Ran, seeds
from support.programs import seeded_program
from support.round_trips import ROUND_TRIPS, SAMPLED
from support.shrinking import holds

SAMPLE = 4
"""Every fourth program also goes through the canonical and generic forms and the formatter."""


@pytest.mark.rotating(3)
@pytest.mark.sampled(1)
@seeds(100, nightly=2000, fuzzed=50_000, batch=50)
def test_every_form_is_read_back(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        program = seeded_program(seed)
        for round_trip in ROUND_TRIPS:
            holds(round_trip, program)
        for round_trip in SAMPLED if seed % SAMPLE == 0 else ():
            holds(round_trip, program)
    ran("programs: read back from dialect text, notation and Python", len(seeds))
