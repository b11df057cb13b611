"""Code of C functions in the cache: found by what a model is, without loops and proofs."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import riselang as rl
from riselang.frontends.c import c_program
from riselang.frontends.c.emit.fma_contraction import contract_scop
from riselang.frontends.c.model.model_identity import model_text
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.report import format_report
from riselang.frontends.c.schedule import isl_schedule
from riselang.frontends.c.tactics.loop_fission import part_region, split_region
from riselang.support.config import Options
from support.c_programs import KERNELS, model

HEAD = "void f(int n, double a[n], double b[n]) "
LOOP = "for (int i = 0; i < n; i++) "
PAIRS = {
    "a number": ("b[i] = 2 * a[i];", "b[i] = 3 * a[i];"),
    "a small number": ("b[i] = 0.1 * a[i];", "b[i] = 0.10000000000000002 * a[i];"),
    "a sign": ("b[i] = 0.0 * a[i];", "b[i] = -0.0 * a[i];"),
    "an operator": ("b[i] = a[i] + b[i];", "b[i] = a[i] - b[i];"),
    "the order of operands": ("b[i] = b[i] + a[i];", "b[i] = a[i] + b[i];"),
    "an array": ("b[i] = a[i];", "a[i] = a[i];"),
    "an index": ("b[i] = a[0];", "b[i] = a[i];"),
    "which of two variables": (
        "{ double t = a[i]; { double t = b[i]; b[i] = t; } b[i] += t; }",
        "{ double t = a[i]; { t = b[i]; b[i] = t; } b[i] += t; }",
    ),
    "a condition": ("if (i < 3) b[i] = 1;", "if (i < 4) b[i] = 1;"),
    "a condition on data": ("if (a[i] < 3) b[i] = 1;", "if (a[i] <= 3) b[i] = 1;"),
    "a type": ("b[i] = (float)a[i];", "b[i] = a[i];"),
    "a function": ("b[i] = sqrt(a[i]);", "b[i] = fabs(a[i]);"),
}
MATH = "double sqrt(double); double fabs(double);\n"


@pytest.mark.parametrize("name", PAIRS)
def test_other_programs_have_another_identity(name: str) -> None:
    first, second = (model_text(model(f"{MATH}{HEAD}{{ {LOOP}{body} }}")) for body in PAIRS[name])
    assert first is not None
    assert first != second


@pytest.mark.parametrize(
    "head",
    ["void f(int n, double a[n], double b[n + 1]) ", "void f(long n, double a[n], double b[n]) ",
     "void f(int n, float a[n], double b[n]) ", "void f(int n, double *restrict a, double b[n]) ",
     "void f(int n, double b[n], double a[n]) "],
)  # fmt: skip
def test_other_parameters_have_another_identity(head: str) -> None:
    body = f"{{ {LOOP}b[i] = a[i]; }}"
    assert model_text(model(HEAD + body)) != model_text(model(head + body))


@pytest.mark.rotating(5)
def test_places_and_processes_do_not_matter() -> None:
    text = (KERNELS / "adi.c").read_text()
    known = model_text(model(text))
    assert known == model_text(model(f"\n// moved\n{text}"))
    code = (
        "import sys; from riselang.frontends.c.file import CFile; "
        "from riselang.frontends.c.model.model_identity import model_text; "
        "sys.stdout.write(model_text(CFile.parse_text(sys.stdin.read(), 'x.c').model_function()))"
    )
    run = [sys.executable, "-c", code]
    for _ in range(2):
        found = subprocess.run(run, input=text, capture_output=True, text=True, check=True).stdout
        assert found == known


def test_parts_and_contracted_regions_are_others() -> None:
    scop = model((KERNELS / "2mm.c").read_text())
    parts = [part_region(scop, part, number) for number, part in enumerate(split_region(scop))]
    texts = [model_text(each) for each in (scop, contract_scop(scop), *parts)]
    assert None not in texts
    assert len(set(texts)) == len(texts)


def test_what_cannot_be_written_has_no_identity() -> None:
    @dataclass(frozen=True, eq=False)
    class More(Scop):
        more: object = None

    scop = model((KERNELS / "atax.c").read_text())
    fields = {name: getattr(scop, name) for name in Scop.__dataclass_fields__}
    assert model_text(More(**fields, more=object())) is None
    assert model_text(replace(scop)) == model_text(scop)


def test_code_that_was_kept_needs_no_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    text = f"{HEAD}{{ {LOOP}b[i] = 2 * a[i]; }}"
    rl.from_c(text)
    monkeypatch.setattr(c_program, "loop_ast", lambda *_: pytest.fail("loops are made again"))
    a, b = np.arange(5.0), np.zeros(5)
    rl.from_c(f"\n{text}")(5, a, b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.rotating(3)
def test_the_report_says_where_a_search_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    scop, options = model((KERNELS / "gemm.c").read_text()), Options("affine")
    assert "the source order is kept" not in format_report(scop, options, "isl")
    monkeypatch.setattr(isl_schedule, "MAX_OPERATIONS", 1000)
    kept = "the source order is kept: the search for another took more than 1000 operations"
    assert kept in format_report(scop, options, "isl")
    assert "the source order" not in format_report(scop, options, "source")
