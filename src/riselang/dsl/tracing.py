"""Tracing: running a Python function on symbolic values to find the program it builds."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from riselang.dialects.rise.lanes import lane_of
from riselang.dialects.rise.schemes import TUPLE, Argument, PatternSpec, swapped_inputs
from riselang.dialects.rise.showing import show
from riselang.dialects.rise.types import (
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    TypeVariable,
    VectorType,
    fun,
    i1,
    pair,
    uncurry,
)
from riselang.dsl.locations import function_location, user_location
from riselang.errors import LimitationError, UserError
from riselang.term import build
from riselang.term.inference import Inference, TypeMismatch, order_note
from riselang.term.parameters import Unknown, known_parameters

_state = threading.local()


class Trace:
    """One program being built: what is known of its types, and the scope of new values."""

    def __init__(self) -> None:
        self.inference = Inference()
        self.scope = build.Scope()

    @contextmanager
    def active(self) -> Generator[None]:
        outer = getattr(_state, "trace", None)
        _state.trace = self
        try:
            yield
        finally:
            _state.trace = outer

    @contextmanager
    def inner_scope(self) -> Generator[build.Scope]:
        outer, self.scope = self.scope, build.Scope(self.scope)
        try:
            yield self.scope
        finally:
            self.scope = outer

    def unify(self, expected: RiseType, found: RiseType, what: str) -> None:
        """Make two types equal; a mismatch is the user's error, at the user's line."""
        try:
            self.inference.unify(expected, found)
        except TypeMismatch as error:
            raise UserError(
                f"{what}: expected {show_type(error.expected)}, but found "
                f"{show_type(error.found)}{_mismatch_hint(error)}",
                user_location(),
            ) from None


def _mismatch_hint(error: TypeMismatch) -> str:
    if isinstance(error.found, ScalarType):
        if error.expected == i1:
            return "; compare it with something, as in a != 0"
        if isinstance(error.expected, IdxType):
            return "; rl.clamp_idx(n, i) makes an index of an integer"
        if isinstance(error.expected, ScalarType):
            return f"; rl.cast(a, rl.{show(error.expected)}) converts"
        if isinstance(error.expected, VectorType):
            return f"; write {repeated(error.expected, 'a')}"
    return f"; {_without_unknowns(error.detail)}" if error.detail else ""


def repeated(type: VectorType, scalar: str) -> str:
    """What to write for a scalar where a vector is expected."""
    return f"rl.vector_from_scalar({_without_unknowns(str(type.length))}, {scalar})"


def shown(value: Any) -> str:
    """A Python value in an error; functions by name."""
    if not callable(value):
        return repr(value)
    name = getattr(value, "__name__", "")
    return "a lambda" if name == "<lambda>" else f"the function {name}" if name else repr(value)


def show_type(type: RiseType) -> str:
    """The type in notation, with unknowns as underscores."""
    return _without_unknowns(show(type))


def _without_unknowns(text: str) -> str:
    return re.sub(r"\?\d+", "_", text)


def current_trace() -> Trace:
    trace = getattr(_state, "trace", None)
    if trace is None:
        raise UserError(
            "patterns work on the arguments of a function under rl.jit, not on plain values; "
            "decorate the function with @rl.jit and call it with arrays",
            user_location(),
        )
    return trace


def is_tracing() -> bool:
    return getattr(_state, "trace", None) is not None


def trace_function(
    function: Callable[..., Any], names: Sequence[str], types: Sequence[RiseType]
) -> tuple[build.Node, Trace, int]:
    """The node of a whole program, its trace, and how many results it gives."""
    from riselang.dsl.values import Value

    trace = Trace()
    with trace.active():
        scope = trace.scope
        variables = [
            build.Variable(type, name, scope=scope) for name, type in zip(names, types, strict=True)
        ]
        try:
            result = function(*[Value(variable) for variable in variables])
        except RecursionError:
            raise LimitationError(
                f"the functions of {_name(function)} nest too deeply to be traced",
                function_location(function),
            ) from None
        if result is None:
            raise UserError(
                f"{_name(function)} returns nothing; return the value it computes",
                function_location(function),
            )
        results: list[Any] = list(result) if isinstance(result, tuple) else [result]
        for value in results:
            _check_result(function, value)
        nodes = [_returned(function, value) for value in results]
        body = nodes[-1]
        for node in reversed(nodes[:-1]):
            body = make_pair(trace, node, body)
        type = fun(*types, body.type) if types else body.type
        place = function_location(function)
        root = build.Function(type, variables, body, scope, location=place)
        return root, trace, len(nodes)


def _check_result(function: Callable[..., Any], value: Any) -> None:
    """A program gives values; what else it gives is explained at its first line."""
    if callable(value):
        missing = getattr(value, "arity", None)
        lacks = f", which lacks {missing} argument(s)" if isinstance(missing, int) else ""
        problem = f"{shown(value)}{lacks}; apply it to its arguments"
    elif isinstance(value, str | dict | list | set):
        problem = f"{value!r}; return one value, or several as in return a, b"
    else:
        return
    raise UserError(f"{_name(function)} returns {problem}", function_location(function))


def _returned(function: Callable[..., Any], value: Any) -> build.Node:
    """What a function returns; a mistake in it is the function's, not that of its caller."""
    from riselang.dsl.values import as_node

    try:
        return as_node(value)
    except UserError as error:
        raise UserError(error.message, function_location(function)) from None


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "the function")


def make_pair(trace: Trace, first: build.Node, second: build.Node) -> build.Node:
    arguments: dict[str, Argument] = {"s": first.type, "t": second.type}
    use = build.PatternUse(
        TUPLE.instantiate(arguments), TUPLE, arguments, scope=trace.scope, location=user_location()
    )
    return build.Application(
        pair(first.type, second.type),
        use,
        [first, second],
        scope=trace.scope,
        location=user_location(),
    )


def apply_pattern(
    spec: PatternSpec,
    given: Mapping[str, Argument],
    arguments: Sequence[Any],
    to: str | None,
    expected: FunType | None = None,
    what: str = "",
) -> build.Node:
    """A pattern applied to its arguments; data first, so that functions see their types.

    Where a function is expected the last arguments are missing.
    """
    from riselang.dsl.values import as_node

    trace = current_trace()
    location = user_location()
    parameters = trace.inference.instantiate(spec, _known(trace, spec, given, arguments))
    check_arguments(trace, spec, parameters)
    inputs, result = uncurry(spec.instantiate(parameters))
    nodes: dict[int, build.Node] = {}
    for position, (input, argument) in enumerate(zip(inputs, arguments, strict=False)):
        if not isinstance(input, FunType):
            what_data = f"{spec.name}, argument {position + 1}"
            _check_data(trace, spec, input, argument, what_data)
            nodes[position] = node = as_node(argument, input)
            trace.unify(input, node.type, what_data)
    if expected is not None:
        result = fun(*inputs[len(arguments) :], result)
        trace.unify(expected, result, what)
    for position, (input, argument) in enumerate(zip(inputs, arguments, strict=False)):
        if isinstance(input, FunType):
            nodes[position] = trace_argument(spec, position, input, argument)
    _check_numbers(trace, spec, nodes)
    check_arguments(trace, spec, parameters)
    type = spec.instantiate(parameters)
    use = build.PatternUse(type, spec, parameters, to, scope=trace.scope, location=location)
    return (
        build.Application(
            trace.inference.resolve(result),
            use,
            [nodes[position] for position in range(len(arguments))],
            scope=trace.scope,
            location=location,
        )
        if arguments
        else use
    )


def _known(
    trace: Trace, spec: PatternSpec, given: Mapping[str, Argument], arguments: Sequence[Any]
) -> Mapping[str, Argument]:
    """What is given, and what values tell; a mistake is left to be found argument by argument."""
    from riselang.dsl.values import Value

    types: list[RiseType | Unknown] = []
    for argument in arguments:
        if isinstance(argument, Value):
            types.append(trace.inference.resolve(argument.node.type))
        else:
            is_number = argument.__class__ in (int, float)
            types.append(Unknown.NUMBER if is_number else Unknown.OTHER)
    return known_parameters(spec, given, types)


def _check_numbers(trace: Trace, spec: PatternSpec, nodes: Mapping[int, build.Node]) -> None:
    """A number is a scalar, also where only a function shows that a vector is wanted."""
    for position, node in nodes.items():
        type = trace.inference.resolve(node.type)
        if isinstance(node, build.Constant) and isinstance(type, VectorType):
            raise UserError(
                f"{spec.name}, argument {position + 1}: expected {show_type(type)}, but found the "
                f"number {node.number}; write {repeated(type, str(node.number))}",
                user_location(),
            )


def _check_data(
    trace: Trace, spec: PatternSpec, expected: RiseType, argument: Any, what: str
) -> None:
    """A function for a value is an argument in the wrong place, or too few of them."""
    if callable(argument):
        type = show_type(trace.inference.resolve(expected))
        raise UserError(
            f"{what}: expected {type}, but found {shown(argument)}; {spec!r}", user_location()
        )


def check_arguments(trace: Trace, spec: PatternSpec, parameters: Mapping[str, Argument]) -> None:
    if spec.accepts_all:
        return
    arguments = {
        name: trace.inference.resolve_argument(value) for name, value in parameters.items()
    }
    if (problem := spec.check(arguments)) is not None:
        raise UserError(f"{spec.name}: {problem}", user_location())


@runtime_checkable
class PatternLike(Protocol):
    """A function that may be a pattern without its last arguments."""

    def __call__(self, *arguments: Any) -> Any: ...

    def as_function(self, expected: FunType, what: str) -> build.Node | None:
        """The pattern as a function of this type; None where it is better called."""


def trace_argument(
    spec: PatternSpec, position: int, expected: FunType, function: Any
) -> build.Node:
    """A Python function where a pattern takes one."""
    trace = current_trace()
    what = f"{spec.name}, argument {position + 1}"
    if not callable(function):
        raise UserError(
            f"{what}: expected a function of type "
            f"{show_type(trace.inference.resolve(expected))}, but found {function!r}; {spec!r}",
            user_location(),
        )
    if isinstance(function, PatternLike):
        node = function.as_function(expected, what)
        if node is not None:
            return node
    if spec.accumulates and position == 0:
        return _traced_step(spec, expected, function)
    return _traced_lambda(spec, position, expected, function)


def _traced_step(spec: PatternSpec, expected: FunType, function: Callable[..., Any]) -> build.Node:
    """A function of (accumulator, element); an error says so if it takes them the other way."""
    trace = current_trace()
    other_order = swapped_inputs(trace.inference.resolve(expected))
    if other_order == trace.inference.resolve(expected):
        return _traced_lambda(spec, 0, expected, function)
    before = trace.inference.copy()
    try:
        return _traced_lambda(spec, 0, expected, function)
    except UserError as error:
        trace.inference = before
        if _is_traced(spec, other_order, function):
            error.notes += (order_note(spec.name),)
        raise


def _is_traced(spec: PatternSpec, expected: FunType, function: Callable[..., Any]) -> bool:
    """Whether a function has a type, as far as running it shows."""
    try:
        _traced_lambda(spec, 0, expected, function)
    except Exception:
        return False
    return True


def _traced_lambda(
    spec: PatternSpec, position: int, expected: FunType, function: Callable[..., Any]
) -> build.Node:
    from riselang.dsl.values import Value, as_node

    trace = current_trace()
    inputs, output = uncurry(expected)
    with trace.inner_scope() as scope:
        names = parameter_names(function)
        variables = [
            build.Variable(
                trace.inference.resolve(input),
                names[number] if names is not None and len(names) == len(inputs) else f"x{number}",
                scope=scope,
                location=user_location(),
            )
            for number, input in enumerate(inputs)
        ]
        result = called(trace, spec, function, [Value(v) for v in variables])
        if result is None:
            raise UserError(
                f"{spec.name}, argument {position + 1}: {shown(function)} returns nothing; return "
                "the value it computes",
                function_location(function) or user_location(),
            )
        body = as_node(result, output)
        trace.unify(output, body.type, f"{spec.name}, result of argument {position + 1}")
    return build.Function(
        trace.inference.resolve(expected), variables, body, scope,
        scope=trace.scope, location=user_location(),
    )  # fmt: skip


def called(
    trace: Trace, spec: PatternSpec, function: Callable[..., Any], values: Sequence[Any]
) -> Any:
    """What a function gives for these values; one of more arguments gets components of pairs.

    A function that gives functions takes them one after the other.
    """
    names = parameter_names(function)
    if names is not None and 0 < len(names) < len(values):
        count = len(names)
        result = function(*values[:count])
        if callable(result):
            return called(trace, spec, result, values[count:])
    result = function(*spread(trace, spec, names, values))
    *others, last = values
    if callable(result) and isinstance(trace.inference.resolve(last.node.type), TupleType):
        return called(trace, spec, function, [*others, last.fst, last.snd])
    return result


def parameter_names(function: Any) -> list[str] | None:
    """The required positional parameters; None when the function does not say."""
    arity = getattr(function, "arity", None)
    if isinstance(arity, int):
        return [f"x{number}" for number in range(arity)]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]


def spread(
    trace: Trace, spec: PatternSpec, names: list[str] | None, values: Sequence[Any]
) -> Sequence[Any]:
    """Where a function of more arguments meets pairs, it gets their components."""
    from riselang.dsl.values import project

    if names is None or len(names) == len(values):
        return values
    result: list[Any] = []
    missing = len(names) - len(values)
    for value in values:
        while missing > 0 and isinstance(trace.inference.resolve(value.node.type), TupleType):
            result.append(project(value, 0))
            value = project(value, 1)
            missing -= 1
        result.append(value)
    if missing != 0:
        types = ", ".join(show_type(trace.inference.resolve(value.node.type)) for value in values)
        raise UserError(
            f"{spec.name} gives its function {len(values)} argument(s) of type {types}, but the "
            f"function takes {len(names)}",
            user_location(),
        )
    return result


def has_lanes(type: RiseType) -> bool:
    """Whether operations may work on a value: on itself, or on each of its lanes."""
    return isinstance(lane_of(type), ScalarType | TypeVariable)
