"""Random C programs agree with the C compiler, bit for bit, in either order of their loops."""

from __future__ import annotations

import subprocess

import pytest

from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.frontends.c.schedule import isl_schedule, statement_loops
from support.c_generation import random_program
from support.c_programs import check_same
from support.fuzzing import Ran, seeds

NO_LOOPS = """
void f(int n, int m, float a1[37]) {
  for (int i0 = (3 + 1 * m) / 5; i0 < 0 + 1 * n + 1 * m; i0 += 2)
    if (((3 + -2 * i0 + 1 * i0) / -3 > (0) % 5) || (-3 + -2 * m + -1 * i0 > -3 + 1 * n))
      a1[-1 + 2 * n] += a1[0 + 2 * i0 + -1 * m + 21];
  for (int i1 = -1; i1 < (0) / 3; i1 += 3)
    for (int i2 = (2 + 1 * i1 < n ? 2 + 1 * i1 : n); i2 >= (-2) / 3; i2 -= 2)
      for (int i3 = -1; i3 < ((2) % -3 < m ? (2) % -3 : m); i3 += 1)
        a1[1] = a1[-3 + 2 * i1 + 5];
}
"""


def test_a_region_of_which_isl_makes_no_loops_is_rejected() -> None:
    with pytest.raises(
        UnsupportedConstruct, match=r"test\.c:\d+:\d+: error: isl generates no loops"
    ):
        check_same(NO_LOOPS, "f", {"n": 6, "m": 5}, 1344, "isl", is_changed=False)


FOLDED = """
void f(int m, int a[47]) {
  for (int i = 3 + m; i >= 1; i--)
    for (int j = 1; j >= (3 - i) % 2; j--)
      a[2 + j + 4 * i] = j;
}
"""


def test_remainders_of_what_runs_downwards_are_not_folded() -> None:
    check_same(FOLDED, "f", {"m": 2})


@pytest.mark.rotating(3)
@seeds(6, nightly=20, fuzzed=2000, batch=10)
def test_random_programs_agree_with_the_c_compiler(
    seeds: range, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_loops, "CACHE_TILE_COLUMNS", 8)
    monkeypatch.setattr(statement_loops, "CACHE_TILE_ROWS", 4)
    monkeypatch.setattr(isl_schedule, "MAX_OPERATIONS", 60_000)
    for seed in seeds:
        program = random_program(seed)
        schedule = "isl" if seed % 3 == 0 else "source"
        try:
            check_same(program.text, "f", program.sizes, seed, schedule, is_changed=False)
        except UnsupportedConstruct:
            ran("C programs refused", 1)
        except (AssertionError, subprocess.CalledProcessError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{program.text}") from error
        ran("C programs compared with the C compiler", 1)
