"""Recording what a term computes: an entry for each value that one scope of a program computes.

A record belongs to one scope: the body of a function. The functions that patterns apply have
records of their own, which are made where their derivatives are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from riselang.autodiff.building import Builder
from riselang.autodiff.marks import CHECKPOINT, CUSTOM_VJP, STOP_GRADIENT
from riselang.autodiff.scalar_derivatives import CONSTANT_OPS, PARTIALS
from riselang.dialects.rise.pattern_registry import (
    AT,
    DROP,
    FST,
    GATHER,
    JOIN,
    LET,
    NONTEMPORAL,
    PAD,
    PAD_REFLECT,
    PAD_WRAP,
    PREFETCH,
    REORDER,
    REVERSE,
    SHARD,
    SLICE_AT,
    SLIDE,
    SND,
    SORT,
    SPLIT,
    TAKE,
    TO_MEM,
    TRANSPOSE,
    TUPLE,
    UNZIP,
    ZIP,
)
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    RiseType,
    TupleType,
    VectorType,
    components,
    is_float,
    leaves,
    uncurry,
)
from riselang.support.errors import LimitationError, SourceLocation
from riselang.term import build
from riselang.term.build import Node
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    spine,
)
from riselang.term.size_substitution import apply_dependent


@dataclass(eq=False)
class Entry:
    """A value that a scope computes, or a variable."""

    node: Node
    active: Sequence[bool] = ()
    """For each of its scalars, whether it depends on a variable of the derivative; empty if none
    does."""
    operation: Term | None = None
    """The pattern that computes it, or the scalar operation."""
    operands: Sequence[Value] = ()
    nodes: Sequence[Node] = ()
    """The operands of a pattern as nodes."""
    location: SourceLocation | None = None

    @property
    def type(self) -> RiseType:
        return self.node.type

    @property
    def is_active(self) -> bool:
        return any(self.active)

    @property
    def spec(self) -> PatternSpec | None:
        return self.operation.spec if isinstance(self.operation, Pattern) else None


@dataclass(eq=False)
class Closure:
    """A function: a term with the values of its free variables, or a pattern that lacks
    arguments."""

    term: Term
    environment: Environment
    arguments: tuple[Value, ...] = ()

    @property
    def is_active(self) -> bool:
        return any(value.is_active for value in captured_values(self))


Value = Entry | Closure


@dataclass(eq=False, frozen=True)
class Binding:
    """The value of the innermost variable, and the enclosing environment."""

    value: Value
    outer: Environment


Environment = Binding | None


def look_up(position: int, environment: Environment) -> Value:
    """Return the value of a variable, by its de Bruijn index."""
    for _ in range(position):
        assert environment is not None
        environment = environment.outer
    assert environment is not None
    return environment.value


def captured_values(closure: Closure) -> list[Value]:
    """Return the values of the free variables of a function."""
    positions = free_positions(closure.term)
    captured = [look_up(position, closure.environment) for position in sorted(positions)]
    return [*closure.arguments, *captured]


def free_positions(term: Term) -> set[int]:
    """Return the de Bruijn indices of the variables that a term does not bind."""
    positions: set[int] = set()
    stack, seen = [(term, 0)], set[tuple[Term, int]]()
    while stack:
        part, level = stack.pop()
        if part.open <= level or (part, level) in seen:
            continue
        seen.add((part, level))
        if isinstance(part, Bound):
            positions.add(part.index - level)
        inner = level + isinstance(part, Lambda)
        stack += [(child, inner) for child in part.children]
    return positions


def float_leaves(type: RiseType) -> list[bool]:
    """Return for each scalar that a type consists of whether it is a float."""
    if isinstance(type, FunType | DepFunType):
        return []
    return [is_float(leaf) for _, leaf in leaves(type)]


class Record:
    """The entries of one scope, in the order of their computation."""

    def __init__(self, builder: Builder):
        self.builder = builder
        self.entries: list[Entry] = []
        self._values: dict[tuple[Term, int], tuple[Environment, Value]] = {}
        """The value of each term in its environment, which is kept alive."""

    def evaluate(self, term: Term, environment: Environment) -> Value:
        """Build the nodes of a term, and record its entries."""
        if isinstance(term, Bound):
            return look_up(term.index, environment)
        if not term.open:
            environment = None
        key = (term, id(environment))
        if key not in self._values:
            with self.builder.at_location(term.location):
                self._values[key] = environment, self._evaluate_new(term, environment)
        return self._values[key][1]

    def _evaluate_new(self, term: Term, environment: Environment) -> Value:
        match term:
            case Apply():
                head, terms = spine(term)
                function = self.evaluate(head, environment)
                arguments: list[Value] = []
                for argument in terms:
                    arguments.append(self.evaluate(argument, environment))
                return self.apply(function, arguments, term.location)
            case Scalar():
                operands: list[Entry] = []
                for operand in term.operands:
                    value = self.evaluate(operand, environment)
                    assert isinstance(value, Entry)
                    operands.append(value)
                return self._operation(term, operands)
            case Lambda() | Pattern() | DepLambda():
                return Closure(term, environment)
            case Literal():
                return Entry(build.literal_node(term.attribute, self.builder.scope, None))
            case DepApply():
                function = self.evaluate(term.function, environment)
                assert isinstance(function, Closure)
                assert isinstance(function.term, DepLambda)
                body = apply_dependent(function.term, term.argument)
                return self.evaluate(body, function.environment)
            case Embed():
                return self._embed(term, environment)
            case _:
                raise LimitationError(f"{term!r} has no derivative", term.location)

    def _embed(self, term: Embed, environment: Environment) -> Entry:
        nodes: list[Node] = []
        for operand in term.operands:
            value = self.evaluate(operand, environment)
            assert isinstance(value, Entry)
            if value.is_active:
                raise LimitationError(
                    "an embed with ops other than arith and math has no derivative; express it "
                    "with the language's own operations, or compute it before the derivative",
                    term.location,
                )
            nodes.append(value.node)
        builder = self.builder
        return Entry(
            build.Foreign(
                term.type, term.region, nodes, scope=builder.scope, location=builder.location
            )
        )

    def _operation(self, term: Scalar, operands: Sequence[Entry]) -> Entry:
        builder = self.builder
        nodes = [operand.node for operand in operands]
        node = builder.operation(term.op, nodes, term.type, term.predicate)
        is_active = term.op not in CONSTANT_OPS and any(
            operand.is_active and partial is not None
            for operand, partial in zip(operands, PARTIALS.get(term.op, ()), strict=False)
        )
        return self._add(Entry(node, [is_active], term, operands, nodes, builder.location))

    def _add(self, entry: Entry) -> Entry:
        if entry.is_active:
            check_no_vectors(entry.type, entry.location)
            self.entries.append(entry)
        return entry

    def apply(
        self,
        function: Value,
        arguments: Sequence[Value],
        location: SourceLocation | None = None,
    ) -> Value:
        """Apply a function to values; a pattern that has all its arguments becomes an entry."""
        pending = list(arguments)
        while pending:
            assert isinstance(function, Closure)
            if isinstance(function.term, Lambda):
                environment = Binding(pending.pop(0), function.environment)
                body = function.term.body
                function = (
                    Closure(body, environment)
                    if pending and isinstance(body, Lambda)
                    else self.evaluate(body, environment)
                )
                continue
            pattern = function.term
            assert isinstance(pattern, Pattern)
            values = (*function.arguments, pending.pop(0))
            function = (
                self._apply_pattern(pattern, values, location)
                if len(values) == pattern.spec.arity
                else Closure(pattern, None, values)
            )
        return function

    def _apply_pattern(
        self, pattern: Pattern, values: Sequence[Value], location: SourceLocation | None
    ) -> Value:
        if pattern.spec is LET:
            return self.apply(values[1], [values[0]], location)
        is_active = any(value.is_active for value in values)
        if pattern.spec is CHECKPOINT:
            if is_active:
                return self._inline_result(pattern, values, 0)
            return self.apply(values[0], [values[1]], location)
        if pattern.spec is CUSTOM_VJP and self.builder.is_reverse and values[-1].is_active:
            return self._inline_result(pattern, values, 1)
        inputs, output = uncurry(pattern.type)
        with self.builder.at_location(location or pattern.location):
            nodes: list[Node] = []
            for value, type in zip(values, inputs, strict=True):
                nodes.append(self.as_node(value, type))
            node = self._use(pattern, nodes)
            active = _activity(pattern.spec, values, output)
            return self._add(Entry(node, active, pattern, values, nodes, self.builder.location))

    def _inline_result(self, pattern: Pattern, values: Sequence[Value], position: int) -> Entry:
        """Return the result of one of the functions of a pattern as an entry of the pattern: the
        function itself, or the one that also returns values for the reverse mode."""
        x = values[-1]
        assert isinstance(x, Entry)
        result = Record(self.builder).apply(values[position], [Entry(x.node)])
        assert isinstance(result, Entry)
        node = self.builder.first(result.node) if position else result.node
        active = float_leaves(node.type)
        return self._add(Entry(node, active, pattern, values, (), self.builder.location))

    def _use(self, pattern: Pattern, nodes: Sequence[Node]) -> Node:
        builder = self.builder
        if pattern.spec is FST:
            return builder.first(nodes[0])
        if pattern.spec is SND:
            return builder.second(nodes[0])
        arguments = dict(zip(pattern.spec.parameters, pattern.arguments, strict=True))
        use = build.PatternUse(
            pattern.type, pattern.spec, arguments, pattern.to,
            scope=builder.scope, location=builder.location,
        )  # fmt: skip
        return builder.call(use, nodes)

    def as_node(self, value: Value, type: RiseType) -> Node:
        """Return the node of a value; a function becomes a lambda."""
        if isinstance(value, Entry):
            return value.node
        inputs, _ = uncurry(type)

        def body(*variables: Node) -> Node:
            record = Record(self.builder)
            result = record.apply(value, [Entry(variable) for variable in variables])
            assert isinstance(result, Entry)
            return result.node

        return self.builder.function(inputs, names_of(value, len(inputs)), body)


def check_no_vectors(type: RiseType, location: SourceLocation | None) -> None:
    """Raise an error if a value that is differentiated contains vectors."""
    stack = [type]
    while stack:
        part = stack.pop()
        if isinstance(part, VectorType):
            raise LimitationError(
                "vectors have no derivatives; differentiate the program before it is vectorized",
                location,
            )
        if isinstance(part, TupleType):
            stack += components(part)
        if isinstance(part, ArrayType):
            stack.append(part.element)


SAME_SCALARS = frozenset({
    UNZIP, TRANSPOSE, SPLIT, JOIN, SLIDE, REVERSE, TAKE, DROP, PAD, PAD_WRAP, PAD_REFLECT, PREFETCH,
    NONTEMPORAL, SHARD, TO_MEM, REORDER, AT, SLICE_AT, GATHER, SORT,
})  # fmt: skip
"""The patterns whose result has the scalars of their last argument, in the same order."""


def _activity(spec: PatternSpec, values: Sequence[Value], output: RiseType) -> Sequence[bool]:
    """Return which scalars of the result of a pattern may be active."""
    if spec is STOP_GRADIENT or not any(value.is_active for value in values):
        return ()
    last = values[-1]
    if isinstance(last, Entry):
        own = last.active or [False] * len(float_leaves(last.type))
        if spec in SAME_SCALARS:
            return own
        if spec in (ZIP, TUPLE):
            first = values[0]
            assert isinstance(first, Entry)
            return [*(first.active or [False] * len(float_leaves(first.type))), *own]
        if spec in (FST, SND):
            count = len(float_leaves(output))
            return own[:count] if spec is FST else own[len(own) - count :]
    return float_leaves(output)


def refuse_foreign(entry: Entry) -> None:
    """Raise an error for a C function, whose derivative only its author knows."""
    if entry.spec is not None and entry.spec.foreign is not None:
        raise LimitationError(
            f"the C function {entry.spec.foreign.name} has no derivative; give it one with "
            "rl.custom_vjp or rl.custom_jvp",
            entry.location,
        )


def names_of(function: Closure, count: int) -> list[str]:
    """Return names for the parameters of a function: those in the source, if it is a lambda."""
    names: list[str] = []
    term = function.term
    while isinstance(term, Lambda):
        names.append(term.name)
        term = term.body
    return [*names, *("x" for _ in range(count))][:count]
