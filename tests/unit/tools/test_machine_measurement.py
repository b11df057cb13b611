"""`rise doctor --measure`: what it finds out about the machine, and who uses it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support import machine
from riselang.support.machine import Measurement
from riselang.tools import machine_measurement, rise
from riselang.tools.machine_measurement import (
    MachineFigures,
    as_measurement,
    find_cache_sizes,
    measure_machine,
)
from support.machines import assembly_for

KIB = 1 << 10
SIZES = [KIB * each for each in (8, 16, 32, 48, 64, 256, 512, 1024, 2048, 4096, 8192, 32768)]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    machine._detect_machine.cache_clear()
    yield
    machine._detect_machine.cache_clear()


@pytest.mark.parametrize(
    ("latencies", "expected"),
    [
        ([1, 1, 1, 2, 4, 4, 5, 9, 15, 20, 21, 60], {1: 32 * KIB, 2: 1024 * KIB, 3: 8192 * KIB}),
        ([1, 1, 1, 2, 4, 4, 4, 4, 30, 90, 91, 92], {1: 32 * KIB, 2: 1024 * KIB}),
        ([1] * 12, {}),
    ],
    ids=["three levels", "two levels", "no cache ends"],
)
def test_a_cache_ends_where_loads_get_slower(
    latencies: list[float], expected: dict[int, int]
) -> None:
    assert find_cache_sizes(SIZES, latencies) == expected


def test_reported_sizes_are_more_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    reported = {1: 48 * KIB, 2: 2048 * KIB}
    monkeypatch.setattr(machine_measurement, "reported_cache_sizes", lambda: reported)
    measured = {1: 32 * KIB, 2: 512 * KIB, 3: 8192 * KIB}
    result = as_measurement(MachineFigures(3e9, 192e9, 12e9, 1.25, 0.5, measured))
    assert result.caches == ((1, 48 * KIB), (2, 512 * KIB), (3, 8192 * KIB))
    assert result.bytes_per_cycle == 4


def test_a_measurement_is_used_until_it_is_removed(capsys: pytest.CaptureFixture[str]) -> None:
    before = machine.this_machine()
    caches = ((1, 16 * KIB), (2, 256 * KIB), (3, 4096 * KIB))
    machine.write_measurement(Measurement(machine.cpu_identity(), caches, 1.5, 3.0, 0.75, 0.5))
    measured = machine.this_machine()
    assert (measured.caches, measured.vector_fmas_per_cycle) == (caches, 1.5)
    assert (measured.nontemporal_speedup, measured.gather_speedup) == (0.75, 0.5)
    assert measured.vector_bytes == before.vector_bytes
    rise.main(["doctor", "--forget"])
    assert machine.this_machine() == before
    rise.main(["doctor", "--forget"])
    assert capsys.readouterr().out.splitlines()[-1] == "there is no measurement"


@pytest.mark.parametrize(
    ("vendor", "flags", "gathers"),
    [
        ("GenuineIntel", "avx avx2 avx512f", False),
        ("GenuineIntel", "avx avx2 avx512f avx_vnni avx512_fp16 amx_tile", True),
        ("AuthenticAMD", "avx avx2 avx512f", True),
        ("GenuineIntel", "avx", True),
    ],
)
def test_gathers_are_avoided_where_the_microcode_makes_them_wait(
    vendor: str, flags: str, gathers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = tmp_path / "cpuinfo"
    described.write_text(f"processor : 0\nvendor_id : {vendor}\nflags : {flags}\n\n" * 2)
    monkeypatch.setattr(machine, "CPUINFO", described)
    for cached in (machine._cpu_flags, machine._detect_machine):
        cached.cache_clear()
    try:
        assert (machine.this_machine().gather_speedup >= 1) == gathers
    finally:
        for cached in (machine._cpu_flags, machine._detect_machine):
            cached.cache_clear()


def test_code_for_machines_with_slow_gathers_has_none() -> None:
    text = machine_measurement.GATHER_PROGRAM.format(rows=512)
    program: Any = rl.loads(text, name="columns.rise", strategy="none")
    ir = program.main.lower(np.ones((512, 17), np.float32)).as_text("llvm")
    counts: list[int] = []
    for speedup in (0.5, 2.0):
        with machine.assume_machine(replace(machine.this_machine(), gather_speedup=speedup)):
            counts.append("\n".join(assembly_for(ir, "AVX-512")).count("gather"))
    assert counts[0] == 0 < counts[1]


VALID = {
    "cpu": machine.cpu_identity(),
    "caches": [[1, 1 << 14]],
    "vector_fmas_per_cycle": 1.0,
    "bytes_per_cycle": 4.0,
    "nontemporal_speedup": 1.25,
    "gather_speedup": 1.0,
}


@pytest.mark.parametrize(
    "change",
    [
        {"cpu": "another"},
        {"caches": [[1, -5]]},
        {"caches": [[7, 1 << 14]]},
        {"caches": 3},
        {"caches": [["a", "b"]]},
        {"bytes_per_cycle": float("nan")},
        {"vector_fmas_per_cycle": 1e9},
        {"bytes_per_cycle": None},
        {"nontemporal_speedup": 0.0},
        {"gather_speedup": "fast"},
    ],
)
def test_a_measurement_that_cannot_be_right_is_not_used(change: dict[str, object]) -> None:
    machine.measurement_path().write_text(json.dumps(VALID))
    assert machine.read_measurement() is not None
    machine.measurement_path().write_text(json.dumps(VALID | change))
    assert machine.read_measurement() is None
    machine.measurement_path().write_text("[1, 2")
    assert machine.read_measurement() is None


@pytest.mark.rotating(3)
def test_this_machine_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_measurement, "LARGEST_BYTES", 64 << 10)
    monkeypatch.setattr(machine_measurement, "STENCIL_LENGTH", 512)
    figures = measure_machine(repetitions=2)
    assert figures.clock > 1e8
    assert figures.operations > figures.clock / 4
    assert figures.bandwidth > 1e7
    assert figures.nontemporal_speedup > 0.01
    assert figures.gather_speedup > 0.01
    monkeypatch.setattr(machine_measurement, "measure_machine", lambda: figures)
    rise.main(["doctor", "--measure"])
    assert capsys.readouterr().out.endswith(f"kept in {machine.measurement_path()}\n")
    assert machine.read_measurement() == as_measurement(figures)


def test_results_that_cannot_be_kept_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path / "file" / "below"))
    figures = MachineFigures(3e9, 192e9, 12e9, 1.25, 1.0, {})
    monkeypatch.setattr(machine_measurement, "measure_machine", lambda: figures)
    with pytest.raises(SystemExit):
        rise.main(["doctor", "--measure"])
    assert "set RISE_CACHE_DIR to a folder that you can write to" in capsys.readouterr().err
