"""What is found in a module before native MLIR gets it."""

from __future__ import annotations

import pytest

from riselang.compiler.module_facts import ModuleFacts, collect_facts
from riselang.dialects.module import parse_module

MODULES = {
    "nothing": ("func.func @parallel_bf16(%x: memref<4xf32>) { return }", ModuleFacts()),
    "loops": (
        """func.func @f(%x: memref<4xf32>) {
          affine.parallel (%i) = (0) to (4) {
            %v = affine.load %x[%i] : memref<4xf32>
            affine.store %v, %x[%i] : memref<4xf32>
          }
          return
        }""",
        ModuleFacts(has_parallel_loops=True),
    ),
    "bf16": (
        "func.func @f(%x: memref<4x4xbf16>) { return }",
        ModuleFacts(has_bf16=True, has_short_floats=True),
    ),
    "half": ("func.func private @f(vector<4xf16>)", ModuleFacts(has_short_floats=True)),
    "blas": (
        """func.func private @cblas_f()
        func.func @f() {
          func.call @cblas_f() : () -> ()
          return
        }""",
        ModuleFacts(calls_blas=True),
    ),
    "memory": (
        """func.func @f() {
          %m = memref.alloc() : memref<4xf32>
          memref.dealloc %m : memref<4xf32>
          return
        }""",
        ModuleFacts(may_end_early=True),
    ),
    "polls": (
        """func.func private @rise_poll(i64)
        func.func @f(%n: i64) {
          func.call @rise_poll(%n) : (i64) -> ()
          return
        }""",
        ModuleFacts(may_end_early=True),
    ),
    "tensors": (
        "func.func @f(%x: tensor<4xf32>) { return }",
        ModuleFacts(is_structured=True, may_end_early=True, has_descriptors=True),
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_facts(name: str) -> None:
    text, expected = MODULES[name]
    assert collect_facts(parse_module(text)) == expected
