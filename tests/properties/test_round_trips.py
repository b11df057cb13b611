"""Random programs come back unchanged from dialect text, from notation and from Python."""

from __future__ import annotations

from support.fuzzing import Ran, seeds
from support.programs import seeded_program
from support.round_trips import ROUND_TRIPS, through_generic_text
from support.shrinking import holds

GENERIC = 8
"""Every eighth program also in the generic form, which xDSL reads and prints."""


@seeds(2000, fuzzed=50_000, batch=50)
def test_every_form_is_read_back(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        program = seeded_program(seed)
        for round_trip in ROUND_TRIPS:
            holds(round_trip, program)
        if seed % GENERIC == 0:
            holds(through_generic_text, program)
    ran("programs: read back from dialect text, notation and Python", len(seeds))
