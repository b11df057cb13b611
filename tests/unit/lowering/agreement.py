"""Running one program in every way: interpreted, and compiled to affine and scf on some threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any
from unittest.mock import patch

import numpy as np

import riselang as rl
from riselang.api.lowered import Lowered
from riselang.dialects.rise.types import leaves, result_types
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.lowering import temporaries
from support.values import same

Array = np.ndarray[Any, Any]
Results = list[Array]


def lowered(function: Callable[..., Any], *arrays: Array) -> Lowered:
    return rl.jit(function, float="strict").lower(*arrays)


def interpreted(function: Callable[..., Any], *arrays: Array) -> Results:
    return _flat(lowered(function, *arrays).interpret(list(arrays), {}))


def _flat(result: Any) -> Results:
    if isinstance(result, tuple):
        return [array for part in result for array in _flat(part)]
    return [result]


def new_outputs(program: Lowered) -> Results:
    """Buffers for the results of a program whose sizes are known."""
    return [
        np.empty([length.constant for length in lengths], numpy_dtype(leaf))
        for type in result_types(program.source.type, program.results)
        for lengths, leaf in leaves(type)
    ]


def compiled(
    program: Lowered, arrays: Sequence[Array], loops: str, threads: int, stack: int | None = None
) -> Results:
    """The results of the program compiled anew, its outputs full of garbage before."""
    outputs = new_outputs(program)
    for output in outputs:
        output.reshape(-1).view(np.uint8)[...] = 1 if output.dtype == np.bool_ else 0xA5
    limit = temporaries.STACK_LIMIT if stack is None else stack
    with (
        patch.dict("os.environ", {"RISE_NUM_THREADS": str(threads)}),
        patch.object(temporaries, "STACK_LIMIT", limit),
    ):
        module = rl.loads(program.as_text("rise"), loops=loops, float="strict")
        getattr(module, program.name)(*outputs, *arrays)
    return outputs


def agree(function: Callable[..., Any], *arrays: Array, threads: Sequence[int] = (1, 2)) -> Results:
    """Check that compiled code gives the interpreter's bits; returns them.

    With each number of threads another loop dialect, and temporaries in another place.
    """
    expected = interpreted(function, *arrays)
    program = lowered(function, *arrays)
    ways = zip(threads, cycle([("affine", None), ("scf", -1)]), strict=False)
    for count, (loops, stack) in ways:
        found = compiled(program, arrays, loops, count, stack)
        assert same(found, expected), (loops, count, found, expected)
    return expected


def text(function: Callable[..., Any], *arrays: Array, stage: str = "affine") -> str:
    return lowered(function, *arrays).as_text(stage)
