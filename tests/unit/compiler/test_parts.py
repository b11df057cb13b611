"""Modules of many functions are compiled in parts, by several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.compiler.partition import partition_module
from riselang.dialects.module import parse_module
from riselang.native.compile_job import Job
from riselang.native.workers import compile_worker, worker_pool
from riselang.support.errors import UserError

COUNT = 40
X = np.arange(4, dtype=np.float32)


def function(number: int) -> str:
    return f"""
func.func @f{number}(%out : memref<4xf32>, %in : memref<4xf32>) {{
  %c = arith.constant {number}.0 : f32
  affine.for %i = 0 to 4 {{
    %x = affine.load %in[%i] : memref<4xf32>
    %y = arith.addf %x, %c : f32
    affine.store %y, %out[%i] : memref<4xf32>
  }}
  func.return
}}"""


def caller(number: int, callee: str) -> str:
    return f"""
func.func @g{number}(%out : memref<4xf32>, %in : memref<4xf32>) {{
  func.call @{callee}(%out, %in) : (memref<4xf32>, memref<4xf32>) -> ()
  func.return
}}"""


MODULE = "\n".join(
    [
        *(function(number) for number in range(COUNT)),
        *(caller(number, f"f{number}") for number in range(0, COUNT, 4)),
    ]
)


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_JOBS", "2")


def check(module: Any) -> None:
    for number in range(COUNT):
        out = np.zeros(4, np.float32)
        getattr(module, f"f{number}")(out, X)
        assert np.array_equal(out, X + number)
        if number % 4 == 0:
            getattr(module, f"g{number}")(out, X)
            assert np.array_equal(out, X + number)


def test_the_parts_are_the_module() -> None:
    module = parse_module(MODULE)
    parts = partition_module(module)
    assert len(parts) > 4
    names = [each.sym_name.data for part in parts for each in part]
    assert sorted(names) == sorted(op.sym_name.data for op in module.ops)  # type: ignore[attr-defined]
    for part in parts:
        own = {each.sym_name.data for each in part}
        assert all(name.replace("g", "f") in own for name in own)


def test_declarations_go_where_they_are_called() -> None:
    declared = "func.func private @outside(memref<4xf32>, memref<4xf32>)\n"
    module = parse_module(declared + MODULE + caller(1, "outside") + caller(2, "outside"))
    parts = partition_module(module)
    holders = [part for part in parts if any(each.is_declaration for each in part)]
    calling = [{each.sym_name.data for each in part} & {"g1", "g2"} for part in holders]
    assert sorted(name for names in calling for name in names) == ["g1", "g2"]


def test_small_modules_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert partition_module(parse_module(function(1) + function(2))) == []
    monkeypatch.setenv("RISE_JOBS", "1")
    assert partition_module(parse_module(MODULE)) == []


@pytest.mark.rotating(3)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_the_functions_are_the_same(monkeypatch: pytest.MonkeyPatch, jobs: str) -> None:
    monkeypatch.setenv("RISE_JOBS", jobs)
    check(rl.loads(MODULE))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "script",
    [
        "raise SystemExit(1)",
        "import sys, os\nsys.stdin.readline()\nos.write(1, b'\\0' * 3)",
        "import sys, os\nfor line in sys.stdin:\n    os.write(1, b'\\xff' * 8)",
    ],
    ids=["does not start", "dies", "refuses"],
)
def test_workers_that_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    (tmp_path / "worker.py").write_text(script)
    monkeypatch.setattr(compile_worker, "__file__", str(tmp_path / "worker.py"))
    monkeypatch.setattr(worker_pool, "_idle_workers", [])
    check(rl.loads(MODULE))


@pytest.mark.rotating(3)
def test_no_worker_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool.sys, "executable", "/nowhere/python")
    check(rl.loads(MODULE))


@pytest.mark.rotating(3)
def test_the_error_of_a_job_is_told() -> None:
    jobs = [Job("module {}", (), {}), Job("module { what }", (), {}), Job("module {}", (), {})]
    with pytest.raises(UserError, match="MLIR rejects the module"):
        worker_pool.compile_jobs(jobs, 2)


def test_a_job_survives_the_journey() -> None:
    job = Job("module {}", ("canonicalize",), {"f": [1]}, "; nothing", True)
    assert Job.from_json(job.to_json()) == job
