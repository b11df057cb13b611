"""Memory stays flat over many calls: what a kernel allocates it frees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from running import NAMES, jitted, module

pytestmark = pytest.mark.rotating(6)

CALLS = 10_000
PAGES = Path("/proc/self/statm")
ALLOWED = 2 << 20
"""Bytes; a leak of one small array in each call is more."""


def resident() -> int:
    return int(PAGES.read_text().split()[1]) * 4096


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(4)
def test_ten_thousand_calls_leave_no_memory_behind(name: str) -> None:
    inputs = module(name).inputs()
    compiled = jitted(name).lower(*inputs).compile()
    arrays = [np.asarray(value) for value in inputs]
    for _ in range(CALLS // 10):
        compiled.run(arrays)
    before = resident()
    for _ in range(CALLS):
        compiled.run(arrays)
    assert resident() - before < ALLOWED
