"""Dependence tests for nests of affine loops.

The tests are deliberately simple, so that each can be read as a proof; a loop for which they prove
nothing is not transformed. They assume that distinct buffers do not overlap, which a call checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import affine, memref
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

Access = affine.LoadOp | affine.StoreOp
Loop = affine.ForOp | affine.ParallelOp


@dataclass(frozen=True)
class Subscripts:
    """The element of an access: a buffer, and an expression of loop indices per dimension."""

    buffer: SSAValue
    expressions: tuple[AffineExpr, ...]
    indices: tuple[SSAValue, ...]

    @staticmethod
    def of(access: Access) -> Subscripts:
        """Return the subscripts of an access; equal accesses have their indices in equal order."""
        map, operands = access.map.data, list(access.indices)
        indices: list[SSAValue] = []
        for operand in operands:
            if operand not in indices:
                indices.append(operand)
        indices.sort(key=id)
        dimensions = [AffineExpr.dimension(indices.index(operand)) for operand in operands]
        formulas = tuple(
            formula.replace_dims_and_symbols(dimensions[: map.num_dims], dimensions[map.num_dims :])
            for formula in map.results
        )
        return Subscripts(access.memref, formulas, tuple(indices))

    def dimensions_using(self, index: SSAValue) -> tuple[int, ...]:
        """Return the dimensions whose subscripts use the index."""
        return tuple(
            position
            for position, formula in enumerate(self.expressions)
            if any(
                isinstance(part, AffineDimExpr) and self.indices[part.position] is index
                for part in formula.dfs()
            )
        )

    def selects(self, index: SSAValue) -> bool:
        """Whether the subscript of some dimension is the index, perhaps plus a constant.

        Then two iterations with different indices access different elements.
        """
        return any(self._is_index_plus_constant(formula, index) for formula in self.expressions)

    def has_unit_stride(self, index: SSAValue) -> bool:
        """Whether the next value of the index accesses the next element in memory."""
        last = len(self.expressions) - 1
        return self.dimensions_using(index) == (last,) and self._has_unit_coefficient(
            self.expressions[last], index
        )

    def _is_index_plus_constant(self, formula: AffineExpr, index: SSAValue) -> bool:
        match formula:
            case AffineBinaryOpExpr(AffineBinaryOpKind.Add, rest, AffineConstantExpr()):
                formula = rest
            case _:
                pass
        return isinstance(formula, AffineDimExpr) and self.indices[formula.position] is index

    def _has_unit_coefficient(self, formula: AffineExpr, index: SSAValue) -> bool:
        """Whether the subscript is a sum in which the index occurs once, with coefficient 1."""
        stack, count = [formula], 0
        while stack:
            part = stack.pop()
            if isinstance(part, AffineBinaryOpExpr) and part.kind is AffineBinaryOpKind.Add:
                stack += [part.lhs, part.rhs]
            elif isinstance(part, AffineDimExpr) and self.indices[part.position] is index:
                count += 1
            elif any(
                isinstance(inner, AffineDimExpr) and self.indices[inner.position] is index
                for inner in part.dfs()
            ):
                return False
        return count == 1


@dataclass(frozen=True)
class Nest:
    """An affine loop with its body."""

    loop: Loop

    @property
    def index(self) -> SSAValue:
        return self.loop.body.block.args[0]

    @property
    def trip_count(self) -> int | None:
        """The number of iterations, if the bounds are constants and the step is 1."""
        first, last, step = _bounds(self.loop)
        start, end = _constant_bound(first), _constant_bound(last)
        if start is None or end is None or step != 1:
            return None
        return max(0, end - start)

    @property
    def starts_at_zero(self) -> bool:
        return _constant_bound(_bounds(self.loop)[0]) == 0

    def inner_nests(self) -> list[Nest]:
        return [Nest(op) for op in self.loop.body.block.ops if isinstance(op, affine.ForOp)]

    def band(self) -> list[Nest]:
        """Return the perfectly nested loops from this one on that have no results."""
        band: list[Nest] = []
        nest: Nest | None = self
        while nest is not None and not nest.loop.results:
            band.append(nest)
            first, *following_ops = nest.loop.body.block.ops
            is_alone = len(following_ops) == 1 and isinstance(following_ops[0], affine.YieldOp)
            nest = Nest(first) if isinstance(first, affine.ForOp) and is_alone else None
        return band

    def chain(self) -> list[Nest] | None:
        """Return this loop and its inner loops, outermost first; None if one has two of them."""
        chain: list[Nest] = [self]
        while inner := chain[-1].inner_nests():
            if len(inner) > 1:
                return None
            chain += inner
        return chain

    def accesses(self) -> list[Subscripts]:
        return [Subscripts.of(op) for op in self.loop.walk() if isinstance(op, Access)]

    def stores(self) -> list[Subscripts]:
        """Return the stores to buffers that outlive an iteration of the band."""
        return [
            Subscripts.of(op)
            for op in self.loop.walk()
            if isinstance(op, affine.StoreOp) and not self._is_private(op.memref)
        ]

    def _is_private(self, buffer: SSAValue) -> bool:
        """Whether the buffer is allocated in each iteration of the innermost loop of the band."""
        owner = buffer.owner
        innermost = self.band()[-1].loop if self.band() else self.loop
        return isinstance(owner, memref.AllocOp | memref.AllocaOp) and innermost.is_ancestor(owner)

    def has_only_accesses_like(self, store: Subscripts) -> bool:
        """Whether every access to the buffer of a store has the same subscripts as the store."""
        return all(access == store for access in self.accesses() if access.buffer is store.buffer)

    def is_permutable(self) -> bool:
        """Whether the loops of the band may be interchanged and tiled.

        Two iterations of the band access the same element only if they agree in every index that
        selects it. If at most one index does not select it, they are executed in the order of that
        index, whatever the order of the loops.
        """
        band = self.band()
        return all(
            self.has_only_accesses_like(store)
            and sum(not store.selects(nest.index) for nest in band) <= 1
            for store in self.stores()
        )

    def is_parallel(self) -> bool:
        """Whether this loop carries no dependence: no iteration writes an element of another."""
        return not self.loop.results and all(
            self.has_only_accesses_like(store) and store.selects(self.index)
            for store in self.stores()
        )

    def is_serial(self) -> bool:
        """Whether every iteration writes the same element, or passes a value to the next."""
        indices = [nest.index for nest in self._all_loops()]
        return bool(self.loop.results) or any(
            not any(store.dimensions_using(index) for index in indices) for store in self.stores()
        )

    def _all_loops(self) -> Iterator[Nest]:
        return (Nest(op) for op in self.loop.walk() if isinstance(op, affine.ForOp))


def top_level_nests(block: Block) -> list[Nest]:
    return [Nest(op) for op in block.ops if isinstance(op, affine.ForOp)]


def _bounds(loop: Loop) -> tuple[AffineMap, AffineMap, int]:
    """Return the lower bound, the exclusive upper bound, and the step."""
    if isinstance(loop, affine.ForOp):
        return loop.lowerBoundMap.data, loop.upperBoundMap.data, loop.step.value.data
    return loop.lowerBoundsMap.data, loop.upperBoundsMap.data, loop.steps.data[0].value.data


def _constant_bound(bound: AffineMap) -> int | None:
    if len(bound.results) == 1 and isinstance(bound.results[0], AffineConstantExpr):
        return bound.results[0].value
    return None
