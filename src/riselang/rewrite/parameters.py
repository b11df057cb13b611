"""Parameters of strategies: a strategy with parameters describes a set of strategies.

    tile(param('rows', powers_of_two(4, 64)), 32) @ outermost('map', nest=2)

In the text form, a parameter is a call to `param` or `alternatives`, so it may occur wherever the
text form permits values. `parameter_binding.bind` returns the strategy for chosen values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riselang.rewrite.core import Failure, Result, Setting, Strategy
from riselang.support.errors import UserError
from riselang.term.nodes import Term

Choice = int | str
"""The value of a parameter: a number, or the text of a strategy."""
MAX_VALUES = 10_000


_KEYWORDS = re.compile(r"\b(try|not)\b(?=\s*\()")
"""Python keywords that are names in strategies."""


def escape_keywords(text: str) -> str:
    """Append an underscore to names that are keywords in Python, so that Python can parse them."""
    return _KEYWORDS.sub(lambda match: f"{match[1]}_", text)


@dataclass(frozen=True)
class Parameter:
    """A number in a strategy that is chosen later, from a list of values."""

    name: str
    values: tuple[int, ...]

    def __repr__(self) -> str:
        return f"param({self.name!r}, {list(self.values)})"


@dataclass(frozen=True, repr=False)
class OpenStrategy(Strategy):
    """A strategy some of whose parameters have no value yet; it applies to no term."""

    text: str

    def run(self, term: Term, setting: Setting) -> Result:
        names = ", ".join(parameters_of(self))
        reason = f"it has parameters without values ({names}); bind them, or search with rl.tune"
        return Failure(self, reason, term)

    def __str__(self) -> str:
        return self.text


def param(name: str, values: Sequence[int]) -> Any:
    """Return a parameter, which replaces a number in a strategy: `tile(param("rows", [4, 8]), 32)`.

    It is a `Parameter`, but annotated as any value, since schedules are annotated with numbers.
    """
    _check_name(name)
    choices = tuple(dict.fromkeys(values))
    if not choices:
        raise UserError(f"the parameter {name!r} has no values")
    if any(not isinstance(each, int) for each in choices):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(f"the parameter {name!r} must have numbers as values; see alternatives")
    return Parameter(name, choices)


def powers_of_two(low: int, high: int) -> list[int]:
    """Return the powers of two from `low` to `high`."""
    values = [1 << exponent for exponent in range(31) if low <= 1 << exponent <= high]
    if not values:
        raise UserError(f"there is no power of two from {low} to {high}")
    return values


def multiples(factor: int, high: int) -> list[int]:
    """Return the multiples of `factor` from `factor` to `high`."""
    if factor < 1 or high < factor or high // factor > MAX_VALUES:
        raise UserError(
            f"multiples needs 1 <= factor <= high and at most {MAX_VALUES} values, but got "
            f"{factor} and {high}"
        )
    return list(range(factor, high + 1, factor))


def alternatives(name: str, *strategies: Strategy) -> Strategy:
    """Return a parameter whose values are strategies: one of them is applied."""
    _check_name(name)
    if not strategies:
        raise UserError(f"the parameter {name!r} has no strategies to choose from")
    return OpenStrategy(f"alternatives({name!r}, {', '.join(map(str, strategies))})")


def open_call(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> OpenStrategy | None:
    """Return a call with parameters among its arguments as a strategy; None if it has none."""
    if not any(isinstance(each, Parameter) for each in (*args, *kwargs.values())):
        return None
    arguments = [repr(each) for each in args]
    arguments += [f"{key}={value!r}" for key, value in kwargs.items()]
    return OpenStrategy(f"{name}({', '.join(arguments)})")


def parameters_of(strategy: Strategy) -> dict[str, tuple[Choice, ...]]:
    """Return the parameters of a strategy by name, with their values."""
    text = str(strategy)
    if "param(" not in text and "alternatives(" not in text:
        return {}
    parameters: dict[str, tuple[Choice, ...]] = {}
    for call in _parameter_calls(parse_text(text)):
        name, values = read_parameter(call)
        if parameters.setdefault(name, values) != values:
            raise UserError(
                f"the parameter {name!r} occurs with different values: "
                f"{format_values(parameters[name])} and {format_values(values)}; use one name "
                "for each"
            )
    return parameters


def parse_text(text: str) -> ast.Module:
    """Parse the text of a strategy as Python."""
    return ast.parse(escape_keywords(text))


def _parameter_calls(module: ast.Module) -> Iterator[ast.Call]:
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    yield from sorted(filter(is_parameter, calls), key=lambda call: (call.lineno, call.col_offset))


def is_parameter(node: ast.Call) -> bool:
    """Return whether a call in the text of a strategy is a parameter."""
    return isinstance(node.func, ast.Name) and node.func.id in ("param", "alternatives")


def read_parameter(call: ast.Call) -> tuple[str, tuple[Choice, ...]]:
    """Return the name and the values of a parameter; strategies as their text."""
    assert isinstance(call.func, ast.Name)
    name: str = ast.literal_eval(call.args[0])
    if call.func.id == "alternatives":
        return name, tuple(ast.unparse(each) for each in call.args[1:])
    return name, tuple(ast.literal_eval(call.args[1]))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UserError(f"the name of a parameter must be an identifier, but is {name!r}")


def format_values(values: Sequence[Choice]) -> str:
    """List the values of a parameter."""
    return ", ".join(map(str, values))
