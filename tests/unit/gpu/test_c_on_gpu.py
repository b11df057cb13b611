"""C functions on an emulated GPU: the results are those of the CPU, bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c.gpu import kernel_builder
from riselang.support.errors import RiseError
from support.recording_gpu import RecordingGpu, emulate_new_programs

Arguments = tuple[Any, ...]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> RecordingGpu:
    return emulate_new_programs(monkeypatch)


def random(*shape: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(len(shape) + sum(shape)).random(shape).astype(dtype)


def compare(source: str, make: Callable[[], Arguments], **options: Any) -> Any:
    """Call a function on both; return that for the GPU."""
    found, expected = make(), make()
    function = rl.from_c(source, loops="gpu", **options)
    result = function(*found)
    assert result == rl.from_c(source, schedule="source", **options)(*expected)
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other)
    return function


GEMM = """
void gemm(int ni, int nj, int nk, double alpha, double beta,
          double C[ni][nj], double A[ni][nk], double B[nk][nj]) {
  for (int i = 0; i < ni; i++) {
    for (int j = 0; j < nj; j++) C[i][j] *= beta;
    for (int k = 0; k < nk; k++)
      for (int j = 0; j < nj; j++) C[i][j] += alpha * A[i][k] * B[k][j];
  }
}
"""
TWO_PRODUCTS = """
void f(int n, int m, double tmp[n][m], double A[n][n], double B[n][m], double D[n][n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      tmp[i][j] = 0.0;
      for (int k = 0; k < n; ++k) tmp[i][j] += A[i][k] * B[k][j];
    }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      D[i][j] *= 0.5;
      for (int k = 0; k < m; ++k) D[i][j] += tmp[i][k] * B[j][k];
    }
}
"""
JACOBI = """
void jacobi(int steps, int n, double A[n][n], double B[n][n]) {
  for (int t = 0; t < steps; t++) {
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        B[i][j] = 0.2 * (A[i][j] + A[i][j-1] + A[i][1+j] + A[1+i][j] + A[i-1][j]);
    for (int i = 1; i < n - 1; i++)
      for (int j = 1; j < n - 1; j++)
        A[i][j] = 0.2 * (B[i][j] + B[i][j-1] + B[i][1+j] + B[1+i][j] + B[i-1][j]);
  }
}
"""
CONVOLUTION = """
void conv(int n, int m, const float x[n+2][m+2], const float w[3][3], float y[n][m]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      float s = 0;
      for (int p = 0; p < 3; p++) for (int q = 0; q < 3; q++) s += x[i+p][j+q] * w[p][q];
      y[i][j] = s;
    }
}
"""
LU = """
double lu(int n, double A[n][n]) {
  for (int k = 0; k < n; k++) {
    for (int i = k + 1; i < n; i++) A[i][k] /= A[k][k];
    for (int i = k + 1; i < n; i++)
      for (int j = k + 1; j < n; j++) A[i][j] -= A[i][k] * A[k][j];
  }
  return A[n-1][n-1];
}
"""
PROGRAMS: dict[str, tuple[str, Callable[[], Arguments]]] = {
    "a product": (
        GEMM, lambda: (5, 6, 7, 1.5, 1.2, random(5, 6), random(5, 7), random(7, 6)),
    ),
    "two products": (
        TWO_PRODUCTS,
        lambda: (4, 3, np.zeros((4, 3)), random(4, 4), random(4, 3), random(4, 4)),
    ),
    "a stencil": (JACOBI, lambda: (2, 6, random(6, 6), random(6, 6))),
    "a convolution with a local sum": (
        CONVOLUTION,
        lambda: (3, 4, random(5, 6, dtype=np.float32), random(3, 3, dtype=np.float32),
                 np.zeros((3, 4), np.float32)),
    ),
    "bounds that depend on loops of the host": (LU, lambda: (4, random(4, 4) + 4 * np.eye(4))),
    "a triangle": (
        "void f(int n, double A[n][n], double x[n]) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j <= i; j++) A[i][j] = A[i][j] * 2 + x[j]; }",
        lambda: (5, random(5, 5), random(5)),
    ),
    "steps and conditions": (
        "void f(int n, double x[n], double y[n]) { for (int i = 1; i < n; i += 3) {"
        " double t = x[i]; y[i] = t * t; if (i > 2) y[i-1] = t; } }",
        lambda: (11, random(11), np.zeros(11)),
    ),
    "a pointer with computed subscripts": (
        "void f(int n, int m, float *A, const float *B) { for (int i = 0; i < n; i++)"
        " for (int j = 0; j < m; j++) A[i*m+j] = B[j*n+i] + i; }",
        lambda: (3, 4, random(12, dtype=np.float32), random(12, dtype=np.float32)),
    ),
    "wavefronts": (
        "void f(int t, int n, double A[n][n]) { for (int s = 0; s < t; s++)"
        " for (int i = 1; i < n-1; i++) for (int j = 1; j < n-1; j++)"
        " A[i][j] = A[i-1][j] + A[i][j-1] + A[i][j+1] + A[i+1][j]; }",
        lambda: (2, 5, random(5, 5)),
    ),
    "columns": (
        "void f(int n, int m, float A[n][m], float s) { for (int j = 0; j < m; j++)"
        " for (int i = 0; i < n; i++) A[i][j] = s * A[i][j] + j; }",
        lambda: (3, 5, random(3, 5, dtype=np.float32), 0.3),
    ),
    "data-dependent loops in a thread": (
        "void f(int n, double x[n]) { for (int i = 0; i < n; i++)"
        " while (x[i] < 10) x[i] = x[i] * 2 + 1; }",
        lambda: (5, random(5)),
    ),
    "a part of an array": (
        "void f(int n, double C[6][7], double A[6][5], double B[5][7]) {"
        " for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) for (int k = 0; k < n; k++)"
        " C[i][j] += A[i][k] * B[k][j]; }",
        lambda: (4, random(6, 7), random(6, 5), random(5, 7)),
    ),
    "branches around loops": (
        "void f(int n, int k, double x[n], double y[n]) { if (k > 2) {"
        " for (int i = 0; i < n; i++) x[i] = 3 + y[i]; } else"
        " for (int i = 0; i < n; i++) y[i] = 4 + x[i]; }",
        lambda: (4, 3, random(4), random(4, dtype=np.float64)),
    ),
    "a local array between loops": (
        "void f(int n, double x[n][n], double y[n]) { double tmp[64];"
        " for (int i = 0; i < n; i++) { tmp[i] = 0; for (int j = 0; j < n; j++)"
        " tmp[i] += x[i][j]; } for (int i = 0; i < n; i++) y[i] = tmp[n-1-i]; }",
        lambda: (4, random(4, 4), np.zeros(4)),
    ),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gpu_computes_the_bits_of_the_cpu(gpu: RecordingGpu, name: str):
    compare(*PROGRAMS[name])
    assert not gpu.held


@pytest.mark.rotating(3)
def test_stencils_are_kernels_in_a_loop_of_the_host(gpu: RecordingGpu):
    compare(JACOBI, lambda: (3, 6, random(6, 6), random(6, 6)))
    assert [block for _, _, block in gpu.launched] == [(16, 1, 1)] * 6


@pytest.mark.rotating(3)
def test_threads_run_several_iterations(gpu: RecordingGpu, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kernel_builder, "MIN_JAMMED_THREADS", 4)

    def make() -> Arguments:
        x, w = random(6, 6, dtype=np.float32), random(3, 3, dtype=np.float32)
        return 4, 4, x, w, np.zeros((4, 4), np.float32)

    compare(CONVOLUTION, make)
    assert [block for _, _, block in gpu.launched] == [(4, 1, 1)]


@pytest.mark.rotating(3)
def test_arrays_on_the_gpu_are_used_in_place(gpu: RecordingGpu):
    function = rl.from_c(JACOBI, loops="gpu")
    a, b = random(6, 6), random(6, 6)
    on_gpu = [rl.to_gpu(a), rl.to_gpu(b)]
    for _ in range(2):
        function(1, 6, *on_gpu)
    rl.from_c(JACOBI, schedule="source")(2, 6, a, b)
    np.testing.assert_array_equal(on_gpu[0].numpy(), a)
    np.testing.assert_array_equal(on_gpu[1].numpy(), b)


@pytest.mark.parametrize(
    ("source", "arguments", "message"),
    [
        ("void f(int n, double x[n]) { for (int i = 1; i < n; i++) x[i] += x[i-1]; }",
         (4, np.zeros(4)), "f has no loop whose iterations are independent"),
        ("void f(int n, int k[n], double x[n]) { for (int i = 0; i < n; i++) x[k[i]] = 1; }",
         (4, np.zeros(4, np.int32), np.zeros(4)), "are checked when it runs"),
        ("double sin(double); void f(int n, double x[n]) "
         "{ for (int i = 0; i < n; i++) x[i] = sin(x[i]); }",
         (4, np.zeros(4)), "sin is defined elsewhere, where a GPU cannot call it"),
        ("void f(double *x) { }", (np.zeros(4),), "f has no loops that a GPU can run"),
    ],
)  # fmt: skip
def test_what_a_gpu_cannot_run_is_reported(
    gpu: RecordingGpu, source: str, arguments: Arguments, message: str
):
    with pytest.raises(RiseError, match=message) as caught:
        rl.from_c(source, loops="gpu")(*arguments)
    assert caught.value.location is not None


def test_loops_are_those_of_the_cpu_or_a_gpu():
    with pytest.raises(RiseError, match='loops must be "gpu" or None'):
        rl.from_c(GEMM, loops="scf")
