"""Phase 2, padding: stores under guards, and loops whose iterations only compute padding.

A loop over padded tiles stores only elements that are in bounds. Each such store has guards:
expressions that are negative if the element is padding. Stores that follow each other are emitted
together: if all their elements are in bounds, as in most tiles, one condition serves all of them.
If one of the guards in a loop is negative only if all of them are, the complete iteration runs only
if that guard is not negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import gcd

from xdsl.builder import Builder
from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import walk
from riselang.lowering.noalias import is_noalias
from riselang.lowering.origins import builder_at, builder_like
from riselang.lowering.path_steps import PathSteps
from riselang.nat import Nat, is_less, is_nonnegative, simplify

LOOPS = (affine.ForOp, scf.ForOp)
PURE_DIALECTS = ("arith", "math", "vector", "affine", "scf")
STORING_OPS = ("affine.store", "affine.vector_store", "vector.store", "vector.maskedstore")
MAX_CONDITIONS = 4
"""The maximum number of conditions under which stores are emitted together."""

Emit = Callable[[Builder], None]


@dataclass(frozen=True)
class GuardedStore:
    """A store of a scalar or a vector, of which some lanes may be padding."""

    guards: tuple[Nat, ...]
    """None of these is negative if an element is stored."""
    ends: tuple[Nat, ...]
    """None of these is negative either if all lanes are stored."""
    buffer: SSAValue
    store_all: Emit | None
    """Stores all lanes; None if they are not contiguous."""
    store_some: Emit | None = None
    """Stores the lanes that are in bounds; None if this is either all of them or none."""

    def needs(self, guard: Nat) -> bool:
        """Whether nothing is stored if a guard is negative."""
        return guard in self.guards or (guard in self.ends and self.store_some is None)


class GuardedStores(PathSteps):
    """Stores under guards; markers reserve their positions until all accesses are resolved."""

    def __init__(self) -> None:
        super().__init__()
        self.guarded_stores: dict[Operation, GuardedStore] = {}
        """Guarded stores by their markers."""

    def store_under_guards(self, store: GuardedStore, builder: Builder) -> None:
        """Emit a store, under its guards if it has any."""
        store = replace(store, guards=_tightened(store.guards), ends=_tightened(store.ends))
        if any(is_less(guard, Nat.const(0), self.facts(guard)) for guard in store.guards):
            return
        if not store.guards and not store.ends:
            self._emit_store(store, builder)
            return
        marker = builder.insert(UnrealizedConversionCastOp.get([], []))
        self.guarded_stores[marker] = store

    def emit_guarded_stores(self) -> None:
        """Replace the markers with stores."""
        self._skip_padded_iterations()
        blocks: dict[Block, None] = {}
        for marker in self.guarded_stores:
            assert marker.parent is not None
            blocks[marker.parent] = None
        for block in blocks:
            for markers in self._runs(block):
                self._emit_run(markers)

    def _runs(self, block: Block) -> list[list[Operation]]:
        """Return the markers of a block in groups, each of which can move to its last marker."""
        runs: list[list[Operation]] = []
        buffers: set[SSAValue] = set()
        """The buffers of the current group; empty if the next marker begins a new one."""
        for op in block.ops:
            store = self.guarded_stores.get(op)
            if store is None:
                if not _can_sink_past(op, buffers):
                    buffers = set()
            elif store.store_all is None:
                runs.append([op])
                buffers = set()
            else:
                if not buffers:
                    runs.append([])
                runs[-1].append(op)
                buffers.add(store.buffer)
        return runs

    def _emit_run(self, markers: Sequence[Operation]) -> None:
        """Emit stores at the last of their markers."""
        last = markers[-1]
        builder = builder_at(InsertPoint.before(last), last.location)
        stores = [self.guarded_stores[marker] for marker in markers]
        conditions = self._strongest(stores) if len(stores) > 1 else []
        if 0 < len(conditions) <= MAX_CONDITIONS:
            all_in_bounds, otherwise = self.emit_branches(conditions, builder)
            for store in stores:
                assert store.store_all is not None
                store.store_all(all_in_bounds)
            # A store that needs all conditions stores nothing otherwise.
            partial = [store for store in stores if not all(map(store.needs, conditions))]
            self._emit_partial_stores(partial, otherwise)
        else:
            for store in stores:
                self._emit_store(store, builder)
        for marker in markers:
            marker.detach()
            marker.erase()

    def _strongest(self, stores: Iterable[GuardedStore]) -> list[Nat]:
        """Return guards that are not negative only if all lanes of all stores are in bounds."""
        strongest: list[Nat] = []
        for guard in dict.fromkeys(each for store in stores for each in store.guards + store.ends):
            if not any(self._implies(other, guard) for other in strongest):
                strongest = [each for each in strongest if not self._implies(guard, each)]
                strongest.append(guard)
        return strongest

    def _implies(self, guard: Nat, other: Nat) -> bool:
        """Whether a guard is less than another one, which is then not negative either."""
        difference = other - guard
        return is_nonnegative(difference, self.facts(difference))

    def _emit_store(self, store: GuardedStore, builder: Builder) -> None:
        builder = self.emit_guards(store.guards, builder)
        if store.store_all is None:
            assert store.store_some is not None
            store.store_some(builder)
        elif not store.ends:
            store.store_all(builder)
        else:
            all_in_bounds, otherwise = self.emit_branches(store.ends, builder)
            store.store_all(all_in_bounds)
            if store.store_some is not None:
                store.store_some(otherwise)

    def _emit_partial_stores(self, stores: Sequence[GuardedStore], builder: Builder) -> None:
        """Emit stores of tiles that are partly padding."""
        for guards, row in groupby(stores, lambda store: store.guards):
            guarded = self.emit_guards(guards, builder)
            for store in row:
                if store.store_some is not None:
                    store.store_some(guarded)
                else:
                    assert store.store_all is not None
                    store.store_all(self.emit_guards(store.ends, guarded))

    def unproven_guards(self, guards: Sequence[Nat]) -> list[Nat]:
        return [guard for guard in guards if not is_nonnegative(guard, self.facts(guard))]

    def emit_guards(self, guards: Sequence[Nat], builder: Builder) -> Builder:
        """Return a builder for code that runs if no guard is negative."""
        return self.emit_branches(guards, builder)[0] if guards else builder

    def emit_branches(self, gaps: Sequence[Nat], builder: Builder) -> tuple[Builder, Builder]:
        """Emit an if whose condition is that no gap is negative, and return builders for its two
        branches."""
        gaps = [simplify(gap, self.facts(gap)) for gap in gaps]
        zero, *distances = self.emit_indices([Nat.const(0), *gaps], builder)
        conditions = [
            builder.insert(arith.CmpiOp(distance, zero, "sge")).results[0] for distance in distances
        ]
        condition = conditions[0]
        for other in conditions[1:]:
            condition = builder.insert(arith.AndIOp(condition, other)).results[0]
        ends = [scf.YieldOp(), scf.YieldOp()]
        regions = [Region(Block([end])) for end in ends]
        builder.insert(scf.IfOp(condition, [], regions[0], regions[1]))
        first, second = (builder_like(builder, InsertPoint.before(end)) for end in ends)
        return first, second

    def _skip_padded_iterations(self) -> None:
        """Put the bodies of loops that store only under guards into an if, where this is
        possible."""
        stores_in_blocks: dict[Block, list[GuardedStore]] = {}
        for marker, store in self.guarded_stores.items():
            assert marker.parent is not None
            stores_in_blocks.setdefault(marker.parent, []).append(store)
        for block, stores in stores_in_blocks.items():
            loop = block.parent_op()
            if not isinstance(loop, LOOPS) or loop.results or not self._is_worth_skipping(block):
                continue
            guard = self._weakest([store.guards[0] for store in stores if store.guards])
            if guard is not None and all(store.guards for store in stores):
                self._run_if(guard, block)

    def _is_worth_skipping(self, block: Block) -> bool:
        """Whether a loop body contains loops, and has no effect apart from guarded stores."""
        other_ops = [op for op in block.ops if op not in self.guarded_stores]
        return any(isinstance(op, LOOPS) for op in other_ops) and all(
            map(_has_no_effect, other_ops)
        )

    def _weakest(self, guards: Sequence[Nat]) -> Nat | None:
        """Return the guard that is not negative if any of them is not, and depends only on the
        indices of loops, and on sizes."""
        for guard in dict.fromkeys(guards):
            if all(self._implies(other, guard) for other in guards) and self._is_known(guard):
                return guard
        return None

    def _is_known(self, guard: Nat) -> bool:
        return all(
            name in self.sizes or isinstance(self.variables[name], BlockArgument)
            for name in guard.variables
        )

    def _run_if(self, guard: Nat, block: Block) -> None:
        """Move the body of a loop into an if."""
        *ops, end = list(block.ops)
        body = Block()
        for op in ops:
            op.detach()
            body.add_op(op)
        body.add_op(scf.YieldOp())
        builder = Builder(InsertPoint.before(end))
        gap, zero = self.emit_indices([simplify(guard, self.facts(guard)), Nat.const(0)], builder)
        condition = builder.insert(arith.CmpiOp(gap, zero, "sge")).results[0]
        builder.insert(scf.IfOp(condition, [], Region(body)))


def _tightened(guards: Iterable[Nat]) -> tuple[Nat, ...]:
    """Return guards with the smallest constants that have the same signs.

    If all elements of a vector are in bounds, or none, their guards become the same: 8 i + c is not
    negative if 8 i + 8 (c floordiv 8) is not.
    """
    tightened: dict[Nat, None] = {}
    for guard in guards:
        divisor = gcd(*(coefficient for coefficient, _ in guard.symbolic))
        offset = guard.offset // divisor * divisor if divisor else guard.offset
        tightened[Nat(guard.symbolic, offset)] = None
    return tuple(tightened)


def _can_sink_past(op: Operation, buffers: set[SSAValue]) -> bool:
    """Whether stores to these buffers can move past an op: it only computes, or loads from other
    buffers."""
    if not _has_no_effect(op):
        return False
    loaded = {
        operand
        for inner in walk(op)
        for operand in inner.operands
        if isinstance(operand.type, MemRefType) and not inner.name.startswith("rise.")
    }
    return not loaded or (not loaded & buffers and all(map(is_noalias, buffers)))


def _has_no_effect(op: Operation) -> bool:
    """Whether an op and the ops in it only compute and load. The ops of access paths are removed
    later; their stores are separate ops."""
    if op.name.startswith("rise."):
        return True
    if op.name.partition(".")[0] not in PURE_DIALECTS and op.name != "memref.load":
        return False
    if op.name in STORING_OPS:
        return False
    for inner in (each for region in op.regions for block in region.blocks for each in block.ops):
        if not _has_no_effect(inner):
            return False
    return True
