"""`rl.debug.check_nan`: find the operation that computes the first NaN or infinity."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import numpy as np

from riselang.api.kernel import Kernel
from riselang.interpreter.observation import checking_floats
from riselang.support.config import CHECK
from riselang.support.errors import NotFiniteError, UserError
from riselang.support.structures import flatten


@contextmanager
def check_nan() -> Generator[None]:
    """While this context is active, kernels raise an error at the first NaN or infinity.

    They are compiled with checks, or interpreted if they are not compiled. The error is located at
    the operation, or names the argument that contains the NaN or infinity.
    """
    call: Callable[..., Any] = Kernel.__call__

    def checked_call(self: Kernel, *arguments: Any, out: Any = None, **named: Any) -> Any:
        _check_arguments(self, arguments, named)
        if self.backend == "interpret":
            with checking_floats():
                return call(self, *arguments, **named)
        result = call(self.checked(), *arguments, **named)
        if out is None:
            return result
        _copy_results(result, out)
        return out

    Kernel.__call__ = checked_call
    try:
        yield
    finally:
        Kernel.__call__ = call


def enable_checks() -> None:
    """Enable the checks that `RISE_CHECK` selects, once."""
    if not CHECK.value():
        return
    if CHECK.value() != "nan":
        raise UserError(f"RISE_CHECK must be nan or unset, but is {CHECK.value()!r}")
    _enable_permanently()


@cache
def _enable_permanently() -> ExitStack:
    """Check the kernels that are called in the rest of the process."""
    stack = ExitStack()
    stack.enter_context(check_nan())
    return stack


def _check_arguments(kernel: Kernel, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
    names = [*kernel.names[: len(arguments)], *named]
    for name, value in zip(names, (*arguments, *named.values()), strict=False):
        leaves, structure = flatten(value, lambda leaf: isinstance(leaf, np.ndarray))
        for path, leaf in zip(structure.leaf_names(name), leaves, strict=True):
            if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "f":
                wrong = np.argwhere(~np.isfinite(leaf))
                if wrong.size or (leaf.ndim == 0 and not np.isfinite(leaf)):
                    position = tuple(map(int, wrong[0]))
                    raise NotFiniteError(
                        f"argument {path} of {kernel.__name__} is {leaf[position]} at index "
                        f"{', '.join(map(str, position)) or '()'}"
                    )


def _copy_results(result: Any, out: Any) -> None:
    def is_array(value: Any) -> bool:
        return isinstance(value, np.ndarray)

    for source, target in zip(flatten(result, is_array)[0], flatten(out, is_array)[0], strict=True):
        target[...] = source
