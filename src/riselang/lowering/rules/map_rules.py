"""Lowering rules for maps, lets and copies, which become loops and buffers."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import STORE_OPS
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.pattern_registry import GENERATE, LET, MAP, ZIP, Role
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    uncurry,
)
from riselang.lowering.layouts import (
    STORED_THROUGH,
    LayoutRules,
    is_layout,
    keeps_all,
    layout_of,
)
from riselang.lowering.loops import LoopKind
from riselang.lowering.rules.window_rules import WindowRules
from riselang.lowering.translation import (
    Closure,
    Delayed,
    Lazy,
    Partial,
    Value,
    data_type,
    is_in_memory,
    reads,
    result_type,
    size,
    stores,
)
from riselang.term.nodes import Lambda, Pattern, Term, spine
from riselang.term.substitution import is_used_often, parts_used_often
from riselang.term.views import is_view


def is_computed(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and not is_view(lazy.term)


def is_computed_whole(term: Term) -> bool:
    """Whether computing a part of an array costs as much as computing all of it.

    Elements of `map` or `generate` are computed one by one, so that only the stored elements are
    computed. Low-level loops, and views of their results, always compute all elements, and
    elements outside of the view are dropped.
    """
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments:
        return False
    if head.spec is LET and isinstance(arguments[1], Lambda):
        return is_computed_whole(arguments[1].body)
    if head.spec.name in STORED_THROUGH or (head.spec is MAP and is_layout(arguments[0])):
        return is_computed_whole(arguments[-1])
    is_loop = head.spec.has_target or head.spec.role is Role.GPU
    return is_loop and head.spec not in (MAP, GENERATE)


def is_made_whole(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and is_computed_whole(lazy.term)


def loop_kind(pattern: Pattern) -> LoopKind:
    if pattern.spec.role is Role.PARALLEL:
        return LoopKind.PARALLEL
    if pattern.spec.role is Role.GPU:
        return _part_of_gpu(pattern)
    is_unrolled = pattern.spec.name.endswith("Unroll")
    return LoopKind.UNROLLED if is_unrolled else LoopKind.SEQUENTIAL


def _part_of_gpu(pattern: Pattern) -> LoopKind:
    part = pattern.spec.name.removeprefix("map").lower()
    if "d" not in pattern.spec.parameters:
        return LoopKind(part)
    return LoopKind(f"{part}_{'xyz'[size(pattern, 'd').constant]}")


def fits_registers(type: RiseType, most: int) -> bool:
    """Whether an array has at most `most` elements, each a scalar or vector."""
    count = 1
    while isinstance(type, ArrayType):
        if not type.length.is_constant:
            return False
        count *= type.length.constant
        type = type.element
    return count <= most and isinstance(type, ScalarType | VectorType)


class MapRules(WindowRules, LayoutRules):
    """Rules for the patterns that compute elements, and for storing values in buffers."""

    reads_by_number = False
    """Whether array elements are read with constant indices."""

    @stores("map", "mapSeq", "mapSeqUnroll", "mapPar")
    def store_map(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function = self.force(arguments[0])
        layout = layout_of(function) if pattern.spec is MAP and is_computed(arguments[1]) else None
        if layout is not None and (keeps_all(layout) or is_made_whole(arguments[1])):
            self.store(arguments[1], self.before_map(layout, target))
            return
        kind = self.unordered if pattern.spec is MAP else loop_kind(pattern)
        windows = self.windows_in_order(arguments[1]) if kind is LoopKind.SEQUENTIAL else None
        if windows is not None:
            self.store_windows(windows, function, target, self.dialect(pattern))
            return
        elements = self.elements(arguments[1])
        if kind is LoopKind.UNROLLED and self.is_stored_at_once(result_type(pattern)):
            self.store_at_once(pattern, function, elements, target)
            return

        def body(index: SSAValue) -> None:
            element = self.element(function, elements(index))
            place = self.add(codegen.IdxOp(target, index))
            self.store_applied(function, [element], place)

        self.each(size(pattern, "n"), self.dialect(pattern), body, kind)

    def is_stored_at_once(self, type: RiseType) -> bool:
        """Whether the result of an unrolled map is a few scalars or vectors."""
        assert isinstance(type, ArrayType)
        is_flat = isinstance(type.element, ScalarType | VectorType)
        is_small = is_flat and fits_registers(type, self.most_registers)
        return is_small and self.emitter.unrolls(type.length)

    def store_at_once(
        self,
        pattern: Pattern,
        function: Value,
        elements: Callable[[SSAValue], SSAValue],
        target: SSAValue,
    ) -> None:
        """Compute all elements before storing them, so that shared operands are read once."""
        scalars: list[SSAValue] = []

        def body(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = self.element(function, elements(index))
            scalars.extend(self.unwrap(self.applied(function, [element])))
            return ()

        dialect, kind = self.dialect(pattern), LoopKind.UNROLLED
        self.emitter.loop(size(pattern, "n"), dialect, kind, [], body)
        self.store_elements(result_type(pattern), scalars, target)

    def elements(self, lazy: Lazy) -> Callable[[SSAValue], SSAValue]:
        """Return a function that reads the elements of an array, in order.

        The function of a map is applied directly to each element, without a view of the map.
        """
        head, arguments = spine(lazy.term) if isinstance(lazy, Delayed) else (None, [])
        if isinstance(lazy, Delayed) and isinstance(head, Pattern) and len(arguments) == 2:
            given = [Delayed(argument, lazy.environment) for argument in arguments]
            if head.spec is MAP:
                return self.mapped_elements(head, given)
            if head.spec is ZIP:
                first, second = self.elements(given[0]), self.elements(given[1])
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
        """Store an element in a buffer if it is computed and the function uses it repeatedly."""
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

    @reads("map")
    def read_map(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Read a high-level map without a loop: its elements are computed where they are read."""
        function = self.force(arguments[0])
        source = self.read_data(arguments[1])
        element = pattern.argument("s")
        assert isinstance(element, RiseType)
        block = Block(arg_types=[element])
        with self.emitter.inside(block):
            self.emitter.add(ReturnOp([self.applied(function, [block.args[0]])]))
        return self.add(codegen.MapReadOp(source, Region(block), result_type(pattern)))

    @reads("mapSeq", "mapSeqUnroll", "mapPar")
    def read_materialised(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Store the result of a low-level map, which is a loop, in a buffer."""
        return self.materialised(
            result_type(pattern), lambda target: self.store_map(pattern, arguments, target)
        )

    @stores("asVector")
    def store_vectors(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Store computed scalars one by one, and scalars that are only read as vectors."""
        if is_computed(arguments[0]):
            (source,), _ = uncurry(pattern.type)
            self.store(arguments[0], self.add(STORE_OPS["asVector"](target, source)))
        else:
            self.copy(self.read_data(self.apply(Partial(pattern, ()), arguments)), target)

    def store_elements(self, type: RiseType, scalars: list[SSAValue], target: SSAValue) -> None:
        """Store the next builtin scalars as a value's elements, removing them from the list."""
        if isinstance(type, ArrayType):
            for number in range(type.length.constant):
                place = self.add(codegen.IdxOp(target, self.emitter.constant(number)))
                self.store_elements(type.element, scalars, place)
        else:
            self.copy(self.wrap(type, scalars), target)

    @reads("toMem")
    def read_to_memory(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        type = result_type(pattern)
        asks_registers = pattern.argument("space") == "register"
        if asks_registers and self.reads_by_number and fits_registers(type, self.most_registers):
            return self.wrap(type, self.unwrap(self.read_data(arguments[0])))
        return self.materialised(type, lambda target: self.store(arguments[0], target))

    @contextmanager
    def in_registers(self) -> Generator[None]:
        """In this context, elements are read with constant indices, so they need no buffer."""
        before, self.reads_by_number = self.reads_by_number, True
        try:
            yield
        finally:
            self.reads_by_number = before

    # Let

    @reads("let")
    def read_let(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.apply(self.force(arguments[1]), [self.bind(arguments[0])])

    @stores("let")
    def store_let(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store_applied(self.force(arguments[1]), [self.bind(arguments[0])], target)
