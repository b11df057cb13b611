"""Lowering rules for reductions, scans and iteration, which become loops."""

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.pattern_registry import CHUNK_LENGTH
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    array,
    contains_array,
    element_of,
)
from riselang.lowering.functional_values import Closure, Lazy, Step, Value
from riselang.lowering.in_place import (
    can_iterate_in_place,
    can_update_in_place,
    is_elementwise,
)
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.map_rules import MapRules, fits_in_registers, loop_kind
from riselang.lowering.stored_values import data_type, reads_indices
from riselang.lowering.translation import result_type, size_argument
from riselang.nat import Nat
from riselang.term.nodes import Pattern


def is_elementwise_closure(function: Value) -> bool:
    return isinstance(function, Closure) and is_elementwise(function.function)


def reduction_loop_kind(pattern: Pattern) -> LoopKind:
    """Return the loop kind of a reduction; a parallel one reduces each chunk in order."""
    kind = loop_kind(pattern)
    return LoopKind.SEQUENTIAL if kind is LoopKind.PARALLEL else kind


def is_updated_in_place(pattern: Pattern, function: Value) -> bool:
    """Whether the iterations of a reduction may overwrite the arrays that they read."""
    has_arrays = contains_array(result_type(pattern))
    return has_arrays and isinstance(function, Closure) and can_update_in_place(function.function)


def is_iterated_in_place(pattern: Pattern, function: Value) -> bool:
    """Whether an iteration may overwrite the arrays that it reads."""
    has_arrays = contains_array(result_type(pattern))
    return has_arrays and isinstance(function, Closure) and can_iterate_in_place(function.function)


def is_carried_in_registers(pattern: Pattern, function: Value, max_scalars: int) -> bool:
    """Whether a reduction carries the elements of its accumulator in registers."""
    is_small = fits_in_registers(result_type(pattern), max_scalars) and is_elementwise_closure(
        function
    )
    return is_small and is_updated_in_place(pattern, function)


def is_readable(target: SSAValue) -> bool:
    """Whether all elements that are stored to a target can be read from it again."""
    stack = [target]
    while stack:
        op = stack.pop().owner
        if isinstance(op, ViewOp | codegen.MapAccOp) and any(map(drops_elements, op.walk())):
            return False
        if isinstance(op, Operation) and not isinstance(op, codegen.CastOp):
            stack += [operand for operand in op.operands if isinstance(operand.type, RiseType)]
    return True


def drops_elements(op: Operation) -> bool:
    """Whether a store through a step drops some elements."""
    return isinstance(op, ViewOp) and op.HEADROOM is not None


class ReductionRules(MapRules):
    """Rules for the patterns that carry a value from one iteration to the next."""

    @reads("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank")
    def read_reduce(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        if self.reads_constant_indices and is_carried_in_registers(
            pattern, function, self.max_register_elements
        ):
            type, elements = result_type(pattern), self.element_reader(arguments[2])
            return self.wrap(
                type, self.reduce_in_registers(pattern, function, arguments[1], elements)
            )
        if is_updated_in_place(pattern, function):
            computed = (function, *arguments[1:])
            return self.materialize(
                result_type(pattern), lambda target: self.store_reduce(pattern, computed, target)
            )
        elements = self.element_reader(arguments[2])

        def step(index: SSAValue, accumulator: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [accumulator, elements(index)]

        return self.emit_reduction(pattern, size_argument(pattern, "n"), arguments[1], step)

    @stores("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank")
    def store_reduce(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store a reduction; if it updates elements in place, the target is the accumulator."""
        function = self.force(arguments[0])
        in_place = is_updated_in_place(pattern, function)
        in_registers = is_carried_in_registers(pattern, function, self.max_register_elements)
        if not in_place or not (in_registers or is_readable(target)):
            value = self.read_reduce(pattern, (function, *arguments[1:]))
            self.copy(self.read_data(value), target)
            return
        elements = self.element_reader(arguments[2])
        if in_registers:
            results = self.reduce_in_registers(pattern, function, arguments[1], elements)
            self.store_elements(result_type(pattern), results, target)
            return
        self.store_unless_stored(arguments[1], target)

        def body(index: SSAValue) -> None:
            self.store_application(function, [target, elements(index)], target)

        self.emit_loop(
            size_argument(pattern, "n"), self.loop_dialect(pattern), body, loop_kind(pattern)
        )

    def reduce_in_registers(
        self,
        pattern: Pattern,
        function: Value,
        start: Lazy,
        elements: Callable[[SSAValue], SSAValue],
    ) -> list[SSAValue]:
        """Emit a loop that carries all scalars of the accumulator; return the final ones."""
        type = result_type(pattern)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            accumulator = self.wrap(type, list(carried))
            with self.in_registers():
                return self.unwrap(self.read_application(function, [accumulator, elements(index)]))

        inits = self.unwrap(self.read_data(start))
        dialect, kind = self.loop_dialect(pattern), loop_kind(pattern)
        return list(self.emitter.loop(size_argument(pattern, "n"), dialect, kind, inits, body))

    @reads("reducePar")
    def read_reduce_par(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Reduce chunks of a fixed length in parallel, each from `init`, then their results."""
        function, init = self.force(arguments[0]), self.store_if_computed(arguments[1])
        if reads_indices(init):
            init = self.store_copy(init)
        source = self.read_data(arguments[2])
        type, length = data_type(init), size_argument(pattern, "n")
        full, remainder = length // CHUNK_LENGTH, length % CHUNK_LENGTH

        def reduce_elements(elements: SSAValue) -> SSAValue:
            def step(index: SSAValue, accumulator: SSAValue) -> tuple[Value, list[Lazy]]:
                return function, [accumulator, self.add(codegen.IdxOp(elements, index))]

            count = data_type(elements)
            assert isinstance(count, ArrayType)
            return self.emit_reduction(pattern, count.length, init, step)

        # There is always one more result for the remainder; if it is empty, it is not read.
        result_count, count = full + 1, (length + CHUNK_LENGTH - 1) // CHUNK_LENGTH

        def fill(target: SSAValue) -> None:
            full_chunks = self.add(codegen.TakeOp(source, array(full * CHUNK_LENGTH, type)))
            chunks = self.add(codegen.SplitOp(full_chunks, array(full, array(CHUNK_LENGTH, type))))

            def body(index: SSAValue) -> None:
                result = reduce_elements(self.add(codegen.IdxOp(chunks, index)))
                self.copy(result, self.add(codegen.IdxOp(target, index)))

            if full != Nat.const(0):
                self.emit_loop(full, self.loop_dialect(pattern), body, LoopKind.PARALLEL)
            if remainder != Nat.const(0):
                result = reduce_elements(self.add(codegen.DropOp(source, array(remainder, type))))
                destination = self.emitter.length_value(full)
                self.copy(result, self.add(codegen.IdxOp(target, destination)))

        results = self.materialize(array(result_count, type), fill)
        return reduce_elements(self.add(codegen.TakeOp(results, array(count, type))))

    @reads("iterate", "iterateSeq")
    def read_iterate(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        if is_iterated_in_place(pattern, function):
            computed = (function, arguments[1])
            return self.materialize(
                result_type(pattern), lambda target: self.store_iterate(pattern, computed, target)
            )

        def step(index: SSAValue, value: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [value]

        return self.emit_reduction(pattern, size_argument(pattern, "k"), arguments[1], step)

    @stores("iterate", "iterateSeq")
    def store_iterate(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store the result of an iteration; if it updates elements in place, in the target."""
        function = self.force(arguments[0])
        if not is_iterated_in_place(pattern, function) or not is_readable(target):
            value = self.read_iterate(pattern, (function, arguments[1]))
            self.copy(self.read_data(value), target)
            return
        self.store_unless_stored(arguments[1], target)
        self.emit_loop(
            size_argument(pattern, "k"), self.loop_dialect(pattern),
            lambda _: self.store_application(function, [target], target),
        )  # fmt: skip

    @reads("while")
    def read_while(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        holds, function = self.force(arguments[0]), self.force(arguments[1])
        type = pattern.argument("t")
        assert isinstance(type, RiseType)
        repeat = self.repeat_in_memory if contains_array(type) else self.repeat_in_registers
        return repeat(type, holds, function, arguments[2])

    def repeat_in_registers(
        self, type: RiseType, holds: Value, function: Value, init: Lazy
    ) -> SSAValue:
        def condition(carried: Sequence[SSAValue]) -> SSAValue:
            return self.emit_condition(holds, self.wrap(type, list(carried)))

        def body(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.unwrap(self.read_application(function, [self.wrap(type, list(carried))]))

        inits = self.unwrap(self.read_data(init))
        return self.wrap(type, list(self.emitter.while_loop(inits, condition, body)))

    def repeat_in_memory(
        self, type: RiseType, holds: Value, function: Value, init: Lazy
    ) -> SSAValue:
        """Emit a while loop with double buffering, as for a reduction, or in place."""
        if isinstance(function, Closure) and can_iterate_in_place(function.function):
            return self.repeat_in_place(type, holds, function, init)
        current, following = self.allocate_buffers(type), self.allocate_buffers(type)
        half = len(current)
        self.store(init, self.add(codegen.CastOp(current, type)))

        def condition(carried: Sequence[SSAValue]) -> SSAValue:
            return self.emit_condition(holds, self.add(codegen.CastOp(carried[:half], type)))

        def body(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = self.add(codegen.CastOp(carried[:half], type))
            self.store_application(
                function, [value], self.add(codegen.CastOp(carried[half:], type))
            )
            return (*carried[half:], *carried[:half])

        results = self.emitter.while_loop([*current, *following], condition, body)
        return self.add(codegen.CastOp(results[:half], type))

    def repeat_in_place(
        self, type: RiseType, holds: Value, function: Value, init: Lazy
    ) -> SSAValue:
        """Emit a while loop whose iterations overwrite the value that they read."""
        state = self.add(codegen.CastOp(self.allocate_buffers(type), type))
        self.overwrite_while(holds, function, init, state)
        return state

    @stores("while")
    def store_while(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store the result of a while loop; if it updates elements in place, in the target."""
        holds, function = self.force(arguments[0]), self.force(arguments[1])
        is_in_place = (
            contains_array(result_type(pattern))
            and isinstance(function, Closure)
            and can_iterate_in_place(function.function)
        )
        if is_in_place and is_readable(target):
            self.overwrite_while(holds, function, arguments[2], target)
        else:
            self.copy(self.read_data(self.read_while(pattern, arguments)), target)

    def overwrite_while(self, holds: Value, function: Value, init: Lazy, state: SSAValue) -> None:
        self.store_unless_stored(init, state)

        def body(_: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self.store_application(function, [state], state)
            return ()

        self.emitter.while_loop([], lambda _: self.emit_condition(holds, state), body)

    def emit_condition(self, holds: Value, value: SSAValue) -> SSAValue:
        """Emit whether the condition holds and no check has failed, which also ends the loop."""
        (condition,) = self.unwrap(self.read_application(holds, [value]))
        if not self.checks.are_used:
            return condition
        checks_passed = self.checks.emit_all_passed(self.emitter.builder)
        return self.add(arith.AndIOp(condition, checks_passed))

    def emit_reduction(self, pattern: Pattern, length: Nat, init: Lazy, step: Step) -> SSAValue:
        """Emit a loop that carries a value: in registers, or in buffers if it contains arrays."""
        type = pattern.argument("t")
        assert isinstance(type, RiseType)
        carry = self.carry_in_memory if contains_array(type) else self.carry_in_registers
        return carry(type, length, pattern, init, step)

    def carry_in_registers(
        self, type: RiseType, length: Nat, pattern: Pattern, init: Lazy, step: Step
    ) -> SSAValue:
        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            function, arguments = step(index, self.wrap(type, list(carried)))
            return self.unwrap(self.read_application(function, arguments))

        inits = self.unwrap(self.read_data(init))
        dialect = self.loop_dialect(pattern)
        results = self.emitter.loop(length, dialect, reduction_loop_kind(pattern), inits, body)
        return self.wrap(type, list(results))

    def carry_in_memory(
        self, type: RiseType, length: Nat, pattern: Pattern, init: Lazy, step: Step
    ) -> SSAValue:
        """Emit a loop with double buffering: one buffer is read while the other is written."""
        current, following = self.allocate_buffers(type), self.allocate_buffers(type)
        self.store(init, self.add(codegen.CastOp(current, type)))

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            half = len(carried) // 2
            value = self.add(codegen.CastOp(carried[:half], type))
            target = self.add(codegen.CastOp(carried[half:], type))
            function, arguments = step(index, value)
            self.store_application(function, arguments, target)
            return (*carried[half:], *carried[:half])

        dialect = self.loop_dialect(pattern)
        results = self.emitter.loop(
            length, dialect, LoopKind.SEQUENTIAL, [*current, *following], body
        )
        return self.add(codegen.CastOp(results[: len(current)], type))

    @reads("scan", "scanSeq")
    def read_scan(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialize(
            result_type(pattern), lambda target: self.store_scan(pattern, arguments, target)
        )

    @stores("scan", "scanSeq")
    def store_scan(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Emit a reduction that stores each accumulator before it is passed on."""
        function = self.force(arguments[0])
        source = self.read_data(arguments[2])
        type = pattern.argument("t")
        assert isinstance(type, RiseType)
        store = self.scan_in_memory if contains_array(type) else self.scan_in_registers
        store(pattern, function, arguments[1], source, target)

    def scan_in_registers(
        self, pattern: Pattern, function: Value, init: Lazy, source: SSAValue, target: SSAValue
    ) -> None:
        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = self.add(codegen.IdxOp(source, index))
            scalars = self.unwrap(
                self.read_application(function, [self.wrap(type, list(carried)), element])
            )
            kept = self.wrap(type, list(scalars))
            self.copy(kept, self.add(codegen.IdxOp(target, index)))
            return scalars

        initial = self.read_data(init)
        type = data_type(initial)
        length, dialect = size_argument(pattern, "n"), self.loop_dialect(pattern)
        self.emitter.loop(length, dialect, LoopKind.SEQUENTIAL, self.unwrap(initial), body)

    def scan_in_memory(
        self, pattern: Pattern, function: Value, init: Lazy, source: SSAValue, target: SSAValue
    ) -> None:
        """Compute each accumulator in its target element, and copy it for the next iteration.

        The element itself is accessed through a path, which a loop cannot carry.
        """
        if not is_readable(target):
            self.copy(self.read_data(self.read_scan(pattern, [function, init, source])), target)
            return
        type = element_of(data_type(target))
        last = self.allocate_buffers(type)
        self.store(init, self.add(codegen.CastOp(last, type)))

        def body(index: SSAValue) -> None:
            accumulator = self.add(codegen.CastOp(last, type))
            element = self.add(codegen.IdxOp(source, index))
            destination = self.add(codegen.IdxOp(target, index))
            self.store_application(function, [accumulator, element], destination)
            self.copy(destination, self.add(codegen.CastOp(last, type)))

        self.emit_loop(size_argument(pattern, "n"), self.loop_dialect(pattern), body)
