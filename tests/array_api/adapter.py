"""The Python array API standard on top of `rl.numpy`: each call is a jitted program.

The array object wraps a NumPy array. A function traces a program on its arrays, with its other
arguments as constants, and compiles it, or interprets it with `RISE_ARRAY_API=interpret`.
`run.py` runs the test suite of the standard with this module.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from array_object import TYPES, Array, run

import riselang.numpy as rnp

__array_api_version__ = "2024.12"
FUNCTIONS = (
    "abs", "acos", "add", "all", "any", "arange", "argmax", "argmin", "argsort", "asin",
    "astype", "atan", "atan2", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "broadcast_to",
    "ceil", "clip", "concat", "copysign", "cos", "cosh", "count_nonzero", "cumulative_prod",
    "cumulative_sum", "diff", "divide", "empty", "empty_like", "equal", "exp", "expand_dims",
    "expm1", "eye", "flip", "floor", "floor_divide", "full", "full_like", "greater",
    "greater_equal", "hypot", "isfinite", "isinf", "isnan", "less", "less_equal", "linspace",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "matmul", "matrix_transpose", "max", "maximum", "mean", "min",
    "minimum", "moveaxis", "multiply", "negative", "not_equal", "ones", "ones_like",
    "permute_dims", "positive", "pow", "prod", "reciprocal", "remainder", "repeat", "reshape",
    "roll", "round", "searchsorted", "sign", "signbit", "sin", "sinh", "sort", "sqrt", "square",
    "squeeze", "stack", "std", "subtract", "sum", "take", "take_along_axis", "tan", "tanh",
    "tensordot", "tile", "tril", "triu", "trunc", "var", "vecdot", "where", "zeros",
    "zeros_like",
)  # fmt: skip


def _add_functions() -> None:
    def jitted(function: Any) -> Any:
        return lambda *arguments, **options: run(function, *arguments, **options)

    for name in FUNCTIONS:
        globals()[name] = jitted(getattr(rnp, name))


_add_functions()
globals().update({name: np.dtype(name) for name in TYPES})
complex64, complex128 = np.dtype(np.complex64), np.dtype(np.complex128)
"""Types that the suite needs to be imported; `run.py` removes them from its lists."""
e, inf, nan, newaxis, pi = np.e, np.inf, np.nan, None, np.pi


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Array:
    data = obj.data if isinstance(obj, Array) else obj
    if isinstance(data, list | tuple):
        data = [each.data if isinstance(each, Array) else each for each in data]
    result = np.asarray(data, dtype=dtype)
    shares = isinstance(obj, Array) and result is obj.data
    return obj if shares and not copy else Array(result.copy() if copy else result)


def from_dlpack(x: Any, /, **options: Any) -> Array:
    return Array(np.from_dlpack(x))


def isdtype(dtype: Any, kind: Any) -> bool:
    return np.isdtype(dtype, kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    return np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to)


def result_type(*operands: Any) -> Any:
    return np.result_type(*(each.dtype if isinstance(each, Array) else each for each in operands))


def finfo(type: Any, /) -> Any:
    info = np.finfo(type.dtype if isinstance(type, Array) else type)
    names = ("eps", "max", "min", "smallest_normal")
    return SimpleNamespace(
        bits=info.bits, dtype=info.dtype, **{name: float(getattr(info, name)) for name in names}
    )


def iinfo(type: Any, /) -> Any:
    return np.iinfo(type.dtype if isinstance(type, Array) else type)


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    return _as_list(run(rnp.meshgrid, *arrays, indexing=indexing))


def broadcast_arrays(*arrays: Array) -> list[Array]:
    return _as_list(run(rnp.broadcast_arrays, *arrays))


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    return tuple(_as_list(run(rnp.unstack, x, axis=axis))) if x.shape[axis] else ()


def _as_list(result: Any) -> list[Array]:
    return [result] if isinstance(result, Array) else list(result)
