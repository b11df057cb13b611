"""Built-in Python functions whose code is compiled here."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

FASTCALL = 0x0080
"""The flag of Python's C API for a function that takes an array of arguments."""


class MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of Python's C API."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


def new_builtin(definition: MethodDefinition, self: Any) -> Callable[..., Any]:
    """Return a function that passes an object to its code, and keeps the object alive.

    The function does not keep its definition alive; the object has to.
    """
    return _constructor()(ctypes.addressof(definition), self, None)


@cache
def _constructor() -> Any:
    new = ctypes.pythonapi["PyCFunction_NewEx"]
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return new
