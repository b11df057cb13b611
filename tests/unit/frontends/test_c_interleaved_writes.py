"""Statements that write elements alternately share their loops; rows are kept, not skewed."""

from __future__ import annotations

import re

import pytest

from riselang.frontends.c.c_program import make_program
from riselang.support.config import Options
from support.c_programs import arguments_for, compiled_by_us, model, run_by_c, same_bits

HEAD = "void f(int n, double a[n], double b[n], double c[n]) { "
PAIR = HEAD + "for (int i = 0; i + 1 < n; i += 2) { a[i] = b[i] * 2; a[i + 1] = b[i + 1] * 3; } }"
DOUBLED = HEAD + "for (int i = 0; i < n / 2; i++) { a[2 * i + 1] = b[i]; a[2 * i] = c[i]; } }"
PARITY = HEAD + "for (int i = 0; i < n; i++) { if (i % 2) a[i] = b[i]; else a[i] = -b[i]; } }"
FAR = HEAD + "for (int i = 0; i + 1 < n; i += 2) { a[i] = b[i]; c[i + 1] = a[i / 2]; } }"
DENSE = HEAD + "for (int i = 0; i < n - 1; i++) { a[i] = b[i]; a[i + 1] = c[i]; } }"
BETWEEN = HEAD + "for (int i = 0; i + 1 < n; i += 2) { a[i] = b[i]; for (int j = 0; j < n; j++)" \
          " c[j] += a[i]; a[i + 1] = c[0]; } }"  # fmt: skip
DIAGONAL = "void f(int n, double a[n][n], double b[n][n]) { for (int i = 1; i < n; i++)" \
           " for (int j = 1; j < n; j++) a[i][j] = a[i - 1][j - 1] + b[i][j]; }"  # fmt: skip


def loops(text: str) -> str:
    return make_program([model(text)], Options("affine", "strict"), "isl").text("c")


@pytest.mark.parametrize("text", [PAIR, DOUBLED, PARITY])
def test_elements_written_alternately_share_a_loop(text: str) -> None:
    assert loops(text).count("for (") == 1


@pytest.mark.parametrize("text", [FAR, DENSE])
def test_other_statements_have_their_own(text: str) -> None:
    assert loops(text).count("for (") == 2


def test_a_diagonal_dependence_leaves_rows_vectorized() -> None:
    assert re.search(r"#pragma omp simd\n\s*for \(long j = 1;", loops(DIAGONAL))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("text", [PAIR, DOUBLED, PARITY, FAR, DENSE, BETWEEN, DIAGONAL])
@pytest.mark.parametrize("n", [0, 1, 2, 9, 24])
def test_they_give_the_bits_of_c(text: str, n: int) -> None:
    scop = model(text)
    ours = arguments_for(scop, {"n": n}, n)
    theirs = [each.copy() if hasattr(each, "copy") else each for each in ours]
    compiled_by_us(text, schedule="isl")(*ours)
    run_by_c(text, scop, theirs)
    assert all(same_bits(mine, right) for mine, right in zip(ours, theirs, strict=True))
