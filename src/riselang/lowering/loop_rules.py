"""How maps, folds and lets become loops and memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.schemes import GENERATE, LET, MAP, ZIP, Role
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    array,
    contains_array,
    element_of,
    uncurry,
)
from riselang.interpreter.patterns import CHUNK
from riselang.lowering.in_place import is_elementwise, updates_in_place
from riselang.lowering.layouts import (
    STORED_THROUGH,
    LayoutRules,
    is_layout,
    keeps_all,
    layout_of,
)
from riselang.lowering.loops import LoopKind
from riselang.lowering.translation import (
    Closure,
    Delayed,
    Lazy,
    Partial,
    Step,
    Value,
    data_type,
    is_in_memory,
    result_type,
    size,
)
from riselang.lowering.window_rules import MOST_REGISTERS, WindowRules
from riselang.nat import Nat
from riselang.term.nodes import Lambda, Pattern, Term, spine
from riselang.term.substitution import is_used_often, parts_used_often
from riselang.term.views import is_view


def is_computed(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and not is_view(lazy.term)


def is_computed_whole(term: Term) -> bool:
    """Whether a part of a computed array costs as much as all of it.

    Elements of a map or of something generated are computed one by one, so a part of them that is
    stored is computed alone. Loops that are asked for, and what a view shows of them, go the whole
    way, and what is too much is dropped.
    """
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments:
        return False
    if head.spec is LET and isinstance(arguments[1], Lambda):
        return is_computed_whole(arguments[1].body)
    if head.spec.name in STORED_THROUGH or (head.spec is MAP and is_layout(arguments[0])):
        return is_computed_whole(arguments[-1])
    return head.spec.has_target and head.spec not in (MAP, GENERATE)


def is_made_whole(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and is_computed_whole(lazy.term)


def is_elementwise_closure(function: Value) -> bool:
    return isinstance(function, Closure) and is_elementwise(function.function)


def loop_kind(pattern: Pattern) -> LoopKind:
    if pattern.spec.role is Role.PARALLEL:
        return LoopKind.PARALLEL
    is_unrolled = pattern.spec.name.endswith("Unroll")
    return LoopKind.UNROLLED if is_unrolled else LoopKind.SEQUENTIAL


def fold_kind(pattern: Pattern) -> LoopKind:
    """One chunk of a fold on threads is folded in order."""
    kind = loop_kind(pattern)
    return LoopKind.SEQUENTIAL if kind is LoopKind.PARALLEL else kind


def fits_registers(type: RiseType) -> bool:
    """Whether the elements of an array are few enough to be values of their own."""
    count = 1
    while isinstance(type, ArrayType):
        if not type.length.is_constant:
            return False
        count *= type.length.constant
        type = type.element
    return count <= MOST_REGISTERS and isinstance(type, ScalarType | VectorType)


def is_updated_in_place(pattern: Pattern, function: Value) -> bool:
    """Whether the rounds of a fold may write over the arrays that they read."""
    has_arrays = contains_array(result_type(pattern))
    return has_arrays and isinstance(function, Closure) and updates_in_place(function.function)


def is_kept_in_registers(pattern: Pattern, function: Value) -> bool:
    """Whether all rounds of a fold have the elements of its accumulator as values."""
    fits = fits_registers(result_type(pattern)) and is_elementwise_closure(function)
    return fits and is_updated_in_place(pattern, function)


def is_readable(target: SSAValue) -> bool:
    """Whether what is stored at a target can be read there: none of it is dropped."""
    stack = [target]
    while stack:
        op = stack.pop().owner
        if isinstance(op, codegen.TakeAccOp):
            return False
        if isinstance(op, codegen.MapAccOp) and any(
            isinstance(inner, codegen.TakeAccOp) for inner in op.walk()
        ):
            return False
        if isinstance(op, Operation) and not isinstance(op, codegen.CastOp):
            stack += [operand for operand in op.operands if isinstance(operand.type, RiseType)]
    return True


def place_of(value: SSAValue) -> tuple[SSAValue, tuple[SSAValue | int, ...]]:
    """What a value is a part of, and which: indices, and 0 or 1 for the components of pairs."""
    path: tuple[SSAValue | int, ...] = ()
    while True:
        op = value.owner
        if isinstance(op, codegen.IdxOp):
            value, path = op.array, (op.index, *path)
        elif isinstance(op, codegen.FstOp | codegen.SndOp):
            value, path = op.source, (int(isinstance(op, codegen.SndOp)), *path)
        elif isinstance(op, codegen.TupleOp) and path:
            value, path = (op.second if path[0] == 1 else op.first), path[1:]
        elif isinstance(op, codegen.ZipOp) and len(path) > 1:
            value, path = (op.second if path[1] == 1 else op.first), (path[0], *path[2:])
        else:
            return value, path


class LoopRules(WindowRules, LayoutRules):
    """Rules of the patterns that compute."""

    reads_by_number = False
    """Whether elements of arrays are read by indices that are numbers."""

    def store_map(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function = self.force(arguments[0])
        layout = layout_of(function) if pattern.spec is MAP and is_computed(arguments[1]) else None
        if layout is not None and (keeps_all(layout) or is_made_whole(arguments[1])):
            self.store(arguments[1], self.before_map(layout, target))
            return
        kind = loop_kind(pattern)
        windows = self.windows_in_order(arguments[1]) if kind is LoopKind.SEQUENTIAL else None
        if windows is not None:
            self.store_windows(windows, function, target, pattern.to or self.loops)
            return
        elements = self.elements(arguments[1])
        if kind is LoopKind.UNROLLED and self.is_stored_at_once(result_type(pattern)):
            self.store_at_once(pattern, function, elements, target)
            return

        def body(index: SSAValue) -> None:
            element = self.element(function, elements(index))
            place = self.add(codegen.IdxOp(target, index))
            self.store_applied(function, [element], place)

        self.each(size(pattern, "n"), pattern.to or self.loops, body, kind)

    def is_stored_at_once(self, type: RiseType) -> bool:
        """Whether a map that is written out gives a few scalars or vectors."""
        assert isinstance(type, ArrayType)
        is_flat = isinstance(type.element, ScalarType | VectorType)
        return is_flat and fits_registers(type) and self.emitter.unrolls(type.length)

    def store_at_once(
        self,
        pattern: Pattern,
        function: Value,
        elements: Callable[[SSAValue], SSAValue],
        target: SSAValue,
    ) -> None:
        """All elements are computed before one is stored, so what they read is read once."""
        scalars: list[SSAValue] = []

        def body(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = self.element(function, elements(index))
            scalars.extend(self.unwrap(self.applied(function, [element])))
            return ()

        dialect, kind = pattern.to or self.loops, LoopKind.UNROLLED
        self.emitter.loop(size(pattern, "n"), dialect, kind, [], body)
        self.store_elements(result_type(pattern), scalars, target)

    def elements(self, lazy: Lazy) -> Callable[[SSAValue], SSAValue]:
        """The elements of an array that is read from the first to the last.

        The function of a map is applied right there, so that no view has to be made of the map.
        """
        head, arguments = spine(lazy.term) if isinstance(lazy, Delayed) else (None, [])
        if isinstance(lazy, Delayed) and isinstance(head, Pattern) and len(arguments) == 2:
            given = [Delayed(argument, lazy.environment) for argument in arguments]
            if head.spec is MAP:
                return self.mapped_elements(head, given)
            if head.spec is ZIP:
                first, second = (self.elements(argument) for argument in given)
                return lambda index: self.add(codegen.TupleOp(first(index), second(index)))
        source = self.read_data(lazy)
        return lambda index: self.add(codegen.IdxOp(source, index))

    def mapped_elements(
        self, pattern: Pattern, arguments: Sequence[Lazy]
    ) -> Callable[[SSAValue], SSAValue]:
        function, elements = self.force(arguments[0]), self.elements(arguments[1])

        def element(index: SSAValue) -> SSAValue:
            value = elements(index)
            with self.emitter.made_for(pattern):
                return self.applied(function, [value])

        return element

    def element(self, function: Value, value: SSAValue) -> SSAValue:
        """An element that a function takes: one that is computed and read often gets memory."""
        if not isinstance(function, Closure):
            return value
        body = function.function.body
        if not isinstance(data_type(value), TupleType):
            return self.kept(value) if is_used_often(body) else value
        often = parts_used_often(body)
        if not any(often) or is_in_memory(value):
            return value
        parts = [self.component(step, value) for step in (codegen.FstOp, codegen.SndOp)]
        first, second = (
            self.kept(part) if is_often else part
            for part, is_often in zip(parts, often, strict=True)
        )
        return self.add(codegen.TupleOp(first, second))

    def read_map(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """A high-level map that is only read costs no loop: elements are computed where read."""
        function = self.force(arguments[0])
        source = self.read_data(arguments[1])
        element = pattern.argument("s")
        assert isinstance(element, RiseType)
        block = Block(arg_types=[element])
        with self.emitter.inside(block):
            self.emitter.add(ReturnOp([self.applied(function, [block.args[0]])]))
        return self.add(codegen.MapReadOp(source, Region(block), result_type(pattern)))

    def read_materialised(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """mapSeq and mapPar ask for a loop, so their result gets memory."""
        return self.materialised(
            result_type(pattern), lambda target: self.store_map(pattern, arguments, target)
        )

    # Reductions

    def read_reduce(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        if self.reads_by_number and is_kept_in_registers(pattern, function):
            type, elements = result_type(pattern), self.elements(arguments[2])
            return self.wrap(
                type, self.fold_in_registers(pattern, function, arguments[1], elements)
            )
        if is_updated_in_place(pattern, function):
            return self.materialised(
                result_type(pattern), lambda target: self.store_reduce(pattern, arguments, target)
            )
        elements = self.elements(arguments[2])

        def step(index: SSAValue, accumulator: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [elements(index), accumulator]

        return self.fold(pattern, size(pattern, "n"), arguments[1], step)

    def store_vectors(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Scalars that are computed are stored one by one; those that are there, in vectors."""
        if is_computed(arguments[0]):
            (source,), _ = uncurry(pattern.type)
            self.store(arguments[0], self.add(codegen.AsVectorAccOp(target, source)))
        else:
            self.copy(self.read_data(self.apply(Partial(pattern, ()), arguments)), target)

    def store_take(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        if is_made_whole(arguments[0]):
            (source,), _ = uncurry(pattern.type)
            self.store(arguments[0], self.add(codegen.TakeAccOp(target, source)))
        else:
            self.copy(self.read_data(self.apply(Partial(pattern, ()), arguments)), target)

    def store_reduce(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Where rounds only change elements in their place, the target is the accumulator."""
        function = self.force(arguments[0])
        in_place = is_updated_in_place(pattern, function)
        in_registers = is_kept_in_registers(pattern, function)
        if not in_place or not (in_registers or is_readable(target)):
            self.copy(self.read_data(self.read_reduce(pattern, arguments)), target)
            return
        elements = self.elements(arguments[2])
        if in_registers:
            results = self.fold_in_registers(pattern, function, arguments[1], elements)
            self.store_elements(result_type(pattern), results, target)
            return
        if not self.is_at(arguments[1], target):
            self.store(arguments[1], target)

        def body(index: SSAValue) -> None:
            self.store_applied(function, [elements(index), target], target)

        self.each(size(pattern, "n"), pattern.to or self.loops, body, loop_kind(pattern))

    def fold_in_registers(
        self,
        pattern: Pattern,
        function: Value,
        start: Lazy,
        elements: Callable[[SSAValue], SSAValue],
    ) -> list[SSAValue]:
        """The plain scalars and vectors of the accumulator, all of which the loop carries."""
        type = result_type(pattern)

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            accumulator = self.wrap(type, list(carried))
            with self.in_registers():
                return self.unwrap(self.applied(function, [elements(index), accumulator]))

        inits = self.unwrap(self.read_data(start))
        dialect, kind = pattern.to or self.loops, loop_kind(pattern)
        return list(self.emitter.loop(size(pattern, "n"), dialect, kind, inits, body))

    def store_elements(self, type: RiseType, scalars: list[SSAValue], target: SSAValue) -> None:
        """Store plain scalars, which are taken from the list, as the elements of a value."""
        if isinstance(type, ArrayType):
            for number in range(type.length.constant):
                place = self.add(codegen.IdxOp(target, self.emitter.constant(number)))
                self.store_elements(type.element, scalars, place)
        else:
            self.copy(self.wrap(type, scalars), target)

    def is_at(self, lazy: Lazy, target: SSAValue) -> bool:
        """Whether a value lies where it is to be stored."""
        if is_computed(lazy):
            return False
        return place_of(self.read_data(lazy)) == place_of(target)

    def read_reduce_par(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Chunks of a fixed length on threads, each from the start value, then their results."""
        function, init = self.force(arguments[0]), self.kept(arguments[1])
        source = self.read_data(arguments[2])
        type, length = data_type(init), size(pattern, "n")
        full, rest = length // CHUNK, length % CHUNK

        def fold(elements: SSAValue) -> SSAValue:
            def step(index: SSAValue, accumulator: SSAValue) -> tuple[Value, list[Lazy]]:
                return function, [self.add(codegen.IdxOp(elements, index)), accumulator]

            count = data_type(elements)
            assert isinstance(count, ArrayType)
            return self.fold(pattern, count.length, init, step)

        # A rest of no elements has a place of its own, which is not looked at.
        places, count = full + 1, (length + CHUNK - 1) // CHUNK

        def fill(target: SSAValue) -> None:
            whole = self.add(codegen.TakeOp(source, array(full * CHUNK, type)))
            chunks = self.add(codegen.SplitOp(whole, array(full, array(CHUNK, type))))

            def body(index: SSAValue) -> None:
                result = fold(self.add(codegen.IdxOp(chunks, index)))
                self.copy(result, self.add(codegen.IdxOp(target, index)))

            if full != Nat.const(0):
                self.each(full, pattern.to or self.loops, body, LoopKind.PARALLEL)
            if rest != Nat.const(0):
                result = fold(self.add(codegen.DropOp(source, array(rest, type))))
                place = self.emitter.length(full)
                self.copy(result, self.add(codegen.IdxOp(target, place)))

        results = self.materialised(array(places, type), fill)
        return fold(self.add(codegen.TakeOp(results, array(count, type))))

    def read_iterate(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])

        def step(index: SSAValue, value: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [value]

        return self.fold(pattern, size(pattern, "k"), arguments[1], step)

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
            return self.goes_on(holds, self.wrap(type, list(carried)))

        def body(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self.unwrap(self.applied(function, [self.wrap(type, list(carried))]))

        inits = self.unwrap(self.read_data(init))
        return self.wrap(type, list(self.emitter.while_loop(inits, condition, body)))

    def repeat_in_memory(
        self, type: RiseType, holds: Value, function: Value, init: Lazy
    ) -> SSAValue:
        """Two buffers take turns, as in a fold."""
        current, following = self.buffers(type), self.buffers(type)
        half = len(current)
        self.store(init, self.add(codegen.CastOp(current, type)))

        def condition(carried: Sequence[SSAValue]) -> SSAValue:
            return self.goes_on(holds, self.add(codegen.CastOp(carried[:half], type)))

        def body(carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            value = self.add(codegen.CastOp(carried[:half], type))
            self.store_applied(function, [value], self.add(codegen.CastOp(carried[half:], type)))
            return (*carried[half:], *carried[:half])

        results = self.emitter.while_loop([*current, *following], condition, body)
        return self.add(codegen.CastOp(results[:half], type))

    def goes_on(self, holds: Value, value: SSAValue) -> SSAValue:
        """Whether the condition holds, and no check has failed that was to end the loop."""
        (condition,) = self.unwrap(self.applied(holds, [value]))
        if not self.checks.are_used:
            return condition
        passed = self.checks.none_failed(self.emitter.builder)
        return self.add(arith.AndIOp(condition, passed))

    def fold(self, pattern: Pattern, length: Nat, init: Lazy, step: Step) -> SSAValue:
        """A value that a loop carries: in registers, or in memory where there are arrays in it."""
        type = pattern.argument("t")
        assert isinstance(type, RiseType)
        carry = self.carry_in_memory if contains_array(type) else self.carry_in_registers
        return carry(type, length, pattern, init, step)

    def carry_in_registers(
        self, type: RiseType, length: Nat, pattern: Pattern, init: Lazy, step: Step
    ) -> SSAValue:
        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            function, arguments = step(index, self.wrap(type, list(carried)))
            return self.unwrap(self.applied(function, arguments))

        inits = self.unwrap(self.read_data(init))
        dialect = pattern.to or self.loops
        results = self.emitter.loop(length, dialect, fold_kind(pattern), inits, body)
        return self.wrap(type, list(results))

    def carry_in_memory(
        self, type: RiseType, length: Nat, pattern: Pattern, init: Lazy, step: Step
    ) -> SSAValue:
        """Two buffers take turns: one is read while the other is written."""
        current, following = self.buffers(type), self.buffers(type)
        self.store(init, self.add(codegen.CastOp(current, type)))

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            half = len(carried) // 2
            value = self.add(codegen.CastOp(carried[:half], type))
            target = self.add(codegen.CastOp(carried[half:], type))
            function, arguments = step(index, value)
            self.store_applied(function, arguments, target)
            return (*carried[half:], *carried[:half])

        dialect = pattern.to or self.loops
        results = self.emitter.loop(
            length, dialect, LoopKind.SEQUENTIAL, [*current, *following], body
        )
        return self.add(codegen.CastOp(results[: len(current)], type))

    def read_scan(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialised(
            result_type(pattern), lambda target: self.store_scan(pattern, arguments, target)
        )

    def store_scan(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """A fold that stores each accumulator before it is passed on."""
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
            scalars = self.unwrap(self.applied(function, [element, self.wrap(type, list(carried))]))
            kept = self.wrap(type, list(scalars))
            self.copy(kept, self.add(codegen.IdxOp(target, index)))
            return scalars

        initial = self.read_data(init)
        type = data_type(initial)
        length, dialect = size(pattern, "n"), pattern.to or self.loops
        self.emitter.loop(length, dialect, LoopKind.SEQUENTIAL, self.unwrap(initial), body)

    def scan_in_memory(
        self, pattern: Pattern, function: Value, init: Lazy, source: SSAValue, target: SSAValue
    ) -> None:
        """Each accumulator is made in its place, and kept in a buffer for the next one.

        The place itself is written through a path, which no loop can carry.
        """
        if not is_readable(target):
            self.copy(self.read_data(self.read_scan(pattern, [function, init, source])), target)
            return
        type = element_of(data_type(target))
        last = self.buffers(type)
        self.store(init, self.add(codegen.CastOp(last, type)))

        def body(index: SSAValue) -> None:
            accumulator = self.add(codegen.CastOp(last, type))
            element = self.add(codegen.IdxOp(source, index))
            place = self.add(codegen.IdxOp(target, index))
            self.store_applied(function, [element, accumulator], place)
            self.copy(place, self.add(codegen.CastOp(last, type)))

        self.each(size(pattern, "n"), pattern.to or self.loops, body)

    def read_to_memory(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        type = result_type(pattern)
        asks_registers = pattern.argument("space") == "register"
        if asks_registers and self.reads_by_number and fits_registers(type):
            return self.wrap(type, self.unwrap(self.read_data(arguments[0])))
        return self.materialised(type, lambda target: self.store(arguments[0], target))

    @contextmanager
    def in_registers(self) -> Generator[None]:
        """Where elements are read one by one, each by its number, so that no memory is needed."""
        before, self.reads_by_number = self.reads_by_number, True
        yield
        self.reads_by_number = before

    # Let

    def read_let(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.apply(self.force(arguments[1]), [self.bind(arguments[0])])

    def store_let(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store_applied(self.force(arguments[1]), [self.bind(arguments[0])], target)
