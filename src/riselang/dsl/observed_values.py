"""`rl.debug.print` and `rl.debug.callback`: Python code that sees the values of a running program.

An observation is a scalar of the program, a *token*, whose computation reports the observed values
(`support/observations.py`). The result of the enclosing function depends on it. Observations, and
the values that functions with observations compute, are bound by lets in the order of the program,
so each of them is computed once, in this order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.pattern_registry import (
    AS_SCALAR,
    FROM_IDX,
    GENERATE,
    REDUCE_SEQ,
    SIZE_OF,
)
from riselang.dialects.rise.types import (
    ArrayType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    complex128,
    components,
    f64,
    i1,
    i32,
    i64,
    index,
    is_float,
    u64,
)
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.symbolic_values import Value, as_node, complex_part, convert, reinterpret
from riselang.dsl.tracing import current_trace, type_text, value_text
from riselang.dsl.user_locations import user_location
from riselang.nat import Nat
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.support.observations import (
    OBSERVE_END,
    OBSERVE_FLOAT,
    OBSERVE_INTEGER,
    ArrayLayout,
    Layout,
    Observation,
    PairLayout,
)
from riselang.term import build
from riselang.term.build import OBSERVED
from riselang.term.observation_regions import observation_region

PRINT_LIMIT = 100
"""The number of lines that one `rl.debug.print` shows in a call."""


def print(format: str, *values: Any, limit: int = PRINT_LIMIT) -> None:
    """Print values of the program when it runs, in a format such as `"x = {}"`.

    Inside an element function, each element is printed, in order; after `limit` lines, the others
    are left out.
    """
    if not isinstance(format, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"debug.print: expected a format such as 'x = {{}}', but found {value_text(format)}",
            user_location(),
        )
    try:
        format.format(*[_Placeholder() for _ in values])
    except (IndexError, KeyError, ValueError) as error:
        raise UserError(
            f"debug.print: the format {format!r} does not fit "
            f"{format_count(len(values), 'value')}: {error}",
            user_location(),
        ) from None
    _observe(lambda: _LinePrinter(format, limit), values)


def callback(function: Callable[..., Any], *values: Any) -> None:
    """Call a Python function with values of the program when it runs.

    Inside an element function, it is called for each element, in order; a debugger stops at
    breakpoints in it. Scalars are passed as NumPy scalars, and arrays as NumPy arrays. An
    exception of the function is raised when the call of the program ends.
    """
    if not callable(function):
        raise UserError(
            f"debug.callback: expected a function, but found {value_text(function)}",
            user_location(),
        )
    _observe(lambda: function, values)


class _Placeholder:
    """A value that is not known yet; it accepts every format."""

    def __format__(self, specification: str) -> str:
        return ""

    def __getitem__(self, key: Any) -> _Placeholder:
        return self

    def __getattr__(self, name: str) -> _Placeholder:
        return self


class _LinePrinter:
    """Prints lines, up to a limit."""

    def __init__(self, format: str, limit: int):
        self._format = format
        self._limit = self._remaining = limit

    def __call__(self, *values: Any) -> None:
        if self._remaining < 0:
            return
        self._remaining -= 1
        if self._remaining < 0:
            sys.stdout.write(f"... (after {format_count(self._limit, 'line')})\n")
            return
        sys.stdout.write(self._format.format(*values) + "\n")


def _observe(make: Callable[[], Callable[..., Any]], values: Sequence[Any]) -> None:
    trace = current_trace()
    operands = [_operand(value) for value in values]
    layouts = tuple(_layout(operand.type) for operand in operands)
    number = trace.add_observation(Observation(make, layouts, user_location()))
    token = trace.scope_tokens.get(trace.scope)
    token = Value(as_node(0, i32)) if token is None else token
    for operand in operands:
        token = _report(number, token, operand)
    token = _call(OBSERVE_END, number, token)
    token.node.label = OBSERVED
    trace.scope_tokens[trace.scope] = token
    trace.effect_count += 1


def _operand(value: Any) -> Value:
    """Return an observed value; that it is observed does not determine the type of a number."""
    if isinstance(value, bool | int | float | complex):
        return Value(as_node(value, NUMBER_TYPES[type(value)]))
    if isinstance(value, tuple):
        return Value(as_node(tuple(map(_operand, value))))
    return Value(as_node(value))


NUMBER_TYPES = {bool: i1, int: i64, float: f64, complex: complex128}


def _layout(type: RiseType) -> Layout:
    """Return how values of a type are reported."""
    if isinstance(type, ArrayType | VectorType):
        return ArrayLayout(_layout(type.element))
    if isinstance(type, TupleType):
        first, second = components(type)
        return PairLayout(_layout(first), _layout(second))
    if isinstance(type, IdxType):
        return "int64"
    if not isinstance(type, ScalarType):
        refuse(
            f"debug: the type of a value, {type_text(type)}, is not known where it is observed; "
            "rl.literal(2.0, rl.f32) is a number of a known type"
        )
    return DTYPE_NAMES[type]


DTYPE_NAMES = {**{type: name for name, type in DTYPES.items()}, index: "int64"}


def _report(number: int, token: Value, value: Value) -> Value:
    """Return the token after a value has been reported."""
    match type := value.type:
        case ArrayType():
            length = Value(apply_pattern(SIZE_OF, {}, [value], None))
            start = _call(OBSERVE_INTEGER, number, token, convert(length, i64))
            return Value(
                apply_pattern(
                    REDUCE_SEQ,
                    {},
                    [lambda total, element: _report(number, total, element), start, value],
                    None,
                )
            )
        case VectorType():
            vectors = Value(apply_pattern(GENERATE, {"n": Nat.const(1)}, [lambda _: value], None))
            return _report(number, token, Value(apply_pattern(AS_SCALAR, {}, [vectors], None)))
        case TupleType():
            return _report(number, _report(number, token, value.fst), value.snd)
        case IdxType():
            return _report(number, token, Value(apply_pattern(FROM_IDX, {}, [value], None)))
        case ScalarType() if type.is_complex:
            for part in ("real", "imag"):
                token = _report(number, token, complex_part(part, value))
            return token
        case _ if is_float(type):
            return _call(OBSERVE_FLOAT, number, token, convert(value, f64))
        case ScalarType() if type.is_unsigned:
            return _call(OBSERVE_INTEGER, number, token, reinterpret(convert(value, u64), i64))
        case _:
            return _call(OBSERVE_INTEGER, number, token, convert(value, i64))


def _call(callee: str, number: int, *operands: Value) -> Value:
    nodes = [operand.node for operand in operands]
    region = observation_region(callee, number)
    scope, location = current_trace().scope, user_location()
    return Value(build.Foreign(i32, region, nodes, scope=scope, location=location))
