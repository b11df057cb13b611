"""What a term means, said a second time: all elements of a map at once, on structures of arrays.

It shares no code with `riselang.interpreter`. A value in a context of nested maps of lengths
(b0, b1, ...) is a numpy array whose first axes are these lengths; a pair is a pair of such arrays,
so an array of pairs is stored as a pair of arrays, and zip and unzip do nothing. A value from
further outside is broadcast along the maps it did not take part in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    RiseType,
    TupleType,
    components,
    element_of,
    leaves,
)
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
)
from support import numpy_scalars
from support.numpy_patterns import PATTERNS, Meaning
from support.numpy_scalars import DTYPES, Array
from support.numpy_values import Batch, Data, Function, Tree, Value, flatten, lift, plain


def run(term: Term, inputs: Sequence[Sequence[Array]], types: Sequence[RiseType]) -> list[Array]:
    """The closed `term` applied to inputs; values are one array for each scalar leaf.

    Raises `OutOfRange` for a checkIdx of a number that is no index.
    """
    result = _evaluate(term, (), ())
    for arrays, type in zip(inputs, types, strict=True):
        assert isinstance(result, Function)
        result = result.call(Data(0, _tree(type, list(arrays))), ())
    assert isinstance(result, Data)
    return flatten(result.tree)


def _tree(type: RiseType, arrays: list[Array]) -> Tree:
    """The arrays, one for each scalar leaf, paired as the tuples in `type` are."""
    while isinstance(type, ArrayType):
        type = element_of(type)
    if not isinstance(type, TupleType):
        return arrays[0]
    first, second = components(type)
    count = len(list(leaves(first)))
    return _tree(first, arrays[:count]), _tree(second, arrays[count:])


def _evaluate(term: Term, environment: tuple[Value, ...], batch: Batch) -> Value:
    match term:
        case Bound():
            return lift(environment[-1 - term.index], batch)
        case Lambda():
            return Function(lambda value, at: _evaluate(term.body, (*environment, value), at))
        case Apply():
            function = _evaluate(term.function, environment, batch)
            assert isinstance(function, Function)
            return lift(function.call(_evaluate(term.argument, environment, batch), batch), batch)
        case Literal():
            name, shape = SCALAR_NAMES[term.attribute.scalar_type], term.attribute.shape
            numbers = [_number(number, name) for number in term.attribute.numbers]
            value = np.array(numbers, DTYPES[name]).reshape(shape)
            return Data(len(batch), np.broadcast_to(value, (*batch, *shape)).copy())
        case Scalar():
            operands = [plain(_evaluate(x, environment, batch)) for x in term.operands]
            sources = [SCALAR_NAMES[scalar_type(x)] for x in term.operands]
            target = SCALAR_NAMES[scalar_type(term)]
            result = numpy_scalars.evaluate(term.op, operands, sources, target, term.predicate)
            return Data(len(batch), np.asarray(result))
        case Pattern():
            return _curried(PATTERNS[term.spec.name], term, ())
        case _:
            raise TypeError(f"{term!r} is not expected here")


def _number(number: float, type: str) -> float | bool:
    return number != 0 if type == "i1" else number


def _curried(meaning: Meaning, pattern: Pattern, given: tuple[Value, ...]) -> Function:
    def call(argument: Value, batch: Batch) -> Value:
        arguments = (*given, argument)
        if len(arguments) < pattern.spec.arity:
            return _curried(meaning, pattern, arguments)
        lifted = [lift(value, batch) for value in arguments]
        return meaning(_sizes(pattern), batch, lifted)

    return Function(call)


def _sizes(pattern: Pattern) -> dict[str, int]:
    named = zip(pattern.spec.parameters, pattern.arguments, strict=True)
    return {name: value.constant for name, value in named if isinstance(value, Nat)}
