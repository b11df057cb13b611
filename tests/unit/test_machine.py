"""What is found out about the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

import pytest

from riselang.support import cores, machine


@pytest.mark.parametrize(
    ("has", "expected"),
    [((), (16, 16)), (("AVX2",), (32, 16)), (("AVX2", "AVX512F"), (64, 32))],
)
def test_vectors_are_those_that_the_processor_has(
    has: Sequence[str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "AMD64")
    monkeypatch.setattr(machine, "_has_cpu_feature", lambda feature: feature in has)
    found = machine._detect_machine.__wrapped__(1)
    assert (found.vector_bytes, found.registers) == expected


def test_numpy_knows_the_features_that_are_asked_for() -> None:
    on_arm = platform.machine().lower() in ("aarch64", "arm64")
    assert not (
        on_arm and (machine._has_cpu_feature("AVX2") or machine._has_cpu_feature("AVX512F"))
    )
    assert machine._has_cpu_feature("AVX2") or not machine._has_cpu_feature("AVX512F")


def test_schedules_are_for_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    for threads in (1, 3):
        monkeypatch.setenv("RISE_NUM_THREADS", str(threads))
        assert machine.this_machine().cores == threads


@pytest.mark.parametrize(
    ("allowed", "granted", "expected"),
    [
        ({0, 1, 2, 3}, None, 2),
        ({0, 2}, None, 1),
        ({1, 2, 7}, None, 3),
        ({0, 1}, "max 100000", 2),
        ({0, 1}, "50000 100000", 1),
        ({4, 5, 6}, "150000 100000", 2),
    ],
)
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell")
def test_cores_are_those_that_the_process_may_use(
    allowed: set[int],
    granted: str | None,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for processor in range(4):
        topology = tmp_path / f"cpu{processor}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{processor % 2},{processor % 2 + 2}\n")
    if granted is not None:
        (tmp_path / "cpu.max").write_text(granted)
    monkeypatch.setattr(cores, "CPU_FOLDER", tmp_path)
    monkeypatch.setattr(cores, "CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
    assert cores.available_cores.__wrapped__() == expected
