"""Errors for calls with the wrong number of arguments, or with unknown names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any

from riselang.dsl.diagnostics import refuse

KEYWORD_HINTS = {
    "dtype": "convert the array first, as in x.astype(rl.f64)",
    "out": "each result is a new array, and calls to the jitted function accept out=",
    "where": "select the elements first, as in rl.where(mask, x, 0)",
}
"""What to write instead of NumPy's keyword arguments."""


def with_argument_errors(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """Return the function, which reports arguments that do not match its parameters at the line of
    the program."""

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except TypeError:
            _check_call(function, f"{module}.{function.__name__}", arguments, named)
            raise

    return call


def with_argument_checks(names: Mapping[str, Any], module: str) -> dict[str, Any]:
    """Return the values of names, with functions that report wrong arguments."""
    return {
        name: with_argument_errors(value, module) if isinstance(value, FunctionType) else value
        for name, value in names.items()
    }


def _check_call(
    function: Callable[..., Any], name: str, arguments: Sequence[Any], named: Mapping[str, Any]
) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments, **named)
    except TypeError as error:
        hints = "".join(f"; {KEYWORD_HINTS[each]}" for each in named if each in KEYWORD_HINTS)
        refuse(f"{name}: {error}; its parameters are {_parameters(signature)}{hints}")


def _parameters(signature: inspect.Signature) -> str:
    plain = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))
