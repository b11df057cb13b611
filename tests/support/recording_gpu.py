"""An emulated GPU for programs that are compiled while it is used."""

from __future__ import annotations

from typing import Any

import pytest

from riselang.compiler.gpu_code import GpuCode
from riselang.compiler.host_plans import kernel_module
from support.emulated_gpu import EmulatedGpu, EmulatedModule


class RecordingGpu(EmulatedGpu):
    """Finds the kernels of all programs that have been compiled."""

    codes: list[GpuCode]

    def load(self, ptx: str) -> EmulatedModule:
        code = next(each for each in self.codes if each.ptx == ptx)
        return EmulatedModule(self, kernel_module(code.module))


def emulate_new_programs(monkeypatch: pytest.MonkeyPatch) -> RecordingGpu:
    """Let all programs run on an emulated GPU."""
    monkeypatch.setenv("RISE_CACHE", "0")
    codes: list[GpuCode] = []
    make: Any = GpuCode.__init__

    def record(self: GpuCode, lowered: Any) -> None:
        make(self, lowered)
        codes.append(self)

    monkeypatch.setattr(GpuCode, "__init__", record)
    emulated = RecordingGpu(None, runs_threads_in_turn=True)  # type: ignore[arg-type]
    emulated.codes = codes
    monkeypatch.setattr("riselang.native.cuda.driver", lambda: emulated)
    return emulated
