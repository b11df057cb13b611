"""Parallel loops of C functions in several threads: the same bits as in one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from xdsl.dialects import scf

import riselang as rl
from riselang.dialects.affine import ParallelOp
from riselang.dialects.module import walk
from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.emit.bounds_checks import add_checks
from riselang.native.llvm.thread_pool import IS_SUPPORTED
from riselang.support.config import NUM_THREADS, Options
from riselang.support.machine import assume_machine
from support.c_control_flow import random_control_flow
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.machines import UNCACHED

pytestmark = [
    pytest.mark.rotating(4),
    pytest.mark.skipif(not IS_SUPPORTED, reason="needs POSIX threads"),
]
SIZES = {"ni": 17, "nj": 19, "nk": 13, "nl": 11, "n": 23, "m": 18, "nx": 21, "ny": 22, "steps": 3}
HALVE = """void f(int n, double a[n]) {
  for (int i = 0; i < n; i++)
    while (a[i] > 1.0)
      a[i] /= 2.0;
}"""


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NUM_THREADS.variable, "3")


def compare(text: str, function: str, sizes: dict[str, int], schedule: str) -> None:
    scop = model(text, function)
    ours = arguments_for(scop, sizes, 1)
    theirs = [each.copy() if isinstance(each, np.ndarray) else each for each in ours]
    call = rl.from_c(text, function=function, float="strict", schedule=schedule, threads=True)
    call(*ours)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))


def parallel_loops(text: str, *, is_checked: bool = False) -> int:
    scop = add_checks(model(text)) if is_checked else model(text)
    program = make_program([scop], Options("affine", "strict"), "isl", threads=True)
    module: Any = program._link_module(is_checked=True)
    return sum(isinstance(op, ParallelOp) for op in walk(module))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["gemm", "jacobi-2d", "mvt", "trmm"])
@pytest.mark.parametrize("schedule", ["source", "isl"])
def test_kernels_have_the_same_bits(name: str, schedule: str) -> None:
    text = (KERNELS / f"{name}.c").read_text()
    used = {k: v for k, v in SIZES.items() if re.search(rf"\bint {k}[,)]", text)}
    compare(text, model(text).name, used, schedule)


def test_loops_around_while_loops_run_in_threads() -> None:
    assert parallel_loops(HALVE) == 1
    compare(HALVE, "f", {"n": 50}, "isl")


@pytest.mark.parametrize("seed", range(3))
def test_random_programs_with_threads(seed: int) -> None:
    compare(random_control_flow(seed), "f", {"n": 9, "m": 7}, "isl")


SEQUENTIAL = {
    "a sum": "void f(int n, double s[1], double a[n][n]) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < n; j++) s[0] += a[i][j]; }",
    "a recurrence": "void f(int n, double a[n][n]) { for (int i = 1; i < n; i++)"
        " for (int j = 1; j < n; j++) a[i][j] = a[i - 1][j - 1] + a[i - 1][j] + a[i][j - 1]; }",
    "a shared scalar": "void f(int n, double a[n][n]) { double t = 0; for (int i = 0; i < n; i++)"
        " { t = a[i][0]; for (int j = 0; j < n; j++) { a[i][j] -= t; t = a[i][j]; } } }",
    "a tile in a band": (KERNELS / "jacobi-2d.c").read_text(),
    "one loop": "void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = i; }",
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_what_runs_in_one_thread(name: str) -> None:
    with assume_machine(UNCACHED):
        assert parallel_loops(SEQUENTIAL[name]) == 0


def test_small_loops_run_in_one_thread() -> None:
    text = (KERNELS / "covariance.c").read_text()
    program = make_program([model(text)], Options("affine", "strict"), "isl", threads=True)
    module: Any = program._link_module(is_checked=True)
    parents = [op.parent_op() for op in walk(module) if isinstance(op, ParallelOp)]
    assert parents
    assert all(isinstance(each, scf.IfOp) for each in parents)


def test_kernels_have_parallel_loops() -> None:
    assert all(parallel_loops((KERNELS / f"{name}.c").read_text()) for name in ("gemm", "mvt"))


def test_functions_with_checks_run_in_one_thread() -> None:
    """A check that fails is recorded by one thread."""
    text = """void f(int n, double a[n][n], double c[n], int b[n]) {
      for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = c[b[j]];
    }"""
    assert parallel_loops(text) == 1
    assert parallel_loops(text, is_checked=True) == 0
