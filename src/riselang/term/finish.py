"""From nodes under construction to a closed, typed term."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.attributes import LiteralAttr, array_literal, literal
from riselang.dialects.rise.lane_types import Lanes, lane_type, with_lane_type
from riselang.dialects.rise.pattern_registry import LET, TO_MEM, VECTOR_FROM_SCALAR
from riselang.dialects.rise.type_binding import nat_variables, type_variables
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    RiseType,
    ScalarType,
    TypeVariable,
    VectorType,
    complex64,
    f32,
    i1,
    i32,
    is_float,
    wrap_integer,
)
from riselang.support.errors import LimitationError, SourceLocation, UserError
from riselang.support.recursion import with_deep_stack
from riselang.term import build, scalar_ops
from riselang.term.complex_numbers import contains_complex, lower_complex
from riselang.term.conversion import can_bitcast, conversion_ops
from riselang.term.inference import Inference
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
    apply_all,
    scalar_type,
)

SHARED_NAME = "shared"
"""The name of a let that is not in the source."""
MAX_TYPE_PARTS = 10_000
"""The maximum size of a type in a program: a tuple has one buffer for each of its scalars."""


@with_deep_stack
def finish(
    root: build.Node, inference: Inference | None = None, *, stores_once: bool = False
) -> Term:
    """Turn the nodes below `root` into a term.

    With `stores_once`, `toMem(heap)` of a let-bound value is the value itself, which is stored in
    memory anyway.
    """
    solver = inference or Inference()
    uses = build.count_uses(root)
    constants = [node for node in uses.counts if isinstance(node, build.Constant)]
    _default_floats(constants, solver)
    for constant in sorted(constants, key=lambda constant: constant.serial):
        _set_default_type(constant, solver)
    if any(map(_is_complex, uses.counts)):
        root = lower_complex(root, solver)
        uses = build.count_uses(root)
    if undecided := solver.undecided_equations():
        left, right = undecided[0]
        raise UserError(f"cannot decide whether the lengths {left} and {right} are equal; "
                        "give a size explicitly", root.location)  # fmt: skip
    shared = build.shared_nodes(uses)
    finisher = _Finisher(solver, shared, stores_once)
    if isinstance(solver.resolve(root.type), FunType | DepFunType):
        return finisher.term(root, 0)
    # A program without parameters has no function body that could contain the lets.
    return finisher.lets(shared.get(root.scope, []), 0, root, 0)


@with_deep_stack
def finish_open(root: build.Function, inference: Inference) -> tuple[Term, list[build.Node]]:
    """Turn a function inside a program into a closed term, whose first parameters are the values of
    enclosing scopes that it reads; also return these values."""
    outer = build.outer_values(root)
    uses = build.count_uses(root, set(outer))
    constants = [node for node in uses.counts if isinstance(node, build.Constant)]
    _default_floats(constants, inference)
    for constant in constants:
        _set_default_type(constant, inference)
    if any(map(_is_complex, uses.counts)):
        root = _lower_complex_inside(root, outer, inference)
        uses = build.count_uses(root, set(outer))
    finisher = _Finisher(inference, build.shared_nodes(uses), stores_once=False)
    for level, node in enumerate(outer):
        finisher.levels[node] = level
    term = finisher.term(root, len(outer))
    for node in reversed(outer):
        name = node.name if isinstance(node, build.Variable) else node.label or SHARED_NAME
        term = Lambda(name, finisher.type(node), term, root.location)
    return term, outer


def _lower_complex_inside(
    root: build.Function, outer: Sequence[build.Node], inference: Inference
) -> build.Function:
    """Lower the complex numbers that a function computes from floats and to floats."""
    types = [inference.resolve(each.type) for each in (root, *outer)]
    if any(map(contains_complex, types)):
        raise LimitationError(
            "derivatives exist only of functions from floats to floats, which may compute with "
            "complex numbers; pass and return their real and imaginary parts",
            root.location,
        )
    lowered = lower_complex(root, inference, outer)
    assert isinstance(lowered, build.Function)
    return lowered


def default_floats(root: build.Node, solver: Inference) -> None:
    """Give each number with a fraction whose type nothing determines the type f32."""
    nodes = build.count_uses(root).counts
    _default_floats([node for node in nodes if isinstance(node, build.Constant)], solver)


def default_literals(root: build.Node, unknown: TypeVariable, solver: Inference) -> None:
    """Give an open type that numbers below `root` have the default type of such numbers."""
    nodes = build.count_uses(root).counts
    constants = [
        node
        for node in nodes
        if isinstance(node, build.Constant) and solver.resolve(node.type) == unknown
    ]
    _default_floats(constants, solver)
    for constant in constants:
        _set_default_type(constant, solver)


def _default_floats(constants: Sequence[build.Constant], solver: Inference) -> None:
    """Complex numbers come first, since a float may be one; integers come later."""
    for kind in (complex, float):
        for constant in sorted(constants, key=lambda constant: constant.serial):
            if isinstance(constant.number, kind):
                _set_default_type(constant, solver)


def _set_default_type(node: build.Constant, solver: Inference) -> None:
    """Give a number whose type nothing determines the type f32 or i32."""
    if isinstance(solver.resolve(node.type), TypeVariable):
        is_integer = isinstance(node.number, int)
        is_complex = isinstance(node.number, complex)
        solver.unify(node.type, i32 if is_integer else complex64 if is_complex else f32)


def _is_complex(node: build.Node) -> bool:
    is_number = isinstance(node, build.Constant) and isinstance(node.number, complex)
    return is_number or contains_complex(node.type)


class _Finisher:
    def __init__(
        self,
        solver: Inference,
        shared: dict[build.Scope | None, list[build.Node]],
        stores_once: bool,
    ) -> None:
        self.solver = solver
        self.shared = shared
        self.levels: dict[build.Node, int] = {}
        """The number of lambdas that enclose the binder of each variable and let-bound node."""
        self.patterns: dict[build.PatternUse, Term] = {}
        self.location: SourceLocation | None = None
        """The location of the latest application or operation."""
        self.named = {node for nodes in shared.values() for node in nodes if stores_once}

    def term(self, node: build.Node, level: int) -> Term:
        if node in self.levels:
            return Bound(level - 1 - self.levels[node], self.type(node), node.location)
        match node:  # the most frequent ones first
            case build.Application():
                return self.application(node, level)
            case build.PatternUse():
                return self.pattern(node)
            case build.Operation():
                return self.operation(node, level)
            case build.Constant():
                return self.constant(node)
            case build.ArrayConstant():
                return self.array_constant(node)
            case build.Function():
                return self.function(node, level)
            case build.Conversion():
                return self.conversion(node, level)
            case build.DependentFunction():
                return self.dependent(node, level)
            case build.DependentApplication():
                function = self.term(node.function, level)
                argument = self.solver.resolve_argument(node.argument)
                assert not isinstance(argument, str)
                return DepApply(function, argument, node.location)
            case build.Foreign():
                operands = [self.term(operand, level) for operand in node.operands]
                return Embed(node.region, operands, self.operation_type(node), node.location)
            case build.Variable():
                raise UserError(
                    f"'{node.name}' is used outside the function whose parameter it is; return it "
                    "from that function, or pass it as an argument, instead of storing it in a "
                    "variable",
                    self.location,
                )
            case _:
                raise TypeError(f"{node} is not a node")

    def application(self, node: build.Application, level: int) -> Term:
        self.location = node.location or self.location
        if (
            self.named
            and (stored_value := _stored_value(node)) in self.levels
            and stored_value in self.named
        ):
            return self.term(stored_value, level)
        arguments: list[Term] = []
        for argument in node.arguments:
            arguments.append(self.term(argument, level))
        result = apply_all(self.term(node.function, level), arguments)
        result.location = node.location
        return result

    def function(self, node: build.Function, level: int) -> Term:
        for parameter in node.parameters:
            self.levels[parameter] = level
            level += 1
        body = self.with_lets(node.inner, node.body, level)
        for parameter in reversed(node.parameters):
            body = Lambda(parameter.name, self.type(parameter), body, node.location)
            del self.levels[parameter]
        return body

    def dependent(self, node: build.DependentFunction, level: int) -> Term:
        body = self.with_lets(node.inner, node.body, level)
        for outer in self.levels:
            type = self.solver.resolve(outer.type)
            if node.name in nat_variables(type) or node.name in type_variables(type):
                name = outer.name if isinstance(outer, build.Variable) else "a shared value"
                raise UserError(
                    f"{name} would have the type {format_type(type)}, but {node.hint} is known "
                    "only inside the dependent function that binds it",
                    node.location,
                )
        return DepLambda(node.kind, node.hint, body, node.name, node.location)

    def with_lets(self, scope: build.Scope, body: build.Node, level: int) -> Term:
        """`body` under a let for each value that is shared in `scope`."""
        return self.lets(self.shared.get(scope, []), 0, body, level)

    def lets(self, nodes: list[build.Node], position: int, body: build.Node, level: int) -> Term:
        if position == len(nodes):
            return self.term(body, level)
        node = nodes[position]
        value = self.term(node, level)
        self.levels[node] = level
        inner = self.lets(nodes, position + 1, body, level + 1)
        del self.levels[node]
        name = node.label or SHARED_NAME
        let = Pattern(LET, (value.type, inner.type))
        return apply_all(let, [value, Lambda(name, value.type, inner, node.location)])

    def array_constant(self, node: build.ArrayConstant) -> Term:
        type = self.type(node)
        assert isinstance(type, ArrayType)
        scalars = [self.constant(each).attribute for each in node.elements]
        return Literal(array_literal(scalars, type), node.location)

    def constant(self, node: build.Constant) -> Literal:
        if isinstance(node.number, LiteralAttr):
            return Literal(node.number, node.location)
        type = self.type(node)
        if not isinstance(type, ScalarType) or isinstance(node.number, complex):
            raise UserError(
                f"expected {format_type(type)}, but found the number {node.number}", node.location
            )
        try:
            return Literal(literal(node.number, type), node.location)
        except (VerifyException, OverflowError) as error:
            raise UserError(
                f"{node.number!r} cannot be a literal of type {format_type(type)}: {error}",
                node.location,
            ) from None

    def pattern(self, node: build.PatternUse) -> Term:
        if node not in self.patterns:
            self.patterns[node] = self.new_pattern(node)
        return self.patterns[node]

    def new_pattern(self, node: build.PatternUse) -> Term:
        arguments = {
            name: self.solver.resolve_argument(node.arguments[name])
            for name in node.spec.parameters
        }
        if not node.spec.accepts_all and (problem := node.spec.check(arguments)) is not None:
            raise UserError(f"{node.spec.name}: {problem}", node.location)
        pattern = Pattern(node.spec, tuple(arguments.values()), node.to, node.location)
        self.check_known(pattern.type, node)
        return pattern

    def operation(self, node: build.Operation, level: int) -> Term:
        self.location = node.location or self.location
        operands = [self.term(operand, level) for operand in node.operands]
        type = self.operation_type(node)
        if node.op == "arith.bitcast":
            return self.bitcast(node, operands[0], type)
        if node.op in scalar_ops.SCALAR_OPS:
            return Scalar(node.op, operands, type, node.predicate, node.location)
        operand_type = scalar_type(operands[-1])
        assert isinstance(operand_type, ScalarType)
        if node.op == "compare":
            assert node.predicate is not None
            op, predicate = scalar_ops.comparison_op(node.predicate, operand_type)
            return Scalar(op, operands, type, predicate, node.location)
        if node.op == "neg" and not is_float(operand_type):
            return Scalar("arith.subi", [_splat(0, type), *operands], type, None, node.location)
        op = scalar_ops.resolve_op(node.op, operand_type)
        if op is None:
            type_text = format_type(operands[-1].type)
            raise UserError(f"'{node.op}' is not defined on {type_text}", node.location)
        if node.op == "bitnot":
            operands = [*operands, _splat(-1, type)]
        option = scalar_ops.order_option(op, node.predicate)
        return Scalar(op, operands, type, option, node.location)

    def bitcast(self, node: build.Operation, operand: Term, type: Lanes) -> Term:
        source, target = scalar_type(operand), lane_type(type)
        assert isinstance(target, ScalarType)
        if not can_bitcast(source, target):
            raise UserError(
                f"bitcast: {format_type(source)} and {format_type(target)} have different numbers "
                "of bits; use cast to convert the number",
                node.location,
            )
        if source == target:
            return operand
        return Scalar(node.op, [operand], type, None, node.location)

    def conversion(self, node: build.Conversion, level: int) -> Term:
        operand = self.term(node.operand, level)
        result_type = self.operation_type(node)
        source, target = scalar_type(operand), lane_type(result_type)
        assert isinstance(source, ScalarType)
        assert isinstance(target, ScalarType)
        if target == i1 and source != i1:
            return self.to_boolean(operand, result_type, node)
        result = operand
        for op, lane in conversion_ops(source, target):
            type = with_lane_type(result_type, lane)
            assert isinstance(type, Lanes)
            result = Scalar(op, [result], type, None, node.location)
        return result

    def to_boolean(self, operand: Term, type: Lanes, node: build.Node) -> Term:
        """Convert a number to a Boolean: whether it is not zero."""
        op, predicate = scalar_ops.comparison_op("ne", scalar_type(operand))
        zero = _splat(0, operand.type)
        return Scalar(op, [operand, zero], type, predicate, node.location)

    def operation_type(self, node: build.Node) -> Lanes:
        type = self.type(node)
        if not isinstance(type, Lanes):
            raise UserError(f"expected a scalar here, but found {format_type(type)}", node.location)
        return type

    def type(self, node: build.Node) -> RiseType:
        type = self.solver.resolve(node.type)
        self.check_known(type, node)
        if type.expanded_size > MAX_TYPE_PARTS:
            raise LimitationError(
                f"the type of this value has {_format_count(type.expanded_size)} parts when it is "
                f"written out; the limit is {MAX_TYPE_PARTS:,}",
                node.location,
            )
        return type

    def check_known(self, type: RiseType, node: build.Node) -> None:
        if type.is_closed:
            return
        unknown = [name for name in nat_variables(type) if name.startswith("?")]
        unknown += [name for name in type_variables(type) if name.startswith("?")]
        if unknown:
            type_text = re.sub(r"\?\d+", "_", format_type(type))
            raise UserError(
                f"the type {type_text} is not determined; "
                "use it together with something of known type",
                node.location,
            )


def _stored_value(node: build.Application) -> build.Node:
    """The value that an application of `toMem(heap)` stores; a let-bound value is stored anyway."""
    function = node.function
    if not isinstance(function, build.PatternUse) or function.spec is not TO_MEM:
        return node
    return node.arguments[0] if function.arguments.get("space") == "heap" else node


def _splat(number: int, type: RiseType) -> Term:
    """A number with these low bits, in each lane of a vector."""
    lane = lane_type(type)
    assert isinstance(lane, ScalarType)
    value = Literal(literal(0 if number == 0 else wrap_integer(number, lane), lane))
    if not isinstance(type, VectorType):
        return value
    return Apply(Pattern(VECTOR_FROM_SCALAR, (type.length, lane)), value)


def _format_count(count: int) -> str:
    return f"{count:,}" if count < 10**9 else f"about 10^{len(str(count)) - 1}"
