"""Phase 1: from a term to loops over `rise.codegen` access paths (seed 000, section 4.2.1).

`read` translates a term to a value that is read (the continuation translation), `store` to code
that fills a target (the acceptor translation). Functions exist only while translating: a lambda or
a partially applied pattern is a Python value, applied where it meets its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.dialects.memref import AllocaOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise import codegen
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.functional import EmbedOp, ReturnOp
from riselang.dialects.rise.schemes import Role
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    NatAttr,
    RiseType,
    ScalarType,
    TupleType,
    array,
    components,
    contains_array,
    idx,
    leaves,
    uncurry,
)
from riselang.dialects.rise.types import index as index_type
from riselang.errors import LimitationError
from riselang.lowering.loops import Emitter, LoopKind
from riselang.nat import Nat
from riselang.term.conversion import conversion_op
from riselang.term.embedding import embed_tree, scalar_leaves
from riselang.term.nodes import (
    Apply,
    Bound,
    Embed,
    Free,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
    spine,
)
from riselang.term.views import is_view

TEMPORARY = "rise.temporary"
"""Marks the allocations that lowering makes, which a later step places."""


@dataclass(frozen=True)
class Closure:
    """A lambda with the values of the variables around it."""

    function: Lambda
    environment: Environment


@dataclass(frozen=True)
class Partial:
    """A pattern with the arguments it has so far."""

    pattern: Pattern
    arguments: tuple[Lazy, ...]


@dataclass(frozen=True)
class Delayed:
    """An argument not translated yet: it may be read, or stored straight into its target."""

    term: Term
    environment: Environment


Value: TypeAlias = "SSAValue | Closure | Partial"
Lazy: TypeAlias = "SSAValue | Closure | Partial | Delayed"
Environment: TypeAlias = "tuple[Value, ...]"
Step: TypeAlias = "Callable[[SSAValue, SSAValue], tuple[Value, list[Lazy]]]"
"""From an index and the value so far to a function and its arguments, which give the next value."""


def store_program(
    term: Term,
    inputs: Sequence[SSAValue],
    target: SSAValue,
    point: InsertPoint,
    loops: str,
    overlaps: bool,
) -> None:
    """Emit at `point` the loops that run the closed `term` on `inputs` and fill `target`.

    Where the target overlaps the inputs, the whole result is computed before it is stored.
    """
    body = term
    for _ in inputs:
        assert isinstance(body, Lambda)
        body = body.body
    translator = _Translator(Emitter(point), loops)
    result = Delayed(body, tuple(inputs))
    if overlaps:
        kept = translator.materialised(
            data_type(target), lambda place: translator.store(result, place)
        )
        translator.copy(kept, target)
    else:
        translator.store(result, target)


class _Translator:
    def __init__(self, emitter: Emitter, loops: str):
        self.emitter = emitter
        self.loops = loops
        self.read_rules: dict[str, Callable[[Pattern, Sequence[Lazy]], Value]] = {
            "map": self.read_map,
            "mapSeq": self.read_materialised,
            "mapSeqUnroll": self.read_materialised,
            "mapPar": self.read_materialised,
            "reduce": self.read_reduce,
            "reduceSeq": self.read_reduce,
            "reduceSeqUnroll": self.read_reduce,
            "scan": self.read_scan,
            "scanSeq": self.read_scan,
            "iterate": self.read_iterate,
            "iterateSeq": self.read_iterate,
            "toMem": self.read_to_memory,
            "concat": self.read_concat,
            "padConst": self.read_pad_const,
            "gather": self.read_gather,
            "reorder": self.read_reorder,
            "generate": self.read_generate,
            "at": self.read_at,
            "sliceAt": self.read_slice_at,
            "updateAt": self.read_update_at,
            "scatter": self.read_scatter,
            "scatterWith": self.read_scatter_with,
            "fromIdx": self.read_from_idx,
            "clampIdx": self.read_clamp_idx,
            "zip": self.read_zip,
            "tuple": self.read_tuple,
            "fst": self.read_view(codegen.FstOp),
            "snd": self.read_view(codegen.SndOp),
            "unzip": self.read_view(codegen.UnzipOp),
            "split": self.read_view(codegen.SplitOp),
            "join": self.read_view(codegen.JoinOp),
            "transpose": self.read_view(codegen.TransposeOp),
            "reverse": self.read_view(codegen.ReverseOp),
            "take": self.read_view(codegen.TakeOp),
            "drop": self.read_view(codegen.DropOp),
            "slide": self.read_slide,
            "pad": self.read_pad(codegen.PadOp),
            "padWrap": self.read_pad(codegen.PadWrapOp),
            "padReflect": self.read_pad(codegen.PadReflectOp),
            "let": self.read_let,
        }
        self.store_rules: dict[str, Callable[[Pattern, Sequence[Lazy], SSAValue], None]] = {
            "map": self.store_map,
            "mapSeq": self.store_map,
            "mapSeqUnroll": self.store_map,
            "mapPar": self.store_map,
            "generate": self.store_generate,
            "concat": self.store_concat,
            "scan": self.store_scan,
            "scanSeq": self.store_scan,
            "reverse": self.store_through(codegen.ReverseAccOp),
            "zip": self.store_zip,
            "tuple": self.store_tuple,
            "unzip": self.store_through(codegen.UnzipAccOp),
            "split": self.store_through(codegen.SplitAccOp),
            "join": self.store_through(codegen.JoinAccOp),
            "transpose": self.store_through(codegen.TransposeAccOp),
            "let": self.store_let,
        }

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
                return self.add(EmbedOp(values, term.region.region.clone(), scalar_type(term)))
            case Free(name):
                raise LimitationError(f"the term has the free variable {name}", term.location)
            case _:
                raise TypeError(f"{term} is no term")

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
            body, environment, rest = self.enter(function, arguments)
            return self.apply(self.read(body, environment), rest)
        assert isinstance(function, Partial)
        pattern, given = function.pattern, (*function.arguments, *arguments)
        arity = pattern.spec.arity
        if len(given) < arity:
            return Partial(pattern, given)
        rule = self.read_rules.get(pattern.spec.name)
        if rule is None:
            raise LimitationError(
                f"{pattern.spec.name} cannot be compiled yet; the interpreter runs it "
                '(backend="interpret")',
                pattern.location,
            )
        return self.apply(rule(pattern, given[:arity]), given[arity:])

    def enter(
        self, closure: Closure, arguments: Sequence[Lazy]
    ) -> tuple[Term, Environment, Sequence[Lazy]]:
        """Bind as many arguments as the lambda takes: its body, the environment, the others."""
        body: Term = closure.function
        environment = closure.environment
        rest = list(arguments)
        while rest and isinstance(body, Lambda):
            environment = (*environment, self.force(rest.pop(0)))
            body = body.body
        return body, environment, rest

    def store(self, lazy: Lazy, target: SSAValue) -> None:
        if isinstance(lazy, Delayed) and isinstance(lazy.term, Apply):
            head, arguments = spine(lazy.term)
            delayed = [Delayed(argument, lazy.environment) for argument in arguments]
            self.store_applied(self.read(head, lazy.environment), delayed, target)
        else:
            self.copy(self.read_data(lazy), target)

    def store_applied(self, function: Value, arguments: Sequence[Lazy], target: SSAValue) -> None:
        if isinstance(function, Closure):
            body, environment, rest = self.enter(function, arguments)
            if rest:
                self.store_applied(self.read(body, environment), rest, target)
            else:
                self.store(Delayed(body, environment), target)
            return
        assert isinstance(function, Partial)
        pattern, given = function.pattern, (*function.arguments, *arguments)
        rule = self.store_rules.get(pattern.spec.name)
        if rule is not None and len(given) == pattern.spec.arity:
            rule(pattern, given, target)
            return
        result = self.apply(function, arguments)
        assert isinstance(result, SSAValue)
        self.copy(result, target)

    def copy(self, value: SSAValue, target: SSAValue) -> None:
        """Store a value that is only read, element by element."""
        type = data_type(value)
        if isinstance(type, ScalarType | IdxType):
            self.emitter.add(codegen.AssignOp(value, target))
        elif isinstance(type, TupleType):
            for step in (codegen.FstOp, codegen.SndOp):
                self.copy(self.component(step, value), self.component(step, target))
        else:
            assert isinstance(type, ArrayType)
            self.each(type.length, self.loops, lambda index: self.copy(
                self.add(codegen.IdxOp(value, index)), self.add(codegen.IdxOp(target, index))
            ))  # fmt: skip

    def component(
        self, step: type[codegen.FstOp] | type[codegen.SndOp], value: SSAValue
    ) -> SSAValue:
        position = 0 if step is codegen.FstOp else 1
        return self.add(step(value, components(data_type(value))[position]))

    def each(
        self,
        length: Nat,
        dialect: str,
        body: Callable[[SSAValue], None],
        kind: LoopKind = LoopKind.SEQUENTIAL,
    ) -> None:
        def without_values(index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(index)
            return ()

        self.emitter.loop(constant(length), dialect, kind, (), without_values)

    # Maps

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

    def materialised(self, type: RiseType, fill: Callable[[SSAValue], None]) -> SSAValue:
        """A value in memory of its own, read through a cast that stands behind what fills it."""
        buffers = self.buffers(type)
        fill(self.add(codegen.CastOp(buffers, type)))
        return self.add(codegen.CastOp(buffers, type))

    def buffers(self, type: RiseType) -> list[SSAValue]:
        values: list[SSAValue] = []
        for lengths, leaf in leaves(type):
            shape = [constant(length) for length in lengths]
            op = AllocaOp.get(leaf.element, shape=shape)
            op.attributes[TEMPORARY] = UnitAttr()
            values.append(self.add(op))
        return values

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
        return carry(type, constant(length), pattern.to or self.loops, init, step)

    def carry_in_registers(
        self, type: RiseType, length: int, dialect: str, init: Lazy, step: Step
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
        self, type: RiseType, length: int, dialect: str, init: Lazy, step: Step
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

        length, dialect = constant(size(pattern, "n")), pattern.to or self.loops
        self.emitter.loop(length, dialect, LoopKind.SEQUENTIAL, inits, body)

    def read_to_memory(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.materialised(
            result_type(pattern), lambda target: self.store(arguments[0], target)
        )

    def unwrap(self, value: SSAValue) -> list[SSAValue]:
        """The plain scalars of a value without arrays."""
        type = data_type(value)
        if isinstance(type, ScalarType | IdxType):
            plain = IndexType() if isinstance(type, IdxType) else type.element
            return [self.add(codegen.CastOp([value], plain))]
        first = self.unwrap(self.component(codegen.FstOp, value))
        return first + self.unwrap(self.component(codegen.SndOp, value))

    def wrap(self, type: RiseType, scalars: list[SSAValue]) -> SSAValue:
        """The value of `type` made of the next plain scalars, which it takes from the list."""
        if isinstance(type, ScalarType | IdxType):
            return self.add(codegen.CastOp([scalars.pop(0)], type))
        first_type, second_type = components(type)
        first = self.wrap(first_type, scalars)
        return self.add(codegen.TupleOp(first, self.wrap(second_type, scalars)))

    # Views

    def read_view(self, step: type[codegen.ViewOp]) -> Callable[[Pattern, Sequence[Lazy]], Value]:
        def rule(pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
            return self.add(step(self.read_data(arguments[0]), result_type(pattern)))

        return rule

    def read_zip(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        return self.add(codegen.ZipOp(first, self.read_data(arguments[1])))

    def read_tuple(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        return self.add(codegen.TupleOp(first, self.read_data(arguments[1])))

    def read_slide(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        source = self.read_data(arguments[0])
        step = NatAttr(size(pattern, "sp"))
        return self.add(codegen.SlideOp(source, result_type(pattern), step))

    def read_pad(
        self, step: type[codegen.ShiftedPadOp]
    ) -> Callable[[Pattern, Sequence[Lazy]], Value]:
        def rule(pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
            source = self.read_data(arguments[0])
            left = NatAttr(size(pattern, "l"))
            return self.add(step(source, result_type(pattern), left))

        return rule

    def read_concat(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        first = self.read_data(arguments[0])
        second = self.read_data(arguments[1])
        return self.add(codegen.ConcatOp(first, second, result_type(pattern)))

    def store_concat(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        (first, second), _ = uncurry(pattern.type)
        self.store(arguments[0], self.add(codegen.TakeOp(target, first)))
        self.store(arguments[1], self.add(codegen.DropOp(target, second)))

    def read_pad_const(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        value = self.read_data(arguments[0])
        source = self.read_data(arguments[1])
        left = NatAttr(size(pattern, "l"))
        return self.add(codegen.PadConstOp(value, source, result_type(pattern), left))

    # Indices

    def read_gather(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        indices = self.read_data(arguments[0])
        source = self.read_data(arguments[1])
        return self.add(codegen.GatherOp(indices, source, result_type(pattern)))

    def read_reorder(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        length = size(pattern, "n")
        source = self.read_data(arguments[1])
        indices = self.generate(self.force(arguments[0]), array(length, idx(length)))
        return self.add(codegen.GatherOp(indices, source, result_type(pattern)))

    def read_generate(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.generate(self.force(arguments[0]), result_type(pattern))

    def generate(self, function: Value, type: RiseType) -> SSAValue:
        assert isinstance(type, ArrayType)
        block = Block(arg_types=[idx(type.length)])
        with self.emitter.inside(block):
            result = self.apply(function, [block.args[0]])
            assert isinstance(result, SSAValue)
            self.emitter.add(ReturnOp([result]))
        return self.add(codegen.GenerateOp(Region(block), type))

    def store_generate(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function, length = self.force(arguments[0]), size(pattern, "n")

        def body(index: SSAValue) -> None:
            place = self.add(codegen.IdxOp(target, index))
            self.store_applied(function, [self.add(codegen.CastOp([index], idx(length)))], place)

        self.each(length, pattern.to or self.loops, body)

    def read_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        return self.add(codegen.IdxOp(self.read_data(arguments[1]), index))

    def read_slice_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        source = self.read_data(arguments[1])
        return self.add(codegen.SliceAtOp(source, index, result_type(pattern)))

    def read_update_at(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """The array in memory of its own, with a part of it written over."""
        part = uncurry(pattern.type)[0][1]
        new = self.read_data(arguments[1])

        def fill(target: SSAValue) -> None:
            self.store(arguments[2], target)
            index = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
            self.copy(new, self.add(codegen.SliceAtOp(target, index, part)))

        return self.materialised(result_type(pattern), fill)

    def read_scatter(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        return self.scattered(pattern, arguments, lambda new, place: self.copy(new, place))

    def read_scatter_with(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = self.force(arguments[0])
        element = pattern.argument("t")
        assert isinstance(element, RiseType)

        def combine(new: SSAValue, place: SSAValue) -> None:
            # The old value is read as a whole before it is written over.
            combined = self.materialised(
                element, lambda target: self.store_applied(function, [new, place], target)
            )
            self.copy(combined, place)

        return self.scattered(pattern, arguments[1:], combine)

    def scattered(
        self,
        pattern: Pattern,
        arguments: Sequence[Lazy],
        write: Callable[[SSAValue, SSAValue], None],
    ) -> SSAValue:
        """The start in memory of its own, then one write after the other, in order."""
        indices = self.read_data(arguments[0])
        values = self.read_data(arguments[2])

        def fill(target: SSAValue) -> None:
            self.store(arguments[1], target)

            def body(index: SSAValue) -> None:
                chosen = self.add(codegen.IdxOp(indices, index))
                place = self.add(codegen.CastOp([chosen], IndexType()))
                new = self.add(codegen.IdxOp(values, index))
                write(new, self.add(codegen.IdxOp(target, place)))

            self.each(size(pattern, "m"), self.loops, body)

        return self.materialised(result_type(pattern), fill)

    def read_from_idx(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        plain = self.add(codegen.CastOp([self.read_data(arguments[0])], IndexType()))
        return self.add(codegen.CastOp([plain], index_type))

    def read_clamp_idx(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        """`min(max(x, 0), n - 1)` on the integer as an index."""
        source = pattern.argument("t")
        assert isinstance(source, ScalarType)
        number: Term = Bound(0, source)
        for op, type in conversion_op(source, index_type):
            number = Scalar(op, [number], type)
        last = Literal(literal(constant(size(pattern, "n")) - 1, index_type))
        zero = Literal(literal(0, index_type))
        number = Scalar("arith.maxsi", [number, zero], index_type)
        number = Scalar("arith.minsi", [number, last], index_type)
        clamped = self.read(number, (self.force(arguments[0]),))
        assert isinstance(clamped, SSAValue)
        plain = self.add(codegen.CastOp([clamped], IndexType()))
        return self.add(codegen.CastOp([plain], result_type(pattern)))

    def store_through(
        self, step: type[codegen.ViewOp]
    ) -> Callable[[Pattern, Sequence[Lazy], SSAValue], None]:
        def rule(pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
            (source,), _ = uncurry(pattern.type)
            self.store(arguments[0], self.add(step(target, source)))

        return rule

    def store_zip(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store(arguments[0], self.add(codegen.ZipFirstAccOp(target)))
        self.store(arguments[1], self.add(codegen.ZipSecondAccOp(target)))

    def store_tuple(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        self.store(arguments[0], self.component(codegen.FstOp, target))
        self.store(arguments[1], self.component(codegen.SndOp, target))

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


def data_type(value: SSAValue) -> RiseType:
    assert isinstance(value.type, RiseType)
    return value.type


def result_type(pattern: Pattern) -> RiseType:
    return uncurry(pattern.type)[1]


def size(pattern: Pattern, name: str) -> Nat:
    value = pattern.argument(name)
    assert isinstance(value, Nat)
    return value


def constant(length: Nat) -> int:
    if not length.is_constant:
        raise LimitationError(
            f"the length {length} is not a number; lowering symbolic sizes is not supported yet"
        )
    return length.constant
