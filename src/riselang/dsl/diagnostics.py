"""Errors for what Python and NumPy can do with numbers but not with symbolic values."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NoReturn

from riselang.dsl.name_hints import NUMPY_NAMES
from riselang.dsl.user_locations import user_location
from riselang.support.errors import UserError

SYMBOLIC_VALUE = "a value of the program is symbolic while it is traced"
ATTRIBUTE_HINTS: Mapping[str, str] = {
    "argsort": "use rl.argsort(x)",
    "sort": "use rl.numpy.sort(x)",
    "item": "return the value, and convert the result of the call",
    "tolist": "return the array, and convert the result of the call",
    "mT": "use x.transpose(0, 2, 1), with the axes in their new order",
}
# NumPy functions that have another name here.
NUMPY_EQUIVALENTS: Mapping[str, str] = {
    "sum": "x.sum()", "dot": "x @ y", "matmul": "x @ y", "transpose": "x.T", "maximum": "rl.max",
    "minimum": "rl.min", "multiply": "rl.mult", "subtract": "rl.sub", "divide": "rl.div",
    "true_divide": "rl.div", "absolute": "rl.abs", "where": "rl.where", "add": "rl.add",
    "concatenate": "rl.concatenate", "max": "x.max()", "stack": "rl.stack",
    "min": "x.min()", "amax": "x.max()", "pad": "rl.numpy.pad",
    "reshape": "x.reshape(...)", "cumsum": "rl.cumsum", "flip": "rl.reverse",
    "sort": "rl.numpy.sort", "arctan2": "rl.math.atan2", "power": "x ** y", "take": "rl.gather",
    "argmax": "rl.argmax", "argmin": "rl.argmin", "argsort": "rl.argsort",
    "histogram": "rl.histogram",
}  # fmt: skip


class MissingAttribute(UserError, AttributeError):
    """A value has no such attribute; an `AttributeError`, because Python probes for some itself."""


def refuse(message: str) -> NoReturn:
    raise UserError(message, user_location())


def _function_hint(name: str) -> str:
    """What to use instead of a method that arrays do not have."""
    default = "docs/arrays.md lists the methods of arrays, and x | pattern applies a pattern"
    return _numpy_hint(name, "(x)") or default


def _numpy_hint(name: str, call: str = "") -> str | None:
    """The function in `rl.numpy` for one of NumPy, or what replaces it."""
    # Deferred, since few programs need it.
    functions = import_module("riselang.numpy")
    if name in functions.__all__:
        return f"use rl.numpy.{name}{call}"
    return NUMPY_NAMES.get(name)


class UnsupportedOperations:
    """The operations that a value does not support, each of which raises an explanation."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        hint = ATTRIBUTE_HINTS.get(name) or _function_hint(name)
        raise MissingAttribute(f"a value has no attribute '{name}'; {hint}", user_location())

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        scalars = method == "__call__" and not options and name in REFLECTED_OPERATORS
        if scalars and not isinstance(inputs[0], UnsupportedOperations):
            return getattr(inputs[1], REFLECTED_OPERATORS[name])(inputs[0])
        return self.__array_function__(ufunc)

    def __array_function__(self, function: Any, *_: Any) -> NoReturn:
        from riselang.term.scalar_ops import OVERLOADS

        name = function.__name__
        instead = NUMPY_EQUIVALENTS.get(name, f"rl.math.{name}" if name in OVERLOADS else None)
        hint = f"use {instead}" if instead else _numpy_hint(name) or "use patterns"
        refuse(f"numpy.{name} works on numbers, not on values of the program; {hint}")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(
            f"{SYMBOLIC_VALUE}, so NumPy cannot work with it; use patterns such as rl.map, or "
            "rl.numpy.asarray(table)[i] to read a NumPy array at an index of the program"
        )

    def __float__(self) -> NoReturn:
        refuse(
            f"{SYMBOLIC_VALUE}; use rl.cast(a, rl.f32) to convert it, and rl.math.sin for math.sin"
        )

    def __int__(self) -> NoReturn:
        refuse(f"{SYMBOLIC_VALUE}; use rl.cast(a, rl.i32) to convert it")

    def __index__(self) -> NoReturn:
        refuse(
            f"{SYMBOLIC_VALUE}, so Python cannot count with it; use rl.generate or "
            "rl.iterate, or add the parameter to static= if it is a Python number"
        )

    def __format__(self, specification: str) -> str:
        if specification:
            refuse(f"{SYMBOLIC_VALUE}; rl.debug.print('{{}}', x) prints it when the program runs")
        return str(self)

    def __contains__(self, item: object) -> NoReturn:
        refuse("'in' does not work on a value of the program; use rl.map and rl.reduce")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        refuse(
            "a value of the program is immutable; write x = x.at[key].set(y), which returns a "
            "changed array; the key may be a number, a slice, an array of integers or a mask"
        )


# With a NumPy scalar on the left of an operator, Python calls NumPy first.
REFLECTED_OPERATORS: Mapping[str, str] = {
    "add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__",
    "true_divide": "__rtruediv__", "floor_divide": "__rfloordiv__", "remainder": "__rmod__",
    "less": "__gt__", "less_equal": "__ge__", "greater": "__lt__", "greater_equal": "__le__",
    "equal": "__eq__", "not_equal": "__ne__", "power": "__rpow__", "bitwise_and": "__rand__",
    "bitwise_or": "__ror__", "bitwise_xor": "__rxor__", "left_shift": "__rlshift__",
    "right_shift": "__rrshift__", "matmul": "__rmatmul__",
}  # fmt: skip
