"""Which polyhedral passes a function gets, and why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import pipelines
from riselang.dialects.module import make_context, parse_module
from riselang.lowering.passes.plan_polyhedral import NOT_TILED, NOT_VECTORIZED, PlanPolyhedralPass
from riselang.support.errors import UserError

M = "memref<64x64xf32>"


def nest(body: str, rows: int = 64, columns: int = 64, type: str = M) -> str:
    return f"""func.func @f(%C : {type}, %A : {type}) {{
      affine.for %i = 1 to {rows + 1} {{
        affine.for %j = 1 to {columns + 1} {{
          {body}
        }}
      }}
      func.return
    }}"""


def statement(target: str, source: str, type: str = M) -> str:
    return (
        f"%x = affine.load %{source} : {type}\n"
        f"%y = arith.addf %x, %x : f32\n"
        f"affine.store %y, %{target} : {type}"
    )


def plan(text: str) -> dict[str, str]:
    module = parse_module(text)
    PlanPolyhedralPass(128).apply(make_context(), module)
    function = module.body.block.first_op
    assert function is not None
    return {
        name: getattr(value, "data", "")
        for name, value in function.attributes.items()
        if name.startswith("rise.")
    }


def test_independent_iterations_are_tiled_and_vectorised() -> None:
    text = nest(statement("C[%i - 1, %j - 1]", "A[%i - 1, %j - 1]"))
    passes = plan(text)[pipelines.PLANNED_PASSES]
    assert "affine-loop-tile{tile-sizes=32,32}" in passes
    assert "affine-super-vectorize{virtual-vector-size=4" in passes


def test_tiles_divide_the_loops_and_vectors_the_tiles() -> None:
    found = plan(nest(statement("C[%i - 1, %j - 1]", "A[%i - 1, %j - 1]"), rows=24, columns=6))
    assert "tile-sizes=8,2}" in found[pipelines.PLANNED_PASSES]
    assert found[NOT_VECTORIZED] == "the trip count of its inner loop is not a multiple of 4"


@pytest.mark.parametrize(
    ("target", "source", "reason"),
    [
        ("C[%i, %j]", "C[%i - 1, %j + 1]", "iterations of its loops may depend on each other"),
        ("C[%i, %j]", "C[%i, %j - 1]", "iterations of its loops may depend on each other"),
        ("C[%i + %j, 0]", "A[%i, %j]", "iterations of its loops may depend on each other"),
    ],
)
def test_iterations_that_depend_on_each_other_are_left_alone(
    target: str, source: str, reason: str
) -> None:
    found = plan(nest(statement(target, source, "memref<200x200xf32>"), type="memref<200x200xf32>"))
    assert found[NOT_TILED] == reason
    assert "super-vectorize" not in found.get(pipelines.PLANNED_PASSES, "")


def test_steps_of_two_elements_are_not_vectorised() -> None:
    type = "memref<200x200xf32>"
    found = plan(nest(statement("C[%i, %j]", "A[%i, 2 * %j]", type), type=type))
    assert found[NOT_VECTORIZED] == "iterations of its inner loop may depend on each other"


def test_unknown_lengths_and_ops_are_named() -> None:
    dynamic = """func.func @f(%C : memref<?xf32>, %n : index) {
      %x = arith.constant 1.0 : f32
      affine.for %i = 0 to %n { affine.store %x, %C[%i] : memref<?xf32> }
      func.return
    }"""
    assert plan(dynamic)[NOT_TILED] == "the trip count of a loop is not known"
    called = nest(f"func.call @f(%C, %A) : ({M}, {M}) -> ()")
    assert plan(called)[NOT_TILED] == "it is called with buffers that may be the same"
    printed = nest("%x = arith.index_cast %i : index to i32")
    assert plan(printed)[NOT_TILED] == "it has arith.index_cast"


def test_a_planned_function_rejects_buffers_that_overlap() -> None:
    text = nest(statement("C[%i - 1, %j - 1]", "A[%i - 1, %j - 1]"))
    a = np.ones((64, 64), np.float32)
    plain = rl.loads(text, loops="affine")
    plain.f(a, a)
    assert (a == 2).all()
    with pytest.raises(UserError, match="C and A share memory"):
        rl.loads(text, loops="polyhedral").f(a, a)


def test_programs_and_python_functions_take_polyhedral_loops() -> None:
    @rl.jit(loops="polyhedral", float="strict")
    def double(x: rl.Array[8, 16, rl.f32]) -> rl.Array:
        return x | rl.map(rl.map(lambda a: a + a))

    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    assert np.array_equal(double(x), x + x)
    assert "affine-super-vectorize" in double.lower(x).as_text("affine")
    program: Any = rl.loads("fun(x : 8.16.f32, x |> map(map(fun(a, a + a))))", name="d.rise",
                       loops="polyhedral")  # fmt: skip
    assert np.array_equal(program.main(x), x + x)


def test_another_kind_of_loops_is_rejected() -> None:
    with pytest.raises(UserError, match="loops must be one of affine, scf, polyhedral"):
        rl.jit(lambda: 0, loops="tiled")
