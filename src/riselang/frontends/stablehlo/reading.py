"""From a file or text to a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from riselang.api.kernel import LOOPS
from riselang.api.lowered import as_strategy
from riselang.config import FLOAT, Options, default_options
from riselang.errors import UserError
from riselang.frontends.stablehlo.lowering import lower
from riselang.frontends.stablehlo.model import Model, ProgramKernel, argument_names
from riselang.native.graphs import GraphFunction
from riselang.native.stablehlo import BYTECODE, read_functions
from riselang.rewrite.core import Strategy
from riselang.text import decode
from riselang.timing import timed

PERMISSION = "relaxed"
"""StableHLO leaves the order of reductions open."""


def read_model(
    source: str | bytes | Path,
    *,
    function: str | None = None,
    name: str | None = None,
    backend: str = "compile",
    strategy: Strategy | str | None = None,
    **choices: Any,
) -> Model:
    content, file = contents(source)
    with timed("read"):
        graph = chosen(read_functions(content, name or file), function, name or file)
    with timed("to patterns"):
        program = lower(graph, argument_names([each.name for each in graph.body.arguments]))
    options = model_options(**choices)
    return Model(ProgramKernel(program, backend, options, as_strategy(strategy)))


def model_options(**choices: Any) -> Options:
    """The options that are given; what may be done to floats is what StableHLO permits."""
    import os

    if choices.get("float") is None and not os.environ.get(FLOAT.variable):
        choices["float"] = PERMISSION
    return default_options(LOOPS).changed(**choices)


def contents(source: str | bytes | Path) -> tuple[str | bytes, str]:
    """The text or bytecode of a module, and what errors call it."""
    if isinstance(source, bytes):
        return _decoded(source, "<bytes>"), "<bytes>"
    if isinstance(source, str) and ("\n" in source or "func.func" in source):
        return source, "<text>"
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    return _decoded(data, str(path)), str(path)


def _decoded(data: bytes, name: str) -> str | bytes:
    return data if data.startswith(BYTECODE) else decode(data, name)


def chosen(functions: dict[str, GraphFunction], function: str | None, name: str) -> GraphFunction:
    """The function that is asked for: `main`, or the only one."""
    if function is None:
        function = "main" if "main" in functions else next(iter(functions), None)
        if function is None:
            raise UserError(f"{name} has no public function")
        if function != "main" and len(functions) > 1:
            raise UserError(f"{name} has several functions; choose one of {', '.join(functions)}")
    if function not in functions:
        known = ", ".join(functions) or "none"
        raise UserError(f"{name} has no public function {function}; it has: {known}")
    return functions[function]
