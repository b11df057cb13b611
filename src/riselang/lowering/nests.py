"""What is known of a nest of affine loops: its accesses, and which iterations may change places.

The tests are simple on purpose: each can be read as a proof, and what they do not prove stays as it
is. They take buffers of different names to be different memory, which is checked at the call.
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
    """Where an access goes: a buffer, and a formula over loop indices for each dimension."""

    buffer: SSAValue
    formulas: tuple[AffineExpr, ...]
    indices: tuple[SSAValue, ...]

    @staticmethod
    def of(access: Access) -> Subscripts:
        """The same indices in the same order for every access to the same place."""
        map, operands = access.map.data, list(access.indices)
        indices: list[SSAValue] = []
        for operand in operands:
            if operand not in indices:
                indices.append(operand)
        indices.sort(key=id)
        known = [AffineExpr.dimension(indices.index(operand)) for operand in operands]
        formulas = tuple(
            formula.replace_dims_and_symbols(known[: map.num_dims], known[map.num_dims :])
            for formula in map.results
        )
        return Subscripts(access.memref, formulas, tuple(indices))

    def mentions(self, index: SSAValue) -> tuple[int, ...]:
        """The dimensions whose formula has the index."""
        return tuple(
            position
            for position, formula in enumerate(self.formulas)
            if any(
                isinstance(part, AffineDimExpr) and self.indices[part.position] is index
                for part in formula.dfs()
            )
        )

    def selects(self, index: SSAValue) -> bool:
        """Whether some dimension is the index alone, perhaps with a number added.

        Then two iterations that differ in the index touch different elements.
        """
        return any(self._is_shifted(formula, index) for formula in self.formulas)

    def advances_last(self, index: SSAValue) -> bool:
        """Whether the next value of the index means the next element in memory."""
        last = len(self.formulas) - 1
        return self.mentions(index) == (last,) and self._is_offset(self.formulas[last], index)

    def _is_shifted(self, formula: AffineExpr, index: SSAValue) -> bool:
        match formula:
            case AffineBinaryOpExpr(AffineBinaryOpKind.Add, rest, AffineConstantExpr()):
                formula = rest
            case _:
                pass
        return isinstance(formula, AffineDimExpr) and self.indices[formula.position] is index

    def _is_offset(self, formula: AffineExpr, index: SSAValue) -> bool:
        """Whether the formula is a sum with the index once, as it is, and nowhere else."""
        stack, found = [formula], 0
        while stack:
            part = stack.pop()
            if isinstance(part, AffineBinaryOpExpr) and part.kind is AffineBinaryOpKind.Add:
                stack += [part.lhs, part.rhs]
            elif isinstance(part, AffineDimExpr) and self.indices[part.position] is index:
                found += 1
            elif any(
                isinstance(inner, AffineDimExpr) and self.indices[inner.position] is index
                for inner in part.dfs()
            ):
                return False
        return found == 1


@dataclass(frozen=True)
class Nest:
    """An affine loop with everything in it."""

    loop: Loop

    @property
    def index(self) -> SSAValue:
        return self.loop.body.block.args[0]

    @property
    def trip_count(self) -> int | None:
        """How often the loop runs, if it counts from one number to another by 1."""
        first, last, step = _bounds(self.loop)
        start, end = _number(first), _number(last)
        if start is None or end is None or step != 1:
            return None
        return max(0, end - start)

    @property
    def starts_at_zero(self) -> bool:
        return _number(_bounds(self.loop)[0]) == 0

    def inner(self) -> list[Nest]:
        return [Nest(op) for op in self.loop.body.block.ops if isinstance(op, affine.ForOp)]

    def band(self) -> list[Nest]:
        """This loop and those directly in it with nothing beside them, none with a result."""
        found: list[Nest] = []
        nest: Nest | None = self
        while nest is not None and not nest.loop.results:
            found.append(nest)
            first, *others = nest.loop.body.block.ops
            is_alone = len(others) == 1 and isinstance(others[0], affine.YieldOp)
            nest = Nest(first) if isinstance(first, affine.ForOp) and is_alone else None
        return found

    def chain(self) -> list[Nest] | None:
        """This loop and those in it, outermost first, unless two stand side by side."""
        found: list[Nest] = [self]
        while inner := found[-1].inner():
            if len(inner) > 1:
                return None
            found += inner
        return found

    def accesses(self) -> list[Subscripts]:
        return [Subscripts.of(op) for op in self.loop.walk() if isinstance(op, Access)]

    def stores(self) -> list[Subscripts]:
        """The stores to buffers that outlive an iteration of the outermost loop."""
        return [
            Subscripts.of(op)
            for op in self.loop.walk()
            if isinstance(op, affine.StoreOp) and not self._is_private(op.memref)
        ]

    def _is_private(self, buffer: SSAValue) -> bool:
        """Whether the buffer is made anew in each iteration of the innermost loop of the band."""
        owner = buffer.owner
        innermost = self.band()[-1].loop if self.band() else self.loop
        return isinstance(owner, memref.AllocOp | memref.AllocaOp) and innermost.is_ancestor(owner)

    def all_go_where(self, store: Subscripts) -> bool:
        """Whether every access to the buffer of a store goes to the same place as the store."""
        return all(access == store for access in self.accesses() if access.buffer is store.buffer)

    def is_permutable(self) -> bool:
        """Whether the loops of the band may be reordered and cut into tiles.

        Two iterations of the band touch the same element only if they agree in every index that
        selects it. If at most one index does not, they come one after the other along that index,
        whatever the order of the loops.
        """
        band = self.band()
        return all(
            self.all_go_where(store) and sum(not store.selects(nest.index) for nest in band) <= 1
            for store in self.stores()
        )

    def is_parallel(self) -> bool:
        """Whether no two iterations of this loop touch the same element, if one writes it."""
        return not self.loop.results and all(
            self.all_go_where(store) and store.selects(self.index) for store in self.stores()
        )

    def is_serial(self) -> bool:
        """Whether every iteration writes the same element, or hands a value to the next."""
        indices = [nest.index for nest in self._all_loops()]
        return bool(self.loop.results) or any(
            not any(store.mentions(index) for index in indices) for store in self.stores()
        )

    def _all_loops(self) -> Iterator[Nest]:
        return (Nest(op) for op in self.loop.walk() if isinstance(op, affine.ForOp))


def top_level(block: Block) -> list[Nest]:
    return [Nest(op) for op in block.ops if isinstance(op, affine.ForOp)]


def _bounds(loop: Loop) -> tuple[AffineMap, AffineMap, int]:
    """The first index, the one behind the last, and how far they are apart."""
    if isinstance(loop, affine.ForOp):
        return loop.lowerBoundMap.data, loop.upperBoundMap.data, loop.step.value.data
    return loop.lowerBoundsMap.data, loop.upperBoundsMap.data, loop.steps.data[0].value.data


def _number(bound: AffineMap) -> int | None:
    if len(bound.results) == 1 and isinstance(bound.results[0], AffineConstantExpr):
        return bound.results[0].value
    return None
