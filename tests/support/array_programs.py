"""Programs on arrays that NumPy runs as well, because both have the same operators and methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import riselang as rl
from riselang.notation.printer import show_term
from riselang.notation.program import parse_term

TYPES: dict[str, Any] = {
    "bool": rl.i1, "int8": rl.i8, "int16": rl.i16, "int32": rl.i32, "int64": rl.i64,
    "float16": rl.f16, "float32": rl.f32, "float64": rl.f64,
}  # fmt: skip
Arrays = list[np.ndarray[Any, Any]]


def jitted(function: Callable[..., Any], arrays: Arrays, backend: str = "interpret") -> Any:
    """Return the kernel of a function for arrays of these shapes and types."""
    names = [f"x{number}" for number in range(len(arrays))]
    source = f"def program({', '.join(names)}):\n    return function({', '.join(names)})\n"
    scope: dict[str, Any] = {"function": function}
    exec(source, scope)
    program = scope["program"]
    program.__annotations__ = {
        name: rl.Array[(*array.shape, TYPES[array.dtype.name])]
        if array.ndim
        else TYPES[array.dtype.name]
        for name, array in zip(names, arrays, strict=True)
    }
    return rl.jit(program, float="strict", backend=backend)


def check_beside_numpy(
    function: Callable[..., Any],
    arrays: Arrays,
    expected: Any = None,
    backend: str = "interpret",
    rtol: float = 0,
) -> None:
    """Check that a program computes what NumPy computes, and that its notation reads back."""
    kernel = jitted(function, arrays, backend)
    term = kernel.trace(*arrays).term
    assert parse_term(show_term(term)) == term
    result = kernel(*arrays)
    if expected is None:
        with np.errstate(all="ignore"):
            expected = function(*arrays)
    results = result if isinstance(result, tuple) else (result,)
    references = expected if isinstance(expected, tuple) else (expected,)
    assert len(results) == len(references)
    for found, reference in zip(results, references, strict=True):
        assert found.shape == np.shape(reference)
        np.testing.assert_allclose(found, reference, rtol=rtol, atol=rtol)
