"""Where temporaries live, and what lowering refuses."""

from typing import Any

import numpy as np
import pytest
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import riselang as rl
from riselang.api.compile import Compilation
from riselang.dialects.module import make_context, module_text, parse_module, verify_module
from riselang.dsl.values import Value
from riselang.errors import UserError
from riselang.lowering.convert_rise_to_imperative import ConvertRiseToImperativePass
from riselang.lowering.temporaries import STACK_BUDGET, STACK_LIMIT


def many_temporaries(count: int, length: int) -> Any:
    @rl.jit
    def program(xs: rl.Array[length, rl.f32]):
        values: Value = xs
        for _ in range(count):
            values = rl.zip(values, values | rl.slide(1, 1) | rl.join) | rl.map(rl.mult)
        return values

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


def test_unknown_loop_dialects_are_refused() -> None:
    with pytest.raises(UserError, match="loops=scf or loops=affine"):
        ConvertRiseToImperativePass("gpu").apply(make_context(), ModuleOp([]))


@pytest.mark.parametrize("stage", ["imperative", "affine"])
@pytest.mark.parametrize("loops", ["scf", "affine"])
def test_every_stage_is_legal_and_prints(stage: str, loops: str) -> None:
    module = many_temporaries(3, 8).lower(np.zeros(8, np.float32)).compilation.module
    text = Compilation(module, loops).text(stage)
    again = parse_module(text)
    verify_module(again)
    assert module_text(again) == text


def test_nothing_of_rise_is_left() -> None:
    module = many_temporaries(3, 8).lower(np.zeros(8, np.float32)).compilation
    assert "rise." in module.text("imperative")
    assert "rise." not in module.text("affine")
    assert "rise.codegen" not in module.text("rise")
