"""The array object of the Python array API standard, whose operators are jitted programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import riselang as rl
import riselang.numpy as rnp
from riselang.dsl.symbolic_values import Value

BACKEND = os.environ.get("RISE_ARRAY_API", "compile")
IGNORED = ("device", "copy", "stable")
"""Arguments of the standard that have no effect: there is one device, and sorts are stable."""
TYPES = {
    name: getattr(rl, type)
    for name, type in {
        "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
        "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
        "float32": "f32", "float64": "f64",
    }.items()
    if hasattr(rl, type)
}  # fmt: skip


class Array:
    """The array object of the standard."""

    def __init__(self, data: Any):
        self.data = np.asarray(data)

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Array:
        if self.ndim != 2:
            raise ValueError("T is defined for matrices")
        return run(lambda x: x.T, self)

    @property
    def mT(self) -> Array:
        return run(rnp.matrix_transpose, self)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return sys.modules["adapter"]

    def __getitem__(self, key: Any, /) -> Array:
        if isinstance(key, tuple) and key and all(type(each) is int for each in key):
            return Array(self.data[key])  # the suite reads each element of a result
        return run(lambda x, key: x[key], self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        def update(x: Any, key: Any, value: Any) -> Any:
            is_array = isinstance(value, Value)
            return x.at[key].set(rnp.astype(value, x.dtype) if is_array else value)

        self.data = run(update, self, key, value).data

    def __bool__(self) -> bool:
        return bool(self.data)

    def __int__(self) -> int:
        return int(self.data)

    def __float__(self) -> float:
        return float(self.data)

    def __index__(self) -> int:
        return self.data.__index__()

    def __repr__(self) -> str:
        return f"Array({self.data!r})"

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    __hash__ = None  # type: ignore[assignment]


class ArgumentError(ValueError, IndexError):
    """An error in the arguments of a function, of the classes that the suite expects."""


def run(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Run a function as a program on the arrays among its arguments."""
    options = {name: value for name, value in options.items() if name not in IGNORED}
    arrays: list[np.ndarray[Any, Any]] = []

    def substitute(value: Any, convert: Callable[[Array], Any]) -> Any:
        if isinstance(value, Array):
            return convert(value)
        if isinstance(value, list | tuple):
            return type(value)(substitute(each, convert) for each in value)
        return value

    def collect(value: Array) -> Array:
        arrays.append(np.ascontiguousarray(value.data).reshape(value.shape))
        return value

    for value in (*arguments, *options.values()):
        substitute(value, collect)

    def program(*values: Any) -> Any:
        source = iter(values)
        replaced = [substitute(each, lambda _: next(source)) for each in arguments]
        named = {name: substitute(each, lambda _: next(source)) for name, each in options.items()}
        result = function(*replaced, **named)
        return tuple(result) if isinstance(result, list) else result

    try:
        return _wrap(_jit(program, arrays)(*arrays))
    except rl.UserError as error:
        raise ArgumentError(str(error)) from error


def _jit(program: Callable[..., Any], arrays: list[Any]) -> Any:
    names = [f"x{number}" for number in range(len(arrays))]
    scope: dict[str, Any] = {"program": program}
    exec(f"def call({', '.join(names)}):\n    return program({', '.join(names)})\n", scope)
    call = scope["call"]
    call.__annotations__ = {
        name: rl.Array[(*array.shape, TYPES[array.dtype.name])]
        if array.ndim
        else TYPES[array.dtype.name]
        for name, array in zip(names, arrays, strict=True)
    }
    return rl.jit(call, float="strict", backend=BACKEND, effort="fast")


def _wrap(result: Any) -> Any:
    return tuple(map(_wrap, result)) if isinstance(result, tuple) else Array(result)


OPERATORS = {
    "add": rnp.add, "sub": rnp.subtract, "mul": rnp.multiply, "truediv": rnp.divide,
    "floordiv": rnp.floor_divide, "mod": rnp.remainder, "pow": rnp.pow, "matmul": rnp.matmul,
    "and": rnp.bitwise_and, "or": rnp.bitwise_or, "xor": rnp.bitwise_xor,
    "lshift": rnp.left_shift, "rshift": rnp.right_shift,
}  # fmt: skip
COMPARISONS = {
    "eq": rnp.equal, "ne": rnp.not_equal, "lt": rnp.less, "le": rnp.less_equal,
    "gt": rnp.greater, "ge": rnp.greater_equal,
}  # fmt: skip
UNARY = {"neg": rnp.negative, "pos": rnp.positive, "abs": rnp.abs, "invert": rnp.invert}


def _is_operand(value: Any) -> bool:
    return isinstance(value, Array | bool | int | float)


def _add_operators() -> None:
    def forward(function: Any) -> Any:
        return lambda x, y: run(function, x, y) if _is_operand(y) else NotImplemented

    def reflected(function: Any) -> Any:
        return lambda x, y: run(function, y, x) if _is_operand(y) else NotImplemented

    def in_place(function: Any) -> Any:
        def update(x: Array, y: Any) -> Array:
            x.data = run(function, x, y).data
            return x

        return update

    for name, function in {**OPERATORS, **COMPARISONS}.items():
        setattr(Array, f"__{name}__", forward(function))
        if name in OPERATORS:
            setattr(Array, f"__r{name}__", reflected(function))
            setattr(Array, f"__i{name}__", in_place(function))
    for name, function in UNARY.items():
        setattr(Array, f"__{name}__", lambda x, function=function: run(function, x))


_add_operators()
