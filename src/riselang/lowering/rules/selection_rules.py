"""Selects the first elements of a sorted array without sorting the array.

A buffer of candidates contains pairs of a key and an index. It starts with the pairs of the first
elements. When it is full, its candidates are sorted, and only as many as are wanted are kept; the
key of the last one is the limit for new candidates. Elements are read in chunks, and a vectorized
loop tests whether a chunk contains a candidate. Few chunks do after the first ones, if the order of
the elements is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, i1, i64
from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import ArrayType
from riselang.lowering.rules.key_sort_rules import KeyedArray, KeySortRules
from riselang.lowering.sorting.ordered_bits import LOW_WORD, WORD, OrderedBits
from riselang.lowering.sorting.quicksort import KeySort
from riselang.lowering.stored_values import data_type
from riselang.nat import Nat
from riselang.support.machine import this_machine

CHUNK_LENGTH = 128
"""The number of elements that are tested at once."""
MIN_CHUNKS = 16
"""The minimum number of chunks that are tested after the first candidates."""
PAIR_ORDER = OrderedBits(i64, descending=False, unsigned=False)


@dataclass(frozen=True)
class Candidates:
    """The buffers of a selection, and how many candidates are wanted."""

    sort: KeySort
    pairs: SSAValue
    wanted: int

    @property
    def capacity(self) -> int:
        """The number of candidates after which they are sorted; the buffer holds one more chunk."""
        return 2 * self.wanted + CHUNK_LENGTH


class SelectionRules(KeySortRules):
    """Selection by integer keys."""

    def order_indices(self, keyed: KeyedArray, limit: Nat) -> SSAValue:
        if not self.can_select(keyed, limit):
            return super().order_indices(keyed, limit)
        indices = self.allocate_indices(keyed.length)
        flag = self.select_indices(keyed, limit.constant, indices)
        if flag is not None:
            precedes = self.comparison(keyed.comparison)
            self.emit_if(
                flag,
                lambda: self.copy(
                    self.merge_indices(keyed.source, keyed.length, precedes), indices
                ),
            )
        return indices

    def can_select(self, keyed: KeyedArray, limit: Nat) -> bool:
        """Whether few elements are wanted, and a key and an index fit into one integer."""
        if not limit.is_constant or not keyed.length.is_constant or keyed.order.key == i64:
            return False
        first = 2 * limit.constant + CHUNK_LENGTH
        is_small = first + MIN_CHUNKS * CHUNK_LENGTH <= keyed.length.constant
        return limit.constant > 0 and is_small

    def select_indices(self, keyed: KeyedArray, wanted: int, indices: SSAValue) -> SSAValue | None:
        """Store the indices of the first elements; return whether NaN makes them invalid."""
        candidates = self.allocate_candidates(wanted)
        first, length = candidates.capacity, keyed.length.constant
        remainder = (length - first) % CHUNK_LENGTH
        flags = [] if keyed.orders_all else [self.integer(0, i1)]
        count, *flags = self.append(
            keyed, candidates, self.bounds(0, first), None, [self.emitter.constant(0), *flags]
        )
        count, limit = self.keep_best(keyed, candidates, count)
        step = self.emitter.constant(CHUNK_LENGTH)
        count, limit, *flags = self.emitter.range_loop(
            *self.bounds(first, length - remainder), step, [count, limit, *flags],
            lambda start, carried: self.select_from_chunk(keyed, candidates, start, carried),
        )  # fmt: skip
        bounds = self.bounds(length - remainder, length)
        count, *flags = self.append(keyed, candidates, bounds, limit, [count, *flags])
        self.sort_candidates(candidates, count)
        self.store_indices(candidates, indices)
        return flags[0] if flags else None

    def allocate_candidates(self, wanted: int) -> Candidates:
        capacity = Nat.const(2 * wanted + 2 * CHUNK_LENGTH)
        sort = KeySort(PAIR_ORDER, this_machine(), capacity)
        return Candidates(sort, self.allocate_keys(sort), wanted)

    def bounds(self, start: int, end: int) -> tuple[SSAValue, SSAValue]:
        return self.emitter.constant(start), self.emitter.constant(end)

    def select_from_chunk(
        self,
        keyed: KeyedArray,
        candidates: Candidates,
        start: SSAValue,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Add the candidates of a chunk, if there are any."""
        count, limit, *flags = carried
        end = self.add(arith.AddiOp(start, self.emitter.constant(CHUNK_LENGTH)))

        def test(index: SSAValue, found: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, key = self.equal_zeros_key(keyed, index)
            is_candidate = self.add(arith.CmpiOp(key, limit, "slt"))
            results = [self.add(arith.OrIOp(found[0], is_candidate))]
            return [*results, *self.add_nan_flag(number, found[1:])]

        one = self.emitter.constant(1)
        inits = [self.integer(0, i1), *flags]
        found, *flags = self.emitter.range_loop(start, end, one, inits, test)

        def add_candidates() -> Sequence[SSAValue]:
            (new_count,) = self.append(keyed, candidates, (start, end), limit, [count])
            capacity = self.emitter.constant(candidates.capacity)
            is_full = self.add(arith.CmpiOp(new_count, capacity, "sgt"))
            return self.choose(
                is_full,
                lambda: self.keep_best(keyed, candidates, new_count),
                lambda: [new_count, limit],
            )

        return [*self.choose(found, add_candidates, lambda: [count, limit]), *flags]

    def append(
        self,
        keyed: KeyedArray,
        candidates: Candidates,
        bounds: tuple[SSAValue, SSAValue],
        limit: SSAValue | None,
        carried: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """Append the pairs of elements whose keys are below a limit, if there is one."""
        one = self.emitter.constant(1)

        def body(index: SSAValue, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, key = self.equal_zeros_key(keyed, index)
            word = self.add(arith.ShLIOp(self.add(arith.ExtSIOp(key, i64)), self.integer(WORD)))
            self.set_key(candidates.pairs, values[0], self.with_index(word, index))
            count = self.add(arith.AddiOp(values[0], one))
            if limit is not None:
                is_candidate = self.add(arith.CmpiOp(key, limit, "slt"))
                count = self.add(arith.SelectOp(is_candidate, count, values[0]))
            return [count, *self.add_nan_flag(number, values[1:])]

        return self.emitter.range_loop(*bounds, one, carried, body)

    def add_nan_flag(self, number: SSAValue, flags: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.add(arith.OrIOp(flag, self.is_nan(number))) for flag in flags]

    def keep_best(
        self, keyed: KeyedArray, candidates: Candidates, count: SSAValue
    ) -> list[SSAValue]:
        """Sort the candidates, and keep the wanted ones; return their number and the limit."""
        self.sort_candidates(candidates, count)
        wanted = self.emitter.constant(candidates.wanted)
        last = self.pair(candidates, self.emitter.constant(candidates.wanted - 1))
        key = self.add(arith.ShRSIOp(last, self.integer(WORD)))
        return [wanted, self.add(arith.TruncIOp(key, keyed.order.key))]

    def sort_candidates(self, candidates: Candidates, count: SSAValue) -> None:
        """Sort the candidates in their own buffer, at least the wanted ones."""
        memory = [candidates.pairs, candidates.pairs]
        wanted = self.emitter.constant(candidates.wanted)
        self.call_sort(candidates.sort, memory, count, wanted)

    def pair(self, candidates: Candidates, index: SSAValue) -> SSAValue:
        return self.add(memref.LoadOp.get(candidates.pairs, [index]))

    def store_indices(self, candidates: Candidates, indices: SSAValue) -> None:
        type = data_type(indices)
        assert isinstance(type, ArrayType)

        def store(position: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            pair = self.pair(candidates, position)
            number = self.add(arith.AndIOp(pair, self.integer(LOW_WORD)))
            number = self.add(arith.IndexCastOp(number, IndexType()))
            index = self.add(codegen.CastOp([number], type.element))
            self.copy(index, self.add(codegen.IdxOp(indices, position)))
            return ()

        self.for_each(Nat.const(candidates.wanted), (), store)
