"""Lowering rules for `scatter` and `scatterWith`.

Values are written in order, because a later one overwrites or is combined with an earlier one. The
loop that writes them cannot be vectorized, so indices and values that are computed are computed for
a block of values first. If values can be combined in any order, they are combined with several
alternate copies of the array, which are combined at the end: an update of an element then need not
wait for the previous update of the same element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.pattern_registry import SCATTER
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    array,
    contains_array,
    is_float,
)
from riselang.lowering.functional_values import Closure, Delayed, Lazy, Partial, Value
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.reduction_rules import is_readable
from riselang.lowering.rules.stored_arrays import StoredArrays
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import result_type, size_argument
from riselang.nat import Nat
from riselang.term.nodes import Bound, Lambda, Literal, Pattern, Scalar

BLOCK_LENGTH = 256
"""The number of indices or values that are computed at once."""
COPIES = 4
"""The number of arrays that values are alternately combined with; it divides the block length."""
MAX_COPIED_LENGTH = 1024
"""Longer arrays are not copied: the copies have to stay in the cache."""
MIN_UPDATES = 32
"""The minimum number of values for each element for which copies are worth combining them."""

IDENTITIES: dict[str, int] = {
    "arith.addi": 0, "arith.ori": 0, "arith.xori": 0, "arith.andi": -1, "arith.muli": 1
}  # fmt: skip
"""The integer operations whose operands may be in any order, and their neutral elements."""

Write = Callable[[SSAValue, SSAValue], None]
"""Writes a value to a destination."""


@dataclass(frozen=True)
class Updates:
    """The values that a scatter writes, and their indices."""

    indices: SSAValue
    values: SSAValue
    length: Nat

    def take(self, rules: StoredArrays, start: Nat, length: Nat) -> Updates:
        """Return some of the updates."""
        indices, values = (
            rules.add(codegen.TakeOp(_drop(rules, each, start), _array_like(each, length)))
            for each in (self.indices, self.values)
        )
        return Updates(indices, values, length)


def _array_like(value: SSAValue, length: Nat) -> ArrayType:
    type = data_type(value)
    assert isinstance(type, ArrayType)
    return array(length, type.element)


def _drop(rules: StoredArrays, value: SSAValue, count: Nat) -> SSAValue:
    type = data_type(value)
    assert isinstance(type, ArrayType)
    return rules.add(codegen.DropOp(value, array(type.length - count, type.element)))


def is_computed_from_memory(array_: SSAValue) -> bool:
    """Whether elements are computed from others in memory, which is worth doing for a block."""
    op = array_.owner
    if not isinstance(op, codegen.MapReadOp) or contains_array(
        _array_like(array_, Nat.const(1)).element
    ):
        return False
    end = op.body.block.last_op
    assert isinstance(end, ReturnOp)
    computation = end.values[0].owner
    return not isinstance(computation, EmbedOp) or len(computation.arguments) > 0


class ScatterRules(StoredArrays):
    """The rules for scatters."""

    @reads("scatter", "scatterWith")
    def read_scatter(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialize(
            result_type(pattern), lambda target: self.fill_scatter(pattern, arguments, target)
        )

    @stores("scatter", "scatterWith")
    def store_scatter(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store the result in its target, unless elements that are updated cannot be read there."""
        if is_readable(target):
            self.fill_scatter(pattern, arguments, target)
        else:
            self.copy(self.read_data(self.apply(Partial(pattern, ()), arguments)), target)

    def fill_scatter(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Copy the initial array to the target, then emit loops that write to it in order."""
        write: Write = self.copy
        identity: int | None = None
        if pattern.spec is not SCATTER:
            function = self.force(arguments[0])
            write, identity = self.combination(pattern, function), neutral_element(function)
            arguments = arguments[1:]
        updates = Updates(
            self.read_data(arguments[0]), self.read_data(arguments[2]), size_argument(pattern, "m")
        )
        self.store_unless_stored(arguments[1], target)
        if identity is not None and self.should_copy(data_type(target), updates.length):
            self.update_copies(updates, write, identity, target)
        else:
            self.update_in_blocks(updates, write, [target])

    def combination(self, pattern: Pattern, function: Value) -> Write:
        element = pattern.argument("t")
        assert isinstance(element, RiseType)

        def combine(new: SSAValue, destination: SSAValue) -> None:
            # The old value is read as a whole before it is overwritten.
            if contains_array(element):
                combined = self.materialize(
                    element,
                    lambda target: self.store_application(function, [destination, new], target),
                )
            else:
                scalars = self.unwrap(self.read_application(function, [destination, new]))
                combined = self.wrap(element, scalars)
            self.copy(combined, destination)

        return combine

    # Copies

    def should_copy(self, type: RiseType, length: Nat) -> bool:
        """Whether a short array of integers is updated sufficiently often."""
        assert isinstance(type, ArrayType)
        if self.for_gpu or not type.length.is_constant:
            return False
        size = type.length.constant
        is_often_updated = not length.is_constant or length.constant >= MIN_UPDATES * size
        return size <= MAX_COPIED_LENGTH and is_often_updated

    def update_copies(
        self, updates: Updates, write: Write, identity: int, target: SSAValue
    ) -> None:
        """Update the target and copies of it alternately, and finally combine them."""
        type = data_type(target)
        assert isinstance(type, ArrayType)
        assert isinstance(type.element, ScalarType)
        neutral = Literal(literal(identity, type.element))
        copies: list[SSAValue] = []
        for _ in range(COPIES - 1):
            buffers = self.allocate_buffers(type)
            copies.append(self.add(codegen.CastOp(buffers, type)))
        for copy in copies:
            self.fill_with(neutral, copy)
        self.update_in_blocks(updates, write, [target, *copies])

        def combine(index: SSAValue) -> None:
            for copy in copies:
                element = self.add(codegen.IdxOp(copy, index))
                write(element, self.add(codegen.IdxOp(target, index)))

        self.emit_loop(type.length, self.loops, combine)

    def fill_with(self, number: Literal, target: SSAValue) -> None:
        """Store the same number in all elements of an array."""
        type = data_type(target)
        assert isinstance(type, ArrayType)

        def body(index: SSAValue) -> None:
            self.store(Delayed(number, ()), self.add(codegen.IdxOp(target, index)))

        self.emit_loop(type.length, self.loops, body)

    # Blocks

    def update_in_blocks(self, updates: Updates, write: Write, targets: Sequence[SSAValue]) -> None:
        """Emit the updates; each target receives every k-th of them."""
        is_staged = any(map(is_computed_from_memory, (updates.indices, updates.values)))
        if self.for_gpu or not (is_staged or len(targets) > 1):
            self.update(updates, write, targets)
            return
        length, block = updates.length, Nat.const(BLOCK_LENGTH)
        full, remainder = length // BLOCK_LENGTH, length % BLOCK_LENGTH
        if full != Nat.const(0):
            first = updates.take(self, Nat.const(0), full * BLOCK_LENGTH)
            blocks = [self.split(each, full) for each in (first.indices, first.values)]
            buffers = [
                self.allocate_buffers(_array_like(each, block))
                if is_computed_from_memory(each)
                else None
                for each in (updates.indices, updates.values)
            ]

            def body(index: SSAValue) -> None:
                parts = [self.add(codegen.IdxOp(each, index)) for each in blocks]
                staged = [
                    part if buffer is None else self.stage(part, buffer)
                    for part, buffer in zip(parts, buffers, strict=True)
                ]
                self.update(Updates(staged[0], staged[1], block), write, targets)

            self.emit_loop(full, self.loops, body)
        if remainder != Nat.const(0):
            start = full * BLOCK_LENGTH
            self.update(updates.take(self, start, remainder), write, targets[:1])

    def split(self, value: SSAValue, count: Nat) -> SSAValue:
        block = _array_like(value, Nat.const(BLOCK_LENGTH))
        return self.add(codegen.SplitOp(value, array(count, block)))

    def stage(self, part: SSAValue, buffers: list[SSAValue]) -> SSAValue:
        """Compute a part of an array in a buffer."""
        type = data_type(part)
        self.copy(part, self.add(codegen.CastOp(buffers, type)))
        return self.add(codegen.CastOp(buffers, type))

    def update(self, updates: Updates, write: Write, targets: Sequence[SSAValue]) -> None:
        """Emit a loop over updates, each of which is written to the next one of the targets."""
        count = len(targets)
        if count == 1:
            self.emit_loop(
                updates.length, self.loops,
                lambda index: self.write_update(updates, index, write, targets[0]),
            )  # fmt: skip
            return
        assert updates.length.is_constant
        rounds = Nat.const(updates.length.constant // count)
        groups = [
            self.add(codegen.SplitOp(each, array(rounds, _array_like(each, Nat.const(count)))))
            for each in (updates.indices, updates.values)
        ]

        def body(index: SSAValue) -> None:
            parts = [self.add(codegen.IdxOp(each, index)) for each in groups]
            group = Updates(parts[0], parts[1], Nat.const(count))
            for number, target in enumerate(targets):
                self.write_update(group, self.emitter.constant(number), write, target)

        self.emit_loop(rounds, self.loops, body)

    def write_update(
        self, updates: Updates, index: SSAValue, write: Write, target: SSAValue
    ) -> None:
        source_index = self.add(codegen.IdxOp(updates.indices, index))
        destination = self.add(codegen.CastOp([source_index], IndexType()))
        new = self.add(codegen.IdxOp(updates.values, index))
        write(new, self.add(codegen.IdxOp(target, destination)))


def neutral_element(function: Value) -> int | None:
    """Return the neutral element if a function combines integers by one operation, in any order."""
    if not isinstance(function, Closure) or not isinstance(function.function.body, Lambda):
        return None
    body = function.function.body.body
    if not isinstance(body, Scalar) or is_float(body.type):
        return None
    operands = body.operands
    if not all(isinstance(each, Bound) for each in operands):
        return None
    if {each.index for each in operands if isinstance(each, Bound)} != {0, 1}:
        return None
    return IDENTITIES.get(body.op)
