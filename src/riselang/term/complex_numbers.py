"""Lowering complex numbers to pairs of floats, before a program becomes a term.

Front ends may give nodes the types `complex64` and `complex128`. Terms have no such types: here a
complex value becomes a pair, and each operation on complex values becomes operations on floats
(`complex_arithmetic.py`). In memory, the parts of a number are adjacent, as in NumPy and C: a
parameter or a result of the program that is an array of complex numbers becomes an array whose
innermost dimension has two floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    COMPLEX_TYPES,
    ArrayType,
    DepFunType,
    FunType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    array,
    components,
    compute_once,
    fun,
    is_float,
    leaves,
    pair,
    parts_of,
    uncurry,
)
from riselang.support.errors import LimitationError, UserError
from riselang.support.structures import PLAIN_INTERFACE, ComplexLeaves, Interface
from riselang.term import build
from riselang.term.complex_arithmetic import (
    COMPLEX_NAMES,
    COMPLEX_OPERATIONS,
    OPERATIONS,
    ComplexArithmetic,
)
from riselang.term.inference import Inference
from riselang.term.node_building import NodeBuilder

AnyNode = TypeVar("AnyNode", bound=build.Node)


def contains_complex(type: RiseType) -> bool:
    """Whether complex numbers are a part of a type."""
    if isinstance(type, ScalarType):
        return type.is_complex
    return compute_once(type, "_contains_complex", _has_complex_parts)


def _has_complex_parts(type: RiseType) -> bool:
    return any(contains_complex(part) for part in parts_of(type))


def as_pairs(type: RiseType) -> RiseType:
    """The type with pairs of floats for complex numbers."""
    return _replace_complex(type, lambda part: pair(part, part)) if contains_complex(type) else type


def as_floats(type: RiseType) -> RiseType:
    """The type of a parameter or result in memory: two adjacent floats for a complex number."""
    return _replace_complex(type, lambda part: array(2, part)) if contains_complex(type) else type


def as_complex(type: RiseType) -> RiseType:
    """The type whose form in memory is `type`: the inverse of `as_floats` on arrays."""
    assert isinstance(type, ArrayType)
    if isinstance(type.element, ArrayType):
        return array(type.length, as_complex(type.element))
    return COMPLEX_TYPES[type.element]


def complex_interface(type: RiseType) -> Interface:
    """How a program of this type, before its complex numbers are lowered, is called."""
    if not contains_complex(type):
        return PLAIN_INTERFACE
    while isinstance(type, DepFunType):
        type = type.body
    inputs, result = uncurry(type)
    flags = tuple(_is_complex_array(each) for each in inputs)
    return Interface(
        complex_inputs=flags if any(flags) else (), complex_results=complex_leaves(result)
    )


def _is_complex_array(type: RiseType) -> bool:
    """Whether a type is that of complex numbers or of arrays of these."""
    while isinstance(type, ArrayType):
        type = type.element
    return isinstance(type, ScalarType) and type.is_complex


def complex_leaves(type: RiseType) -> ComplexLeaves:
    """Whether each scalar of a result type, in the order of its buffers, is complex."""
    return tuple(_complex_leaves(type)) if contains_complex(type) else ()


def _complex_leaves(type: RiseType) -> Iterator[bool]:
    if isinstance(type, TupleType | ArrayType):
        for part in parts_of(type):
            yield from _complex_leaves(part)
    else:
        yield contains_complex(type)


def _replace_complex(type: RiseType, convert: Callable[[ScalarType], RiseType]) -> RiseType:
    match type:
        case ScalarType():
            return convert(type.part) if type.is_complex else type
        case VectorType() if contains_complex(type):
            raise LimitationError(f"{format_type(type)}: vectors of complex numbers do not exist")
        case ArrayType():
            return array(type.length, _replace_complex(type.element, convert))
        case TupleType():
            first, second = components(type)
            return pair(_replace_complex(first, convert), _replace_complex(second, convert))
        case FunType():
            return FunType(
                _replace_complex(type.input, convert), _replace_complex(type.output, convert)
            )
        case DepFunType():
            return DepFunType(type.kind, type.label, _replace_complex(type.body, convert))
        case _:
            return type


def lower_complex(
    root: build.Node, solver: Inference, outer: Sequence[build.Node] = ()
) -> build.Node:
    """Replace the complex numbers in the nodes below `root`, except in those of enclosing scopes,
    which are not complex."""
    return _Lowering(solver, outer).lower_program(root)


class _Lowering:
    def __init__(self, solver: Inference, outer: Sequence[build.Node]):
        self._solver = solver
        self._lowered: dict[build.Node, build.Node] = {each: each for each in outer}

    def lower_program(self, root: build.Node) -> build.Node:
        """Lower a program, whose parameters and results are in memory."""
        return self._lower_interface(root, NodeBuilder(root.scope, root.location))

    def _lower_interface(self, node: build.Node, outer: NodeBuilder) -> build.Node:
        """Lower a program, or the result of one, in the scope that encloses it."""
        type = self._solver.resolve(node.type)
        match node:
            case _ if not contains_complex(type):
                return self.lower(node)
            case build.DependentFunction():
                builder = NodeBuilder(node.inner, node.location)
                body = self._lower_interface(node.body, builder)
                return replace(node, type=as_floats(type), body=body)
            case build.Function():
                builder = NodeBuilder(node.inner, node.location)
                parameters = [self._stored_parameter(each, builder) for each in node.parameters]
                body = self._lower_interface(node.body, builder)
                type = fun(*(each.type for each in parameters), body.type)
                return replace(node, type=type, parameters=parameters, body=body)
            case _ if isinstance(type, FunType):
                return self._lower_interface(outer.eta_expand(node, type), outer)
            case _:
                return self.lower(_store(outer, node, type))

    def _stored_parameter(self, variable: build.Variable, builder: NodeBuilder) -> build.Variable:
        type = self._solver.resolve(variable.type)
        if not contains_complex(type):
            return variable
        if isinstance(type, FunType):
            function = self._lowered[variable] = self._with_type(variable, type)
            return function
        stored = replace(variable, type=as_floats(type), serial=build.new_serial())
        self._lowered[variable] = self.lower(_load(builder, stored, type))
        return stored

    def lower(self, node: build.Node) -> build.Node:
        if node not in self._lowered:
            self._lowered[node] = self._replaced(node)
        return self._lowered[node]

    def _replaced(self, node: build.Node) -> build.Node:
        type = self._solver.resolve(node.type)
        match node:
            case build.Constant():
                return self._constant(node, type)
            case build.ArrayConstant() if contains_complex(type):
                return self.lower(self._array_constant(node, type))
            case build.Operation():
                return self._operation(node, type)
            case build.Conversion():
                return self._conversion(node, type)
            case build.PatternUse():
                return self._pattern(node)
            case build.Function():
                parameters = [self._with_type(each, each.type) for each in node.parameters]
                for old, new in zip(node.parameters, parameters, strict=True):
                    self._lowered[old] = new
                body = self.lower(node.body)
                if body is node.body and parameters == list(node.parameters):
                    return node
                return self._with_type(node, type, parameters=parameters, body=body)
            case build.Application():
                function = self.lower(node.function)
                arguments = [self.lower(each) for each in node.arguments]
                if function is node.function and arguments == list(node.arguments):
                    return self._with_type(node, type)
                return self._with_type(node, type, function=function, arguments=arguments)
            case build.Foreign():
                operands = [self.lower(each) for each in node.operands]
                is_same = operands == list(node.operands)
                return node if is_same else self._with_type(node, type, operands=operands)
            case build.DependentFunction():
                return self._with_type(node, type, body=self.lower(node.body))
            case build.DependentApplication():
                return self._with_type(node, type, function=self.lower(node.function))
            case _:
                return self._with_type(node, type)

    def _with_type(self, node: AnyNode, type: RiseType, **changes: object) -> AnyNode:
        """The node with these changes, and with pairs in its type; itself if nothing changes.

        Its serial number is new: lets are in the order of these, and it may depend on new nodes.
        """
        resolved = self._solver.resolve(type)
        if not changes and not contains_complex(resolved):
            return node
        return replace(node, type=as_pairs(resolved), serial=build.new_serial(), **changes)

    def _pattern(self, node: build.PatternUse) -> build.Node:
        resolved = {
            name: self._solver.resolve_argument(argument)
            for name, argument in node.arguments.items()
        }
        if not any(
            isinstance(each, RiseType) and contains_complex(each) for each in resolved.values()
        ):
            return node
        arguments: dict[str, Argument] = {
            name: as_pairs(each) if isinstance(each, RiseType) else each
            for name, each in resolved.items()
        }
        type = node.spec.instantiate(arguments)
        return replace(node, type=type, arguments=arguments, serial=build.new_serial())

    def _constant(self, node: build.Constant, type: RiseType) -> build.Node:
        if not isinstance(node.number, complex) and not contains_complex(type):
            return node
        if not isinstance(type, ScalarType) or not type.is_complex:
            raise UserError(
                f"expected {format_type(type)}, but found the number {node.number}", node.location
            )
        assert not isinstance(node.number, build.LiteralAttr)
        number, builder = complex(node.number), NodeBuilder(node.scope, node.location)
        parts = [builder.constant(part, type.part) for part in (number.real, number.imag)]
        return builder.pair(*parts)

    def _array_constant(self, node: build.ArrayConstant, type: RiseType) -> build.Node:
        """An array of complex numbers, from the array of their parts."""
        ((_, scalar),) = leaves(type)
        builder = NodeBuilder(node.scope, node.location)
        parts: list[build.Constant] = []
        for element in node.elements:
            assert not isinstance(element.number, build.LiteralAttr)
            number = complex(element.number)
            parts += [builder.constant(part, scalar.part) for part in (number.real, number.imag)]
        stored = build.ArrayConstant(
            as_floats(type), parts, scope=node.scope, location=node.location
        )
        return _load(builder, stored, type)

    def _conversion(self, node: build.Conversion, type: RiseType) -> build.Node:
        source = lane_type(self._solver.resolve(node.operand.type))
        target = lane_type(type)
        assert isinstance(source, ScalarType)
        assert isinstance(target, ScalarType)
        operand = self.lower(node.operand)
        builder = NodeBuilder(node.scope, node.location)
        if not source.is_complex and not target.is_complex:
            return node if operand is node.operand else replace(node, operand=operand)
        if not target.is_complex:
            raise UserError(
                f"a complex number cannot be cast to {format_type(target)}; use rl.real(z), "
                "rl.imag(z) or rl.abs(z)",
                node.location,
            )
        if not source.is_complex:
            return builder.pair(
                builder.convert(operand, target.part), builder.constant(0.0, target.part)
            )
        parts = [builder.convert(part, target.part) for part in builder.parts(operand)]
        return builder.pair(*parts)

    def _operation(self, node: build.Operation, type: RiseType) -> build.Node:
        operands = [self.lower(each) for each in node.operands]
        types = [lane_type(self._solver.resolve(each.type)) for each in node.operands]
        scalars = [each for each in types if isinstance(each, ScalarType)]
        if not any(each.is_complex for each in scalars) and node.op not in COMPLEX_OPERATIONS:
            same = operands == list(node.operands)
            return node if same else self._with_type(node, type, operands=operands)
        _check_operation(node, types)
        part = scalars[-1].part if scalars[-1].is_complex else scalars[-1]
        builder = NodeBuilder(node.scope, node.location)
        arithmetic = ComplexArithmetic(builder, part, node.predicate)
        if node.op in ("mult", "div"):
            factor = self._real_number(node.operands[1], part)
            if factor is not None:
                return arithmetic.scale(node.op, operands[0], factor)
        if node.op == "mult":
            factor = self._real_number(node.operands[0], part)
            if factor is not None:
                return arithmetic.scale(node.op, operands[1], factor)
        return OPERATIONS[node.op](arithmetic, *operands)

    def _real_number(self, node: build.Node, part: ScalarType) -> build.Node | None:
        """A complex operand as a float, if it is a number or a cast without an imaginary part."""
        builder = NodeBuilder(node.scope, node.location)
        if isinstance(node, build.Constant) and isinstance(node.number, int | float):
            return builder.constant(float(node.number), part)
        if not isinstance(node, build.Conversion):
            return None
        source = lane_type(self._solver.resolve(node.operand.type))
        assert isinstance(source, ScalarType)
        return None if source.is_complex else builder.convert(self.lower(node.operand), part)


def _check_operation(node: build.Operation, types: Sequence[RiseType]) -> None:
    """Reject operations that are not defined on complex numbers, or only on these."""
    is_ordered = node.op == "compare" and node.predicate not in ("eq", "ne")
    if node.op not in OPERATIONS or is_ordered:
        name = "an order" if is_ordered else f"'{node.op}'"
        raise UserError(
            f"{name} is not defined on complex numbers; these operations are: "
            f"{', '.join(COMPLEX_NAMES)}",
            node.location,
        )
    if node.op not in COMPLEX_OPERATIONS:
        return
    wants_floats = node.op == "complex"
    for type in types:
        is_complex = isinstance(type, ScalarType) and type.is_complex
        if is_complex == wants_floats or (wants_floats and not is_float(type)):
            kind = "two floats" if wants_floats else "a complex number"
            raise UserError(
                f"'{node.op}' takes {kind}, but this is {format_type(type)}", node.location
            )


def _load(builder: NodeBuilder, value: build.Node, type: RiseType) -> build.Node:
    """The complex numbers of a value in memory, as pairs."""
    match type:
        case ScalarType() if type.is_complex:
            return builder.pair(builder.element(value, 0), builder.element(value, 1))
        case ArrayType() if contains_complex(type):
            return builder.map(lambda x, inner: _load(inner, x, type.element), value)
        case TupleType():
            parts = zip(builder.parts(value), components(type), strict=True)
            return builder.pair(*(_load(builder, part, each) for part, each in parts))
        case _:
            return value


def _store(builder: NodeBuilder, value: build.Node, type: RiseType) -> build.Node:
    """A value in memory, from one with complex numbers."""
    match type:
        case ScalarType() if type.is_complex:
            real, imaginary = (
                builder.operation(name, [value], type.part) for name in ("real", "imag")
            )
            return builder.concat(builder.singleton(real), builder.singleton(imaginary))
        case ArrayType() if contains_complex(type):
            return builder.map(
                lambda x, inner: _store(inner, x, type.element), value, array_type=type
            )
        case TupleType() if contains_complex(type):
            parts = zip(builder.parts(value, type), components(type), strict=True)
            return builder.pair(*(_store(builder, part, each) for part, each in parts))
        case _:
            return value
