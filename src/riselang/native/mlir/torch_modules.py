"""Converts torch dialect modules, imported from PyTorch models, to StableHLO.

The MLIR passes for this abort on some modules, so they run in a worker process.
"""

from __future__ import annotations

import importlib
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from riselang.native.mlir.bindings import torch_wheel
from riselang.native.mlir.torch_ops import check_torch, fix_remainder_signs
from riselang.native.workers.subprocess_worker import WorkerDied, call_isolated
from riselang.support.errors import LimitationError, SourceLocation
from riselang.support.profiling import time_span

TORCH_PASSES = (
    "func.func(torch-match-quantized-custom-ops)",
    "torchdynamo-export-to-torch-backend-pipeline",
    "torch-backend-to-stablehlo-backend-pipeline",
)
"""Passes for modules from the FX importer of PyTorch."""
_NO_CONVERSION = "has no conversion to StableHLO for these types and attributes"
_DIAGNOSTIC_LOCATION = re.compile(
    r'error: "(?P<name>[^"]*)"(?::(?P<line>\d+):(?P<column>\d+))?: (?P<rest>.*)'
)
_UNCONVERTED_OP = re.compile(
    r"failed to legalize operation '(?P<op>[\w.]+)'"
    r'|marked as backend illegal\s+note: .*see current operation: [^"]*"(?P<illegal>[\w.]+)"'
)
_NAME = re.compile(r'<\{name = "(?P<name>[\w.]+)"')


class ConversionFailed(Exception):
    """A pass fails on the module: the reason, and the location in the model's source, if any."""

    def __init__(self, reason: str, location: SourceLocation | None, is_vague: bool = False):
        super().__init__(reason, location, is_vague)
        self.reason = reason
        self.location = location
        self.is_op_unknown = is_vague
        """Whether the op that cannot be converted is not known."""


@dataclass(frozen=True)
class IsolatedOp:
    """A module with a single op of another module."""

    label: str
    module: bytes


def export_torch_module(module: Any, arguments: Sequence[Any]) -> bytes:
    """Export a PyTorch module for example arguments, as bytecode in MLIR's torch dialect."""
    return _import_graph("export_and_import", module, *arguments)


def import_torch_graph(graph: Any) -> bytes:
    """Import a `torch.fx.GraphModule` of aten ops, as bytecode in MLIR's torch dialect."""
    return _import_graph("stateless_fx_import", graph)


def _import_graph(function: str, *arguments: Any) -> bytes:
    with warnings.catch_warnings():
        # The importer uses what later versions of PyTorch deprecate.
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        importer: Any = importlib.import_module("torch_mlir.fx")
        imported = getattr(importer, function)(*arguments, output_type="raw")
    bytecode = io.BytesIO()
    imported.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def convert_to_stablehlo(module: str | bytes, passes: Sequence[str], what: str) -> str:
    """Convert a module to StableHLO text; errors refer to the importer as `what`.

    If the passes crash, the error names the op that they crash on, if it can be isolated.
    """
    try:
        with time_span("MLIR"):
            return call_isolated(_convert, module, passes)
    except ConversionFailed as error:
        reason = error.reason
        if error.is_op_unknown and (op := _find_failing_op(module, passes, ConversionFailed)):
            reason = f"the op {op} {_NO_CONVERSION}"
        message = f"{what}: the model cannot be converted: {reason}"
        raise LimitationError(message, error.location) from None
    except LimitationError as error:
        raise LimitationError(f"{what}: {error.message}", error.location) from None
    except WorkerDied as error:
        op = _find_failing_op(module, passes, WorkerDied)
        where, advice = (
            (f" on the op {op}", "replace that op or its type in the model")
            if op
            else ("", "convert parts of the model to find the ops that cause the crash")
        )
        raise LimitationError(
            f"{what}: the MLIR passes that convert the model crashed{where} ({error}); {advice}"
        ) from None


def _find_failing_op(module: str | bytes, passes: Sequence[str], failure: type[Exception]) -> str:
    """Return the first op that fails in this way in isolation, or an empty string."""
    try:
        for isolated in call_isolated(_isolate_ops, module):
            try:
                call_isolated(_convert, isolated.module, passes)
            except (WorkerDied, ConversionFailed, LimitationError) as error:
                if isinstance(error, failure):
                    return isolated.label
    except WorkerDied:
        pass
    return ""


def _convert(source: str | bytes, passes: Sequence[str]) -> str:
    wheel, context = _new_torch_context()
    with context, wheel.ir.Location.unknown():
        try:
            module = wheel.ir.Module.parse(source)
            check_torch(wheel.ir, module)
            for step in passes:
                wheel.passmanager.PassManager.parse(f"builtin.module({step})").run(module.operation)
        except wheel.ir.MLIRError as error:
            raise _conversion_error(str(error)) from None
        fix_remainder_signs(wheel.ir, module)
        return str(module)


def _new_torch_context() -> tuple[Any, Any]:
    wheel = torch_wheel()
    context = wheel.ir.Context()
    wheel.torch.register_dialect(context)
    return wheel, context


def _conversion_error(error: str) -> ConversionFailed:
    """Return the first diagnostic, in terms of the model's ops and nodes where possible."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    first = next((line for line in lines if "error:" in line), lines[0] if lines else "no reason")
    diagnostic, left = _DIAGNOSTIC_LOCATION.search(first), _UNCONVERTED_OP.search(error)
    location, node = None, ""
    if diagnostic and diagnostic["line"]:
        column = max(1, int(diagnostic["column"]))
        location = SourceLocation(diagnostic["name"], int(diagnostic["line"]), column)
    elif diagnostic and diagnostic["name"]:
        node = f" of the node '{diagnostic['name']}'"
    if left is None:
        where = f" ({node.strip()})" if node else ""
        return ConversionFailed((diagnostic["rest"] if diagnostic else first) + where, location)
    op = left["op"] or left["illegal"]
    match = _NAME.search(first) if op == "torch.operator" else None
    op = match["name"] if match else op
    if op.startswith(("torch.constant.", "torch.vtensor.literal")):
        # An op that uses an unconverted constant is not converted either.
        return ConversionFailed(f"an op {_NO_CONVERSION}", location, is_vague=True)
    return ConversionFailed(f"{op}{node} {_NO_CONVERSION}", location)


def _isolate_ops(source: str | bytes) -> list[IsolatedOp]:
    """Isolate each op of the main function in its own module, with its constant operands."""
    wheel, context = _new_torch_context()
    ir = wheel.ir
    with context, ir.Location.unknown():
        module = ir.Module.parse(source)
        function = module.body.operations[0].operation
        isolated = dict[str, IsolatedOp]()
        for each in function.regions[0].blocks[0].operations:
            op = each.operation
            if op.name.startswith("torch.") and len(op.operands) and not len(op.regions):
                isolated.setdefault(
                    _conversion_key(op), IsolatedOp(_label(op), _isolate_op(ir, function, op))
                )
        return list(isolated.values())


def _conversion_key(op: Any) -> str:
    """Return the name, attributes and types of an op, which determine its conversion."""
    types = [str(each.type) for each in (*op.operands, *op.results)]
    attributes = [f"{name}={op.attributes[name]}" for name in op.attributes]
    return f"{op.name} {attributes} {types}"


def _label(op: Any) -> str:
    name = op.attributes["name"].value if "name" in op.attributes else op.name
    node = re.match(r'loc\("([^"]+)"', str(op.location))
    return name + (f" of the node '{node[1]}'" if node else "")


def _isolate_op(ir: Any, function: Any, op: Any) -> bytes:
    module = ir.Module.create()
    is_constant = [_is_constant(each.owner) for each in op.operands]
    input_types = [
        each.type for each, is_one in zip(op.operands, is_constant, strict=True) if not is_one
    ]
    type = ir.FunctionType.get(input_types, [each.type for each in op.results])
    attributes = {name: function.attributes[name] for name in function.attributes}
    attributes["function_type"] = ir.TypeAttr.get(type)
    with ir.InsertionPoint(module.body):
        isolated_function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    block = isolated_function.regions[0].blocks.append(*input_types)
    arguments = iter(list(block.arguments))
    with ir.InsertionPoint(block):
        operands = [
            each.owner.clone().results[0] if is_one else next(arguments)
            for each, is_one in zip(op.operands, is_constant, strict=True)
        ]
        copy = op.clone()
        for position, operand in enumerate(operands):
            copy.operands[position] = operand
        ir.Operation.create("func.return", operands=list(copy.results))
    data = io.BytesIO()
    module.operation.write_bytecode(data)
    return data.getvalue()


def _is_constant(owner: Any) -> bool:
    """Whether the owner of a value is an op without operands, and not a block."""
    return hasattr(owner, "operands") and not len(owner.operands)
