"""Lowering rules for patterns with indices that are known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.pattern_registry import CLAMP_IDX
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    array,
    element_of,
    i1,
    idx,
    u64,
    uncurry,
)
from riselang.dialects.rise.types import index as index_type
from riselang.lowering.functional_values import Delayed, Environment, Lazy, Value
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.map_rules import MapRules
from riselang.lowering.rules.reduction_rules import is_readable
from riselang.lowering.rules.stored_arrays import ArrayKey, array_key, is_computed
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import result_type, size_argument
from riselang.nat import Facts, Nat, is_less, is_less_equal
from riselang.term.conversion import conversion_ops
from riselang.term.nodes import (
    Bound,
    Literal,
    Pattern,
    Scalar,
    Term,
    spine,
)


def known_branch(pattern: Pattern) -> int | None:
    """Return which function an ifAtLeast applies; None if the size is known only at run time."""
    size, least = size_argument(pattern, "n"), size_argument(pattern, "k")
    if is_less_equal(least, size, Facts()):
        return 0
    return 1 if is_less(size, least, Facts()) else None


class IndexRules(MapRules):
    """Rules for the patterns that take or return indices."""

    @reads("gather")
    def read_gather(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Return elements that are read at their indices, unless they are read too often."""
        key = array_key(pattern, arguments)
        indices = self.read_data(arguments[0])
        source = self.read_data(arguments[1])
        op = codegen.GatherOp(indices, source, result_type(pattern))
        if key in self.stored_arrays:
            return self.store_copy(self.add(op))
        self.recorded_arrays[op] = key
        return self.add(op)

    @reads("reorder")
    def read_reorder(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        length = size_argument(pattern, "n")
        source = self.read_data(arguments[1])
        indices = self.generate_elements(
            array_key(pattern, arguments), self.force(arguments[0]), array(length, idx(length))
        )
        return self.add(codegen.GatherOp(indices, source, result_type(pattern)))

    @reads("generate")
    def read_generate(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        key = array_key(pattern, arguments)
        return self.generate_elements(key, self.force(arguments[0]), result_type(pattern))

    def generate_elements(self, key: ArrayKey, function: Value, type: RiseType) -> SSAValue:
        """Return an array whose elements are computed where they are read, unless it is stored."""
        assert isinstance(type, ArrayType)
        if key in self.stored_arrays:
            dialect = self.loop_dialect(key.pattern)
            return self.materialize(
                type, lambda target: self.store_elements_of(function, type.length, dialect, target)
            )
        block = Block(arg_types=[idx(type.length)])
        with self.emitter.inside_block(block):
            self.emitter.add(ReturnOp([self.read_application(function, [block.args[0]])]))
        op = codegen.GenerateOp(Region(block), type)
        self.record_array(op, key)
        return self.add(op)

    @stores("generate")
    def store_generate(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function, length = self.force(arguments[0]), size_argument(pattern, "n")
        self.store_elements_of(function, length, self.loop_dialect(pattern), target)

    def store_elements_of(
        self, function: Value, length: Nat, dialect: str, target: SSAValue
    ) -> None:
        """Store the results of a function of indices."""

        def body(index: SSAValue) -> None:
            destination = self.add(codegen.IdxOp(target, index))
            self.store_application(
                function, [self.add(codegen.CastOp([index], idx(length)))], destination
            )

        self.emit_loop(length, dialect, body, self.unordered_kind)

    @reads("at")
    def read_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Return an element; only this element of a map is computed."""
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        return self.element_reader(arguments[1])(index)

    @reads("sliceAt")
    def read_slice_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        source = self.read_data(arguments[1])
        return self.add(codegen.SliceAtOp(source, index, result_type(pattern)))

    @reads("updateAt")
    def read_update_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialize(
            result_type(pattern), lambda target: self.fill_update(pattern, arguments, target)
        )

    @stores("updateAt")
    def store_update_at(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        """Store the result in its target, unless its parts cannot be addressed there."""
        if is_readable(target):
            self.fill_update(pattern, arguments, target)
        else:
            self.copy(self.read_data(self.read_update_at(pattern, arguments)), target)

    def fill_update(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Copy the array to the target, unless it is there already, and overwrite a part of it."""
        part = uncurry(pattern.type)[0][1]
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        if not self.is_stored_at(arguments[2], target):
            start = _constant_index(arguments[0])
            if start is None or is_computed(arguments[2]):
                self.store(arguments[2], target)
            else:
                self.copy_around(pattern, start, self.read_data(arguments[2]), target)
        self.store(arguments[1], self.add(codegen.SliceAtOp(target, index, part)))

    def copy_around(self, pattern: Pattern, start: Nat, source: SSAValue, target: SSAValue) -> None:
        """Copy the elements of an array before and after those that an update overwrites."""
        element = element_of(data_type(source))
        after = size_argument(pattern, "n") - start
        for view, length in ((codegen.TakeOp, start), (codegen.DropOp, after)):
            if length != Nat.const(0):
                type = array(length, element)
                self.copy(self.add(view(source, type)), self.add(view(target, type)))

    @reads("fromIdx")
    def read_from_idx(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        return self.add(codegen.CastOp([index], index_type))

    @reads("sizeOf")
    def read_size_of(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Return a length, which is part of the type; the array itself is not read."""
        return self.size_value(pattern)

    def size_value(self, pattern: Pattern) -> SSAValue:
        """Return the size `n` of a pattern as an integer."""
        length = self.emitter.length_value(size_argument(pattern, "n"))
        return self.add(codegen.CastOp([length], index_type))

    @reads("ifAtLeast")
    def read_if_at_least(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        branch = known_branch(pattern)
        if branch is not None:
            return self.apply(self.force(arguments[branch]), [self.size_value(pattern)])
        return self.materialize(
            result_type(pattern), lambda target: self.store_if_at_least(pattern, arguments, target)
        )

    @stores("ifAtLeast")
    def store_if_at_least(
        self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        """Store the value of one of two functions; an if op if the size is known at run time."""

        def store_branch(function: Lazy) -> None:
            self.store_application(self.force(function), [self.size_value(pattern)], target)

        branch = known_branch(pattern)
        if branch is not None:
            store_branch(arguments[branch])
            return
        operands = [self.emitter.length_value(size_argument(pattern, name)) for name in "nk"]
        condition = self.add(arith.CmpiOp(operands[0], operands[1], "sge"))
        blocks = [Block(), Block()]
        for block, function in zip(blocks, arguments, strict=True):
            with self.emitter.inside_block(block):
                store_branch(function)
                self.emitter.add(scf.YieldOp())
        self.emitter.add(scf.IfOp(condition, [], Region(blocks[0]), Region(blocks[1])))

    @reads("clampIdx")
    def read_clamp_idx(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Emit `min(max(x, 0), n - 1)` on the integer converted to an index."""
        number, size = arguments[0], size_argument(pattern, "n")
        known = _clamped_literal(pattern, number.term) if isinstance(number, Delayed) else None
        if known is not None:
            return self.as_idx(self.emitter.length_value(known), pattern)
        last = Bound(0, index_type)
        zero = Literal(literal(0, index_type))
        positive = Scalar("arith.maxsi", [_argument_as_index(pattern, 1), zero], index_type)
        clamped_number = Scalar("arith.minsi", [positive, last], index_type)
        limit = self.emitter.length_value(size - 1)
        operands = self.force(number), self.add(codegen.CastOp([limit], index_type))
        return self.as_idx(self.builtin_index(clamped_number, operands), pattern)

    @reads("checkIdx")
    def read_check_idx(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        size = size_argument(pattern, "n")
        position = _position_from_start(arguments[0], size)
        if position is None:
            return self.as_idx(self._checked_index(pattern, arguments[0]), pattern)
        # Most positions are not negative, so that one comparison suffices.
        index = self.builtin_index(_argument_as_index(pattern, 0), (self.force(position),))
        is_inside = self.add(arith.CmpiOp(index, self.emitter.length_value(size), "ult"))
        blocks = [Block([scf.YieldOp(index)]), Block()]
        with self.emitter.inside_block(blocks[1]):
            self.emitter.add(scf.YieldOp(self._checked_index(pattern, arguments[0])))
        choice = scf.IfOp(is_inside, [IndexType()], Region(blocks[0]), Region(blocks[1]))
        return self.as_idx(self.add(choice), pattern)

    def _checked_index(self, pattern: Pattern, number: Lazy) -> SSAValue:
        index = self.builtin_index(_argument_as_index(pattern, 0), (self.force(number),))
        bound = self.emitter.length_value(size_argument(pattern, "n"))
        return self.checks.check_index(index, bound, pattern.location, self.emitter.builder)

    def builtin_index(self, number: Term, environment: Environment) -> SSAValue:
        """Return the integer term `number` as a builtin index."""
        value = self.read(number, environment)
        assert isinstance(value, SSAValue)
        return self.add(codegen.CastOp([value], IndexType()))

    def as_idx(self, index: SSAValue, pattern: Pattern) -> SSAValue:
        return self.add(codegen.CastOp([index], result_type(pattern)))


def _constant_index(index: Lazy) -> Nat | None:
    """Return the value of `clampIdx` of a literal if it is known."""
    if not isinstance(index, Delayed):
        return None
    head, arguments = spine(index.term)
    if not isinstance(head, Pattern) or head.spec is not CLAMP_IDX or len(arguments) != 1:
        return None
    return _clamped_literal(head, arguments[0])


def _clamped_literal(pattern: Pattern, number: Term) -> Nat | None:
    """Return the value of `clampIdx` of a literal for a known size; it is within the size."""
    size = size_argument(pattern, "n")
    if not size.is_constant or size.constant < 1 or not isinstance(number, Literal):
        return None
    value = int(number.attribute.scalar)
    value = abs(value) if pattern.argument("t") == i1 else value  # true is -1 in an i1
    return Nat.const(min(max(value, 0), size.constant - 1))


def _position_from_start(number: Lazy, length: Nat) -> Lazy | None:
    """Return `x` of `select(x < 0, x + length, x)`, where negative numbers count from the end."""
    if not isinstance(number, Delayed) or not length.is_constant:
        return None
    match number.term:
        case Scalar(
            op="arith.select",
            operands=(
                Scalar(op="arith.cmpi", predicate="slt", operands=(position, Literal(number=0))),
                Scalar(op="arith.addi", operands=(summand, Literal(number=count))),
                other,
            ),
        ) if position == summand == other and count == length.constant:
            return Delayed(position, number.environment)
        case _:
            return None


def _argument_as_index(pattern: Pattern, variable: int) -> Term:
    """Return the argument of `pattern`, an integer variable, converted to an index."""
    source = pattern.argument("t")
    assert isinstance(source, ScalarType)
    number: Term = Bound(variable, source)
    if source == u64:
        # An index is signed: larger numbers are out of bounds anyway.
        largest = Literal(literal((1 << 63) - 1, u64))
        number = Scalar("arith.minui", [number, largest], u64)
    for op, type in conversion_ops(source, index_type):
        number = Scalar(op, [number], type)
    return number
