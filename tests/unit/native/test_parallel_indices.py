"""The indices of parallel loops around other loops are opaque to LLVM; others are not."""

from __future__ import annotations

from riselang.native.mlir import bindings
from riselang.pipelines import HIDE_INDICES

STORE = "memref.store %x, %y[%i, %j] : memref<8x8xf32>"
NESTED = f"scf.for %j = %zero to %n step %one {{ {STORE} }}"
FLAT = f"%j = arith.constant 0 : index {STORE}"


def _parallel_loop(body: str) -> str:
    return f"""
    func.func @f(%x: f32, %y: memref<8x8xf32>, %zero: index, %one: index, %n: index) {{
      omp.parallel {{
        omp.wsloop {{
          omp.loop_nest (%i) : index = (%zero) to (%n) step (%one) {{
            {body}
            omp.yield
          }}
        }}
        omp.terminator
      }}
      return
    }}"""


def test_the_index_of_a_loop_around_another_is_hidden() -> None:
    text = bindings.run_passes(_parallel_loop(NESTED), (HIDE_INDICES,))
    before_loop, loop = text.split("scf.for")
    assert 'llvm.inline_asm "", "=r,0"' in before_loop
    assert "%arg5" in before_loop
    assert "%arg5" not in loop.split("memref.store")[1]


def test_the_index_of_an_innermost_loop_is_not_hidden() -> None:
    """LLVM may vectorize this loop."""
    assert "inline_asm" not in bindings.run_passes(_parallel_loop(FLAT), (HIDE_INDICES,))


def test_code_with_a_hidden_index_is_translated() -> None:
    passes = (
        HIDE_INDICES, "convert-scf-to-cf", "finalize-memref-to-llvm", "convert-arith-to-llvm",
        "convert-index-to-llvm", "convert-func-to-llvm", "convert-cf-to-llvm",
        "convert-openmp-to-llvm", "reconcile-unrealized-casts",
    )  # fmt: skip
    assert 'asm "", "=r,0"' in bindings.to_llvm_ir(_parallel_loop(NESTED), passes)
