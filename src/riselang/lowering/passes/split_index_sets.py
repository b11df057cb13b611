"""Pass `split-index-sets`: splits a loop where a comparison of its index with a constant changes.

Each part knows the result of the comparison, which LLVM would otherwise compute for every
iteration: an index has 64 bits, so a loop that fills an array of bytes took six times as long as
one without comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import affine, arith
from xdsl.dialects.builtin import AffineMapAttr, BoolAttr, IntegerAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from riselang import pipelines
from riselang.dialects.module import functions, walk
from riselang.support.recursion import with_deep_stack

MIN_LENGTH = 128
"""Loops with fewer iterations are not split."""
MAX_PARTS = 4
"""The maximum number of parts of a loop."""
MAX_OPS = 64
"""The maximum number of ops in the body of a loop, which every part repeats."""
_COMPARISONS = {2: (0, False), 3: (1, False), 4: (1, True), 5: (0, True)}
"""For the predicates slt, sle, sgt and sge: the first index with the other result is the constant
plus this number, and whether the comparison is true from there on."""


@dataclass(frozen=True)
class SplitIndexSetsPass(ModulePass):
    """Splits loops where comparisons of their indices with constants change."""

    name = "split-index-sets"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        split_index_sets(op)


def split_index_sets(module: ModuleOp) -> None:
    """Split the innermost loops of a module that compare their indices with constants."""
    for function in functions(module):
        if pipelines.PLANNED_PASSES in function.attributes:
            continue
        for op in list(walk(function)):
            if isinstance(op, affine.ForOp) and (bounds := _constant_bounds(op)) is not None:
                _split(op, *bounds)


def _constant_bounds(loop: affine.ForOp) -> tuple[int, int] | None:
    """Return the bounds of an innermost loop, if they are constants, and its step is one."""
    ends = [_constant_result(each.data) for each in (loop.lowerBoundMap, loop.upperBoundMap)]
    ops = list(loop.body.block.ops)
    if None in ends or loop.step.value.data != 1 or len(ops) > MAX_OPS:
        return None
    if any(op.regions for op in ops):
        return None
    start, end = ends[0] or 0, ends[1] or 0
    return (start, end) if end - start >= MIN_LENGTH else None


def _constant_result(map: AffineMap) -> int | None:
    is_closed = map.num_dims == map.num_symbols == 0 and len(map.results) == 1
    if not is_closed or not isinstance(map.results[0], AffineConstantExpr):
        return None
    return map.results[0].value


def _split(loop: affine.ForOp, start: int, end: int) -> None:
    changes = [each for op in loop.body.block.ops if (each := _change(loop, op)) is not None]
    inside = sorted({index for index, _ in changes if start < index < end})
    if not changes or len(inside) >= MAX_PARTS:
        return
    carried: Sequence[SSAValue] = loop.inits
    for first, last in pairwise((start, *inside, end)):
        part = loop.clone()
        part.properties["lowerBoundMap"] = _constant_map(first)
        part.properties["upperBoundMap"] = _constant_map(last)
        part.operands = [*carried]
        for op in list(part.body.block.ops):
            if (change := _change(part, op)) is not None:
                index, is_true = change
                value = BoolAttr.from_bool((first >= index) == is_true)
                Rewriter.replace_op(op, arith.ConstantOp(value))
        parent = loop.parent_block()
        assert parent is not None
        parent.insert_op_before(part, loop)
        carried = part.results
    Rewriter.replace_op(loop, [], list(carried))


def _change(loop: affine.ForOp, op: object) -> tuple[int, bool] | None:
    """Return the first index for which a comparison of the index with a constant has its last
    result, and this result; None for other ops."""
    if not isinstance(op, arith.CmpiOp) or op.lhs is not loop.body.block.args[0]:
        return None
    constant, predicate = op.rhs.owner, op.predicate.value.data
    if not isinstance(constant, arith.ConstantOp) or predicate not in _COMPARISONS:
        return None
    assert isinstance(constant.value, IntegerAttr)
    distance, is_true = _COMPARISONS[predicate]
    return constant.value.value.data + distance, is_true


def _constant_map(number: int) -> AffineMapAttr:
    return AffineMapAttr(AffineMap(0, 0, (AffineExpr.constant(number),)))
