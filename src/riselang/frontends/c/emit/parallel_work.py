"""The work of a loop, computed when the loop begins: whether threads make up for their start.

The estimate counts the arithmetic operations and memory accesses of the innermost loops, in lanes.
A bound that depends on the variable of the loop itself, as in a triangular nest, is assumed to give
as many iterations as the loop has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import affine, arith, memref, scf, vector
from xdsl.dialects.builtin import AffineMapAttr, IndexType, VectorType
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

MIN_WORK = 1 << 21
"""The fewest operations for which a loop runs in several threads. A core executes them in some
fifty microseconds. Starting a loop in threads takes about three, but then other caches have to read
what it accesses."""
UNKNOWN_TRIPS = 16
"""The assumed trip count of loops that are not counted."""
_LEAVES = (
    affine.LoadOp, affine.StoreOp, memref.LoadOp, memref.StoreOp, vector.LoadOp, vector.StoreOp,
    vector.MaskedLoadOp, vector.MaskedStoreOp, vector.FMAOp, arith.AddfOp, arith.SubfOp,
    arith.MulfOp, arith.DivfOp, arith.AddiOp, arith.MuliOp,
)  # fmt: skip
_INDEX = IndexType()


@dataclass(frozen=True)
class _Term:
    """A number of operations, times trip counts."""

    count: int
    trips: tuple[SSAValue, ...] = ()


class WorkEstimate:
    """Computes the work of a loop in front of it."""

    def __init__(self, loop: affine.ForOp):
        self._loop = loop
        self._hoisted: dict[SSAValue, SSAValue] = {}
        self._trips: SSAValue | None = None

    def emit(self) -> SSAValue:
        """Emit the number of operations, as an index."""
        self._trips = self._affine_trips(self._loop)
        total = self._constant(0)
        for term in self._work_of(self._loop):
            product = self._constant(term.count)
            for trips in term.trips:
                product = self._add(arith.MuliOp(product, trips))
            total = self._add(arith.AddiOp(total, product))
        return total

    def _work_of(self, op: Operation) -> list[_Term]:
        if isinstance(op, _LEAVES):
            types = [value.type for value in (*op.results, *op.operands)]
            lanes = [type.element_count() for type in types if isinstance(type, VectorType)]
            return [] if op.results and op.results[0].type == _INDEX else [_Term(max([1, *lanes]))]
        inner = [
            term
            for region in op.regions
            for block in region.blocks
            for each in block.ops
            for term in self._work_of(each)
        ]
        if not inner or not isinstance(op, affine.ForOp | scf.ForOp | scf.WhileOp):
            return inner
        if isinstance(op, scf.WhileOp):
            return [_Term(term.count * UNKNOWN_TRIPS, term.trips) for term in inner]
        trips = self._trips_of(op)
        merged: dict[tuple[SSAValue, ...], int] = {}
        for term in inner:
            merged[term.trips] = merged.get(term.trips, 0) + term.count
        return [_Term(count, (trips, *others)) for others, count in merged.items()]

    def _trips_of(self, loop: affine.ForOp | scf.ForOp) -> SSAValue:
        assert self._trips is not None
        if loop is self._loop:
            return self._trips
        if isinstance(loop, affine.ForOp):
            return self._affine_trips(loop) or self._trips
        bounds = [self._hoist(each) for each in (loop.lb, loop.ub, loop.step)]
        if any(each is None for each in bounds):
            return self._trips
        lower, upper, step = (each for each in bounds if each is not None)
        return self._divide(self._add(arith.SubiOp(upper, lower)), step)

    def _affine_trips(self, loop: affine.ForOp) -> SSAValue | None:
        lower = self._bound(loop.lowerBoundMap, loop.lowerBoundOperands, is_lower=True)
        upper = self._bound(loop.upperBoundMap, loop.upperBoundOperands, is_lower=False)
        if lower is None or upper is None:
            return None
        step = self._constant(loop.step.value.data)
        return self._divide(self._add(arith.SubiOp(upper, lower)), step)

    def _bound(
        self, attribute: AffineMapAttr, operands: Sequence[SSAValue], *, is_lower: bool
    ) -> SSAValue | None:
        values = [self._hoist(each) for each in operands]
        known = [each for each in values if each is not None]
        if len(known) < len(values):
            return None
        map = attribute.data
        total: SSAValue | None = None
        for result in map.results:
            value = self._apply(map, result, known)
            choose = arith.MaxSIOp if is_lower else arith.MinSIOp
            total = value if total is None else self._add(choose(total, value))
        return total

    def _apply(self, map: AffineMap, result: AffineExpr, operands: list[SSAValue]) -> SSAValue:
        single = AffineMapAttr(AffineMap(map.num_dims, map.num_symbols, (result,)))
        return self._add(affine.ApplyOp(operands, single))

    def _divide(self, gap: SSAValue, step: SSAValue) -> SSAValue:
        """Return the trip count: at least one, so that no product is zero."""
        count = self._add(arith.DivSIOp(gap, step))
        return self._add(arith.MaxSIOp(count, self._constant(1)))

    # Values in front of the loop

    def _hoist(self, value: SSAValue) -> SSAValue | None:
        """Return a value that is known in front of the loop; None if it depends on the loop."""
        if value in self._hoisted:
            return self._hoisted[value]
        if not self._is_inside(value):
            return value
        op = value.owner
        if isinstance(value, BlockArgument) or not isinstance(op, Operation):
            return None
        if op.regions or not op.name.startswith(("arith.", "affine.apply")):
            return None
        operands = [self._hoist(each) for each in op.operands]
        known = [each for each in operands if each is not None]
        if len(known) < len(operands):
            return None
        clone = op.clone(dict(zip(op.operands, known, strict=True)))
        Rewriter.insert_op(clone, InsertPoint.before(self._loop))
        for old, new in zip(op.results, clone.results, strict=True):
            self._hoisted[old] = new
        return self._hoisted[value]

    def _is_inside(self, value: SSAValue) -> bool:
        block = value.owner if isinstance(value, BlockArgument) else value.owner.parent
        while block is not None:
            parent = block.parent_op()
            if parent is self._loop:
                return True
            block = None if parent is None else parent.parent
        return False

    def _constant(self, value: int) -> SSAValue:
        return self._add(arith.ConstantOp.from_int_and_width(value, _INDEX))

    def _add(self, op: Operation) -> SSAValue:
        op.location = self._loop.location
        Rewriter.insert_op(op, InsertPoint.before(self._loop))
        return op.results[0]
