"""Which loops LLVM is told to unroll."""

from __future__ import annotations

from typing import Any

import pytest

import riselang as rl
from riselang.native.llvm.codegen import optimize
from riselang.native.llvm.short_loops import mark_short_loops
from riselang.native.mlir import bindings as mlir
from riselang.pipelines import cpu_pipeline


def nest(*counts: int, step: int = 1) -> str:
    """LLVM IR of loops inside each other, with so many iterations."""
    opening = "".join(
        f"scf.for %i{k} = %c0 to %c{count}_{k} step %step {{\n" for k, count in enumerate(counts)
    )
    constants = "".join(
        f"%c{count}_{k} = arith.constant {count * step} : index\n" for k, count in enumerate(counts)
    )
    return mlir.to_llvm_ir(
        f"""func.func @f(%a : memref<1xf32>) {{
          %c0 = arith.constant 0 : index
          %step = arith.constant {step} : index
          {constants}
          {opening}
          %x = memref.load %a[%c0] : memref<1xf32>
          %y = arith.addf %x, %x : f32
          memref.store %y, %a[%c0] : memref<1xf32>
          {"}" * len(counts)}
          return
        }}""",
        cpu_pipeline(threads=False, bf16=False),
    )


def marks(ir: str) -> int:
    return mark_short_loops(ir).count("!llvm.loop !")


@pytest.mark.parametrize(
    ("counts", "marked"),
    [((3,), 1), ((16,), 1), ((33,), 0), ((3, 3), 2), ((1000, 3), 1), ((3, 1000), 1),
     ((8, 8, 8), 1), ((100, 100), 0)],
)  # fmt: skip
def test_short_loops_are_marked(counts: tuple[int, ...], marked: int):
    assert marks(nest(*counts)) == marked


def test_steps_count():
    assert marks(nest(4, step=16)) == 1
    assert marks(nest(64, step=16)) == 0


def test_numbers_of_metadata_are_new():
    ir = nest(3) + '\n!7 = !{!"something"}\n'
    marked = mark_short_loops(ir)
    assert '!8 = !{!"llvm.loop.unroll.full"}' in marked
    assert "!llvm.loop !9" in marked


def test_a_module_without_short_loops_is_the_same():
    ir = nest(100)
    assert mark_short_loops(ir) is ir


def test_a_window_is_written_out_and_long_loops_are_not():
    text = """fun((x : 130.f32), x |> slide(3, 1) |> mapSeq(fun(w,
      w |> reduceSeq(fun((a, b), a + b), 0.0))))"""
    loaded: Any = rl.loads(text, name="window.rise", strategy="none")
    kernel = loaded.main
    ir = kernel.lower().as_text("llvm")
    assert ir.count("!llvm.loop !") == 1


def test_the_last_loop_of_a_while_body_is_unrolled_without_a_warning(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def grow(row: Any) -> Any:
        # A reversed state is not updated in place: it is copied.
        return rl.while_(lambda s: s.sum() < 100.0, lambda s: s[::-1] * 2.0 + 1.0, row)

    program = rl.jit(lambda A: A | rl.map(grow))
    lowered = program.lower(rl.Array[10, 16, rl.f32])
    marked = lowered.as_text("llvm")
    assert "llvm.loop.unroll.disable" in marked
    optimize(marked)
    assert capfd.readouterr().err == ""
