"""Translating the `rise` dialect to terms: each lowering unit becomes one closed term.

The function of a pattern that accumulates takes the element first in the dialect, and the
accumulator first in terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.arith import CmpfOp, CmpiOp, ConstantOp, FastMathFlagsAttr
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.module import location_of, op_error, walk
from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import LiteralAttr, literal
from riselang.dialects.rise.dependent import DepApplyOp, DepLambdaOp
from riselang.dialects.rise.functional import ApplyOp, LambdaOp, LiteralOp, ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp, InOp, LoweringUnitOp, OutOp
from riselang.dialects.rise.lane_types import lane_type, wrap_type
from riselang.dialects.rise.pattern_ops import PatternOp
from riselang.dialects.rise.pattern_registry import VECTOR_FROM_SCALAR
from riselang.dialects.rise.pattern_spec import swap_first_inputs
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    ScalarType,
    VectorType,
    fun,
    is_unsigned,
    uncurry,
    wrap_integer,
)
from riselang.support.errors import InternalError
from riselang.support.recursion import with_deep_stack
from riselang.term import build
from riselang.term.finish import finish
from riselang.term.foreign import ForeignRegion
from riselang.term.nodes import Term
from riselang.term.scalar_ops import (
    ANY_ORDER,
    CMPF_PREDICATES,
    CMPI_PREDICATES,
    REORDERABLE_OPS,
    SCALAR_OPS,
)


@dataclass(frozen=True)
class Unit:
    """A RISE program with its buffers: `term` takes the inputs and returns a tuple of outputs."""

    term: Term
    inputs: tuple[tuple[SSAValue, ...], ...]
    outputs: tuple[tuple[SSAValue, ...], ...]


@with_deep_stack
def read_unit(outs: Sequence[OutOp]) -> Unit:
    """The program whose results the `rise.out` ops of one block store."""
    reader = _Reader()
    scope = build.Scope()
    block = outs[0].parent
    assert block is not None
    reader.read_block(block, scope)
    body = build.tuple_of([reader.operand(out, out.value) for out in outs], scope)
    types = [variable.type for variable in reader.variables]
    root = build.Function(
        fun(*types, body.type) if types else body.type, reader.variables, body, scope
    )
    return Unit(finish(root), tuple(reader.buffers), tuple(tuple(out.buffers) for out in outs))


@with_deep_stack
def read_units(function: Operation) -> list[tuple[Operation, Unit]]:
    """The programs in a function: its lowering units, and each `rise.out` outside of one."""
    units: list[tuple[Operation, Unit]] = []
    for op in walk(function):
        if isinstance(op, LoweringUnitOp):
            outs = [inner for inner in op.body.block.ops if isinstance(inner, OutOp)]
            if outs:
                units.append((op, read_unit(outs)))
        elif isinstance(op, OutOp) and not isinstance(op.parent_op(), LoweringUnitOp):
            units.append((op, read_unit([op])))
    return units


class _Reader:
    """Turns the values of blocks into nodes, in the order of their definitions."""

    def __init__(self) -> None:
        self.nodes: dict[SSAValue, build.Node] = {}
        self.variables: list[build.Variable] = []
        self.buffers: list[tuple[SSAValue, ...]] = []

    def read_block(self, block: Block, scope: build.Scope) -> None:
        for op in block.ops:
            if op.results and isinstance(op.results[0].type, RiseType):
                node = self.node(op, scope)
                if isinstance(op, ApplyOp | EmbedOp):
                    node.label = node.label or op.results[0].name_hint
                self.nodes[op.results[0]] = node

    def node(self, op: Operation, scope: build.Scope) -> build.Node:
        location = location_of(op)
        type = op.results[0].type
        assert isinstance(type, RiseType)
        match op:
            case InOp():
                name = op.buffers[0].name_hint or f"in{len(self.variables)}"
                variable = build.Variable(type, name, scope=scope, location=location)
                self.variables.append(variable)
                self.buffers.append(tuple(op.buffers))
                return variable
            case LiteralOp():
                return build.literal_node(op.value, scope, location)
            case PatternOp():
                return build.PatternUse(
                    op.spec.instantiate(op.arguments), op.spec, op.arguments, op.target,
                    scope=scope, location=location,
                )  # fmt: skip
            case ApplyOp():
                return self.application(op, type, scope)
            case LambdaOp():
                return self.function(op, type, scope)
            case DepLambdaOp():
                return self.dependent(op, type, scope)
            case DepApplyOp():
                function = self.operand(op, op.function)
                return build.DependentApplication(
                    type, function, op.value, scope=scope, location=location
                )
            case EmbedOp():
                return self.embed(op, type, scope)
            case _:
                raise op_error(op, "has no meaning in a functional program")

    def operand(self, op: Operation, value: SSAValue) -> build.Node:
        if value not in self.nodes:
            raise op_error(op, "uses a value that is not part of this program")
        node = self.nodes[value]
        return _with_dialect_order(node) if _is_accumulating(value.owner) else node

    def application(self, op: ApplyOp, type: RiseType, scope: build.Scope) -> build.Node:
        arguments = [self.operand(op, argument) for argument in op.arguments]
        if _is_accumulating(op.function.owner):
            function = self.nodes[op.function]
            arguments[0] = self.accumulator_first(op.arguments[0], arguments[0], scope)
        else:
            function = self.operand(op, op.function)
        return build.Application(type, function, arguments, scope=scope, location=location_of(op))

    def accumulator_first(
        self, value: SSAValue, node: build.Node, scope: build.Scope
    ) -> build.Node:
        """Turn a function of (element, accumulator) into one of (accumulator, element)."""
        op = value.owner
        if not isinstance(op, LambdaOp) or len(op.body.block.args) != 2:
            return _swap_parameters(node, scope)
        wrapped_function = _function_with_swapped_arguments(op)
        if wrapped_function is not None:
            return self.operand(op, wrapped_function)
        if not value.has_one_use():
            node = self.function(op, node.type, node.scope or scope)
        assert isinstance(node, build.Function)
        element, accumulator = node.parameters
        return build.Function(
            swap_first_inputs(node.type), [accumulator, element], node.body, node.inner,
            scope=node.scope, location=node.location,
        )  # fmt: skip

    def dependent(self, op: DepLambdaOp, type: RiseType, scope: build.Scope) -> build.Node:
        inner = build.Scope(scope)
        block = op.body.block
        self.read_block(block, inner)
        returned = block.last_op
        assert isinstance(returned, ReturnOp)
        body = self.operand(op, returned.values[0])
        return build.DependentFunction(
            type, op.kind.data, op.parameter.data, op.parameter.data, body, inner,
            scope=scope, location=location_of(op),
        )  # fmt: skip

    def function(self, op: LambdaOp, type: RiseType, scope: build.Scope) -> build.Node:
        inner = build.Scope(scope)
        block = op.body.block
        parameters: list[build.Variable] = []
        for position, argument in enumerate(block.args):
            assert isinstance(argument.type, RiseType)
            name = argument.name_hint or f"x{position}"
            parameter = build.Variable(argument.type, name, scope=inner, location=location_of(op))
            self.nodes[argument] = parameter
            parameters.append(parameter)
        self.read_block(block, inner)
        last = block.last_op
        assert isinstance(last, ReturnOp)
        body = self.operand(last, last.values[0])
        if (pattern := _eta_reduce(parameters, body)) is not None:
            return pattern
        return build.Function(type, parameters, body, inner, scope=scope, location=location_of(op))

    def embed(self, op: EmbedOp, type: RiseType, scope: build.Scope) -> build.Node:
        operands = [self.operand(op, argument) for argument in op.arguments]
        if not all(_is_scalar_operation(inner) for inner in op.body.block.ops):
            region = ForeignRegion(op.body.clone())
            return build.Foreign(type, region, operands, scope=scope, location=location_of(op))
        values: dict[SSAValue, build.Node] = dict(zip(op.body.block.args, operands, strict=True))
        returned = op.body.block.last_op
        for inner in op.body.block.ops:
            if isinstance(inner, ReturnOp):
                return _with_type(values[inner.values[0]], type)
            is_result = returned is not None and inner.results[0] in returned.operands
            result_type = type if is_result else None
            values[inner.results[0]] = _scalar_node(inner, values, scope, result_type)
        raise InternalError("an embed without return passed the verifier")


def _is_accumulating(owner: Operation | Block) -> bool:
    return isinstance(owner, PatternOp) and owner.spec.accumulates


def _swap_parameters(function: build.Node, scope: build.Scope) -> build.Node:
    """`fun((a, b), function(b, a))`"""
    type, location = function.type, function.location
    inner = build.Scope(scope)
    (second, first, *_), _ = uncurry(type)
    variables = [
        build.Variable(input_type, name, scope=inner, location=location)
        for input_type, name in ((first, "a"), (second, "b"))
    ]
    swapped_type = swap_first_inputs(type)
    _, result = uncurry(swapped_type)
    body = build.Application(result, function, variables[::-1], scope=inner, location=location)
    return build.Function(swapped_type, variables, body, inner, scope=scope, location=location)


def _function_with_swapped_arguments(op: LambdaOp) -> SSAValue | None:
    """The function f of `fun((x, acc), f(acc, x))`, if it is defined outside of the lambda."""
    block = op.body.block
    first = block.first_op
    if not isinstance(first, ApplyOp) or first.next_op is not block.last_op:
        return None
    assert isinstance(block.last_op, ReturnOp)
    is_returned = block.last_op.values[0] is first.result
    is_swapped = tuple(first.arguments) == tuple(reversed(block.args))
    is_outside = first.function.owner is not block
    return first.function if is_returned and is_swapped and is_outside else None


def _with_dialect_order(pattern: build.Node) -> build.Node:
    """Wrap an unapplied pattern, so that it takes a function of (element, accumulator)."""
    assert isinstance(pattern.type, FunType)
    assert pattern.scope is not None
    scope, location = pattern.scope, pattern.location
    inner = build.Scope(scope)
    variable = build.Variable(
        swap_first_inputs(pattern.type.input), "f", scope=inner, location=location
    )
    function = _swap_parameters(variable, inner)
    body = build.Application(
        pattern.type.output, pattern, [function], scope=inner, location=location
    )
    return build.Function(
        FunType(variable.type, body.type), [variable], body, inner, scope=scope, location=location
    )


def _eta_reduce(parameters: Sequence[build.Variable], body: build.Node) -> build.PatternUse | None:
    """The pattern of `fun(f, reduce(f))`."""
    if not isinstance(body, build.Application) or list(body.arguments) != list(parameters):
        return None
    pattern = body.function
    if not isinstance(pattern, build.PatternUse) or len(parameters) != 1:
        return None
    return pattern if pattern.spec.accumulates else None


def _is_scalar_operation(op: Operation) -> bool:
    if isinstance(op, ConstantOp):
        return _literal(op) is not None
    return isinstance(op, ReturnOp) or (op.name in SCALAR_OPS and _has_lane_types(op))


def _has_lane_types(op: Operation) -> bool:
    """Whether the operands and results are all scalars, or all vectors of the same length."""
    types = [wrap_type(value.type) for value in (*op.operands, *op.results)]
    lengths = {type.length if isinstance(type, VectorType) else None for type in types}
    return None not in types and len(lengths) == 1


def _literal(op: ConstantOp) -> LiteralAttr | None:
    """The constant, or the splat value of a vector constant."""
    value = op.value
    if isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        value = next(iter(value.iter_attrs()))
    if not isinstance(value, FloatAttr | IntegerAttr) or wrap_type(op.result.type) is None:
        return None
    try:
        return LiteralAttr(value, ScalarType(value.type))
    except VerifyException:
        return None


def _scalar_node(
    op: Operation,
    values: dict[SSAValue, build.Node],
    scope: build.Scope,
    result: RiseType | None,
) -> build.Node:
    """Return the node of an op in an embed, whose type is `result` if it is returned."""
    location = location_of(op)
    if isinstance(op, ConstantOp):
        attribute = _literal(op)
        assert attribute is not None
        constant = build.Constant(attribute.type, attribute, scope=scope, location=location)
        return _broadcast(constant, op.result.type)
    predicate = None
    if isinstance(op, CmpfOp):
        predicate = CMPF_PREDICATES[op.predicate.value.data]
    elif isinstance(op, CmpiOp):
        predicate = CMPI_PREDICATES[op.predicate.value.data]
    elif op.name in REORDERABLE_OPS and _may_reassociate(op):
        predicate = ANY_ORDER
    operands = _with_equal_types(op, [values[operand] for operand in op.operands])
    type: RiseType | None = wrap_type(op.results[0].type)
    if not SCALAR_OPS[op.name].changes_type:
        type = operands[-1].type
    elif len(operands) == 1 and result is not None:
        type = result
    assert type is not None
    return build.Operation(type, op.name, operands, predicate, scope=scope, location=location)


def _with_equal_types(op: Operation, operands: list[build.Node]) -> list[build.Node]:
    """Give operands the same signedness: an op does not show it, and a literal adopts it."""
    start = 1 if op.name == "arith.select" else 0
    types = [operand.type for operand in operands[start:]]
    unsigned = [type for type in types if is_unsigned(lane_type(type))]
    if len(unsigned) in (0, len(types)):
        return operands
    return [*operands[:start], *(_with_type(each, unsigned[0]) for each in operands[start:])]


def _with_type(node: build.Node, type: RiseType) -> build.Node:
    """The bits of a node as an integer of another signedness, if `type` is one."""
    if node.type == type or not isinstance(lane_type(type), ScalarType):
        return node
    scope, location = node.scope, node.location
    if isinstance(node, build.Constant) and isinstance(node.number, LiteralAttr):
        assert isinstance(type, ScalarType)
        number = literal(wrap_integer(int(node.number.scalar), type), type)
        return build.Constant(type, number, scope=scope, location=location)
    return build.Operation(type, "arith.bitcast", [node], scope=scope, location=location)


def _may_reassociate(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathFlagsAttr) and FastMathFlag.REASSOC in flags.data


def _broadcast(constant: build.Constant, plain: Attribute) -> build.Node:
    """Broadcast a constant to a vector, if `plain` is one."""
    type = wrap_type(plain)
    if not isinstance(type, VectorType):
        return constant
    arguments: dict[str, Argument] = {"k": type.length, "t": type.element}
    function = VECTOR_FROM_SCALAR.instantiate(arguments)
    scope, location = constant.scope, constant.location
    use = build.PatternUse(function, VECTOR_FROM_SCALAR, arguments, scope=scope, location=location)
    return build.Application(type, use, [constant], scope=scope, location=location)
