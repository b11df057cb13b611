"""Applying patterns to values and to Python functions while a program is traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import CO_VARARGS
from types import FunctionType
from typing import Any

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import MAP_PAR, MAP_SEQ, TO_MEM
from riselang.dialects.rise.pattern_spec import PatternSpec, Role
from riselang.dialects.rise.types import (
    FunType,
    RiseType,
    TupleType,
    TypeVariable,
    VectorType,
    fun,
    uncurry,
)
from riselang.dsl.tracing import (
    Trace,
    broadcast_hint,
    current_trace,
    guard_with_checks,
    type_text,
    value_text,
)
from riselang.dsl.user_locations import function_location, user_location
from riselang.support.counts import format_count
from riselang.support.errors import SourceLocation, UserError
from riselang.term import build
from riselang.term.inference import parameter_order_note
from riselang.term.parameters import (
    Instance,
    Unknown,
    find_instance,
    known_parameters,
    result_parameters,
)


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
    types = _argument_types(trace, arguments)
    instance = find_instance(spec, given, types) if expected is None else None
    if instance is None:
        known = known_parameters(spec, given, types)
        parameters, nodes = _unify_arguments(trace, spec, known, arguments, expected, what)
    else:
        nodes, results = _trace_known_arguments(trace, spec, instance, arguments)
        parameters = {**instance.parameters, **results}
        instance = find_instance(spec, parameters, types) if results else instance
    has_effects = any(node in trace.effectful for node in nodes)
    spec = _sequential(spec) if has_effects else spec
    if instance is not None:
        use = trace.pattern_use(spec, instance, to, location)
        result = _application(trace, instance.result, use, nodes, location)
        return _keep_effects(trace, result) if has_effects else result
    parameters = _check_arguments(trace, spec, parameters)
    type = result = spec.instantiate(parameters)
    use = build.PatternUse(type, spec, parameters, to, scope=trace.scope, location=location)
    for _ in arguments:
        assert isinstance(result, FunType)
        result = result.output
    node = _application(trace, result, use, nodes, location)
    return _keep_effects(trace, node) if has_effects else node


def _sequential(spec: PatternSpec) -> PatternSpec:
    """Return the pattern that applies a function with observations in order."""
    if spec is MAP_PAR:
        return MAP_SEQ
    if spec.role in (Role.PARALLEL, Role.GPU):
        raise UserError(
            f"{spec.name} applies its function in no order, so the function cannot contain "
            "rl.debug.print or rl.debug.callback; use a sequential pattern",
            user_location(),
        )
    return spec


def _keep_effects(trace: Trace, node: build.Node) -> build.Node:
    """Return the result of a pattern whose function has observations, stored when it is computed:
    each of its elements is computed once."""
    if isinstance(node.type, FunType):
        trace.effectful.add(node)
        return node
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value

    stored = apply_pattern(TO_MEM, {"space": "heap"}, [Value(node)], None)
    stored.label = build.OBSERVED
    trace.effect_count += 1
    return stored


def _application(
    trace: Trace,
    type: RiseType,
    use: build.PatternUse,
    nodes: Sequence[build.Node],
    location: SourceLocation | None,
) -> build.Node:
    if not nodes:
        return use
    return build.Application(type, use, nodes, scope=trace.scope, location=location)


def _argument_types(trace: Trace, arguments: Sequence[Any]) -> tuple[RiseType | Unknown, ...]:
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value

    types: list[RiseType | Unknown] = []
    for argument in arguments:
        if isinstance(argument, Value):
            types.append(trace.inference.resolve(argument.node.type))
        else:
            is_number = argument.__class__ in (int, float)
            types.append(Unknown.NUMBER if is_number else Unknown.OTHER)
    return tuple(types)


def _trace_known_arguments(
    trace: Trace, spec: PatternSpec, instance: Instance, arguments: Sequence[Any]
) -> tuple[list[build.Node], dict[str, RiseType]]:
    """Return the arguments as nodes, and the results of functions that the instance lacks."""
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value, as_node

    nodes: list[build.Node] = []
    results: dict[str, RiseType] = {}
    for position, (input, argument) in enumerate(zip(instance.inputs, arguments, strict=True)):
        if isinstance(argument, Value):
            nodes.append(argument.node)
        elif not isinstance(input, FunType):
            nodes.append(as_node(argument, input))
        else:
            nodes.append(_trace_function(trace, spec, position, input, argument, results))
    return nodes, results


def _trace_function(
    trace: Trace,
    spec: PatternSpec,
    position: int,
    type: FunType,
    function: Any,
    results: dict[str, RiseType],
) -> build.Node:
    """Trace a function; if its result is a variable of the type scheme, add it to `results`."""
    inputs, output = uncurry(type)
    if not isinstance(output, TypeVariable) or output.label.data not in result_parameters(spec):
        return trace_argument(spec, position, inputs, output, function)
    name = output.label.data
    node = trace_argument(spec, position, inputs, results.get(name), function)
    results.setdefault(name, _result_type(trace, node, len(inputs)))
    return node


def _result_type(trace: Trace, function: build.Node, argument_count: int) -> RiseType:
    type = trace.inference.resolve(function.type)
    for _ in range(argument_count):
        assert isinstance(type, FunType)
        type = type.output
    return type


def _unify_arguments(
    trace: Trace,
    spec: PatternSpec,
    known: Mapping[str, Argument],
    arguments: Sequence[Any],
    expected: FunType | None,
    what: str,
) -> tuple[dict[str, Argument], list[build.Node]]:
    """Unify the types of the arguments with those the pattern takes.

    Return the parameters of the pattern, and the arguments as nodes.
    """
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import as_node

    results: dict[str, RiseType] = {}
    if expected is None:
        known = {**result_parameters(spec), **known}
    parameters = trace.inference.instantiate(spec, known)
    _check_arguments(trace, spec, parameters)
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
            nodes[position] = _trace_function(trace, spec, position, input, argument, results)
    _check_numbers(trace, spec, nodes)
    return {**parameters, **results}, [nodes[position] for position in range(len(arguments))]


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
    spec: PatternSpec,
    position: int,
    inputs: Sequence[RiseType],
    output: RiseType | None,
    function: Any,
) -> build.Node:
    """Trace a Python function that a pattern takes as an argument; its result may be unknown."""
    trace = current_trace()
    what = f"{spec.name}, argument {position + 1}"
    if not callable(function):
        expected = trace.inference.function_type(inputs, output)
        raise UserError(
            f"{what}: expected a function of type {type_text(trace.inference.resolve(expected))}, "
            f"but found {value_text(function)}; {spec!r}",
            user_location(),
        )
    if (as_function := getattr(function, "as_function", None)) is not None:
        # A partially applied pattern is itself a function, if its type fits.
        node = as_function(trace.inference.function_type(inputs, output), what)
        if node is not None:
            return node
    if spec.accumulates and position == 0:
        return _trace_step(spec, inputs, output, function)
    return _trace_lambda(spec, position, inputs, output, function)


def _trace_step(
    spec: PatternSpec,
    inputs: Sequence[RiseType],
    output: RiseType | None,
    function: Callable[..., Any],
) -> build.Node:
    """Trace a function of (accumulator, element); an error says if it has them swapped."""
    inference = current_trace().inference
    accumulator, element, *others = [inference.resolve(input) for input in inputs]
    result = None if output is None else inference.resolve(output)
    if accumulator == element:
        return _trace_lambda(spec, 0, inputs, output, function)
    try:
        return _trace_lambda(spec, 0, inputs, output, function)
    except UserError as error:
        swapped = [element, accumulator, *others]
        inference.forget(inference.function_type(swapped, result))
        if _can_trace(spec, swapped, result, function):
            error.notes += (parameter_order_note(spec.name),)
        raise


def _can_trace(
    spec: PatternSpec,
    inputs: Sequence[RiseType],
    output: RiseType | None,
    function: Callable[..., Any],
) -> bool:
    """Whether tracing a function with this type succeeds."""
    try:
        _trace_lambda(spec, 0, inputs, output, function)
    except Exception:  # the function is the user's, and may raise anything
        return False
    return True


def _trace_lambda(
    spec: PatternSpec,
    position: int,
    inputs: Sequence[RiseType],
    output: RiseType | None,
    function: Callable[..., Any],
) -> build.Node:
    # Deferred: the operators of values apply patterns.
    from riselang.dsl.symbolic_values import Value, as_node

    trace, location = current_trace(), user_location()
    inference, effect_count = trace.inference, trace.effect_count
    with trace.inner_scope() as scope:
        names = parameter_names(function)
        if names is None or len(names) != len(inputs):
            names = [f"x{number}" for number in range(len(inputs))]
        variables = [
            build.Variable(inference.resolve(input), name, scope=scope, location=location)
            for name, input in zip(names, inputs, strict=True)
        ]
        result = call_function(trace, spec, function, [Value(v) for v in variables])
        if result is None:
            raise UserError(
                f"{spec.name}, argument {position + 1}: {value_text(function)} returns nothing; "
                "return the value it computes",
                function_location(function) or location,
            )
        body = guard_with_checks(trace, scope, as_node(result, output))
        if output is not None:
            trace.unify(output, body.type, f"{spec.name}, result of argument {position + 1}")
    type = inference.resolve(fun(*inputs, body.type))
    node = build.Function(type, variables, body, scope, scope=trace.scope, location=location)
    if trace.effect_count > effect_count:
        trace.effectful.add(node)
    return node


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
