"""Kernels compile for AMD GPUs, too; they have not been run on one."""

from __future__ import annotations

import pytest

from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term
from riselang.rewrite.default import DEFAULT
from riselang.support.config import Options

PROGRAMS = {
    "vectors": ("fun((x : 256.f32), x |> map(fun(e, e * 2.0)))", "global_store_dwordx4"),
    "shared memory": ("fun((x : 2.256.f32), x |> map(reduce(add, 0.0)))", "s_barrier"),
    "products": (
        "fun((a : 512.16.f32, b : 512.16.f32), a |> map(fun(r, b |> map(fun(c, "
        "zip(r, c) |> reduce(fun((s, p), fma(fst(p), snd(p), s)), 0.0))))))",
        "v_pk_fma_f32",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(1)
def test_kernels_compile_for_an_amd_gpu(name: str) -> None:
    text, expected = PROGRAMS[name]
    options = Options("gpu", float="relaxed")
    program = TermKernel("f", parse_term(text), options=options, strategy=DEFAULT)
    assembly = program.lower().compilation.gpu.amd_assembly("gfx90a")
    assert "s_endpgm" in assembly
    assert expected in assembly
