"""Translating terms to the `rise` dialect.

Nested lambdas become one op, and so do nested applications; a let becomes a shared SSA value, and
each maximal tree of scalar operations one embed. Reading this canonical form gives the same term.
In the dialect, the function of a pattern that accumulates takes the element first: its parameters
are swapped here, and swapped back in `from_dialect`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    MemRefType,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.location_attributes import location_attribute
from riselang.dialects.module import reject_deep_nesting
from riselang.dialects.rise.dependent import DepApplyOp, DepLambdaOp
from riselang.dialects.rise.functional import ApplyOp, LambdaOp, LiteralOp, ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp, InOp, LoweringUnitOp, OutOp
from riselang.dialects.rise.pattern_ops import PATTERN_OPS, ForeignOp
from riselang.dialects.rise.pattern_registry import FST, LET, SND
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    DataType,
    FunType,
    RiseType,
    TupleType,
    components,
    leaves,
    result_types,
    uncurry,
)
from riselang.support.errors import LimitationError, SourceLocation, UserError
from riselang.term.deep_recursion import recursive
from riselang.term.finish import SHARED_NAME
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
    apply_all,
    operation_type,
    spine,
)
from riselang.term.observation_regions import observation_functions
from riselang.term.scalar_embedding import embed_tree, has_unsigned_source, scalar_leaves
from riselang.term.size_substitution import open_term_binder, term_names
from riselang.term.substitution import swap_variables

Environment = tuple[SSAValue, ...]


@recursive
def emit_program(
    term: Term,
    block: Block,
    inputs: Sequence[Sequence[SSAValue]],
    outputs: Sequence[Sequence[SSAValue]],
) -> None:
    """Add to `block` the ops that run `term` from the input to the output buffers."""
    emitter = _Emitter(Builder(InsertPoint.at_end(block)), _Names(term))
    environment: Environment = ()
    body = term
    for buffers in inputs:
        assert isinstance(body, Lambda)
        environment = (*environment, emitter.add(InOp(buffers, body.parameter)).results[0])
        body = body.body
    values = emitter.results(body, environment, len(outputs))
    for buffers, value in zip(outputs, values, strict=True):
        emitter.add(OutOp(buffers, value))


PARAMETERS = "rise.parameters"
"""The attribute with the parameters' names, if the names of the SSA values cannot be the same."""


UNSIGNED = "rise.unsigned"
"""The attribute with the positions of the parameters that hold unsigned integers."""


@dataclass(frozen=True)
class FunctionShell:
    """A function that takes output buffers, then input buffers, with an empty lowering unit."""

    module: ModuleOp
    function: FuncOp
    unit: LoweringUnitOp
    inputs: tuple[tuple[SSAValue, ...], ...]
    outputs: tuple[tuple[SSAValue, ...], ...]


def program_shell(term: Term, name: str, results: int = 1) -> FunctionShell:
    """Create a module with one function, with buffers for a program of this type."""
    function, values = _create_function(term, name, results)
    unit = LoweringUnitOp(Region(Block()))
    function.body.block.add_ops([unit, FuncReturnOp()])
    groups = tuple(map(tuple, values))
    module = ModuleOp([function, *observation_functions(term)])
    return FunctionShell(module, function, unit, groups[results:], groups[:results])


def program_module(term: Term, name: str, results: int = 1) -> ModuleOp:
    """Create a module with one function that takes output, then input buffers, and runs `term`."""
    shell = program_shell(term, name, results)
    block = shell.unit.body.block
    emit_program(term, block, shell.inputs, shell.outputs)
    block.add_op(ReturnOp())
    reject_deep_nesting(shell.module, term.location)
    return shell.module


def buffer_types(type: RiseType) -> list[MemRefType]:
    """The memrefs that hold a value of `type`, one for each scalar leaf."""
    return [
        MemRefType(
            leaf.storage,
            [length.constant if length.is_constant else DYNAMIC_INDEX for length in lengths],
        )
        for lengths, leaf in leaves(type)
    ]


def _create_function(term: Term, name: str, results: int) -> tuple[FuncOp, list[list[SSAValue]]]:
    """A function, and the buffers of each of its results and inputs."""
    inputs, _ = uncurry(term.type)
    for type in inputs:
        if not isinstance(type, DataType):
            raise UserError(
                f"a parameter of the program has the type {format_type(type)}, but programs take "
                "arrays, scalars and pairs; write a definition that applies it to a function",
                term.location,
            )
    groups = [buffer_types(type) for type in (*result_types(term.type, results), *inputs)]
    types = [type for group in groups for type in group]
    block = Block(arg_types=types)
    arguments = list(block.args)
    values: list[list[SSAValue]] = []
    for group in groups:
        values.append([*arguments[: len(group)]])
        del arguments[: len(group)]
    names = _name_arguments(term, values, results)
    function = FuncOp(name, FunctionType.from_lists(types, []), Region(block))
    if names != [argument.name_hint for argument in block.args]:
        # xDSL reserves names such as x_0, which it generates to make x unique.
        function.attributes[PARAMETERS] = ArrayAttr(StringAttr(each) for each in names)
    if unsigned := _unsigned_positions((*result_types(term.type, results), *inputs)):
        function.attributes[UNSIGNED] = DenseArrayBase.from_list(i64, unsigned)
    function.location = location_attribute(term.location)
    return function, values


def _unsigned_positions(types: Sequence[RiseType]) -> list[int]:
    buffers = [leaf for type in types for _, leaf in leaves(type)]
    return [position for position, leaf in enumerate(buffers) if leaf.is_unsigned]


def _name_arguments(term: Term, groups: list[list[SSAValue]], results: int) -> list[str]:
    """Name the buffers, if SSA values can have these names, and return the intended names."""
    names = [f"out{position}" if position else "out" for position in range(results)]
    for _ in groups[results:]:
        assert isinstance(term, Lambda)
        names.append(term.name)
        term = term.body
    for name, group in zip(names, groups, strict=True):
        for value in group:
            value.name_hint = name if SSAValue.is_valid_name(name) else None
    return [name for name, group in zip(names, groups, strict=True) for _ in group]


@dataclass(frozen=True)
class _Names:
    """The names of sizes and data types that are in use."""

    term: Term
    bound: frozenset[str] = frozenset()

    def open_binder(self, function: DepLambda) -> tuple[str, Term, _Names]:
        """A fresh name for the variable, the body that mentions it, and the names in use there."""
        name, body = open_term_binder(function, term_names(self.term) | self.bound)
        return name, body, _Names(self.term, self.bound | {name})


class _Emitter:
    def __init__(self, builder: Builder, names: _Names):
        self.builder = builder
        self.names = names

    def add(self, op: Operation, location: SourceLocation | None = None) -> Operation:
        op.location = location_attribute(location)
        return self.builder.insert(op)

    def value(self, term: Term, environment: Environment) -> SSAValue:
        match term:
            case Bound(index):
                return environment[-1 - index]
            case Free(name):
                raise LimitationError(f"the term has the free variable {name}", term.location)
            case Literal(attribute):
                return self.add(LiteralOp(attribute), term.location).results[0]
            case Pattern(spec) if spec.accumulates:
                return self.value(_eta_expand(term), environment)
            case Pattern():
                return self.pattern(term)
            case Lambda():
                return self.function(term, environment)
            case Apply():
                return self.application(term, environment)
            case DepLambda():
                return self.dependent(term, environment)
            case DepApply():
                op = DepApplyOp(self.value(term.function, environment), term.argument)
                return self.add(op, term.location).results[0]
            case Scalar():
                return self.scalar(term, environment)
            case Embed():
                operands = [self.value(operand, environment) for operand in term.operands]
                op = EmbedOp(operands, term.region.region.clone(), operation_type(term))
                return self.add(op, term.location).results[0]
            case _:
                raise TypeError(f"{term} is not a term")

    def pattern(self, term: Pattern) -> SSAValue:
        if not term.spec.in_dialect:
            raise LimitationError(f"{term.spec.name} must be applied", term.location)
        arguments = dict(zip(term.spec.parameters, term.arguments, strict=True))
        if term.spec.foreign is not None:
            op = self.add(ForeignOp.of_spec(term.spec, arguments), term.location)
        else:
            op = self.add(PATTERN_OPS[term.spec.name].of(arguments, term.to), term.location)
        foreign = term.spec.foreign
        op.results[0].name_hint = term.spec.name if foreign is None else foreign.name
        return op.results[0]

    def function(self, term: Lambda, environment: Environment) -> SSAValue:
        names: list[str] = []
        types: list[Attribute] = []
        body: Term = term
        while isinstance(body, Lambda):
            names.append(body.name)
            types.append(body.parameter)
            body = body.body
        block = Block(arg_types=types)
        for argument, name in zip(block.args, names, strict=True):
            argument.name_hint = name if SSAValue.is_valid_name(name) else None
        inner = _Emitter(Builder(InsertPoint.at_end(block)), self.names)
        result = inner.value(body, (*environment, *block.args))
        block.add_op(ReturnOp([result]))
        type = term.type
        op = self.add(LambdaOp(Region(block), type), term.location)  # type: ignore[arg-type]
        op.results[0].name_hint = "fun"
        return op.results[0]

    def dependent(self, term: DepLambda, environment: Environment) -> SSAValue:
        name, body, names = self.names.open_binder(term)
        block = Block()
        inner = _Emitter(Builder(InsertPoint.at_end(block)), names)
        block.add_op(ReturnOp([inner.value(body, environment)]))
        op = self.add(DepLambdaOp(name, term.kind, Region(block), body.type), term.location)
        op.results[0].name_hint = "fun"
        return op.results[0]

    def application(self, term: Apply, environment: Environment) -> SSAValue:
        head, arguments = spine(term)
        if isinstance(head, Pattern) and head.spec is LET and isinstance(arguments[1], Lambda):
            result = self.value(arguments[1].body, self.bind_let(arguments, environment))
            if len(arguments) == 2:
                return result
            remaining = [self.value(argument, environment) for argument in arguments[2:]]
            return self.add(ApplyOp(result, remaining), term.location).results[0]
        if isinstance(head, Pattern) and head.spec is LET:
            arguments = [arguments[1], arguments[0], *arguments[2:]]
            head, arguments = arguments[0], arguments[1:]
        values: list[SSAValue] = []
        if isinstance(head, Pattern) and head.spec.accumulates:
            function = self.pattern(head)
            values.append(self.element_first(arguments[0], environment))
        else:
            function = self.value(head, environment)
        for argument in arguments[len(values) :]:
            values.append(self.value(argument, environment))
        return self.add(ApplyOp(function, values), term.location).results[0]

    def element_first(self, function: Term, environment: Environment) -> SSAValue:
        """Turn a function of (accumulator, element) into one of (element, accumulator)."""
        if isinstance(function, Lambda) and isinstance(function.body, Lambda):
            return self.value(_swap_parameters(function, function.body), environment)
        value = self.value(function, environment)
        return self.value(_parameter_swapper(function.type), (*environment, value))

    def bind_let(self, arguments: Sequence[Term], environment: Environment) -> Environment:
        """The environment for the body of a let; the value gets the name of the let."""
        value = self.value(arguments[0], environment)
        assert isinstance(arguments[1], Lambda)
        name = arguments[1].name
        if value.name_hint is None and name != SHARED_NAME and SSAValue.is_valid_name(name):
            value.name_hint = name
        return (*environment, value)

    def results(self, body: Term, environment: Environment, count: int) -> list[SSAValue]:
        """The components of a tuple of `count` results, which may be inside lets."""
        values: list[SSAValue] = []
        while len(values) < count - 1:
            head, arguments = spine(body)
            name = head.spec.name if isinstance(head, Pattern) else ""
            if name == "let" and isinstance(arguments[1], Lambda):
                environment = self.bind_let(arguments, environment)
                body = arguments[1].body
            elif name == "tuple" and len(arguments) == 2:
                values.append(self.value(arguments[0], environment))
                body = arguments[1]
            else:
                return [*values, *self.parts(self.value(body, environment), count - len(values))]
        return [*values, self.value(body, environment)]

    def parts(self, value: SSAValue, count: int) -> list[SSAValue]:
        """The components of a tuple of `count` results."""
        parts: list[SSAValue] = []
        for _ in range(count - 1):
            parts.append(self.projection(FST, value))
            value = self.projection(SND, value)
        return [*parts, value]

    def projection(self, spec: PatternSpec, value: SSAValue) -> SSAValue:
        assert isinstance(value.type, TupleType)
        first, second = components(value.type)
        pattern = self.pattern(Pattern(spec, (first, second)))
        return self.add(ApplyOp(pattern, [value])).results[0]

    def scalar(self, term: Scalar, environment: Environment) -> SSAValue:
        leaves = scalar_leaves(term, split=has_unsigned_source)
        values: list[SSAValue] = []
        for leaf in leaves:
            values.append(self.value(leaf, environment))
        return self.add(embed_tree(term, leaves, values), term.location).results[0]


def _swap_parameters(outer: Lambda, inner: Lambda) -> Lambda:
    body = Lambda(outer.name, outer.parameter, swap_variables(inner.body), inner.location)
    return Lambda(inner.name, inner.parameter, body, outer.location)


def _parameter_swapper(type: RiseType) -> Lambda:
    """`fun((x, acc), f(acc, x))`, where f is the innermost variable."""
    assert isinstance(type, FunType)
    assert isinstance(type.output, FunType)
    accumulator, element = type.input, type.output.input
    body = apply_all(Bound(2, type), [Bound(0, accumulator), Bound(1, element)])
    return Lambda("x", element, Lambda("acc", accumulator, body))


def _eta_expand(pattern: Pattern) -> Lambda:
    """`fun(f, reduce(f))`"""
    assert isinstance(pattern.type, FunType)
    function = pattern.type.input
    return Lambda("f", function, Apply(pattern, Bound(0, function)), pattern.location)
