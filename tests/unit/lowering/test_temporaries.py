"""Where temporaries live, and what lowering refuses."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import make_context, module_text, parse_module, verify_module
from riselang.dsl.symbolic_values import Value
from riselang.lowering.passes.convert_rise_to_imperative import ConvertRiseToImperativePass
from riselang.lowering.temporaries import STACK_BUDGET, STACK_LIMIT
from riselang.notation.program import parse_term
from riselang.support.config import Options
from riselang.support.errors import UserError


def many_temporaries(count: int, length: int) -> Any:
    @rl.jit
    def program(xs: rl.Array[length, rl.f32]):
        steps: list[Value] = [xs]
        for _ in range(count):
            values = steps[-1]
            steps.append(rl.zip(values, values | rl.slide(1, 1) | rl.join) | rl.map(rl.mult))
        result = steps[-1]
        for values in steps:  # all of them are needed at the end
            result = rl.zip(result, values) | rl.map(rl.add)
        return result

    return program


def allocations(count: int, length: int) -> tuple[int, int, int]:
    lowered = many_temporaries(count, length).lower(np.zeros(length, np.float32))
    module = parse_module(lowered.as_text("affine"))
    kinds = (memref.AllocaOp, memref.AllocOp, memref.DeallocOp)
    for op in module.walk():
        if isinstance(op, kinds):
            assert isinstance(op.parent_op(), FuncOp)
    stack, heap, freed = (sum(isinstance(op, kind) for op in module.walk()) for kind in kinds)
    return stack, heap, freed


def test_a_chain_of_steps_frees_each_array_after_its_last_use() -> None:
    """The arrays differ in their types, so they share no buffer, but the pool reuses memory."""

    @rl.jit
    def chain(xs: rl.Array[65536, rl.f32]):
        for step in (1, 2, 3, 4):
            xs = rl.zip(xs | rl.drop(step), xs | rl.take(xs.shape[0] - step)) | rl.map(rl.add)
            xs = xs | rl.to_mem("heap")
        return xs | rl.map(lambda x: x + 1.0)

    module = parse_module(chain.lower().as_text("affine"))
    alive = most = 0
    for op in module.walk():
        alive += isinstance(op, memref.AllocOp) - isinstance(op, memref.DeallocOp)
        most = max(most, alive)
    assert (alive, most) == (0, 2)


def test_small_temporaries_are_on_the_stack() -> None:
    stack, heap, freed = allocations(5, 16)
    assert stack >= 4
    assert (heap, freed) == (0, 0)


def test_the_stack_has_a_budget() -> None:
    length = STACK_LIMIT // 4
    stack, heap, freed = allocations(12, length)
    assert stack == STACK_BUDGET // STACK_LIMIT
    assert heap == freed
    assert heap > 0


def test_unknown_loop_dialects_are_rejected() -> None:
    with pytest.raises(UserError, match="expected loops=scf, loops=affine or loops=gpu"):
        ConvertRiseToImperativePass("vector").apply(make_context(), ModuleOp([]))


@pytest.mark.parametrize("stage", ["imperative", "affine"])
@pytest.mark.parametrize("loops", ["scf", "affine"])
def test_every_stage_is_legal_and_prints(stage: str, loops: str) -> None:
    module = many_temporaries(3, 8).lower(np.zeros(8, np.float32)).compilation.module
    text = Compilation(module, Options(loops)).text(stage)
    again = parse_module(text)
    verify_module(again)
    assert module_text(again) == text


def test_nothing_of_rise_is_left() -> None:
    module = many_temporaries(3, 8).lower(np.zeros(8, np.float32)).compilation
    assert "rise." in module.text("imperative")
    assert "rise." not in module.text("affine")
    assert "rise.codegen" not in module.text("rise")


def loop_depth(text: str) -> int:
    """How many loops stand inside each other at most."""
    depth = deepest = 0
    for line in text.splitlines():
        if line.rstrip().endswith("{"):
            depth += 1
            deepest = max(deepest, depth)
        elif line.strip().startswith("}"):
            depth -= 1
    return deepest - 2  # the module and the function


def product(A: Value, B: Value) -> Value:
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda column: rl.zip(row, column) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


@pytest.mark.parametrize("float", ["strict", "contract"])
def test_a_computed_row_is_computed_once(float: str) -> None:
    """Not once more for each column that it is multiplied with."""

    @rl.jit(float=float)
    def two_layers(
        A: rl.Array[4, 5, rl.f32], B: rl.Array[5, 6, rl.f32], C: rl.Array[6, 7, rl.f32]
    ) -> Any:
        return product(product(A, B) | rl.map(rl.map(lambda x: rl.max(x, 0.0))), C)

    assert loop_depth(two_layers.lower().as_text("affine")) == 3
    rng = np.random.default_rng(0)
    A, B, C = (rng.random(shape, np.float32) for shape in ((4, 5), (5, 6), (6, 7)))
    assert np.allclose(two_layers(A, B, C), (A @ B) @ C)


@pytest.mark.parametrize("float", ["strict", "contract"])
def test_a_pair_of_rows_needs_no_memory_where_its_parts_are_used_once(float: str) -> None:
    @rl.jit(float=float)
    def combined(A: rl.Array[4, 5, rl.f32], C: rl.Array[4, 5, rl.f32]) -> Any:
        squares = A | rl.map(rl.map(lambda x: x * x))
        return rl.zip(squares, C) | rl.map(
            lambda row, other: rl.zip(row, other) | rl.map(lambda x, y: 2.0 * x + 3.0 * y)
        )

    text = combined.lower().as_text("affine")
    assert "memref.alloc" not in text
    assert text.count("affine.for") == 2


IN_PLACE = """
func.func @reversed(%a : memref<6xf32>) {
  rise.lowering_unit {
    %x = rise.in %a : !rise.array<6, scalar<f32>>
    %reverse = rise.reverse #rise.nat<6> #rise.scalar<f32>
    %y = rise.apply %reverse, %x
    rise.out %a <- %y
    rise.return
  }
  func.return
}
"""


@pytest.mark.parametrize("loops", ["scf", "affine"])
def test_a_program_may_write_what_it_reads(loops: str) -> None:
    module: Any = rl.loads(IN_PLACE, loops=loops)
    x = np.arange(6, dtype=np.float32)
    module.reversed(x)
    assert x.tolist() == [5, 4, 3, 2, 1, 0]


ROWS = """fun((a : N.M.f32), a |> mapPar(fun(row,
  let p = row |> map(fun(e, e * e)) |> toMem(heap);
  p |> map(fun(e, e + (p |> reduce(add, 0.0)))))))"""


@pytest.mark.parametrize(
    ("threads", "loop"), [("1", "phi i64"), ("2", "call void @rise_dispatch_init")]
)
def test_each_thread_allocates_once(
    threads: str, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A buffer of unknown length is allocated before the loop over rows, not in each iteration."""
    monkeypatch.setenv("RISE_NUM_THREADS", threads)
    kernel = TermKernel("f", parse_term(ROWS))
    kernel.symbolic = True
    _, _, body = kernel.lower().as_text("affine").partition("affine.parallel")
    assert "memref.alloc(" in body
    ir = kernel.lower().as_text("llvm")
    assert ir.index("call ptr @aligned_alloc") < ir.index(loop)
    assert ir.count("call void @free") == 1
    a = np.arange(15, dtype=np.float32).reshape(5, 3)
    assert np.array_equal(kernel(a), a * a + (a * a).sum(axis=1, keepdims=True))
