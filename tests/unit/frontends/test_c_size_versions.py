"""Versions of loops by size: which functions have them, for which sizes, and the same bits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.schedule.size_versions import cached_bytes, sizes_up_to
from riselang.support.config import Options
from riselang.support.machine import Machine, assume_machine
from support.c_programs import KERNELS, arguments_for, model, run_by_c, same_bits
from support.fuzzing import Ran, seeds
from support.machines import MACHINES

SUM = "void f(int n, double a[n][n], double s[n]) { for (int i = 0; i < n; i++)" \
      " for (int j = 0; j < n; j++) s[i] += a[i][j]; }"  # fmt: skip


def with_caches(bytes: int) -> Machine:
    """A machine on which so many bytes of arrays stay in a cache."""
    return replace(MACHINES["AVX2"], caches=((1, 0), (2, bytes), (3, 0)))


def c_text(text: str, bytes: int) -> str:
    with assume_machine(with_caches(bytes)):
        return make_program([model(text)], Options("affine"), "isl").c_text()


def kernel(name: str) -> str:
    return (KERNELS / f"{name}.c").read_text()


def test_caches_that_are_fast_enough() -> None:
    caches = ((1, 48 << 10), (2, 1 << 20), (3, 32 << 20))
    assert cached_bytes(replace(MACHINES["AVX2"], caches=caches)) == 8 << 20
    assert cached_bytes(replace(MACHINES["AVX2"], caches=caches[:2])) == 2 << 20
    assert cached_bytes(replace(MACHINES["AVX-512"], caches=caches)) == 48 << 10
    assert cached_bytes(replace(MACHINES["AVX-512"], caches=caches), in_planes=True) == 1 << 20


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize(("name", "largest"), [("heat-3d", 40), ("jacobi-2d", 64)])
def test_planes_need_not_stay_in_the_fastest_cache(name: str, largest: int) -> None:
    caches = ((1, 2 * 8 * 16**3), (2, 2 * 8 * 40**3), (3, 32 << 20))
    with assume_machine(replace(MACHINES["AVX-512"], caches=caches)):
        text = make_program([model(kernel(name))], Options("affine"), "isl").c_text()
    assert f"(n <= {largest})" in text


@pytest.mark.rotating(3)
def test_statements_share_loops_only_if_arrays_leave_the_cache() -> None:
    text = c_text(kernel("jacobi-2d"), 2 * 50 * 50 * 8)
    guard, small, large = re.split(r"\n  if |\n  \} else \{\n", text)[-3:]
    assert "void jacobi_2d" in guard
    assert small.startswith("(n <= 50) {")
    assert small.count("for (") == 5
    assert "rise_floord" in large


@pytest.mark.rotating(6)
def test_rows_of_planes_need_no_conditions_if_arrays_stay_in_the_cache() -> None:
    small, large = c_text(kernel("heat-3d"), 1 << 20).split("} else {")
    assert small.count("for (") == 2 + 2 * 2
    assert large.count("for (") == 3 + 2
    assert small.index("if (n + 2") < small.index("long j = 1;")


@pytest.mark.parametrize("text", [SUM, kernel("lu"), kernel("jacobi-1d")])
def test_what_is_fastest_at_all_sizes_has_one_version(text: str) -> None:
    assert " else {" not in c_text(text, 1 << 20)


def test_sizes_that_fit() -> None:
    scop = model(SUM)
    for bytes, largest in ((100 * 101 * 8, 100), (100 * 101 * 8 - 1, 99)):
        sizes = sizes_up_to(scop, bytes)
        assert str(sizes.coalesce()).endswith(f"{{  : n <= {largest} }}")
    assert sizes_up_to(scop, 1) is None


def test_several_sizes_are_bounded_by_their_sum() -> None:
    text = "void f(int n, int m, float a[n][m]) { for (int i = 0; i < n; i++)" \
           " for (int j = 0; j < m; j++) a[i][j] += 1; }"  # fmt: skip
    assert str(sizes_up_to(model(text), 4 * 60 * 60)).endswith("m <= 120 - n }")


def test_unknown_elements_have_no_sizes_that_fit() -> None:
    text = "void f(int n, int k[n], float a[n]) { for (int i = 0; i < n; i++) a[k[i]] += 1; }"
    assert sizes_up_to(model(text), 1 << 20) is None


def check_sizes(text: str, bytes: int, all_sizes: Sequence[Mapping[str, int]]) -> bool:
    """Compare a function with the C compiler's at several sizes; return whether it has versions."""
    scop = model(text)
    with assume_machine(with_caches(bytes)):
        program = make_program([scop], Options("affine", "strict"), "isl")
        function = program.functions()[scop.name]
    for sizes in all_sizes:
        ours, theirs = (arguments_for(scop, sizes, 1) for _ in range(2))
        function(*ours)
        run_by_c(text, scop, theirs)
        for mine, right in zip(ours, theirs, strict=True):
            assert same_bits(mine, right), f"{sizes}\n{text}"
    return "scf.if" in program.affine_text() or "affine.if" in program.affine_text()


def random_stencil(seed: int) -> str:
    """Steps of a stencil in which two arrays take turns."""
    random = np.random.default_rng(seed)

    def element(name: str, farthest: int) -> str:
        first, second = random.integers(-farthest, farthest + 1, 2)
        return f"{name}[i + {first}][j + {second}]"

    lines = ["void f(int n, int steps, double a[n][n], double b[n][n]) {",
             "  for (int t = 0; t < steps; t++) {"]  # fmt: skip
    for target, source in ("ba", "ab"):
        value = f"0.3 * {element(source, 1)} + 0.5 * {element(source, 1)} - {element(source, 0)}"
        lines += ["    for (int i = 1; i < n - 1; i++)", "      for (int j = 1; j < n - 1; j++)",
                  f"        {target}[i][j] = {value};"]  # fmt: skip
    return "\n".join([*lines, "  }", "}"])


@pytest.mark.rotating(2)
@seeds(1, nightly=12, fuzzed=300, batch=4)
def test_both_versions_of_random_stencils_agree_with_the_c_compiler(seeds: range, ran: Ran) -> None:
    all_sizes = [{"n": size, "steps": steps} for size in (3, 7, 8, 9, 30) for steps in (1, 5)]
    for seed in seeds:
        has_versions = check_sizes(random_stencil(seed), 2 * 8 * 8 * 8, all_sizes)
        ran("stencils compared with the C compiler", 1)
        ran("of them, with versions by size", int(has_versions))


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["jacobi-2d", "fdtd-2d", "heat-3d"])
def test_both_versions_of_a_kernel_agree_with_the_c_compiler(name: str) -> None:
    sizes = [{"n": n, "nx": n, "ny": n + 2, "steps": 5} for n in (3, 7, 8, 9, 21)]
    check_sizes(kernel(name), 2 * 8 * 8 * 8, sizes)
