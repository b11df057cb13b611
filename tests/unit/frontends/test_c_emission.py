"""Regions as affine MLIR: the listing of the paper, locations, and what MLIR says to it."""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from riselang.dialects.module import module_text, walk
from riselang.frontends.c.emit.region_functions import build_module
from riselang.frontends.c.file import CFile
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.schedule.isl_schedule import loop_ast
from riselang.native.mlir import bindings as mlir
from riselang.native.mlir.generic_printer import native_text
from support.c_programs import EXTRA, KERNELS

LISTING_1 = """
void scop_entry(float A[1024][1024], float B[1024][1024], float C[1024][1024], float alpha,
                float beta) {
#pragma scop
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < 1024; ++j) {
      S1: C[i][j] = beta * C[i][j];
      for (int k = 0; k < 1024; ++k)
        S2: C[i][j] += alpha * A[i][k] * B[k][j];
    }
#pragma endscop
}
"""
LISTING_3 = """
func.func @scop_entry(%arg0: memref<1024x1024xf32>, %arg1: memref<1024x1024xf32>,
                      %arg2: memref<1024x1024xf32>, %arg3: f32, %arg4: f32) {
  affine.for %arg5 = 0 to 1024 {
    affine.for %arg6 = 0 to 1024 {
      %0 = affine.load %arg2[%arg5, %arg6] : memref<1024x1024xf32>
      %1 = arith.mulf %arg4, %0 : f32
      affine.store %1, %arg2[%arg5, %arg6] : memref<1024x1024xf32>
      affine.for %arg7 = 0 to 1024 {
        %2 = affine.load %arg0[%arg5, %arg7] : memref<1024x1024xf32>
        %3 = arith.mulf %arg3, %2 : f32
        %4 = affine.load %arg1[%arg7, %arg6] : memref<1024x1024xf32>
        %5 = arith.mulf %3, %4 : f32
        %6 = affine.load %arg2[%arg5, %arg6] : memref<1024x1024xf32>
        %7 = arith.addf %5, %6 : f32
        affine.store %7, %arg2[%arg5, %arg6] : memref<1024x1024xf32>
      }
    }
  }
  return
}
"""


def emitted_module(scops: list[Scop]) -> ModuleOp:
    return build_module(scops, [loop_ast(scop, "source") for scop in scops], is_arranged=False)


def test_the_listing_of_the_paper() -> None:
    """With the names that ops have today; MLIR prints both, so that nothing else differs."""
    file = CFile.parse_text(LISTING_1, "gemm.c")
    (region,) = file.marked_regions()
    module = emitted_module([file.model_region(region)])
    printed = mlir.run_passes(native_text(module), ())
    assert printed.replace(" {rise.parallel}", "") == mlir.run_passes(LISTING_3, ())


def emitted(text: str) -> str:
    file = CFile.parse_text(text, "test.c")
    module = emitted_module(
        [file.model_region(region) for region in file.marked_regions()] or [file.model_function()]
    )
    mlir.verify(native_text(module, locations=True))
    return module_text(module)


def test_symbolic_bounds_are_symbols() -> None:
    text = emitted("void f(int n, double a[n]) { for (int i = 0; i < n; i++) a[i] = i; }")
    assert re.search(r"affine.for %i = 0 to %n_1 \{", text)
    assert "memref<?xf64>" in text


def test_bounds_that_are_the_least_of_several() -> None:
    text = emitted(
        "void f(int n, int m, double a[n]) { for (int i = 0; i < n && i < m; i++) a[i] = 1.0; }"
    )
    assert "to min affine_map<" in text


def test_affine_conditions_are_affine_ifs() -> None:
    text = emitted(
        "void f(int n, double a[n]) { for (int t = 0; t < n; t++) for (int i = 0; i < n; i++) {"
        "a[i] += 1.0; if (i + t < 5) a[i] = 2.0; } }"
    )
    assert "affine.if" in text
    assert "scf.if" not in text


def test_what_data_decides_is_scf() -> None:
    text = emitted(
        "void f(int n, double a[n]) { for (int i = 0; i < n; i++) if (a[i] > 0.0) a[i] = 0.0; }"
    )
    assert "scf.if" in text
    assert "affine.store" in text


def test_subscripts_that_are_data_are_memref_accesses() -> None:
    text = emitted(
        "void f(int n, int p[n], double a[n], double b[n]) "
        "{ for (int i = 0; i < n; i++) a[i] = b[p[i]]; }"
    )
    assert "memref.load %b" in text
    assert "affine.load %p" in text


def test_linear_subscripts_become_rows_and_columns() -> None:
    text = emitted(
        "void f(int n, int m, double *a) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
        " a[i * m + j] = 0.0; }"
    )
    assert re.search(r"affine.store %\d+, %a\[%i, %j\] : memref<\?x\?xf64>", text)


def test_extents_come_from_declarations() -> None:
    text = emitted("void f(double a[50]) { for (int i = 0; i < 10; i++) a[i] = 0.0; }")
    assert "memref<50xf64>" in text


def test_every_op_has_a_place_in_the_file() -> None:
    file = CFile.parse_text(LISTING_1, "gemm.c")
    module = emitted_module([file.model_region(file.marked_regions()[0])])
    (function,) = module.body.block.ops
    places = {op.name: str(op.location) for op in walk(function) if "yield" not in op.name}
    assert all('"gemm.c"' in place for place in places.values()), places
    lines = {
        int(found[1])
        for op in walk(function)
        if (found := re.search(r'"gemm.c":(\d+)', str(op.location)))
    }
    assert {5, 6, 7, 8, 9} <= lines


@pytest.mark.parametrize("path", sorted((*KERNELS.glob("*.c"), *EXTRA.glob("*.c"))), ids=str)
@pytest.mark.sampled(4)
def test_unmodified_mlir_accepts_every_example(path) -> None:
    file = CFile.parse_text(path.read_text(), path.name)
    regions = [file.model_region(region) for region in file.marked_regions()]
    if not regions:
        regions = [
            file.model_function(function.name)
            for function in file.functions
            if not function.is_static and function.location.file == path.name
        ]
    module = emitted_module(regions)
    mlir.verify(native_text(module, locations=True))
    assert len(regions) >= 1
