"""Applying patterns to values and to Python functions while a program is traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import CO_VARARGS
from types import FunctionType
from typing import Any

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_spec import PatternSpec, swap_first_inputs
from riselang.dialects.rise.type_binding import substitute
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    TupleType,
    VectorType,
    fun,
    uncurry,
)
from riselang.dsl.tracing import Trace, broadcast_hint, current_trace, type_text, value_text
from riselang.dsl.user_locations import function_location, user_location
from riselang.nat import Nat
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.inference import parameter_order_note
from riselang.term.parameters import Unknown, known_parameters


def apply_pattern(
    spec: PatternSpec,
    given: Mapping[str, Argument],
    arguments: Sequence[Any],
    to: str | None,
    expected: FunType | None = None,
    what: str = "",
) -> build.Node:
    """Apply a pattern to its arguments; data first, so that functions see their types.

    Where a function type is `expected`, the last arguments are missing.
    """
    trace, location = current_trace(), user_location()
    known, is_determined = _infer_parameters(trace, spec, given, arguments)
    is_determined = is_determined and expected is None
    if is_determined and len(known) == len(spec.parameters):
        parameters, type = _check_arguments(trace, spec, known), spec.instantiate(known)
        nodes = _trace_known_arguments(spec, uncurry(type)[0], arguments)
    else:
        unknown = trace.inference.instantiate(spec, known)
        _check_arguments(trace, spec, unknown)
        inputs = _known_inputs(spec, known, unknown) if is_determined else None
        if inputs is not None:
            nodes = _trace_known_arguments(spec, inputs, arguments)
        else:
            nodes = _unify_arguments(trace, spec, unknown, arguments, expected, what)
        parameters = _check_arguments(trace, spec, unknown)
        type = spec.instantiate(parameters)
    use = build.PatternUse(type, spec, parameters, to, scope=trace.scope, location=location)
    if not arguments:
        return use
    result = type
    for _ in arguments:
        assert isinstance(result, FunType)
        result = result.output
    return build.Application(result, use, nodes, scope=trace.scope, location=location)


def _infer_parameters(
    trace: Trace, spec: PatternSpec, given: Mapping[str, Argument], arguments: Sequence[Any]
) -> tuple[Mapping[str, Argument], bool]:
    """Return the parameters known from `given` and from the types of the data arguments.

    The flag says whether these types determine every parameter that data can determine. Mistakes
    are not reported here: unification reports them for each argument.
    """
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value

    types: list[RiseType | Unknown] = []
    is_determined = True
    for argument in arguments:
        if isinstance(argument, Value):
            type = trace.inference.resolve(argument.node.type)
            is_determined = is_determined and type.is_closed
            types.append(type)
        else:
            is_number = argument.__class__ in (int, float)
            types.append(Unknown.NUMBER if is_number else Unknown.OTHER)
    known = known_parameters(spec, given, types)
    return known, is_determined and known is not given


def _known_inputs(
    spec: PatternSpec, known: Mapping[str, Argument], parameters: Mapping[str, Argument]
) -> Sequence[RiseType] | None:
    """Return the input types of a pattern if only the results of functions are unknown, else None.

    Then nothing has to be unified: the types of the pattern are looked up.
    """
    inputs = uncurry(spec.instantiate(known))[0]
    functions = [input for input in inputs if isinstance(input, FunType)]
    if not all(each.is_closed for function in functions for each in uncurry(function)[0]):
        return None
    unknown = {name: value for name, value in parameters.items() if name not in known}
    nats = {name: value for name, value in unknown.items() if isinstance(value, Nat)}
    types = {name: value for name, value in unknown.items() if isinstance(value, RiseType)}
    return [substitute(input, nats, types) for input in inputs]


def _trace_known_arguments(
    spec: PatternSpec, inputs: Sequence[RiseType], arguments: Sequence[Any]
) -> list[build.Node]:
    """Return the arguments as nodes, where data is known to have the types the pattern takes."""
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import as_node

    return [
        trace_argument(spec, position, input, argument)
        if isinstance(input, FunType)
        else as_node(argument, input)
        for position, (input, argument) in enumerate(zip(inputs, arguments, strict=False))
    ]


def _unify_arguments(
    trace: Trace,
    spec: PatternSpec,
    parameters: Mapping[str, Argument],
    arguments: Sequence[Any],
    expected: FunType | None,
    what: str,
) -> list[build.Node]:
    """Return the arguments as nodes, after unifying their types with those the pattern takes."""
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import as_node

    inputs, result = uncurry(spec.instantiate(parameters))
    nodes: dict[int, build.Node] = {}
    for position, (input, argument) in enumerate(zip(inputs, arguments, strict=False)):
        if not isinstance(input, FunType):
            what_data = f"{spec.name}, argument {position + 1}"
            _check_data(trace, spec, input, argument, what_data)
            nodes[position] = node = as_node(argument, input)
            trace.unify(input, node.type, what_data)
    if expected is not None:
        trace.unify(expected, fun(*inputs[len(arguments) :], result), what)
    for position, (input, argument) in enumerate(zip(inputs, arguments, strict=False)):
        if isinstance(input, FunType):
            nodes[position] = trace_argument(spec, position, input, argument)
    _check_numbers(trace, spec, nodes)
    return [nodes[position] for position in range(len(arguments))]


def _check_numbers(trace: Trace, spec: PatternSpec, nodes: Mapping[int, build.Node]) -> None:
    """Reject a number where the type of a function requires a vector: a number is a scalar."""
    for position, node in nodes.items():
        type = trace.inference.resolve(node.type)
        if isinstance(node, build.Constant) and isinstance(type, VectorType):
            raise UserError(
                f"{spec.name}, argument {position + 1}: expected {type_text(type)}, but found the "
                f"number {node.number}; broadcast it with "
                f"{broadcast_hint(type, str(node.number))}",
                user_location(),
            )


def _check_data(
    trace: Trace, spec: PatternSpec, expected: RiseType, argument: Any, what: str
) -> None:
    """Reject a function where a value is expected: arguments are swapped, or some are missing."""
    if callable(argument):
        type = type_text(trace.inference.resolve(expected))
        raise UserError(
            f"{what}: expected {type}, but found {value_text(argument)}; {spec!r}", user_location()
        )


def _check_arguments(
    trace: Trace, spec: PatternSpec, parameters: Mapping[str, Argument]
) -> dict[str, Argument]:
    """Return what is known of the parameters so far, after the pattern's own check of them."""
    resolve = trace.inference.resolve_argument
    arguments = {name: resolve(value) for name, value in parameters.items()}
    if not spec.accepts_all and (problem := spec.check(arguments)) is not None:
        raise UserError(f"{spec.name}: {problem}", user_location())
    return arguments


def trace_argument(
    spec: PatternSpec, position: int, expected: FunType, function: Any
) -> build.Node:
    """Trace a Python function that a pattern takes as an argument."""
    trace = current_trace()
    what = f"{spec.name}, argument {position + 1}"
    if not callable(function):
        raise UserError(
            f"{what}: expected a function of type "
            f"{type_text(trace.inference.resolve(expected))}, but found {function!r}; {spec!r}",
            user_location(),
        )
    if (as_function := getattr(function, "as_function", None)) is not None:
        # A partially applied pattern is itself a function, if its type fits.
        node = as_function(expected, what)
        if node is not None:
            return node
    if spec.accumulates and position == 0:
        return _trace_step(spec, expected, function)
    return _trace_lambda(spec, position, expected, function)


def _trace_step(spec: PatternSpec, expected: FunType, function: Callable[..., Any]) -> build.Node:
    """Trace a function of (accumulator, element); an error says if it has them swapped."""
    trace = current_trace()
    other_order = swap_first_inputs(trace.inference.resolve(expected))
    if other_order == trace.inference.resolve(expected):
        return _trace_lambda(spec, 0, expected, function)
    try:
        return _trace_lambda(spec, 0, expected, function)
    except UserError as error:
        trace.inference.forget(other_order)
        if _can_trace(spec, other_order, function):
            error.notes += (parameter_order_note(spec.name),)
        raise


def _can_trace(spec: PatternSpec, expected: FunType, function: Callable[..., Any]) -> bool:
    """Whether tracing a function with this type succeeds."""
    try:
        _trace_lambda(spec, 0, expected, function)
    except Exception:  # the function is the user's, and may raise anything
        return False
    return True


def _trace_lambda(
    spec: PatternSpec, position: int, expected: FunType, function: Callable[..., Any]
) -> build.Node:
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value, as_node

    trace, location = current_trace(), user_location()
    inputs, output = uncurry(expected)
    with trace.inner_scope() as scope:
        names = parameter_names(function)
        if names is None or len(names) != len(inputs):
            names = [f"x{number}" for number in range(len(inputs))]
        variables = [
            build.Variable(trace.inference.resolve(input), name, scope=scope, location=location)
            for name, input in zip(names, inputs, strict=True)
        ]
        result = call_function(trace, spec, function, [Value(v) for v in variables])
        if result is None:
            raise UserError(
                f"{spec.name}, argument {position + 1}: {value_text(function)} returns nothing; "
                "return the value it computes",
                function_location(function) or location,
            )
        body = as_node(result, output)
        trace.unify(output, body.type, f"{spec.name}, result of argument {position + 1}")
    return build.Function(
        trace.inference.resolve(expected), variables, body, scope,
        scope=trace.scope, location=location,
    )  # fmt: skip


def call_function(
    trace: Trace, spec: PatternSpec, function: Callable[..., Any], values: Sequence[Any]
) -> Any:
    """Call a function with these values; one with more parameters gets the components of pairs.

    A curried function gets them in several calls.
    """
    names = parameter_names(function)
    if names is not None and 0 < len(names) < len(values):
        count = len(names)
        result = function(*values[:count])
        if callable(result):
            return call_function(trace, spec, result, values[count:])
    result = function(*spread_pairs(trace, spec, names, values))
    *others, last = values
    if callable(result) and isinstance(trace.inference.resolve(last.node.type), TupleType):
        return call_function(trace, spec, function, [*others, last.fst, last.snd])
    return result


def parameter_names(function: Any) -> list[str] | None:
    """Return the names of the required positional parameters; None if they are not known."""
    arity = getattr(function, "arity", None)
    if isinstance(arity, int):
        return [f"x{number}" for number in range(arity)]
    if isinstance(function, FunctionType) and not vars(function):
        code, optional = function.__code__, len(function.__defaults__ or ())
        is_open = code.co_flags & CO_VARARGS
        return None if is_open else list(code.co_varnames[: code.co_argcount - optional])
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


def spread_pairs(
    trace: Trace, spec: PatternSpec, names: list[str] | None, values: Sequence[Any]
) -> Sequence[Any]:
    """Replace pairs by their components where a function has more parameters than values."""
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import project

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
        types = ", ".join(type_text(trace.inference.resolve(value.node.type)) for value in values)
        noun = "type" if len(values) == 1 else "types"
        raise UserError(
            f"the function passed to {spec.name} takes {format_count(len(names), 'argument')}, but "
            f"{spec.name} passes it {len(values)}, of {noun} {types}",
            user_location(),
        )
    return result
