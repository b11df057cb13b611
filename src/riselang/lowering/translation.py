"""The core of phase 1: terms, applications, copies and memory; each pattern has its own rules.

`read` translates a term to a value that is read (the continuation translation), `store` to code
that writes it to a target (the acceptor translation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, UnitAttr
from xdsl.dialects.func import CallOp
from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Block, Operation, SSAValue

from riselang.dialects.rise import codegen
from riselang.dialects.rise.codegen_views import ViewOp
from riselang.dialects.rise.foreign_functions import FOREIGN
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lane_types import unwrap_type
from riselang.dialects.rise.pattern_registry import TUPLE
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    contains_array,
    leaves,
    uncurry,
)
from riselang.lowering.binding import (
    COPIES,
    SELECTIONS,
    is_in_buffer,
    is_index_arithmetic,
    repeats_elements,
)
from riselang.lowering.callees import Callee, Callees, buffer_types, callee_of, whole_buffers
from riselang.lowering.functional_values import (
    Closure,
    Delayed,
    DependentClosure,
    Environment,
    Lazy,
    Partial,
    ReadRule,
    StoreRule,
    Value,
)
from riselang.lowering.loop_emitter import SEGMENTS, Emitter, LoopKind, segment_sizes
from riselang.lowering.runtime_checks import CheckLocations, Checks
from riselang.lowering.stored_values import data_type, is_in_memory
from riselang.nat import Nat
from riselang.pipelines import GPU
from riselang.support.errors import LimitationError
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    operation_type,
    spine,
    subterms,
)
from riselang.term.scalar_embedding import embed_tree, scalar_leaves
from riselang.term.size_substitution import apply_dependent
from riselang.term.view_inverses import is_view

MAX_REGISTER_ELEMENTS, MAX_GPU_REGISTER_ELEMENTS = 32, 64
"""Larger arrays are stored in memory. A GPU thread has more registers than a CPU thread."""
TEMPORARY = "rise.temporary"
"""Marks the allocations that lowering emits; `temporaries.py` moves them."""


class Translation:
    """The state of a translation: its emitter, and the rules of the patterns."""

    read_rules: Mapping[str, ReadRule]
    store_rules: Mapping[str, StoreRule]

    def __init__(
        self,
        emitter: Emitter,
        loops: str,
        checks: Checks | None = None,
        callees: Callees | None = None,
    ):
        self.emitter = emitter
        self.callees = callees
        self.for_gpu = loops == GPU
        self.loops = "scf" if self.for_gpu else loops
        self.max_register_elements = (
            MAX_GPU_REGISTER_ELEMENTS if self.for_gpu else MAX_REGISTER_ELEMENTS
        )
        self.checks = checks or Checks(Block(), CheckLocations())

    @property
    def unordered_kind(self) -> LoopKind:
        """The default kind of a loop whose iterations may run in any order."""
        return LoopKind.PARALLEL if self.for_gpu else LoopKind.SEQUENTIAL

    def loop_dialect(self, pattern: Pattern) -> str:
        """Return the dialect of a pattern's loop; GPU kernels have no affine loops."""
        return self.loops if self.for_gpu else pattern.to or self.loops

    # Terms

    def read(self, term: Term, environment: Environment) -> Value:
        match term:
            case Bound(index):
                return environment[-1 - index]
            case Lambda():
                return Closure(term, environment)
            case Pattern():
                return Partial(term, ())
            case Apply():
                head, arguments = spine(term)
                delayed = [Delayed(argument, environment) for argument in arguments]
                return self.apply(self.read(head, environment), delayed)
            case DepLambda():
                return DependentClosure(term, environment)
            case DepApply():
                function = self.read(term.function, environment)
                assert isinstance(function, DependentClosure)
                return self.read(
                    apply_dependent(function.function, term.argument), function.environment
                )
            case Literal() if contains_array(term.type):
                return self.read_constant(term)
            case Literal() | Scalar():
                operands = scalar_leaves(term)
                values: list[SSAValue] = []
                for operand in operands:
                    values.append(self.read_data(Delayed(operand, environment)))
                return self.add(embed_tree(term, operands, values))
            case Embed():
                values = []
                for operand in term.operands:
                    values.append(self.read_data(Delayed(operand, environment)))
                return self.add(EmbedOp(values, term.region.region.clone(), operation_type(term)))
            case Free(name):
                raise LimitationError(f"the term has the free variable {name}", term.location)
            case _:
                raise TypeError(f"{term} is not a term")

    def force(self, lazy: Lazy) -> Value:
        return self.read(lazy.term, lazy.environment) if isinstance(lazy, Delayed) else lazy

    def read_data(self, lazy: Lazy) -> SSAValue:
        value = self.force(lazy)
        assert isinstance(value, SSAValue), value
        return value

    def add(self, op: Operation) -> SSAValue:
        return self.emitter.add(op).results[0]

    # Application

    def apply(self, function: Value, arguments: Sequence[Lazy]) -> Value:
        if not arguments:
            return function
        if isinstance(function, Closure):
            body, environment, remaining = self.enter(function, arguments)
            return self.apply(self.read(body, environment), remaining)
        if isinstance(function, Callee):
            if len(arguments) < len(function.inputs):
                return self.apply(Closure(function.function, ()), arguments)
            return self.materialize(
                function.result, lambda target: self.call(function, arguments, target)
            )
        assert isinstance(function, Partial)
        pattern, all_arguments = function.pattern, (*function.arguments, *arguments)
        arity = pattern.spec.arity
        if len(all_arguments) < arity:
            computed = [self.compute_once(argument) for argument in all_arguments]
            return Partial(pattern, tuple(computed))
        is_foreign = pattern.spec.foreign is not None
        rule = self.read_rules.get(FOREIGN if is_foreign else pattern.spec.name)
        if rule is None:
            raise LimitationError(
                f'{pattern.spec.name} compiles only with loops="gpu"; without a GPU, run it with '
                'the interpreter (backend="interpret")',
                pattern.location,
            )
        with self.emitter.located_at(pattern):
            result = rule(pattern, all_arguments[:arity])
        return self.apply(result, all_arguments[arity:])

    def compute_once(self, argument: Lazy) -> Lazy:
        """Compute an argument of a function that may be applied often, if it takes a loop."""
        if not isinstance(argument, Delayed) or not _is_loop(argument.term):
            return argument
        is_function = isinstance(argument.term.type, FunType)
        return self.force(argument) if is_function else self.store_if_computed(argument)

    def read_application(self, function: Value, arguments: Sequence[Lazy]) -> SSAValue:
        """Apply a function to all its arguments, and return the resulting data."""
        result = self.apply(function, arguments)
        assert isinstance(result, SSAValue), result
        return result

    def enter(
        self, closure: Closure, arguments: Sequence[Lazy]
    ) -> tuple[Term, Environment, Sequence[Lazy]]:
        """Bind the arguments of a lambda: return its body, its environment, the other arguments."""
        body: Term = closure.function
        environment = closure.environment
        remaining = list(arguments)
        while remaining and isinstance(body, Lambda):
            environment = (*environment, self.force(remaining.pop(0)))
            body = body.body
        return body, environment, remaining

    def store(self, lazy: Lazy, target: SSAValue) -> None:
        if isinstance(lazy, Delayed) and isinstance(lazy.term, Apply):
            head, arguments = spine(lazy.term)
            delayed = [Delayed(argument, lazy.environment) for argument in arguments]
            self.store_application(self.read(head, lazy.environment), delayed, target)
        else:
            self.copy(self.read_data(lazy), target)

    def store_application(
        self, function: Value, arguments: Sequence[Lazy], target: SSAValue
    ) -> None:
        if isinstance(function, Closure):
            body, environment, remaining = self.enter(function, arguments)
            if remaining:
                self.store_application(self.read(body, environment), remaining, target)
            else:
                self.store(Delayed(body, environment), target)
            return
        if isinstance(function, Callee):
            self.call(function, arguments, target)
            return
        assert isinstance(function, Partial)
        pattern, all_arguments = function.pattern, (*function.arguments, *arguments)
        is_foreign = pattern.spec.foreign is not None
        rule = self.store_rules.get(FOREIGN if is_foreign else pattern.spec.name)
        if rule is not None and len(all_arguments) == pattern.spec.arity:
            with self.emitter.located_at(pattern):
                rule(pattern, all_arguments, target)
            return
        self.copy(self.read_application(function, arguments), target)

    def call(self, callee: Callee, arguments: Sequence[Lazy], target: SSAValue) -> None:
        """Call a function of the module with the target, or with a buffer that is copied to it."""
        assert self.callees is not None
        call_operands = [
            each
            for type, argument in zip(callee.inputs, arguments, strict=True)
            for each in self.call_arguments(type, self.read_data(argument))
        ]
        result_buffers = buffer_types(callee.result)
        outputs = whole_buffers(target)
        is_whole = outputs is not None and [each.type for each in outputs] == result_buffers
        if outputs is None or not is_whole:
            outputs = self.allocate_buffers(callee.result)
        self.emitter.add(CallOp(self.callees.function_name(callee), [*outputs, *call_operands], []))
        if not is_whole:
            self.copy(self.add(codegen.CastOp(outputs, callee.result)), target)

    def call_arguments(self, type: RiseType, value: SSAValue) -> list[SSAValue]:
        """Return a value as call arguments: arrays are passed as buffers, copied if necessary."""
        if isinstance(type, TupleType):
            parts = (self.component(step, value) for step in (codegen.FstOp, codegen.SndOp))
            types = components(type)
            return [
                each
                for part_type, part in zip(types, parts, strict=True)
                for each in self.call_arguments(part_type, part)
            ]
        if not isinstance(type, ArrayType):
            return self.unwrap(value)
        buffers = whole_buffers(value)
        if buffers is not None and [each.type for each in buffers] == buffer_types(type):
            return buffers
        kept = self.allocate_buffers(type)
        self.copy(value, self.add(codegen.CastOp(kept, type)))
        return kept

    def copy(self, value: SSAValue, target: SSAValue) -> None:
        """Store a value that is only read, element by element."""
        type = data_type(value)
        if isinstance(type, ScalarType | VectorType | IdxType):
            self.emitter.add(codegen.AssignOp(value, target))
        elif isinstance(type, TupleType):
            for step in (codegen.FstOp, codegen.SndOp):
                self.copy(self.component(step, value), self.component(step, target))
        elif isinstance(type, ArrayType):
            self.emit_loop(type.length, self.loops, lambda index: self.copy(
                self.add(codegen.IdxOp(value, index)), self.add(codegen.IdxOp(target, index))
            ), self.unordered_kind)  # fmt: skip
        else:
            raise LimitationError(
                f"storing a value of type {format_type(type)} is not supported yet"
            )

    def component(self, step: type[ViewOp], value: SSAValue) -> SSAValue:
        position, type = 0 if step is codegen.FstOp else 1, data_type(value)
        if not isinstance(type, TupleType):
            raise LimitationError(
                f"a value of type {format_type(type)} cannot be carried by a loop yet"
            )
        return self.add(step(value, components(type)[position]))

    def emit_loop(
        self,
        length: Nat,
        dialect: str,
        body: Callable[[SSAValue], None],
        kind: LoopKind = LoopKind.SEQUENTIAL,
    ) -> None:
        def without_values(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(index)
            return ()

        self.emitter.loop(length, dialect, kind, (), without_values)

    # Memory

    def read_constant(self, term: Literal) -> SSAValue:
        """Return an array of constants, which is in a buffer of the module."""
        assert self.callees is not None
        buffer = self.add(self.callees.constant(term.attribute))
        return self.add(codegen.CastOp([buffer], term.type))

    def materialize(self, type: RiseType, fill: Callable[[SSAValue], None]) -> SSAValue:
        """Fill new buffers with a value, and return a cast after the code that fills them."""
        buffers = self.allocate_buffers(type)
        fill(self.add(codegen.CastOp(buffers, type)))
        return self.add(codegen.CastOp(buffers, type))

    def bind(self, lazy: Lazy) -> Value:
        """Store a computed value with several uses in a buffer; a view or a scalar needs none."""
        if isinstance(lazy, Delayed) and isinstance(lazy.term, Lambda):
            return self.named_function(lazy.term) or self.force(lazy)
        if not isinstance(lazy, Delayed) or is_view(lazy.term):
            return self.force(lazy)
        head, arguments = spine(lazy.term)
        if isinstance(head, Pattern) and head.spec is TUPLE and len(arguments) == 2:
            parts = [self.bind(Delayed(part, lazy.environment)) for part in arguments]
            return self.apply(Partial(head, ()), parts)
        if isinstance(head, Pattern) and repeats_elements(head, arguments):
            *others, source = (Delayed(part, lazy.environment) for part in arguments)
            return self.apply(Partial(head, ()), [*others, self.bind(source)])
        if not contains_array(lazy.term.type) or is_in_buffer(lazy.term):
            return self.force(lazy)
        if is_index_arithmetic(lazy.term):
            return self.force(lazy)
        if isinstance(head, Pattern) and head.spec.name in SELECTIONS:
            # What is selected may be in memory, wherever it is.
            return self.store_value(self.read_data(lazy))
        return self.materialize(lazy.term.type, lambda target: self.store(lazy, target))

    def named_function(self, function: Lambda) -> Callee | None:
        """Return a named function as a function of the module if possible; GPU code has none."""
        return callee_of(function) if self.callees is not None and not self.for_gpu else None

    def store_if_computed(self, lazy: Lazy) -> SSAValue:
        """Return a value that is read many times; a computed one is stored in a buffer."""
        value = self.bind(lazy)
        assert isinstance(value, SSAValue), value
        return self.store_value(value)

    def store_value(self, value: SSAValue) -> SSAValue:
        """Return a value that is read many times; the parts that are computed are stored."""
        type = data_type(value)
        if not contains_array(type) or is_in_memory(value):
            return value
        if isinstance(type, TupleType):
            first = self.store_value(self.component(codegen.FstOp, value))
            second = self.store_value(self.component(codegen.SndOp, value))
            return self.add(codegen.TupleOp(first, second))
        return self.store_copy(value)

    def store_copy(self, value: SSAValue) -> SSAValue:
        """Copy a value to a new buffer."""
        return self.materialize(data_type(value), lambda target: self.copy(value, target))

    def allocate_buffers(self, type: RiseType) -> list[SSAValue]:
        values: list[SSAValue] = []
        for lengths, leaf in leaves(type):
            shape = [length.constant if length.is_constant else DYNAMIC_INDEX for length in lengths]
            open_lengths = [
                self.emitter.length_value(length) for length in lengths if not length.is_constant
            ]
            op = AllocaOp.create(
                operands=open_lengths,
                result_types=[_buffer_type(leaf, tuple(shape))],
                properties={SEGMENTS: segment_sizes(len(open_lengths), 0)},
                attributes={TEMPORARY: UnitAttr()},
            )
            values.append(self.add(op))
        return values

    def unwrap(self, value: SSAValue) -> list[SSAValue]:
        """Return the builtin scalars of a value, whose arrays have constant lengths."""
        owner = value.owner
        if isinstance(owner, codegen.ListOp | codegen.TupleOp):
            return [scalar for part in owner.operands for scalar in self.unwrap(part)]
        type = data_type(value)
        if isinstance(type, ScalarType | VectorType | IdxType):
            builtin_type = IndexType() if isinstance(type, IdxType) else unwrap_type(type)
            if isinstance(owner, codegen.CastOp) and owner.sources[0].type == builtin_type:
                return [owner.sources[0]]
            return [self.add(codegen.CastOp([value], builtin_type))]
        if isinstance(type, ArrayType):
            scalars: list[SSAValue] = []
            for number in range(type.length.constant):
                index = self.emitter.constant(number)
                scalars += self.unwrap(self.add(codegen.IdxOp(value, index)))
            return scalars
        first = self.unwrap(self.component(codegen.FstOp, value))
        return first + self.unwrap(self.component(codegen.SndOp, value))

    def wrap(self, type: RiseType, scalars: list[SSAValue]) -> SSAValue:
        """Build a value of `type` from the next builtin scalars, removing them from the list."""
        if isinstance(type, ScalarType | VectorType | IdxType):
            return self.add(codegen.CastOp([scalars.pop(0)], type))
        if isinstance(type, ArrayType):
            count = type.length.constant
            elements = [self.wrap(type.element, scalars) for _ in range(count)]
            return self.add(codegen.ListOp(elements, type))
        first_type, second_type = components(type)
        first = self.wrap(first_type, scalars)
        return self.add(codegen.TupleOp(first, self.wrap(second_type, scalars)))


@lru_cache(maxsize=1 << 10)
def _buffer_type(leaf: ScalarType, shape: tuple[int, ...]) -> MemRefType:
    return MemRefType(leaf.storage, shape)


def _is_loop(term: Term) -> bool:
    """Whether a pattern of a term becomes a loop, possibly one that copies an array."""
    patterns = [part for part in subterms(term) if isinstance(part, Pattern)]
    return any(
        part.spec.role in (Role.LOOP, Role.PARALLEL)
        or (part.spec.name in COPIES and contains_array(result_type(part)))
        for part in patterns
    )


def result_type(pattern: Pattern) -> RiseType:
    return uncurry(pattern.type)[1]


def size_argument(pattern: Pattern, name: str) -> Nat:
    value = pattern.argument(name)
    assert isinstance(value, Nat)
    return value
