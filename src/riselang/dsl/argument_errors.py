"""Errors for calls with the wrong number of arguments, or with unknown names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any

from riselang.dsl.diagnostics import refuse


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
        refuse(f"{name}: {error}; its parameters are {_parameters(signature)}")


def _parameters(signature: inspect.Signature) -> str:
    plain = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
        if each.name != "self"
    ]
    return str(signature.replace(parameters=plain, return_annotation=signature.empty))
