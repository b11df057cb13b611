"""Estimates of the bounds of loops, for an assumed value of all sizes."""

from __future__ import annotations

import pytest
from xdsl.dialects import affine, scf

from riselang.dialects.affine import ParallelOp
from riselang.dialects.module import parse_module, walk
from riselang.lowering.typical_values import TypicalValues

PROGRAM = """func.func @f(%x: memref<?x8xf32>, %count: index, %number: i64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %n = memref.dim %x, %c0 : memref<?x8xf32>
  %tiles = arith.divui %n, %c8 : index
  %rest = arith.remui %n, %c8 : index
  %unknown = arith.xori %n, %c8 : index
  %cast = arith.index_cast %number : i64 to index
  {loop}
  func.return
}}"""
LOOPS = {
    "scf.for %i = %c1 to %tiles step %c3 {}": (1, 12, 3),
    "scf.for %i = %c0 to %rest step %c1 {}": (0, 4, 1),
    "scf.for %i = %c0 to %count step %c1 {}": (0, 100, 1),
    "scf.for %i = %c0 to %cast step %c1 {}": (0, 100, 1),
    "scf.for %i = %c0 to %unknown step %c1 {}": (0, None, 1),
    "affine.for %i = 4 to min affine_map<()[n, t] -> (n + 7, t * 2)>()[%n, %tiles] {}": (4, 24, 1),
    "affine.for %i = 0 to %unknown step 2 {}": (0, None, 2),
    "affine.parallel (%i) = (0) to (symbol(%n) floordiv 7) {}": (0, 14, 1),
    '"scf.parallel"(%c0, %tiles, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> '
    "({^bb0(%i: index): scf.reduce}) : (index, index, index) -> ()": (0, 12, 1),
}


@pytest.mark.parametrize("text", LOOPS)
def test_the_range_of_a_loop(text: str) -> None:
    module = parse_module(PROGRAM.format(loop=text))
    kinds = affine.ForOp | ParallelOp | scf.ForOp | scf.ParallelOp
    (loop,) = (op for op in walk(module) if isinstance(op, kinds))
    assert TypicalValues(100).ranges(loop) == [LOOPS[text]]


def test_bounds_that_depend_on_other_loops_are_not_estimated() -> None:
    module = parse_module(
        PROGRAM.format(loop="affine.for %i = 0 to 9 { affine.for %j = %i to 9 {} }")
    )
    _, inner = (op for op in walk(module) if isinstance(op, affine.ForOp))
    assert TypicalValues(100).ranges(inner) == [(None, 9, 1)]
