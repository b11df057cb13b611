"""Symbolic values, which are the arguments of a traced function, and the operators on them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.pattern_registry import FST, SND
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    i1,
    integer_range,
    is_float,
)
from riselang.dsl.array_methods import ArrayMethods
from riselang.dsl.captures import is_array_like
from riselang.dsl.complex_values import complex_node, is_complex, part_node
from riselang.dsl.diagnostics import UnsupportedOperations, refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.tracing import (
    broadcast_hint,
    current_trace,
    has_lanes,
    make_pair,
    type_text,
    value_text,
)
from riselang.dsl.type_promotion import count_booleans, promote_nodes
from riselang.dsl.unpacking import requested_components
from riselang.dsl.user_locations import user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.scalar_ops import resolve_op

Operand = Any


class Value(ArrayMethods, UnsupportedOperations):
    """A value of the program that is being traced."""

    __slots__ = ("node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: build.Node):
        self.node = node

    @property
    def type(self) -> RiseType:
        return current_trace().inference.resolve(self.node.type)

    @property
    def fst(self) -> Value:
        return project(self, 0)

    @property
    def snd(self) -> Value:
        return project(self, 1)

    @property
    def real(self) -> Value:
        return complex_part("real", self)

    @property
    def imag(self) -> Value:
        return complex_part("imag", self)

    def conj(self) -> Value:
        return complex_part("conj", self)

    def __repr__(self) -> str:
        return f"<value of type {type_text(self.type)}>"

    if TYPE_CHECKING:
        # Partially applied patterns are values for type checkers.
        def __call__(self, *arguments: Any) -> Value: ...

        @classmethod
        def __class_getitem__(cls, parameters: Any) -> Any: ...

    def __or__(self, other: Any) -> Value:
        """`xs | f` applies a function; on integers it is the bitwise or."""
        if callable(other):
            function: Any = other
            return function(self)
        return build_binary("bitor", "|", self, other)

    def __len__(self) -> int:
        type = self.type
        if isinstance(type, TupleType):
            return 2
        if isinstance(type, ArrayType) and type.length.is_constant:
            return type.length.constant
        raise UserError(
            f"the length of {type_text(type)} is not known here; rl.size_of(x) is the length of an "
            "array in the program",
            user_location(),
        )

    def __iter__(self) -> Iterator[Value]:
        """Return the components of a tuple, or the elements of an array whose length is known."""
        if isinstance(self.type, TupleType):
            return iter(_unpack(self, requested_components()))
        # Deferred: indexing applies patterns to values.
        from riselang.dsl.indexing import array_elements

        return iter(array_elements(self))

    def __getitem__(self, position: Any) -> Value:
        """Return a component of a pair, an element by a number or an index, or a slice."""
        return subscript_value(self, position)

    def __bool__(self) -> bool:
        raise UserError(
            "a value of the program is not known while it is traced, so Python's if, and, or, not "
            "cannot test it; use rl.where(condition, a, b) for if, & | ~ for and, or, not, and "
            "rl.max(a, b), rl.min(a, b), x.max() and x.min() for Python's max and min",
            user_location(),
        )

    def __add__(self, other: Operand) -> Value:
        return build_binary("add", "+", self, other)

    def __radd__(self, other: Operand) -> Value:
        return build_binary("add", "+", other, self)

    def __sub__(self, other: Operand) -> Value:
        return build_binary("sub", "-", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return build_binary("sub", "-", other, self)

    def __mul__(self, other: Operand) -> Value:
        return build_binary("mult", "*", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return build_binary("mult", "*", other, self)

    def __and__(self, other: Operand) -> Value:
        return build_binary("bitand", "&", self, other)

    def __rand__(self, other: Operand) -> Value:
        return build_binary("bitand", "&", other, self)

    def __ror__(self, other: Operand) -> Value:
        return build_binary("bitor", "|", other, self)

    def __xor__(self, other: Operand) -> Value:
        return build_binary("bitxor", "^", self, other)

    def __rxor__(self, other: Operand) -> Value:
        return build_binary("bitxor", "^", other, self)

    def __lshift__(self, other: Operand) -> Value:
        return build_binary("shl", "<<", self, other)

    def __rlshift__(self, other: Operand) -> Value:
        return build_binary("shl", "<<", other, self)

    def __rshift__(self, other: Operand) -> Value:
        return build_binary("shr", ">>", self, other)

    def __rrshift__(self, other: Operand) -> Value:
        return build_binary("shr", ">>", other, self)

    def __neg__(self) -> Value:
        return build_operation("neg", self, symbol="-")

    def __invert__(self) -> Value:
        """Negate a Boolean, or invert all bits of an integer."""
        return build_operation("bitnot", self, symbol="~")

    def __abs__(self) -> Value:
        return build_operation("abs", self)

    def __lt__(self, other: Operand) -> Value:
        return compare("lt", "<", self, other)

    def __le__(self, other: Operand) -> Value:
        return compare("le", "<=", self, other)

    def __gt__(self, other: Operand) -> Value:
        return compare("gt", ">", self, other)

    def __ge__(self, other: Operand) -> Value:
        return compare("ge", ">=", self, other)

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return compare("eq", "==", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return compare("ne", "!=", self, other)


def as_node(value: Any, expected: RiseType | None = None) -> build.Node:
    """Return a symbolic value, a number, or a tuple of these, as a node."""
    trace = current_trace()
    if isinstance(value, Value):
        return value.node
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if is_array_like(value):
        return trace.captured.node(value)
    if isinstance(value, bool | np.bool_):
        return build.Constant(i1, int(value), scope=trace.scope, location=user_location())
    if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real):
        type = trace.inference.fresh_type() if expected is None else expected
        number = complex(value)
        return build.Constant(type, number, scope=trace.scope, location=user_location())
    if isinstance(value, numbers.Real):
        number = int(value) if isinstance(value, numbers.Integral) else float(value)
        type = trace.inference.fresh_type() if expected is None else expected
        if isinstance(trace.inference.resolve(type), TypeVariable | ScalarType):
            return build.Constant(type, number, scope=trace.scope, location=user_location())
    if isinstance(value, tuple) and len(value) >= 2:
        first, *remaining = value
        second = remaining[0] if len(remaining) == 1 else tuple(remaining)
        return make_pair(trace, as_node(first), as_node(second))
    if callable(value):
        raise UserError(
            f"expected a value here, but found {value_text(value)}; apply it to its arguments",
            user_location(),
        )
    wanted = None if expected is None else trace.inference.resolve(expected)
    type = "" if wanted is None else f" of type {type_text(wanted)}"
    raise UserError(
        f"expected a value{type}, but found {value_text(value)}{_value_hint(value, wanted)}",
        user_location(),
    )


def _value_hint(value: Any, expected: RiseType | None) -> str:
    if isinstance(expected, IdxType):
        return "; rl.clamp_idx(n, i) converts a number to an index"
    if isinstance(value, Iterator):
        return "; use rl.map and rl.zip, or convert it with list(...)"
    if isinstance(expected, VectorType) and isinstance(value, numbers.Real):
        return f"; broadcast it with {broadcast_hint(expected, str(value))}"
    return ""


def subscript_value(value: Value, position: Any) -> Value:
    # Deferred: indexing applies patterns to values.
    from riselang.dsl.indexing import subscript

    return subscript(value, position)


def project(value: Value, position: int) -> Value:
    return Value(apply_pattern(FST if position == 0 else SND, {}, [value], None))


def build_operation(name: str, *operands: Operand, symbol: str | None = None) -> Value:
    """Build an operation whose operands and result have the same type."""
    trace = current_trace()
    symbol = symbol or name
    if has_arrays(operands):
        return map_arrays(symbol, partial(build_operation, name, symbol=symbol), operands)
    nodes = convert_operands(symbol, operands)
    for node in nodes[1:]:
        trace.unify(nodes[0].type, node.type, f"operands of '{symbol}'")
    type = trace.inference.resolve(nodes[0].type)
    if name == "abs" and is_complex(type):
        return Value(part_node(name, nodes[0]))
    _check_defined(name, symbol, type)
    return Value(build.Operation(type, name, nodes, scope=trace.scope, location=user_location()))


def _unpack(value: Value, count: int | None) -> list[Value]:
    """Return the components of a tuple with this many of them, or as many as there are."""
    parts = [value]
    while isinstance(parts[-1].type, TupleType) and len(parts) != count:
        last = parts.pop()
        parts += [project(last, 0), project(last, 1)]
    if count is not None and len(parts) < count:
        refuse(
            f"{type_text(value.type)} has {format_count(len(parts), 'component')}, "
            f"but is unpacked into {format_count(count, 'variable')}"
        )
    return parts


def has_arrays(operands: Sequence[Operand]) -> bool:
    """Whether an operand is an array of the program, or one that it captures."""
    return any(
        isinstance(each.type, ArrayType) if isinstance(each, Value) else is_array_like(each)
        for each in operands
    )


def capture_arrays(operands: Sequence[Operand]) -> list[Operand]:
    """Return operands with the arrays that the program captures as values."""
    return [Value(as_node(each)) if is_array_like(each) else each for each in operands]


def map_arrays(symbol: str, function: Callable[..., Value], operands: Sequence[Operand]) -> Value:
    """Apply a function on scalars to the elements of arrays."""
    # Deferred: broadcasting applies patterns to values.
    from riselang.dsl.arrays.broadcasting import map_elements

    return map_elements(symbol, function, capture_arrays(operands))


def _check_defined(name: str, symbol: str, type: RiseType) -> None:
    lane = lane_type(type)
    if not isinstance(lane, ScalarType) or lane.is_complex or name == "neg":
        return
    if resolve_op(name, lane) is not None:
        return
    instead = f"; {OPERATOR_ALTERNATIVES[name]}" if name in OPERATOR_ALTERNATIVES else ""
    raise UserError(f"'{symbol}' is not defined on {type_text(type)}{instead}", user_location())


def promote_operands(symbol: str, *operands: Operand) -> list[Value]:
    """Return scalars or vectors as values; scalars of different types have their common type."""
    return [Value(node) for node in promote_nodes(convert_operands(symbol, operands))]


def is_integer(type: ScalarType) -> bool:
    """Whether a type has arithmetic on integers, which Booleans do not."""
    return type != i1 and not is_float(type) and not type.is_complex


ARITHMETIC = ("add", "sub", "mult")
"""Operators that take Booleans as the numbers 0 and 1."""
OPERATOR_ALTERNATIVES = {
    "add": "use | for Booleans, or convert them to numbers with .astype(...)",
    "sub": "use ^ for Booleans, or convert them to numbers with .astype(...)",
    "mult": "use & for Booleans, or convert them to numbers with .astype(...)",
    "div": "use //, or rl.cast the operands to a float",
    "floordiv": "use / and rl.math.floor",
    "bitand": "put the comparisons around it in parentheses",
    "bitor": "put the comparisons around it in parentheses",
    "bitxor": "use a ** b for a power",
    "bitnot": "it inverts Booleans and the bits of integers",
    "shl": "multiply by a power of two",
    "shr": "divide by a power of two",
    "abs": "an unsigned integer is its own absolute value",
    "pow": "multiply, or rl.cast the operands to a float",
}


def build_binary(name: str, symbol: str, left: Operand, right: Operand) -> Value:
    """Build the operation of an operator, which promotes types, unlike a function of scalars."""
    if has_arrays((left, right)):
        return map_arrays(symbol, partial(build_binary, name, symbol), (left, right))
    nodes = convert_operands(symbol, (left, right))
    operands = promote_nodes(count_booleans(nodes) if name in ARITHMETIC else nodes)
    return build_operation(name, *map(Value, operands), symbol=symbol)


def complex_part(name: str, value: Operand) -> Value:
    """Return `real`, `imag` or `conj` of a complex number, or of each element of an array."""
    if has_arrays((value,)):
        return map_arrays(name, partial(complex_part, name), (value,))
    return Value(part_node(name, as_node(value)))


def make_complex(real: Operand, imaginary: Operand) -> Value:
    """Return complex numbers from their parts: two scalars, or arrays of these."""
    if has_arrays((real, imaginary)):
        return map_arrays("complex", make_complex, (real, imaginary))
    return Value(complex_node(as_node(real), as_node(imaginary)))


def compare(predicate: str, symbol: str, left: Operand, right: Operand) -> Value:
    """Compare scalars, vectors or arrays; types are promoted, and False is less than True."""
    trace = current_trace()
    if has_arrays((left, right)):
        return map_arrays(symbol, partial(compare, predicate, symbol), (left, right))
    nodes = promote_nodes(convert_operands(symbol, (left, right)))
    trace.unify(nodes[0].type, nodes[1].type, f"operands of '{symbol}'")
    type = trace.inference.with_lane(nodes[0].type, i1)
    position = user_location()
    return Value(
        build.Operation(type, "compare", nodes, predicate, scope=trace.scope, location=position)
    )


def convert(value: Operand, type: ScalarType) -> Value:
    """Convert a scalar, each lane of a vector, or each element of an array."""
    trace = current_trace()
    if has_arrays((value,)):
        return map_arrays("cast", partial(convert, type=type), (value,))
    if _is_literal_of(value, type):
        return Value(as_node(value, type))
    (node,) = convert_operands("cast", (value,))
    target = trace.inference.with_lane(node.type, type) if isinstance(value, Value) else type
    return Value(build.Conversion(target, node, scope=trace.scope, location=user_location()))


def _is_literal_of(value: Operand, type: ScalarType) -> bool:
    """Whether a value is a Python number that is a literal of a type."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if is_float(type):
        return True
    if not is_integer(type) or not isinstance(value, int):
        return False
    lowest, highest = integer_range(type)
    return lowest <= value <= highest


def reinterpret(value: Operand, type: ScalarType) -> Value:
    trace = current_trace()
    (node,) = convert_operands("bitcast", (value,))
    target = trace.inference.with_lane(node.type, type)
    operation = build.Operation(
        target, "arith.bitcast", [node], scope=trace.scope, location=user_location()
    )
    return Value(operation)


def convert_operands(name: str, operands: tuple[Operand, ...]) -> list[build.Node]:
    """Return the operands of an operation as nodes: scalars, or vectors of one length."""
    trace = current_trace()
    nodes = [as_node(operand) for operand in operands]
    types = [trace.inference.resolve(node.type) for node in nodes]
    for type in types:
        if not has_lanes(type):
            raise UserError(
                f"'{name}' works on scalars, but this is {type_text(type)}"
                f"{NOT_SCALAR_HINTS.get(type.__class__, '')}",
                user_location(),
            )
    _check_not_mixed(name, nodes, types)
    return nodes


def _check_not_mixed(name: str, nodes: Sequence[build.Node], types: Sequence[RiseType]) -> None:
    """Reject mixed scalars and vectors: a broadcast has to be explicit."""
    if mixed := build.mixed_operands(nodes, types):
        vector, scalar = mixed
        found, text = build.describe_scalar(scalar)
        refuse(
            f"'{name}' cannot be applied to {type_text(vector)} and {found}; broadcast the scalar "
            f"with {broadcast_hint(vector, text)}"
        )


NOT_SCALAR_HINTS: Mapping[type[RiseType], str] = {
    TupleType: "; unpack the pair with a, b = p, or with a lambda of two arguments",
    IdxType: "; rl.from_idx(i) converts it to an integer",
}
