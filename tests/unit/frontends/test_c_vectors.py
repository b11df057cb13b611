"""Innermost loops as vectors, for CPUs with short and long ones: every bit is that of C."""

from __future__ import annotations

import pytest

from riselang.frontends.c.c_program import make_program
from riselang.frontends.c.emit.vector_length import max_vector_bits
from riselang.support.config import Options
from riselang.support.machine import Machine, assume_machine
from support.c_programs import KERNELS, check_same, model

pytestmark = pytest.mark.rotating(6)

NEON, AVX2, AVX512 = Machine(16, 32, True), Machine(32, 16), Machine(64, 32)
SCALED = """void f(int n, double x[n], double y[n]) {
  for (int i = 0; i < n; i++)
    y[i] = 2.0 * x[i] + y[i];
}
"""
REVERSED = """void f(int n, double x[n], double y[n]) {
  for (int i = 0; i < n; i++)
    y[i] = x[i] + 0.5 * x[n - 1 - i];
}
"""
PRODUCT = """void f(int n, int m, float A[n][m], float x[m], float y[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      y[i] += A[i][j] * x[j];
}
"""
TRIANGLE = """void f(int n, int m, double C[n][n], double A[n][m]) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      for (int j = 0; j <= i; j++)
        C[i][j] -= A[i][k] * A[j][k];
}
"""
CONSTANTS = """static int twice(int x) { return 2 * x; }
void f(int n, int a[n], int b[n]) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++) {
      int y = i, z = y + k, w = n;
      a[i] += twice(i);
      b[i] = b[i] - y + z * w;
      a[i] -= b[i] ^ z;
    }
}
"""
PATHS = (KERNELS / "floyd-warshall.c").read_text()
SUM = """void f(int n, double r[1], double x[n], double y[n]) {
  double sum = 0.0;
  for (int i = 0; i < n; i++)
    sum += x[i];
  r[0] = sum;
  for (int i = 0; i < n; i++)
    y[i] = sum * x[i];
}
"""


EXTREMA = """void f(int n, int t[n][n]) {
  for (int i = n - 1; i >= 0; i--)
    for (int j = i + 1; j < n; j++)
      for (int k = i + 1; k < j; k++)
        t[i][j] = t[i][j] %s t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j];
}
"""
"""Extrema of sums, one of whose operands moves along a column."""


def arranged(text: str, machine: Machine) -> str:
    """The MLIR of a function whose loops are arranged for a machine."""
    with assume_machine(machine):
        return make_program([model(text)], Options("affine", "strict"), "isl").affine_text()


@pytest.fixture(autouse=True)
def without_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cached code is for the CPU of this machine."""
    monkeypatch.setenv("RISE_CACHE", "0")


def test_the_last_vector_has_a_mask_if_there_are_masks() -> None:
    text = arranged(SCALED, AVX512)
    assert "vector<32xf64>" in text
    assert "vector<8xf64>" in text
    assert "vector.maskedstore" in text
    text = arranged(SCALED, NEON)
    assert "vector<8xf64>" in text
    assert "vector<2xf64>" in text
    assert "masked" not in text
    assert "memref.store" in text, "the last iteration is scalar"


def test_elements_in_the_opposite_order_are_reversed_in_registers() -> None:
    for machine in (NEON, AVX512):
        assert "vector.shuffle" in arranged(REVERSED, machine)
        assert "masked" not in arranged(REVERSED, machine)


def test_interleaved_sums_are_lanes() -> None:
    assert "iter_args" in arranged(PRODUCT, AVX512)
    assert "vector<8xf32>" in arranged(PRODUCT, AVX512)
    assert arranged(PRODUCT, NEON).count("-> (vector<4xf32>, vector<4xf32>)") == 2


def test_iterations_are_separated_from_the_one_that_writes_what_all_read() -> None:
    assert "vector.store" in arranged(PATHS, NEON), "path[i][k] is written where j is k"


def test_copies_are_left_to_memcpy() -> None:
    assert "vector" not in arranged(SCALED.replace("2.0 * x[i] + y[i]", "x[i]"), AVX512)


@pytest.mark.rotating(8)
def test_extrema_of_columns_are_computed_in_chains() -> None:
    for test, op in ((">=", "maxsi"), ("<", "minsi")):
        text = arranged(EXTREMA % test, AVX512)
        assert "-> (i32, i32, i32, i32)" in text
        assert text.count(f"arith.{op}") >= 30, "the chains are combined"
    unsigned = (EXTREMA % "<").replace("int t[n][n]", "unsigned t[n][n]")
    other = (EXTREMA % "<").replace("? t[i][j] :", "? t[i][j] + 1 :")
    along_rows = (EXTREMA % "<").replace("t[k + 1][j]", "t[j][k + 1]")
    for text in (unsigned, other, along_rows):
        assert "-> (i32)" in arranged(text, AVX512)
        assert "(i32, i32, i32, i32)" not in arranged(text, AVX512)


@pytest.mark.parametrize("test", ["<", ">="])
def test_chains_compute_what_c_does(test: str) -> None:
    for n in (1, 7, 40):
        check_same(EXTREMA % test, None, {"n": n}, seed=n, schedule="isl")


@pytest.mark.parametrize("machine", [NEON, AVX2, AVX512], ids=["neon", "avx2", "avx512"])
@pytest.mark.parametrize("text", [SCALED, REVERSED, PRODUCT, TRIANGLE, CONSTANTS, PATHS])
@pytest.mark.sampled(3)
def test_lanes_compute_what_c_does(text: str, machine: Machine) -> None:
    with assume_machine(machine):
        for n, m in ((0, 0), (3, 5), (45, 38), (77, 18)):
            sizes = {"n": n, "m": m} if "int m" in text else {"n": n}
            check_same(text, None, sizes, seed=n, schedule="isl")


def test_constants_that_differ_between_lanes_are_computed_for_each() -> None:
    with assume_machine(AVX512):
        for schedule in ("source", "isl", "patterns"):
            for n in (1, 20, 90):
                check_same(CONSTANTS, None, {"n": n}, seed=n, schedule=schedule)


def test_functions_with_a_single_sum_use_shorter_vectors() -> None:
    def chosen(text: str, machine: Machine) -> int | None:
        with assume_machine(machine):
            return max_vector_bits(
                make_program([model(text)], Options("affine", "strict"), "isl").module
            )

    assert chosen(SUM, AVX512) == 256
    assert chosen(SUM, AVX2) is None
    assert chosen(SCALED, AVX512) is None
    assert chosen(PRODUCT, AVX512) is None


def test_the_last_vector_repeats_iterations_only_if_nothing_reads_what_they_write() -> None:
    mean = SCALED.replace("y[i] = 2.0 * x[i] + y[i]", "y[i] = 2.0 * x[i] + 1.0")
    with assume_machine(AVX2):
        repeated, single = (
            make_program([model(text)], Options("affine"), "isl")
            .affine_text()
            .count("vector.store")
            for text in (mean, SCALED)
        )
        for n in (0, 1, 3, 4, 5, 15, 16, 17, 23):
            check_same(mean, "f", {"n": n}, schedule="isl", is_changed=False)
    # One in the loop over several vectors, one in that over one, and the last.
    assert (repeated, single) == (3, 2)
