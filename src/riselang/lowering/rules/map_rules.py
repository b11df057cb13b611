"""Lowering rules for maps, lets and copies, which become loops and buffers."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, Region, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import STORE_OPS
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.pattern_registry import GENERATE, LET, MAP, MAP_PAR, TENSOR_MMA, ZIP
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    contains_array,
    idx,
    leaves,
    uncurry,
)
from riselang.lowering.functional_values import Closure, Delayed, Lazy, Partial, Value
from riselang.lowering.layouts import (
    STORABLE_VIEWS,
    LayoutRules,
    is_layout,
    is_lossless,
    layout_of,
)
from riselang.lowering.loop_emitter import LoopKind
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.rules.stored_arrays import StoredArrays, array_key, is_computed
from riselang.lowering.rules.window_rules import WindowRules
from riselang.lowering.stored_values import data_type, is_in_memory
from riselang.lowering.translation import result_type, size_argument
from riselang.term.nodes import Lambda, Pattern, Term, has_pattern, spine
from riselang.term.substitution import is_used_often, parts_used_often


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
    if head.spec.name in STORABLE_VIEWS or (head.spec is MAP and is_layout(arguments[0])):
        return is_computed_whole(arguments[-1])
    is_loop = head.spec.has_target or head.spec.role is Role.GPU
    return is_loop and head.spec not in (MAP, GENERATE)


def is_argument_computed_whole(lazy: Lazy) -> bool:
    return isinstance(lazy, Delayed) and is_computed_whole(lazy.term)


def loop_kind(pattern: Pattern) -> LoopKind:
    if pattern.spec.role is Role.PARALLEL:
        return LoopKind.PARALLEL
    if pattern.spec.role is Role.GPU:
        return _gpu_loop_kind(pattern)
    is_unrolled = pattern.spec.name.endswith("Unroll")
    return LoopKind.UNROLLED if is_unrolled else LoopKind.SEQUENTIAL


def _gpu_loop_kind(pattern: Pattern) -> LoopKind:
    part = pattern.spec.name.removeprefix("map").lower()
    if "d" not in pattern.spec.parameters:
        return LoopKind(part)
    return LoopKind(f"{part}_{'xyz'[size_argument(pattern, 'd').constant]}")


def _is_empty(type: RiseType) -> bool:
    """Whether a value of this type has no scalars."""
    return all(any(length == 0 for length in lengths) for lengths, _ in leaves(type))


def fits_in_registers(type: RiseType, max_elements: int) -> bool:
    """Whether an array has at most `most` elements, each a scalar or vector."""
    count = 1
    while isinstance(type, ArrayType):
        if not type.length.is_constant:
            return False
        count *= type.length.constant
        type = type.element
    return count <= max_elements and isinstance(type, ScalarType | VectorType)


class MapRules(WindowRules, LayoutRules, StoredArrays):
    """Rules for the patterns that compute elements, and for storing values in buffers."""

    reads_constant_indices = False
    """Whether array elements are read with constant indices."""

    @stores("map", "mapSeq", "mapSeqUnroll", "mapPar", "mapRank")
    def store_map(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function = self.force(arguments[0])
        layout = layout_of(function) if pattern.spec is MAP and is_computed(arguments[1]) else None
        if layout is not None and (is_lossless(layout) or is_argument_computed_whole(arguments[1])):
            self.store(arguments[1], self.target_before_map(layout, target))
            return
        kind = self.unordered_kind if pattern.spec is MAP else loop_kind(pattern)
        windows = self.match_windows(arguments[1]) if kind is LoopKind.SEQUENTIAL else None
        if windows is not None:
            self.store_windows(windows, function, target, self.loop_dialect(pattern))
            return
        elements = self.element_reader(arguments[1])
        if kind is LoopKind.UNROLLED and self.can_compute_before_storing(result_type(pattern)):
            self.compute_then_store(pattern, function, elements, target)
            return

        def body(index: SSAValue) -> None:
            element = self.store_reused_element(function, elements(index))
            destination = self.add(codegen.IdxOp(target, index))
            self.store_application(function, [element], destination)

        self.emit_loop(size_argument(pattern, "n"), self.loop_dialect(pattern), body, kind)

    def can_compute_before_storing(self, type: RiseType) -> bool:
        """Whether the result of an unrolled map is a few scalars or vectors."""
        assert isinstance(type, ArrayType)
        is_flat = isinstance(type.element, ScalarType | VectorType)
        is_small = is_flat and fits_in_registers(type, self.max_register_elements)
        return is_small and self.emitter.can_unroll(type.length)

    def compute_then_store(
        self,
        pattern: Pattern,
        function: Value,
        elements: Callable[[SSAValue], SSAValue],
        target: SSAValue,
    ) -> None:
        """Compute all elements before storing them, so that shared operands are read once."""
        scalars: list[SSAValue] = []

        def body(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            element = self.store_reused_element(function, elements(index))
            scalars.extend(self.unwrap(self.read_application(function, [element])))
            return ()

        dialect, kind = self.loop_dialect(pattern), LoopKind.UNROLLED
        self.emitter.loop(size_argument(pattern, "n"), dialect, kind, [], body)
        self.store_elements(result_type(pattern), scalars, target)

    def element_reader(self, lazy: Lazy) -> Callable[[SSAValue], SSAValue]:
        """Return a function that reads the elements of an array, in order.

        The function of a map is applied directly to each element, without a view of the map, and
        that of a generate to each index.
        """
        head, arguments = spine(lazy.term) if isinstance(lazy, Delayed) else (None, [])
        if isinstance(lazy, Delayed) and isinstance(head, Pattern) and head.spec is GENERATE:
            return self.generated_element_reader(head, Delayed(arguments[0], lazy.environment))
        if isinstance(lazy, Delayed) and isinstance(head, Pattern) and len(arguments) == 2:
            delayed_arguments = [Delayed(argument, lazy.environment) for argument in arguments]
            if head.spec is MAP:
                return self.mapped_element_reader(head, delayed_arguments)
            if head.spec is ZIP:
                first, second = (
                    self.element_reader(delayed_arguments[0]),
                    self.element_reader(delayed_arguments[1]),
                )
                return lambda index: self.add(codegen.TupleOp(first(index), second(index)))
        source = self.read_data(lazy)
        return lambda index: self.add(codegen.IdxOp(source, index))

    def mapped_element_reader(
        self, pattern: Pattern, arguments: Sequence[Lazy]
    ) -> Callable[[SSAValue], SSAValue]:
        function, elements = self.force(arguments[0]), self.element_reader(arguments[1])

        def element(index: SSAValue) -> SSAValue:
            value = elements(index)
            with self.emitter.located_at(pattern):
                return self.read_application(function, [value])

        return element

    def generated_element_reader(
        self, pattern: Pattern, argument: Lazy
    ) -> Callable[[SSAValue], SSAValue]:
        function, index_type = self.force(argument), idx(size_argument(pattern, "n"))

        def element(index: SSAValue) -> SSAValue:
            with self.emitter.located_at(pattern):
                return self.read_application(
                    function, [self.add(codegen.CastOp([index], index_type))]
                )

        return element

    def store_reused_element(self, function: Value, value: SSAValue) -> SSAValue:
        """Store an element in a buffer if it is computed and the function uses it repeatedly."""
        if not isinstance(function, Closure) or _is_empty(function.function.body.type):
            return value
        body = function.function.body
        if self.for_gpu and has_pattern(body, TENSOR_MMA.name):
            return value  # tensor cores read their operands from global memory
        if not isinstance(data_type(value), TupleType):
            return self.store_if_computed(value) if is_used_often(body) else value
        often = parts_used_often(body)
        if not any(often) or is_in_memory(value):
            return value
        parts = [self.component(step, value) for step in (codegen.FstOp, codegen.SndOp)]
        first, second = (
            self.store_if_computed(part) if is_often else part
            for part, is_often in zip(parts, often, strict=True)
        )
        return self.add(codegen.TupleOp(first, second))

    @reads("map")
    def read_map(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Read a high-level map without a loop: its elements are computed where they are read.

        It becomes a loop if its elements would be computed too often.
        """
        key = array_key(pattern, arguments)
        if key in self.stored_arrays:
            is_parallel = self.stored_arrays[key] is LoopKind.PARALLEL and not self.for_gpu
            spec = MAP_PAR if is_parallel else MAP
            loop = Pattern(spec, pattern.arguments, pattern.to, pattern.location)
            return self.read_materialized(loop, arguments)
        function = self.force(arguments[0])
        source = self.read_data(arguments[1])
        element = pattern.argument("s")
        assert isinstance(element, RiseType)
        block = Block(arg_types=[element])
        with self.emitter.inside_block(block):
            self.emitter.add(ReturnOp([self.read_application(function, [block.args[0]])]))
        op = codegen.MapReadOp(source, Region(block), result_type(pattern))
        self.record_array(op, key)
        return self.add(op)

    @reads("mapSeq", "mapSeqUnroll", "mapPar", "mapRank")
    def read_materialized(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """Store the result of a low-level map, which is a loop, in a buffer."""
        return self.materialize(
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
                destination = self.add(codegen.IdxOp(target, self.emitter.constant(number)))
                self.store_elements(type.element, scalars, destination)
        else:
            self.copy(self.wrap(type, scalars), target)

    @reads("toMem")
    def read_to_memory(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        type = result_type(pattern)
        if not contains_array(type) and not self.for_gpu:
            # A scalar is computed once, and kept in a register.
            return self.wrap(type, self.unwrap(self.read_data(arguments[0])))
        asks_registers = pattern.argument("space") == "register"
        if (
            asks_registers
            and self.reads_constant_indices
            and fits_in_registers(type, self.max_register_elements)
        ):
            return self.wrap(type, self.unwrap(self.read_data(arguments[0])))
        return self.materialize(type, lambda target: self.store(arguments[0], target))

    @contextmanager
    def in_registers(self) -> Generator[None]:
        """In this context, elements are read with constant indices, so they need no buffer."""
        previous, self.reads_constant_indices = self.reads_constant_indices, True
        try:
            yield
        finally:
            self.reads_constant_indices = previous

    # Let

    @reads("let")
    def read_let(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.apply(self.force(arguments[1]), [self.bind(arguments[0])])

    @stores("let")
    def store_let(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store_application(self.force(arguments[1]), [self.bind(arguments[0])], target)
