"""A call of compiled code, written out for its number of arguments.

A kernel that runs for ten microseconds is called as quickly as a function of numpy: loops over two
or three arguments, and functions that call each other, would cost as much as the call itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from riselang.runtime.arrays import DATA, Array, pointer_at

Call = Callable[[Sequence[Array]], Any]


def quick_call(
    function: Any, shape: Sequence[int], dtype: Any, count: int, otherwise: Call
) -> Call:
    """A new array that `function` fills from `count` arrays, whose types and shapes are right.

    `function` takes addresses. Arrays that do not lie row by row are left to `otherwise`.
    """
    return _maker(count)(function, tuple(shape), dtype, otherwise, np.empty, pointer_at, DATA)


@cache
def _maker(count: int) -> Callable[..., Call]:
    names = [f"a{number}" for number in range(count)]
    taken = "".join(f"{name}, " for name in names)
    in_rows = " and ".join(f"{name}.flags.carray" for name in names) or "True"
    passed = ", ".join(f"pointer_at(id({name}) + data).value" for name in ("output", *names))
    text = f"""
def make(function, shape, dtype, otherwise, empty, pointer_at, data):
    def call(arguments):
        {f"{taken} = arguments" if names else ""}
        if not ({in_rows}):
            return otherwise(arguments)
        output = empty(shape, dtype)
        function({passed})
        return output
    return call
"""
    found: dict[str, Any] = {}
    exec(text, found)
    return found["make"]
