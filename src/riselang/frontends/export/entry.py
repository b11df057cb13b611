"""The export of programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from riselang.api.jit import jit
from riselang.frontends.export.evaluation import export_graph
from riselang.frontends.export.onnx_model import onnx_model
from riselang.frontends.export.stablehlo_text import print_function
from riselang.frontends.frameworks import require_framework
from riselang.native.mlir.stablehlo_graph import GraphFunction
from riselang.support.errors import UserError


def stablehlo_text(program: Any, arguments: Sequence[Any], sizes: Mapping[str, int]) -> str:
    """Return the module of a program."""
    return print_function(_graph("to_stablehlo", program, arguments, sizes))


def onnx_proto(program: Any, arguments: Sequence[Any], sizes: Mapping[str, int]) -> Any:
    """Return the ONNX model of a program."""
    require_framework("onnx", "onnx", "to_onnx")
    return onnx_model(_graph("to_onnx", program, arguments, sizes))


def _graph(
    caller: str, program: Any, arguments: Sequence[Any], sizes: Mapping[str, int]
) -> GraphFunction:
    """Return the graph of a function, a jitted one, or an imported model of static shapes."""
    kernel = getattr(getattr(program, "body", None), "kernel", program)
    if not hasattr(kernel, "trace"):
        if not callable(kernel):
            raise UserError(f"{caller}: expected a function, found {type(kernel).__name__}")
        kernel = jit(kernel)
    program = kernel.trace(*arguments, **sizes)
    return export_graph(program.name, program.term)
