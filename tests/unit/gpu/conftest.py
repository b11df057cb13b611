"""Kernels run on this processor."""

from __future__ import annotations

import pytest

from riselang.api.lowered import Lowered
from support.emulated_gpu import Emulate, EmulatedGpu


@pytest.fixture
def emulate(monkeypatch: pytest.MonkeyPatch) -> Emulate:
    """Lets a program run without a GPU."""

    def start(lowered: Lowered) -> EmulatedGpu:
        gpu = EmulatedGpu(lowered.compilation.gpu)
        monkeypatch.setattr("riselang.native.cuda.driver", lambda: gpu)
        return gpu

    monkeypatch.setenv("RISE_CACHE", "0")
    return start
