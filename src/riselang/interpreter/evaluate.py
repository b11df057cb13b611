"""The reference interpreter: the meaning of a term, defined as directly as possible.

Arrays are lists, pairs are tuples, and functions are Python functions of one argument; the argument
of a dependent function is a size or a type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.dialects.rise.attributes import Numbers
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    components,
    leaves,
)
from riselang.interpreter import scalar_semantics
from riselang.interpreter.foreign_calls import call_foreign
from riselang.interpreter.observation import check_finite, checks_floats, evaluate_observation
from riselang.interpreter.pattern_semantics import MEANINGS
from riselang.support.errors import InternalError, LimitationError, UserError
from riselang.term.deep_recursion import recursive
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
    scalar_type,
)
from riselang.term.size_substitution import apply_dependent

Environment = tuple[Any, ...]
"""The value of the innermost variable, and the enclosing environment; empty at the top.

With this representation, entering a lambda takes the same time at every depth.
"""


@recursive
def run_term(term: Term, arguments: Sequence[Any]) -> Any:
    """Apply the closed `term` to values; arrays are nested lists of scalars."""
    result = evaluate_term(term, ())
    for argument in arguments:
        result = result(argument)
    return result


def evaluate_term(term: Term, environment: Environment) -> Any:
    match term:
        case Bound(index):
            for _ in range(index):
                environment = environment[1]
            return environment[0]
        case Lambda():
            body = term.body
            return lambda value: evaluate_term(body, (value, environment))
        case Apply():
            function = evaluate_term(term.function, environment)
            return function(evaluate_term(term.argument, environment))
        case DepLambda():
            return lambda argument: evaluate_term(apply_dependent(term, argument), environment)
        case DepApply():
            return evaluate_term(term.function, environment)(term.argument)
        case Literal():
            return _constant(term.number, term.attribute.scalar_type)
        case Pattern():
            return _curry(_meaning(term), term, term.spec.arity, ())
        case Scalar():
            operands: list[Any] = []
            for operand in term.operands:
                operands.append(evaluate_term(operand, environment))
            if isinstance(term.type, VectorType):
                return [_evaluate_operation(term, lanes) for lanes in zip(*operands, strict=True)]
            return _evaluate_operation(term, operands)
        case Embed():
            values: list[Any] = []
            for operand in term.operands:
                values.append(evaluate_term(operand, environment))
            return evaluate_observation(term, values)
        case Free(name):
            raise LimitationError(f"the free variable {name} has no value", term.location)
        case _:
            raise TypeError(f"{term!r} is not a term")


def _constant(number: Numbers, type: ScalarType) -> Any:
    """The value of a literal: a scalar, or the list of the elements of an array."""
    if isinstance(number, tuple):
        return [_constant(each, type) for each in number]
    return scalar_semantics.make_constant(number, type)


def _evaluate_operation(term: Scalar, operands: Sequence[Any]) -> Any:
    """Evaluate an operation on scalars, or on one lane of vectors."""
    source = scalar_type(term.operands[-1])
    result = scalar_semantics.evaluate_op(
        term.op, operands, source, scalar_type(term), term.predicate
    )
    if checks_floats():
        check_finite(term, operands, result)
    return result


def _meaning(pattern: Pattern) -> Callable[..., Any]:
    """The function that computes a pattern."""
    if pattern.spec.foreign is not None:
        return call_foreign
    meaning = MEANINGS.get(pattern.spec.name)
    if meaning is None:
        raise InternalError(
            f"the interpreter does not know the pattern {pattern.spec.name}; add its meaning to "
            "MEANINGS in src/riselang/interpreter/pattern_semantics.py",
            pattern.location,
        )
    return meaning


def _curry(
    meaning: Callable[..., Any], pattern: Pattern, arity: int, arguments_so_far: tuple[Any, ...]
) -> Callable[[Any], Any]:
    def take(argument: Any) -> Any:
        arguments = (*arguments_so_far, argument)
        if len(arguments) == arity:
            return meaning(pattern, *arguments)
        return _curry(meaning, pattern, arity, arguments)

    return take


def from_buffers(type: RiseType, buffers: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Read a value of `type` from its buffers, one for each scalar leaf."""
    if isinstance(type, ScalarType):
        return scalar_semantics.from_numpy(buffers[0].reshape(())[()], type)
    if isinstance(type, TupleType):
        first, second = components(type)
        count = len(list(leaves(first)))
        return from_buffers(first, buffers[:count]), from_buffers(second, buffers[count:])
    if isinstance(type, IdxType):
        return _check_index(int(buffers[0].reshape(())[()]), type)
    assert isinstance(type, ArrayType | VectorType)
    element = type.element
    return [
        from_buffers(element, [buffer[index] if buffer.ndim else buffer for buffer in buffers])
        for index in range(type.length.constant)
    ]


def _check_index(number: int, type: IdxType) -> int:
    """Check an index that comes from outside, and may be out of range."""
    if not 0 <= number < type.bound.constant:
        raise UserError(f"the index {number} is not in [0, {type.bound})")
    return number


def to_buffers(type: RiseType, value: Any) -> list[np.ndarray[Any, Any]]:
    """Store `value` in new buffers, one for each scalar leaf."""
    arrays: list[np.ndarray[Any, Any]] = []
    for lengths, leaf in leaves(type):
        shape = tuple(length.constant for length in lengths)
        arrays.append(np.zeros(shape, scalar_semantics.numpy_dtype(leaf)))
    _fill_buffers(type, value, arrays, ())
    return arrays


def _fill_buffers(
    type: RiseType, value: Any, arrays: Sequence[np.ndarray[Any, Any]], at: tuple[int, ...]
) -> None:
    if isinstance(type, ScalarType):
        arrays[0][at] = scalar_semantics.to_numpy(value, type)
    elif isinstance(type, IdxType):
        arrays[0][at] = value
    elif isinstance(type, TupleType):
        first, second = components(type)
        count = len(list(leaves(first)))
        _fill_buffers(first, value[0], arrays[:count], at)
        _fill_buffers(second, value[1], arrays[count:], at)
    else:
        assert isinstance(type, ArrayType | VectorType)
        for index, element in enumerate(value):
            _fill_buffers(type.element, element, arrays, (*at, index))
