"""Phase 2, the store side: one store at the end of a path, behind the guards it passed.

A vector is stored as a whole where its lanes lie one behind the other, and lane by lane where the
end of an array that is filled may lie inside of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, memref, scf
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import (
    VectorType,
)
from riselang.lowering.lane_access import (
    depends_on_lane,
)
from riselang.lowering.memory import (
    Path,
    array_of,
    data_of,
)
from riselang.lowering.origins import builder_like
from riselang.lowering.steps import PathSteps, is_nowhere
from riselang.nat import (
    Nat,
    is_less,
    is_nonnegative,
    simplify,
)


class Stores(PathSteps):
    """Stores through access paths."""

    def __init__(self) -> None:
        super().__init__()
        self.can_fail = False
        """Whether the function has checks that may refuse an index."""

    def may_be_empty(self, array: SSAValue) -> bool:
        """Whether a refused index into the array, which goes on as 0, may find no element."""
        least = array_of(array).length - 1
        return self.can_fail and not is_nonnegative(least, self.facts(least))

    def store(self, value: SSAValue, target: SSAValue, builder: Builder, path: Path = ()) -> None:
        """Store a scalar, or a vector: as a whole, or lane by lane."""
        type = data_of(target)
        if isinstance(type, VectorType) and not path:
            self.store_vector(value, target, type, builder)
            return
        self.guards = []
        while not isinstance(op := target.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            target, path = self.step(op, path)
            if is_nowhere(data_of(target), path):
                return
            if is_chosen(op) and self.may_be_empty(target):
                builder = self.inside_unless_empty(target, builder)
            path = self.shortened(data_of(target), path, builder)
        inside = self.inside_guards(self.guards, builder)
        if inside is None:
            return
        builder = inside
        buffer, indices = self.place(op, path)
        if self.is_affine(indices):
            map, operands = self.affine_map(indices)
            stored = [value, buffer, *operands]
            builder.insert(affine.StoreOp.create(operands=stored, properties={"map": map}))
        else:
            values = self.arithmetic(indices, builder)
            builder.insert(memref.StoreOp.create(operands=[value, buffer, *values]))

    def store_vector(
        self, value: SSAValue, target: SSAValue, type: VectorType, builder: Builder
    ) -> None:
        lane = self.lane(type.length)
        place, path = target, (lane,)
        self.guards = []
        while not isinstance(op := place.owner, codegen.CastOp):
            assert isinstance(op, Operation)
            if self.can_fail and is_chosen(op):
                break
            place, path = self.step(op, path)
        by_lanes: Builder | None = builder
        if isinstance(op, codegen.CastOp) and not is_nowhere(data_of(place), path):
            by_lanes = self.store_whole(value, op, path, lane, builder)
        for number in range(type.length.constant if by_lanes else 0):
            assert by_lanes is not None
            index = Nat.const(number)
            self.store(self.extracted(value, index, by_lanes), target, by_lanes, (index,))

    def store_whole(
        self, value: SSAValue, op: codegen.CastOp, path: Path, lane: Nat, builder: Builder
    ) -> Builder | None:
        """Store a vector at once; where only some of its lanes may be stored, the place for them.

        Some may be where the end of an array that is filled can lie inside of a vector.
        """
        shared = [guard for guard in self.guards if not depends_on_lane((guard,), lane)]
        ends = [guard for guard in self.unproven(self.guards) if guard not in shared]
        inside = self.inside_guards(shared, builder)
        if inside is None:
            return None
        if not self.lanes_follow(op, path, lane) or len(ends) > 1:
            return inside
        if not ends:
            self.store_lanes(value, op, path, lane, inside)
            return None
        whole, other = self.branches(self.at_last_lane(ends[0], lane), inside)
        self.store_lanes(value, op, path, lane, whole)
        return None if self.has_whole_lanes(ends[0], lane) else other

    def unproven(self, guards: Sequence[Nat]) -> list[Nat]:
        return [guard for guard in guards if not is_nonnegative(guard, self.facts(guard))]

    def inside_guards(self, guards: Sequence[Nat], builder: Builder) -> Builder | None:
        """A place for code that runs where no guard is negative; none where it never runs."""
        for guard in self.unproven(guards):
            guard = simplify(guard, self.facts(guard))
            if is_less(guard, Nat.const(0), self.facts(guard)):
                return None
            builder, _ = self.branches(guard, builder)
        return builder

    def branches(self, gap: Nat, builder: Builder) -> tuple[Builder, Builder]:
        """The place for code that runs where `gap` is not negative, and that for the rest."""
        gap = simplify(gap, self.facts(gap))
        distance, zero = self.arithmetic([gap, Nat.const(0)], builder)
        condition = builder.insert(arith.CmpiOp(distance, zero, "sge")).results[0]
        ends = [scf.YieldOp(), scf.YieldOp()]
        regions = [Region(Block([end])) for end in ends]
        builder.insert(scf.IfOp(condition, [], regions[0], regions[1]))
        first, second = (builder_like(builder, InsertPoint.before(end)) for end in ends)
        return first, second

    def inside_unless_empty(self, array: SSAValue, builder: Builder) -> Builder:
        """A place for code that runs where the array has elements."""
        return self.branches(array_of(array).length - 1, builder)[0]


def is_chosen(op: Operation) -> bool:
    """Whether the op takes an element by an index that the program computes, not a loop."""
    if not isinstance(op, codegen.IdxOp):
        return False
    owner = op.index.owner
    if isinstance(owner, Block | arith.ConstantOp):
        return False
    # A cast of nothing stands for an expression over other indices.
    return not isinstance(owner, codegen.CastOp) or len(owner.sources) > 0
