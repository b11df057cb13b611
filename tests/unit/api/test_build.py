"""`rl.build` (seed 000, listing 1): RISE ops into a function that is being built."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

import riselang as rl
from riselang.dialects.module import module_text, verify_module


def function(*shapes: list[int]) -> tuple[ModuleOp, Block]:
    types = [MemRefType(f32, shape) for shape in shapes]
    block = Block(arg_types=types)
    op = FuncOp("mm", FunctionType.from_lists(types, []), Region(block))
    return ModuleOp([op]), block


def test_listing_1_of_the_paper() -> None:
    module, block = function([4, 6], [4, 5], [5, 6])
    out, a, b = block.args
    rl.build(block, out, [a, b])(
        lambda A, B: rl.map_seq(
            lambda arow: rl.map_seq(
                lambda bcol: rl.reduce_seq(
                    lambda accum, t: accum + (t.fst * t.snd), 0.0, rl.zip(arow, bcol)
                ),
                rl.transpose(B),
            ),
            A,
        )
    )
    block.add_op(ReturnOp())
    verify_module(module)
    loaded = rl.loads(module_text(module))
    generator = np.random.default_rng(0)
    x, y = generator.random((4, 5), np.float32), generator.random((5, 6), np.float32)
    c = np.zeros((4, 6), np.float32)
    loaded.mm(c, x, y)
    assert np.allclose(c, x @ y, rtol=1e-5)


def test_an_output_that_does_not_fit() -> None:
    _, block = function([3], [4])
    with pytest.raises(rl.UserError, match="the output does not fit the program"):
        rl.build(block, block.args[0], [block.args[1]])(lambda x: x | rl.map(lambda a: a))
