"""The export of programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.api.jit import jit
from riselang.frontends.export.evaluation import export_graph
from riselang.frontends.export.stablehlo_text import print_function
from riselang.support.errors import UserError


def stablehlo_text(program: Any, arguments: Sequence[Any], sizes: Mapping[str, int]) -> str:
    """Return the module of a function, a jitted one, or an imported model of static shapes."""
    kernel = getattr(getattr(program, "body", None), "kernel", program)
    if not hasattr(kernel, "trace"):
        if not callable(kernel):
            raise UserError(f"to_stablehlo: expected a function, found {type(kernel).__name__}")
        kernel = jit(kernel)
    program = kernel.trace(*arguments, **sizes)
    return print_function(export_graph(program.name, program.term))
