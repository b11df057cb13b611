"""Jacobian and Hessian matrices: `rl.jacobian` and `rl.hessian`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never

from riselang.api.argument_types import is_leaf
from riselang.api.derivatives import grad
from riselang.api.differentiated_calls import (
    DifferentiatedCall,
    check_argnums,
    check_callable,
)
from riselang.api.function_transformation import FunctionTransformation
from riselang.dialects.rise.types import ArrayType, RiseType, ScalarType, TypeVariable
from riselang.dsl.arrays.layout import permute_axes
from riselang.dsl.patterns import from_idx, generate
from riselang.dsl.prelude import literal, where
from riselang.dsl.symbolic_values import Value, as_node
from riselang.dsl.tracing import current_trace, value_text
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks


@with_short_tracebacks
def jacobian(function: Callable[..., Any], argnum: int = 0) -> Jacobian:
    """Return the function that computes the Jacobian of a function, in reverse mode.

    The argument at `argnum` and the result are arrays or scalars; the axes of the Jacobian are
    those of the result, followed by those of the argument.
    """
    return Jacobian("jacobian", function, argnum, is_reverse=True)


@with_short_tracebacks
def hessian(function: Callable[..., Any], argnum: int = 0) -> Jacobian:
    """Return the function that computes the second derivatives of a function whose result is one
    float: the Jacobian of its gradient, in forward mode."""
    return Jacobian("hessian", grad(function, argnum), argnum, is_reverse=False)


class Jacobian(FunctionTransformation):
    """A function that computes the Jacobian of another one."""

    def __init__(self, name: str, function: Callable[..., Any], argnum: int, *, is_reverse: bool):
        check_callable(name, function)
        check_argnums(name, argnum)
        super().__init__(function, f"{name}_{getattr(function, '__name__', 'function')}")
        self.argnum = argnum
        self._name = name
        self._is_reverse = is_reverse

    def trace_call(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        call = DifferentiatedCall(self._name, self.function, arguments, named, self.argnum)
        if not is_leaf(argument := arguments[self.argnum]):
            self._refuse(argument)
        return self._by_rows(call) if self._is_reverse else self._by_columns(call, arguments)

    def _by_rows(self, call: DifferentiatedCall) -> Value:
        """Pull back each basis vector of the result."""
        lengths, scalar = self._shape(call.result())
        return for_each_basis_vector(lengths, scalar, call.pull_back)

    def _by_columns(self, call: DifferentiatedCall, arguments: Sequence[Any]) -> Value:
        """Push forward each basis vector of the argument."""
        argument = arguments[self.argnum]
        lengths, scalar = self._shape(argument)
        columns = for_each_basis_vector(
            lengths, scalar, lambda basis: call.push_forward((basis,))[1]
        )
        rank, total = len(lengths), len(self._shape(columns)[0])
        return permute_axes(columns, [*range(rank, total), *range(rank)])

    def _shape(self, value: Any) -> tuple[list[Nat], ScalarType]:
        """Return the shape of the argument or of the result, which must be one array."""
        array = value if isinstance(value, Value) else Value(as_node(value))
        lengths: list[Nat] = []
        type: RiseType = array.type
        while isinstance(type, ArrayType):
            lengths.append(type.length)
            type = type.element
        if isinstance(type, TypeVariable):
            type = current_trace().settle_float(type, self._name)
        if not isinstance(type, ScalarType):
            self._refuse(array)
        return lengths, type

    def _refuse(self, value: Any) -> Never:
        raise UserError(
            f"{self._name}: the argument and the result must each be one array or scalar, but "
            f"found {value_text(value)}; differentiate by one array at a time",
            user_location(),
        )


def for_each_basis_vector(
    lengths: Sequence[Nat], scalar: ScalarType, function: Callable[[Value], Value]
) -> Value:
    """Return the results of a function for all arrays that have a single 1."""
    if not lengths:
        return function(literal(1.0, scalar))
    return _nested(lengths, lambda chosen: function(_one_hot(lengths, scalar, chosen)))


def _one_hot(lengths: Sequence[Nat], scalar: ScalarType, chosen: Sequence[Value]) -> Value:
    def element(position: Sequence[Value]) -> Value:
        value: Value = literal(1.0, scalar)
        for own, other in zip(position, chosen, strict=True):
            value = where(from_idx(own) == from_idx(other), value, literal(0.0, scalar))
        return value

    return _nested(lengths, element)


def _nested(lengths: Sequence[Nat], element: Callable[[Sequence[Value]], Value]) -> Value:
    """Return nested arrays whose elements are computed from their indices."""
    length, *others = lengths
    if not others:
        return generate(lambda i: element([i]), n=length)
    return generate(lambda i: _nested(others, lambda indices: element([i, *indices])), n=length)
