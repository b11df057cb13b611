"""Random programs: forward and reverse mode agree."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.autodiff.differentiation import forward_term, reverse_term
from riselang.autodiff.instantiation import normalize_function
from riselang.dialects.rise.types import f64, uncurry
from riselang.support.errors import LimitationError
from riselang.term.nodes import subterms
from support.checking import check_compiled, inputs_of
from support.derivatives import Derivatives, has_only_floats, random_buffers
from support.fuzzing import Ran, seeds
from support.programs import Program, seeded_program


@pytest.mark.rotating(2)
@seeds(15, nightly=5_000, fuzzed=5_000, batch=40)
def test_modes_agree(seeds: range, ran: Ran) -> None:
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
            continue  # vectors
        agreed += 1
    ran("programs: forward = reverse mode", agreed)
    assert agreed


@seeds(4, nightly=1000, fuzzed=5_000, batch=8)
def test_compiled_derivatives_agree_with_the_interpreter(seeds: range, ran: Ran) -> None:
    """All bits are equal under strict float semantics."""
    configuration = CONFIGURATIONS[seeds.start // len(seeds) % len(CONFIGURATIONS)]
    derivatives = [each for seed in seeds for each in compiled_derivatives(seed)]
    inputs = [inputs_of(each, seeds.start) for each in derivatives]
    check_compiled(configuration, derivatives, inputs)
    ran("programs: compiled derivatives = interpreter", len(derivatives))


CONFIGURATIONS = (
    ("affine", "strict", 1, "stack"), ("scf", "strict", 1, "heap"), ("scf", "strict", 2, "stack"),
    ("polyhedral", "strict", 1, "heap"),
)  # fmt: skip

MAX_SUBTERMS = 600
"""Larger derivatives are not compiled, since that takes minutes."""


def compiled_derivatives(seed: int) -> list[Program]:
    """The derivatives of a program in both modes."""
    term = seeded_program(seed, scalars=(f64,), compiled=True).term
    types, _ = uncurry(term.type)
    active = [has_only_floats(type) for type in types]
    if not any(active):
        return []
    try:
        derivatives = [reverse_term(term, active), forward_term(term, active)]
    except LimitationError:
        return []  # vectors
    programs = [Program(normalize_function(each), 1) for each in derivatives]
    return [each for each in programs if len(set(subterms(each.term))) <= MAX_SUBTERMS]
