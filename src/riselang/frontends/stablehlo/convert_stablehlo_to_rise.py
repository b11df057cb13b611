"""Pass `convert-stablehlo-to-rise`: StableHLO functions become RISE programs.

    rise-opt model.mlir -p convert-stablehlo-to-rise

Each public tensor function becomes a function on buffers, those of its results first. The functions
it calls are inlined, so no private functions remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    ModuleOp,
    StringAttr,
    TensorType,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from riselang.frontends.stablehlo.lowering import Program
from riselang.frontends.stablehlo.model.origin import PERMISSION, lower_graph
from riselang.lowering.passes.contract_rise_floats import FLOAT_PERMISSION
from riselang.native.mlir.stablehlo import read_functions
from riselang.native.mlir.stablehlo_graph import GraphFunction
from riselang.support.errors import LimitationError
from riselang.support.recursion import with_deep_stack
from riselang.term.to_dialect import program_module


@dataclass(frozen=True)
class ConvertStablehloToRisePass(ModulePass):
    """Converts StableHLO ops to patterns, and reports each unsupported op."""

    name = "convert-stablehlo-to-rise"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(map(_is_stablehlo_op, op.walk())):
            return
        functions = read_functions(_module_text(op), _module_file(op))
        made = [
            program_module(program.term, program.name, len(program.results))
            for program in map(_convert_function, functions.values())
        ]
        block = op.body.block
        for each in list(block.ops):
            each.detach()
            each.erase(safe_erase=False)
        for module in made:
            for each in list(module.body.block.ops):
                each.detach()
                block.add_op(each)
        op.attributes[FLOAT_PERMISSION] = StringAttr(PERMISSION)


def _is_stablehlo_op(op: Operation) -> bool:
    return isinstance(op, UnregisteredOp) and op.op_name.data.startswith(("stablehlo.", "chlo."))


def _convert_function(graph: GraphFunction) -> Program:
    program = lower_graph(graph)
    if program.constants:
        raise LimitationError(
            f"the function {program.name} has large constants, which a function on "
            "buffers cannot hold; use `rise import` or rl.from_stablehlo",
            graph.location,
        )
    types = (*program.arguments, *program.results)
    if any(type.element.is_complex for type in types):
        raise LimitationError(
            f"the function {program.name} takes or returns complex tensors, for which a function "
            "on buffers has floats; use `rise import` or rl.from_stablehlo",
            graph.location,
        )
    return program


def _module_file(module: ModuleOp) -> str:
    """Return the file that a module was read from."""
    for op in module.walk():
        if isinstance(op.location, FileLineColLoc):
            return op.location.filename.data
    return "<module>"


def _module_text(module: ModuleOp) -> str:
    stream = StringIO()
    _ExactFloatPrinter(stream=stream, print_generic_format=True, print_debuginfo=True).print_op(
        module
    )
    return stream.getvalue()


class _ExactFloatPrinter(Printer):
    """Prints the exact bits of floats, some of which xDSL's printer rounds."""

    def print_attribute(self, attribute: Attribute) -> None:
        if not isinstance(attribute, DenseIntOrFPElementsAttr):
            return super().print_attribute(attribute)
        type = attribute.type
        if not isinstance(type, TensorType) or not isinstance(type.element_type, AnyFloat):
            return super().print_attribute(attribute)
        self.print_string(f'dense<"0x{attribute.data.data.hex().upper()}"> : ')
        return self.print_attribute(type)
