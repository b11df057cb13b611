"""`rl.debug.print` and `rl.debug.callback`: Python code that sees the values of a running program.

Such a program runs in the reference interpreter, which computes the same results as compiled code.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.pattern_registry import LET
from riselang.dialects.rise.types import fun
from riselang.dsl.symbolic_values import as_node
from riselang.dsl.tracing import current_trace, make_pair
from riselang.dsl.user_locations import user_location
from riselang.support.counts import format_count
from riselang.support.errors import UserError
from riselang.term import build

PRINT_LIMIT = 100
"""The number of lines that one `rl.debug.print` shows in a call."""


def print(format: str, *values: Any, limit: int = PRINT_LIMIT) -> None:
    """Print values of the program when it runs, in a format such as `"x = {}"`.

    Inside an element function, each element is printed, in order; after `limit` lines, the others
    are left out.
    """
    if not isinstance(format, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(
            f"debug.print: expected a format such as 'x = {{}}', but found {format!r}",
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
    breakpoints in it. Scalars are passed as NumPy scalars, and arrays as NumPy arrays.
    """
    if not callable(function):
        raise UserError(
            f"debug.callback: expected a function, but found {function!r}", user_location()
        )
    _observe(lambda: function, values)


class _Placeholder:
    """A value that is not known yet; it accepts every format."""

    def __format__(self, specification: str) -> str:
        return ""


class _LinePrinter:
    """Prints lines, up to a limit."""

    def __init__(self, format: str, limit: int):
        self._format = format
        self._remaining = limit

    def __call__(self, *values: Any) -> None:
        if self._remaining < 0:
            return
        self._remaining -= 1
        if self._remaining < 0:
            sys.stdout.write("...\n")
            return
        sys.stdout.write(self._format.format(*values) + "\n")


def _observe(make: Callable[[], Callable[..., Any]], values: Sequence[Any]) -> None:
    trace, location = current_trace(), user_location()
    nodes = [as_node(value) for value in values]
    trace.add_observer(location, make, nodes)
    trace.scope_effects.setdefault(trace.scope, []).append((location, nodes))


def bind_observed(location: Any, nodes: Sequence[build.Node], result: build.Node) -> build.Node:
    """Return `let observed = nodes; result`; the interpreter reports the value of this let."""
    trace = current_trace()
    value = nodes[-1] if nodes else as_node(True)
    for node in reversed(nodes[:-1]):
        value = make_pair(trace, node, value)
    with trace.inner_scope() as scope:
        variable = build.Variable(value.type, "observed", scope=scope, location=location)
    type = fun(value.type, result.type)
    function = build.Function(type, [variable], result, scope, scope=trace.scope, location=location)
    arguments: dict[str, Argument] = {"s": value.type, "t": result.type}
    use = build.PatternUse(
        LET.instantiate(arguments), LET, arguments, scope=trace.scope, location=location
    )
    return build.Application(
        result.type, use, [value, function], scope=trace.scope, location=location
    )
