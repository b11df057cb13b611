"""Guards around the buffers of a GPU, here of an emulated one."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from riselang.native import cuda
from support.emulated_gpu import Emulate
from support.gpu_kernels import PROGRAMS, kernel, values
from support.guarded_gpu import FILLS, GUARD_BYTES, GuardedGpu, GuardError


@pytest.mark.parametrize("fill", FILLS)
def test_programs_run_between_guards(
    fill: int, emulate: Emulate, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, _ = PROGRAMS["a number from one kernel to the next"]
    program = kernel(text)
    arguments = values(program)
    gpu = GuardedGpu(emulate(program.lower()), fill)
    monkeypatch.setattr(cuda, "driver", lambda: gpu)
    assert np.array_equal(program(*arguments), kernel(text, "interpret")(*arguments))
    assert gpu.checked == 3, "an argument, a result, and a scalar"


@pytest.mark.parametrize("offset", [-1, 40, 39 + GUARD_BYTES])
def test_stores_outside_of_a_buffer_are_found(offset: int, emulate: Emulate) -> None:
    gpu = GuardedGpu(emulate(kernel(PROGRAMS["copies"][0]).lower()), FILLS[0])
    address = gpu.allocate(40)
    ctypes.c_uint8.from_address(address + offset).value = 1
    with pytest.raises(GuardError, match=f"byte {offset} of a buffer of 40 bytes"):
        gpu.free(address)
