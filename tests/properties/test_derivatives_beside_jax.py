"""Random programs: JAX computes the same derivatives, in both modes."""

from __future__ import annotations

import numpy as np
import pytest

from riselang.autodiff.differentiation import forward_term, reverse_term
from riselang.dialects.rise.types import f64, uncurry
from riselang.support.errors import LimitationError
from support.derivatives import Derivatives, has_only_floats, random_buffers
from support.fuzzing import Ran, seeds
from support.numpy_scalars import Array
from support.programs import seeded_program

pytest.importorskip("jax")
TOLERANCE = 1e-6


def is_close(own: Array, other: Array) -> bool:
    own, other = np.asarray(own), np.asarray(other)
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        return True  # a kink or a pole: what comes out depends on the order of operations
    scale = 1 + max(np.abs(own).max(initial=0), np.abs(other).max(initial=0))
    return bool(np.abs(own - other).max(initial=0) <= TOLERANCE * scale)


@seeds(4, nightly=800, fuzzed=800, batch=20)
def test_jax_agrees(seeds: range, ran: Ran) -> None:
    for seed in seeds:
        ran("programs: derivatives = JAX", check_program(seed))


def check_program(seed: int) -> int:
    """Compare one program, and return whether it was compared."""
    from support.jax_twin import NotInJax, derivatives

    term = seeded_program(seed, scalars=(f64,)).term
    types, _ = uncurry(term.type)
    if not any(map(has_only_floats, types)):
        return 0
    source = np.random.default_rng(seed)
    values = [buffer for type in types for buffer in random_buffers(type, source)]
    own = Derivatives(term, values, seed)
    try:
        forward = own.run_derivative(forward_term(term, own.active), own.tangents)
        reverse = own.run_derivative(reverse_term(term, own.active), own.cotangents)
        results, tangents, cotangents = derivatives(
            term, values, own.active, own.tangents, own.cotangents
        )
    except (LimitationError, NotInJax):
        return 0
    assert all(map(is_close, own.floats(own.results), results)), seed
    assert all(map(is_close, forward, tangents)), (seed, forward, tangents)
    if cotangents is not None:
        assert all(map(is_close, reverse, cotangents)), (seed, reverse, cotangents)
    return 1
