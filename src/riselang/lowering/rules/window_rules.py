"""Lowers circularBuffer and rotateValues to loops that compute each element once.

This needs a consumer that reads the windows in order: a sequential map that is stored, or another
circularBuffer with such a consumer, whose elements are windows themselves. Otherwise the whole
mapped array is stored in a buffer, and the windows are a view of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.types import (
    ArrayType,
    NatAttr,
    RiseType,
    array,
    contains_array,
    element_of,
)
from riselang.lowering.functional_values import Delayed, Lazy, Value
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.rule_registry import reads
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import Translation, result_type, size_argument
from riselang.nat import Nat, nat_max, nat_min
from riselang.term.nodes import Pattern, spine

WINDOW_PATTERNS = ("circularBuffer", "rotateValues")


@dataclass(frozen=True)
class Windows:
    """Windows of a mapped array that are read in order."""

    pattern: Pattern
    function: Value
    source: SSAValue | Windows

    @property
    def type(self) -> ArrayType:
        """The type of the array of all windows."""
        type = result_type(self.pattern)
        assert isinstance(type, ArrayType)
        return type

    @property
    def window_type(self) -> ArrayType:
        window = self.type.element
        assert isinstance(window, ArrayType)
        return window

    @property
    def element_type(self) -> RiseType:
        return self.window_type.element

    @property
    def length(self) -> Nat:
        """The number of elements of the mapped array."""
        return self.type.length + self.window_type.length - 1


Stream = Callable[[SSAValue, Nat], SSAValue]
"""Maps an index and an offset to the element at their sum; called once for each, in order."""


class WindowRules(Translation):
    """Rules for windows in circular buffers or registers."""

    @reads("circularBuffer", "rotateValues")
    def read_windows(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        source = self.read_data(arguments[1])
        windows = Windows(pattern, self.force(arguments[0]), source)

        def fill(target: SSAValue) -> None:
            self.store_mapped_elements(windows, windows.length, target)

        mapped = self.materialize(array(windows.length, windows.element_type), fill)
        return self.add(codegen.SlideOp(mapped, windows.type, NatAttr(Nat.const(1))))

    def match_windows(self, lazy: Lazy) -> Windows | None:
        """Return the argument of a sequential loop as windows, if it is circularBuffer or such."""
        if not isinstance(lazy, Delayed):
            return None
        head, arguments = spine(lazy.term)
        if (
            not isinstance(head, Pattern)
            or head.spec.name not in WINDOW_PATTERNS
            or len(arguments) != 2
        ):
            return None
        function, source = (Delayed(argument, lazy.environment) for argument in arguments)
        rings = head.spec.name == "circularBuffer"
        inner = self.match_windows(source) if rings else None
        return Windows(head, self.force(function), inner or self.read_data(source))

    def store_windows(
        self, windows: Windows, function: Value, target: SSAValue, dialect: str
    ) -> None:
        """Emit `mapSeq(function)` over the windows."""
        size = windows.window_type.length
        few = size.is_constant and size.constant <= self.max_register_elements
        rotates = windows.pattern.spec.name == "rotateValues"
        if rotates and few and not contains_array(windows.element_type):
            self.store_rotating(windows, function, target, dialect)
        else:
            self.store_circular(windows, function, target, dialect)

    def store_mapped_elements(self, windows: Windows, count: Nat, target: SSAValue) -> None:
        """Store the first `count` elements of the mapped array."""
        source = self.stream(windows.source)

        def body(index: SSAValue) -> None:
            element, destination = (
                source(index, Nat.const(0)),
                self.add(codegen.IdxOp(target, index)),
            )
            self.store_application(windows.function, [element], destination)

        self.emit_loop(count, self.loop_dialect(windows.pattern), body)

    def stream(self, source: SSAValue | Windows) -> Stream:
        """Return the stream of an array's elements, or of windows in a circular buffer."""
        if isinstance(source, Windows):
            return self.circular_stream(source)
        return lambda index, offset: self.element_at_offset(source, offset, index)

    def element_at_offset(self, array_: SSAValue, offset: Nat, index: SSAValue) -> SSAValue:
        type = data_type(array_)
        assert isinstance(type, ArrayType)
        suffix = self.add(codegen.DropOp(array_, array(type.length - offset, type.element)))
        return self.add(codegen.IdxOp(suffix, index))

    def store_circular(
        self, windows: Windows, function: Value, target: SSAValue, dialect: str
    ) -> None:
        window = self.circular_stream(windows)

        def body(index: SSAValue) -> None:
            destination = self.add(codegen.IdxOp(target, index))
            self.store_application(function, [window(index, Nat.const(0))], destination)

        self.emit_loop(windows.type.length, dialect, body)

    def circular_stream(self, windows: Windows) -> Stream:
        """Return the stream of windows in a circular buffer.

        Element k is stored at k modulo the buffer's length, over one that no later window needs.
        """
        buffers = self.allocate_buffers(
            array(_circular_buffer_length(windows), windows.element_type)
        )
        history, source = windows.window_type.length - 1, self.stream(windows.source)

        def circular_buffer() -> SSAValue:
            memory = self.add(
                codegen.CastOp(
                    buffers, array(_circular_buffer_length(windows), windows.element_type)
                )
            )
            stream_type = array(windows.length, windows.element_type)
            return self.add(codegen.PadWrapOp(memory, stream_type, NatAttr(Nat.const(0))))

        def fill(index: SSAValue, offset: Nat) -> None:
            element = source(index, offset)
            destination = self.element_at_offset(circular_buffer(), offset, index)
            self.store_application(windows.function, [element], destination)

        def window(index: SSAValue, offset: Nat) -> SSAValue:
            fill(index, offset + history)
            slide = self.add(
                codegen.SlideOp(circular_buffer(), windows.type, NatAttr(Nat.const(1)))
            )
            return self.element_at_offset(slide, offset, index)

        self.emit_loop(
            history, self.loop_dialect(windows.pattern), lambda index: fill(index, Nat.const(0))
        )
        return window

    def store_rotating(
        self, windows: Windows, function: Value, target: SSAValue, dialect: str
    ) -> None:
        """Emit a loop that carries all but the first element of a window to the next iteration.

        A window is stored in a buffer to be indexed; if its loops are unrolled, LLVM promotes it to
        registers.
        """
        buffers = self.allocate_buffers(windows.window_type)

        def memory() -> SSAValue:
            return self.add(codegen.CastOp(buffers, windows.window_type))

        self.store_mapped_elements(windows, windows.window_type.length - 1, memory())
        first, source = memory(), self.stream(windows.source)
        history = windows.window_type.length - 1
        inits: list[SSAValue] = []
        for position in range(windows.window_type.length.constant - 1):
            inits += self.unwrap(self.element_at(first, position))

        def body(index: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = source(index, history)
            scalars = [*carried, *self.unwrap(self.read_application(windows.function, [element]))]
            self.store_window(memory(), scalars)
            self.store_application(function, [memory()], self.add(codegen.IdxOp(target, index)))
            return scalars[len(scalars) - len(carried) :]

        self.emitter.loop(windows.type.length, dialect, LoopKind.SEQUENTIAL, inits, body)

    def element_at(self, value: SSAValue, position: int) -> SSAValue:
        return self.add(codegen.IdxOp(value, self.emitter.constant(position)))

    def store_window(self, window: SSAValue, scalars: Sequence[SSAValue]) -> None:
        """Store the elements of a window, given all their builtin scalars."""
        remaining_scalars, type = list(scalars), data_type(window)
        assert isinstance(type, ArrayType)
        for position in range(type.length.constant):
            element = self.wrap(element_of(type), remaining_scalars)
            self.copy(element, self.element_at(window, position))


def _circular_buffer_length(windows: Windows) -> Nat:
    """Return the allocated size: at least one window, and at most the whole array."""
    length = windows.window_type.length
    if windows.pattern.spec.name == "circularBuffer":
        length = nat_max(size_argument(windows.pattern, "alloc"), length)
    return nat_min(length, windows.length) if windows.length.is_constant else length
