"""How maps, folds and lets become loops and memory."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.schemes import Role
from riselang.dialects.rise.types import (
    RiseType,
    contains_array,
)
from riselang.errors import LimitationError
from riselang.lowering.loops import LoopKind
from riselang.lowering.translation import (
    Delayed,
    Lazy,
    Step,
    Translation,
    Value,
    result_type,
    size,
)
from riselang.nat import Nat
from riselang.term.nodes import (
    Pattern,
)
from riselang.term.views import is_view


class LoopRules(Translation):
    """Rules of the patterns that compute."""

    def store_map(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function = self.force(arguments[0])
        source = self.read_data(arguments[1])
        kind = LoopKind.PARALLEL if pattern.spec.role is Role.PARALLEL else LoopKind.SEQUENTIAL

        def body(index: SSAValue) -> None:
            element = self.add(codegen.IdxOp(source, index))
            place = self.add(codegen.IdxOp(target, index))
            self.store_applied(function, [element], place)

        self.each(size(pattern, "n"), pattern.to or self.loops, body, kind)

    def read_map(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """A high-level map that is only read costs no loop: elements are computed where read."""
        function = self.force(arguments[0])
        source = self.read_data(arguments[1])
        element = pattern.argument("s")
        assert isinstance(element, RiseType)
        block = Block(arg_types=[element])
        with self.emitter.inside(block):
            result = self.apply(function, [block.args[0]])
            assert isinstance(result, SSAValue)
            self.emitter.add(ReturnOp([result]))
        return self.add(codegen.MapReadOp(source, Region(block), result_type(pattern)))

    def read_materialised(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """mapSeq and mapPar ask for a loop, so their result gets memory."""
        return self.materialised(
            result_type(pattern), lambda target: self.store_map(pattern, arguments, target)
        )

    # Reductions

    def read_reduce(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        source = self.read_data(arguments[2])

        def step(index: SSAValue, accumulator: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [self.add(codegen.IdxOp(source, index)), accumulator]

        return self.fold(pattern, size(pattern, "n"), arguments[1], step)

    def read_iterate(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])

        def step(index: SSAValue, value: SSAValue) -> tuple[Value, list[Lazy]]:
            return function, [value]

        return self.fold(pattern, size(pattern, "k"), arguments[1], step)

    def fold(self, pattern: Pattern, length: Nat, init: Lazy, step: Step) -> SSAValue:
        """A value that a loop carries: in registers, or in memory where there are arrays in it."""
        type = pattern.argument("t")
        assert isinstance(type, RiseType)
        carry = self.carry_in_memory if contains_array(type) else self.carry_in_registers
        return carry(type, length, pattern.to or self.loops, init, step)

    def carry_in_registers(
        self, type: RiseType, length: Nat, dialect: str, init: Lazy, step: Step
    ) -> SSAValue:
        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            function, arguments = step(index, self.wrap(type, list(carried)))
            result = self.apply(function, arguments)
            assert isinstance(result, SSAValue)
            return self.unwrap(result)

        inits = self.unwrap(self.read_data(init))
        results = self.emitter.loop(length, dialect, LoopKind.SEQUENTIAL, inits, body)
        return self.wrap(type, list(results))

    def carry_in_memory(
        self, type: RiseType, length: Nat, dialect: str, init: Lazy, step: Step
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
        inits = self.unwrap(self.read_data(arguments[1])) if not contains_array(type) else None
        if inits is None:
            raise LimitationError(
                f"{pattern.spec.name} with arrays as accumulators cannot be compiled yet; "
                'the interpreter runs it (backend="interpret")',
                pattern.location,
            )

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = self.add(codegen.IdxOp(source, index))
            result = self.apply(function, [element, self.wrap(type, list(carried))])
            assert isinstance(result, SSAValue)
            scalars = self.unwrap(result)
            kept = self.wrap(type, list(scalars))
            self.copy(kept, self.add(codegen.IdxOp(target, index)))
            return scalars

        length, dialect = size(pattern, "n"), pattern.to or self.loops
        self.emitter.loop(length, dialect, LoopKind.SEQUENTIAL, inits, body)

    def read_to_memory(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialised(
            result_type(pattern), lambda target: self.store(arguments[0], target)
        )

    # Let

    def read_let(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.apply(self.force(arguments[1]), [self.bind(arguments[0])])

    def store_let(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store_applied(self.force(arguments[1]), [self.bind(arguments[0])], target)

    def bind(self, lazy: Lazy) -> Value:
        """A computed value with two or more uses gets memory; a view or a scalar needs none."""
        if not isinstance(lazy, Delayed) or is_view(lazy.term):
            return self.force(lazy)
        if not contains_array(lazy.term.type):
            return self.force(lazy)
        return self.materialised(lazy.term.type, lambda target: self.store(lazy, target))
