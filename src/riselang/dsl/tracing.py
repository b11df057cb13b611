"""Tracing: running a Python function on symbolic values to record the program it computes."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.lane_types import lane_type
from riselang.dialects.rise.pattern_registry import TUPLE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import (
    IdxType,
    RiseType,
    ScalarType,
    TypeVariable,
    VectorType,
    f32,
    f64,
    fun,
    i1,
    pair,
)
from riselang.dsl.captures import CapturedArrays, Captures, is_array_like
from riselang.dsl.number_types import Numbers, resolve_numbers, widest_class
from riselang.dsl.user_locations import function_location, user_location
from riselang.nat import Nat
from riselang.support.counts import format_count
from riselang.support.errors import LimitationError, SourceLocation, UserError
from riselang.support.observations import Observation
from riselang.support.structures import PLAIN_INTERFACE, ComplexLeaves, Interface, flatten
from riselang.term import build
from riselang.term.complex_numbers import complex_leaves, contains_complex
from riselang.term.inference import Inference, TypeMismatch
from riselang.term.parameters import Instance

_state = threading.local()


@dataclass(frozen=True)
class Call:
    """How a function is traced: from its symbolic values to its arguments, and its captures."""

    arguments: Callable[[Sequence[Any]], tuple[Sequence[Any], Mapping[str, Any]]] = lambda values: (
        values,
        {},
    )
    """Returns the positional and the named arguments, given a symbolic value for each parameter of
    the program."""
    captures: Captures = field(default_factory=Captures)
    sizes: Mapping[str, Nat] = field(default_factory=dict[str, Nat])
    """The sizes that the function may refer to by name."""
    numbers: Numbers = ()
    """Unknown types of parameters for Python numbers, and the classes of these numbers."""


class Trace:
    """The state of one trace: the types inferred so far, and the scope of new values."""

    def __init__(
        self,
        captures: Captures | None = None,
        sizes: Mapping[str, Nat] | None = None,
        numbers: Numbers = (),
    ) -> None:
        self.sizes = sizes or {}
        self._numbers = list(numbers)
        self.inference = Inference()
        self.scope = build.Scope()
        self.scope_checks: dict[build.Scope, list[Any]] = {}
        """The checks that the result of the function with a scope performs."""
        self.scope_tokens: dict[build.Scope, Any] = {}
        """The token of the latest observation in the function with a scope."""
        self.effect_count = 0
        """The number of observations, and of values whose computation contains some, so far."""
        self.effectful: set[build.Node] = set()
        """The functions with observations."""
        self.branch_conditions: list[Any] = []
        """The conditions of the branches that are being traced, which their checks depend on."""
        self.interface = PLAIN_INTERFACE
        """How the traced program is called; known after the trace."""
        self.captured = CapturedArrays(captures or Captures(), self.inference, self.scope)
        self._derivative_order = 0
        self._pattern_uses: dict[tuple[Instance, str | None, int], build.PatternUse] = {}

    @contextmanager
    def activate(self) -> Generator[None]:
        outer = getattr(_state, "trace", None)
        _state.trace = self
        try:
            yield
        finally:
            _state.trace = outer

    def resolve_numbers(self, root: build.Node | None = None) -> None:
        """Choose types for the Python numbers that are passed or captured, if they are open."""
        resolve_numbers(self.inference, [*self._numbers, *self.captured.numbers()], root)

    def add_number(self, unknown: RiseType, number: type) -> None:
        """Give values of an open type NumPy's type for a class of numbers by default."""
        self._numbers.append((unknown, number))

    def number_class(self, unknown: TypeVariable) -> type | None:
        """Return the class of the Python numbers that have an open type; None if there are none."""
        numbers = [*self._numbers, *self.captured.numbers()]
        return widest_class(self.inference, numbers, unknown)

    def settle_number(self, unknown: RiseType) -> RiseType:
        """Choose a type for a number that is passed or captured if its type is needed now."""
        if isinstance(unknown, TypeVariable):
            numbers = [*self._numbers, *self.captured.numbers()]
            same = [each for each in numbers if self.inference.resolve(each[0]) == unknown]
            resolve_numbers(self.inference, same)
        return self.inference.resolve(unknown)

    def settle_float(self, unknown: TypeVariable, what: str) -> RiseType:
        """Choose a float type for an open one: that of a passed number, or else of a literal."""
        passed = [self.inference.resolve(type) for type, _ in self._numbers]
        type = f64 if unknown in passed else f32
        self.unify(type, unknown, what)
        return type

    def add_message(self, location: SourceLocation | None, message: str) -> None:
        """Set the message of the check at a location; the first one stays."""
        messages = {str(location): message, **dict(self.interface.messages)}
        self.interface = replace(self.interface, messages=tuple(messages.items()))

    def add_observation(self, observation: Observation) -> int:
        """Return the number of a new observation."""
        observations = (*self.interface.observations, observation)
        self.interface = replace(self.interface, observations=observations)
        return len(observations) - 1

    @contextmanager
    def inner_scope(self) -> Generator[build.Scope]:
        outer, self.scope = self.scope, build.Scope(self.scope)
        try:
            yield self.scope
        finally:
            self.scope = outer

    @contextmanager
    def differentiate(self) -> Generator[None]:
        """Trace a function whose derivative is computed."""
        self._derivative_order += 1
        try:
            yield
        finally:
            self._derivative_order -= 1

    @property
    def derivative_order(self) -> int:
        """How often the function that is being traced is differentiated."""
        return self._derivative_order

    @property
    def is_differentiated(self) -> bool:
        """Whether the function that is being traced is part of one that is differentiated."""
        return self._derivative_order > 0

    def pattern_use(
        self, spec: PatternSpec, instance: Instance, to: str | None, location: SourceLocation | None
    ) -> build.PatternUse:
        """Return the node of a pattern; the uses of an instance at one location share it."""
        key = (instance, to, id(location))  # the node keeps the location alive
        use = self._pattern_uses.get(key)
        if use is None:
            arguments = instance.parameters
            use = build.PatternUse(
                instance.type, spec, arguments, to, scope=self.scope, location=location
            )
            self._pattern_uses[key] = use
        return use

    def interface_of(self, root: build.Function) -> Interface:
        """Return how the program is called, when all of its types are known."""
        count = len(root.parameters) - len(self.interface.captured)
        flags = tuple(
            contains_complex(self.inference.resolve(each.type)) for each in root.parameters[:count]
        )
        return replace(
            self.interface,
            complex_inputs=flags if any(flags) else (),
            complex_results=self._complex_leaves(root.body),
        )

    def _complex_leaves(self, value: build.Node) -> ComplexLeaves:
        return complex_leaves(self.inference.resolve(value.type))

    def unify(self, expected: RiseType, found: RiseType, what: str) -> None:
        """Unify two types; a mismatch is a `UserError` at the user's line."""
        try:
            self.inference.unify(expected, found)
        except TypeMismatch as error:
            raise UserError(
                f"{what}: expected {type_text(error.expected)}, but found "
                f"{type_text(error.found)}{_mismatch_hint(error)}",
                user_location(),
            ) from None


def _mismatch_hint(error: TypeMismatch) -> str:
    if isinstance(error.found, ScalarType):
        if error.expected == i1:
            return "; compare it with something, as in a != 0"
        if isinstance(error.expected, IdxType):
            return "; rl.clamp_idx(n, i) converts an integer to an index"
        if isinstance(error.expected, ScalarType):
            return f"; use a.astype(rl.{format_type(error.expected)}) to convert it"
        if isinstance(error.expected, VectorType):
            return f"; broadcast the scalar with {broadcast_hint(error.expected, 'a')}"
    return f"; {_hide_unknowns(error.detail)}" if error.detail else ""


def broadcast_hint(type: VectorType, scalar: str) -> str:
    """Return the code that broadcasts a scalar to a vector type."""
    return f"rl.vector_from_scalar({_hide_unknowns(str(type.length))}, {scalar})"


def value_text(value: Any) -> str:
    """Format a Python value for an error message, in one line; functions by name."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, Iterator):
        return f"a Python {value.__class__.__name__} object"
    if not callable(value):
        return " ".join(repr(value).split())
    name = getattr(value, "__name__", "")
    return "a lambda" if name == "<lambda>" else f"the function {name}" if name else repr(value)


def type_text(type: RiseType) -> str:
    """Format a type in notation, with unknowns as underscores."""
    return _hide_unknowns(format_type(type))


def _hide_unknowns(text: str) -> str:
    return re.sub(r"\?\d+", "_", text)


def is_tracing() -> bool:
    """Return whether a function is being traced in this thread."""
    return getattr(_state, "trace", None) is not None


def known_sizes() -> Mapping[str, Nat]:
    """Return the sizes of the program that is being traced, by name."""
    trace = getattr(_state, "trace", None)
    return {} if trace is None else trace.sizes


def current_trace() -> Trace:
    trace = getattr(_state, "trace", None)
    if trace is None:
        raise UserError(
            "patterns and symbolic values work only while a function under rl.jit is traced; "
            "decorate the function with @rl.jit and call it with arrays, and return the values "
            "that you need instead of storing them elsewhere",
            user_location(),
        )
    return trace


def trace_function(
    function: Callable[..., Any],
    names: Sequence[str],
    types: Sequence[RiseType],
    call: Call | None = None,
) -> tuple[build.Function, Trace, int]:
    """Trace a program: return its node, its trace, and the number of its results."""
    # Deferred: the operators of values are traced.
    from riselang.dsl.symbolic_values import Value

    call = call or Call()
    trace = Trace(call.captures, call.sizes, call.numbers)
    with trace.activate():
        scope = trace.scope
        variables = [
            build.Variable(type, name, scope=scope) for name, type in zip(names, types, strict=True)
        ]
        try:
            positional, keywords = call.arguments([Value(variable) for variable in variables])
            result = function(*positional, **keywords)
        except RecursionError:
            raise LimitationError(
                f"the functions of {_function_name(function)} nest too deeply to be traced",
                function_location(function),
            ) from None
        if result is None:
            raise UserError(
                f"{_function_name(function)} returns nothing; return the value it computes",
                function_location(function),
            )
        nodes = _result_nodes(function, result, trace)
        body = nodes[-1]
        for node in reversed(nodes[:-1]):
            body = make_pair(trace, node, body)
        trace.resolve_numbers(body)
        captured, arrays = trace.captured.finish()
        trace.interface = replace(trace.interface, captured=arrays)
        variables += captured
        inputs = [variable.type for variable in variables]
        type = fun(*inputs, body.type) if inputs else body.type
        location = function_location(function)
        root = build.Function(type, variables, body, scope, location=location)
        return root, trace, len(nodes)


def _result_nodes(function: Callable[..., Any], result: Any, trace: Trace) -> list[build.Node]:
    """Return the results as nodes; set the structure of the interface of the trace."""
    results, structure = flatten(result, is_array_like)
    if not results:
        raise UserError(
            f"{_function_name(function)} returns {result!r}, which contains no value; return the "
            "values it computes",
            function_location(function),
        )
    for value in results:
        _check_result(function, value)
    is_plain = structure.is_leaf or (
        structure.kind is tuple
        and len(structure.parts) > 1
        and all(part.is_leaf for part in structure.parts)
    )
    if not is_plain:
        trace.interface = replace(trace.interface, structure=structure)
    nodes = [_result_node(function, value) for value in results]
    nodes[0] = guard_with_checks(trace, trace.scope, nodes[0])
    return nodes


def guard_with_checks(trace: Trace, scope: build.Scope, node: build.Node) -> build.Node:
    """Return the result of a function, whose computation performs the checks in its scope."""
    checks, token = trace.scope_checks.pop(scope, []), trace.scope_tokens.pop(scope, None)
    if not checks and token is None:
        return node
    # Deferred: checks are values of the program.
    from riselang.dsl.run_time_checks import guard_by_check, guard_by_token

    for passed in checks:
        node = guard_by_check(node, passed)
    return node if token is None else guard_by_token(node, token)


def _check_result(function: Callable[..., Any], value: Any) -> None:
    """Reject a result that is not a value, with an error at the function's definition."""
    if callable(value):
        missing = getattr(value, "arity", None)
        lacks = (
            f", which lacks {format_count(missing, 'argument')}" if isinstance(missing, int) else ""
        )
        problem = f"{value_text(value)}{lacks}; apply it to its arguments"
    elif isinstance(value, str | set):
        problem = f"{value!r}; return a value of the program, or a structure of such values"
    else:
        return
    raise UserError(f"{_function_name(function)} returns {problem}", function_location(function))


def _result_node(function: Callable[..., Any], value: Any) -> build.Node:
    """Return a result as a node; errors point at the function, not at its caller."""
    # Deferred: the operators of values are traced.
    from riselang.dsl.symbolic_values import as_node

    try:
        return as_node(value)
    except UserError as error:
        raise UserError(error.message, function_location(function)) from None


def _function_name(function: Callable[..., Any]) -> str:
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


def has_lanes(type: RiseType) -> bool:
    """Whether scalar operations apply to a value of this type, or to each of its lanes."""
    return isinstance(lane_type(type), ScalarType | TypeVariable)
